"""Train physics-informed networks with implicit optimizers, in JAX."""

from importlib.metadata import version

from stiffax import zoo as zoo
from stiffax.controllers.constant import Constant as Constant
from stiffax.controllers.gain_ratio import GainRatio as GainRatio
from stiffax.errors import StiffaxError as StiffaxError
from stiffax.errors import StiffaxWarning as StiffaxWarning
from stiffax.inner.gauss_newton import GaussNewton as GaussNewton
from stiffax.integrators.explicit import ExplicitEuler as ExplicitEuler
from stiffax.integrators.implicit import ImplicitEuler as ImplicitEuler
from stiffax.minimise import Minimum as Minimum
from stiffax.minimise import minimise as minimise
from stiffax.network.inputs import FourierInput as FourierInput
from stiffax.network.inputs import PeriodicInput as PeriodicInput
from stiffax.network.mlp import MLP as MLP
from stiffax.network.modified import ModifiedMLP as ModifiedMLP
from stiffax.network.opaque import Opaque as Opaque
from stiffax.network.starts import Fronts as Fronts
from stiffax.network.starts import Glorot as Glorot
from stiffax.network.starts import Siren as Siren
from stiffax.plan import Phase as Phase
from stiffax.problem.coefficients import Range as Range
from stiffax.problem.coefficients import Unknown as Unknown
from stiffax.problem.conditions import Condition as Condition
from stiffax.problem.conditions import Data as Data
from stiffax.problem.conditions import Dirichlet as Dirichlet
from stiffax.problem.conditions import Initial as Initial
from stiffax.problem.conditions import Integral as Integral
from stiffax.problem.conditions import Neumann as Neumann
from stiffax.problem.conditions import Periodic as Periodic
from stiffax.problem.conditions import Robin as Robin
from stiffax.problem.points import Fixed as Fixed
from stiffax.problem.points import Graded as Graded
from stiffax.problem.points import Grid as Grid
from stiffax.problem.points import Halton as Halton
from stiffax.problem.points import LatinHypercube as LatinHypercube
from stiffax.problem.points import Sobol as Sobol
from stiffax.problem.points import Uniform as Uniform
from stiffax.problem.polygon import Polygon as Polygon
from stiffax.problem.problem import Problem as Problem
from stiffax.problem.refresh import Adaptive as Adaptive
from stiffax.problem.refresh import Keep as Keep
from stiffax.problem.refresh import Redraw as Redraw
from stiffax.problem.shapes import Ball as Ball
from stiffax.problem.shapes import Box as Box
from stiffax.problem.shapes import Disk as Disk
from stiffax.problem.shapes import Interval as Interval
from stiffax.problem.shapes import Rectangle as Rectangle
from stiffax.solution import Solution as Solution
from stiffax.solve import resume as resume
from stiffax.solve import solve as solve

__version__ = version("stiffax")

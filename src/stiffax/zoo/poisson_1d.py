"""Poisson's equation in one dimension with one slow wave.

    -u'' = 4π² sin 2πx   on (0, 1)      (poisson)
    u(0) = u(1) = 0                     (ends)

Problem: Li, Chen, Huang, "Implicit stochastic gradient descent for training physics-informed neural networks", AAAI
2023, figure 1 (u_L). Reference: exact, u = sin 2πx.
"""

from jax import numpy as jnp

from stiffax.problem.conditions import Dirichlet
from stiffax.problem.problem import Problem
from stiffax.problem.shapes import Interval
from stiffax.zoo.base import entry


@entry("poisson-1d")
def problem() -> Problem:
    line = Interval(x=(0, 1))
    return Problem(
        name="poisson-1d",
        domain=line,
        fields=("u",),
        equations={"poisson": lambda u, x: -u.xx - 4 * jnp.pi**2 * jnp.sin(2 * jnp.pi * x)},
        conditions={"ends": Dirichlet(line.boundary, u=0.0)},
        exact={"u": lambda x: jnp.sin(2 * jnp.pi * x)},
    )

"""The same machinery for any function of any tree of arrays: regression, classification, root finding."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.flatten_util import ravel_pytree

from stiffax.cache import programs_kept
from stiffax.errors import StiffaxError
from stiffax.integrators.base import AbstractIntegrator
from stiffax.integrators.explicit import ExplicitEuler
from stiffax.integrators.implicit import ImplicitEuler
from stiffax.plan import Phase, Plan, phases
from stiffax.precision import computing
from stiffax.records import Progress, Result, Row
from stiffax.system import AbstractLeastSquares, AbstractLoss, DenseLinearisation, ValueAndGradient
from stiffax.train import AbstractSetting, Clock, Limits, Observation

Tree = Any


class FunctionLoss(AbstractLoss):
    """A user's loss of a tree."""

    function: Callable[[Tree], Any] = eqx.field(static=True)
    unravel: Callable = eqx.field(static=True)

    def value(self, θ):
        return self.function(self.unravel(θ))

    def value_and_gradient(self, θ):
        return ValueAndGradient(*jax.value_and_grad(self.value)(θ))

    def hvp(self, θ, v):
        return jax.jvp(jax.grad(self.value), (θ,), (v,))[1]

    def parts(self, θ):
        return self.value(θ)[None]

    def tree(self, θ):
        return self.unravel(θ)

    def flat(self, tree):
        return ravel_pytree(tree)[0]


class FunctionLeastSquares(AbstractLeastSquares):
    """A user's residuals of a tree; the loss is the sum of their squares."""

    function: Callable[[Tree], Any] = eqx.field(static=True)
    unravel: Callable = eqx.field(static=True)
    rows: int = eqx.field(static=True)

    @property
    def count(self):
        return self.rows

    def residuals(self, θ):
        return ravel_pytree(self.function(self.unravel(θ)))[0]

    def linearise(self, θ):
        jacobian = jax.jacrev if self.rows < θ.size else jax.jacfwd
        return DenseLinearisation(self.residuals(θ), jacobian(self.residuals)(θ))

    def curvature(self, θ, v):
        return jax.jvp(lambda w: jax.jvp(self.residuals, (w,), (v,))[1], (θ,), (v,))[1]

    def value(self, θ):
        return jnp.sum(self.residuals(θ) ** 2)

    def value_and_gradient(self, θ):
        return ValueAndGradient(*jax.value_and_grad(self.value)(θ))

    def hvp(self, θ, v):
        return jax.jvp(jax.grad(self.value), (θ,), (v,))[1]

    def parts(self, θ):
        return self.value(θ)[None]

    def tree(self, θ):
        return self.unravel(θ)

    def flat(self, tree):
        return ravel_pytree(tree)[0]


class PlainSetting(AbstractSetting):
    """Nothing is renewed, and nothing is held out."""

    every = 10

    def next(self, accepted):
        return (accepted // self.every + 1) * self.every

    def renew(self, run):
        return run

    def observe(self, run, θ):
        return Observation(run.system.parts(θ), jnp.asarray(jnp.nan))

    def judge(self, run, parts):
        del run
        return float(parts[0])


@dataclasses.dataclass(frozen=True)
class Minimum:
    """The best parameters, the loss there, and how it went."""

    params: Tree
    loss: float
    result: Result
    steps: int
    refused: int
    work: dict[str, int]
    history: tuple[Row, ...]


def minimise(
    *,
    params: Tree,
    loss: Callable[[Tree], Any] | None = None,
    residuals: Callable[[Tree], Any] | None = None,
    optimizer: AbstractIntegrator | Sequence[Phase] | None = None,
    steps: int | None = None,
    time_limit: float | None = None,
    target: float | None = None,
    precision: str = "float64",
    callback: Callable[[Progress], None] | None = None,
) -> Minimum:
    """Minimise `loss(params)`, a scalar, or the sum of squares of `residuals(params)`, for any tree of arrays.

    The default optimizer is the implicit step for residuals and L-BFGS for a loss. `target` is on the root of the loss.
    What comes back is NumPy, in the precision of the computation.
    """
    if (loss is None) == (residuals is None):
        raise StiffaxError("minimise: give exactly one of loss= (a scalar) and residuals= (to be squared and summed).")
    limits = Limits(steps, 120.0 if steps is None and time_limit is None else time_limit, target)
    with computing(precision), programs_kept():
        tree = jax.tree.map(lambda a: jnp.asarray(a, float), params)
        θ, unravel = ravel_pytree(tree)
        system = _system(loss, residuals, unravel, tree)
        chosen = optimizer or (ExplicitEuler(optax.lbfgs()) if residuals is None else ImplicitEuler())
        plan = Plan(phases(chosen), PlainSetting(), limits, Clock(), callback or (lambda progress: None))
        outcome = plan.go(system, θ)
        run = outcome.run
        best = jax.tree.map(np.asarray, unravel(run.best))
        work = {f.name: int(getattr(run.work, f.name)) for f in dataclasses.fields(run.work)}
    counts = int(run.accepted), int(run.refused)
    return Minimum(best, float(run.best_parts[0]), outcome.result, *counts, work, tuple(outcome.history))


def _system(loss, residuals, unravel, tree) -> AbstractLoss:
    function = loss or residuals
    shape = jax.eval_shape(function, tree)
    if residuals is not None:
        return FunctionLeastSquares(function, unravel, sum(leaf.size for leaf in jax.tree.leaves(shape)))
    if getattr(shape, "shape", None) != ():
        raise StiffaxError(f"minimise: loss must return a scalar, but it returns {shape}.")
    return FunctionLoss(function, unravel)

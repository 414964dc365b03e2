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

from stiffax.batches import Batches
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
    """A user's loss of a tree, and of the data where there are any: `data` is (), or holds their tree."""

    function: Callable[..., Any] = eqx.field(static=True)
    unravel: Callable = eqx.field(static=True)
    data: tuple[Tree, ...] = ()

    def at(self, places) -> "FunctionLoss":
        """The loss of some of the data."""
        return dataclasses.replace(self, data=_rows_at(self.data, places))

    def value(self, θ):
        return self.function(self.unravel(θ), *self.data)

    def value_and_gradient(self, θ):
        return ValueAndGradient(*jax.value_and_grad(self.value)(θ))

    def hvp(self, θ, v):
        return jax.jvp(jax.grad(self.value), (θ,), (v,))[1]

    def parts(self, θ):
        return self.value(θ)[None]

    def blame(self, θ):
        return _blame(self.value_and_gradient(θ))

    def tree(self, θ):
        return self.unravel(θ)

    def flat(self, tree):
        return ravel_pytree(tree)[0]


class FunctionLeastSquares(AbstractLeastSquares):
    """A user's residuals of a tree, and of the data where there are any; the loss is the sum of their squares."""

    function: Callable[..., Any] = eqx.field(static=True)
    unravel: Callable = eqx.field(static=True)
    rows: int = eqx.field(static=True)
    data: tuple[Tree, ...] = ()
    share: float = eqx.field(static=True, default=1.0)  # the part of the data that is seen

    def at(self, places) -> "FunctionLeastSquares":
        """The residuals of some of the data, scaled so that the sum of squares stands for all of them."""
        whole, part = _length(self.data), _rows_at(self.data, places)
        rows = self.rows * places.size // whole
        return dataclasses.replace(self, rows=rows, data=part, share=places.size / whole)

    @property
    def count(self):
        return self.rows

    def residuals(self, θ):
        rows = ravel_pytree(self.function(self.unravel(θ), *self.data))[0]
        return rows if self.share == 1.0 else rows / self.share**0.5

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

    def blame(self, θ):
        return _blame(self.value_and_gradient(θ))

    def tree(self, θ):
        return self.unravel(θ)

    def flat(self, tree):
        return ravel_pytree(tree)[0]


def _blame(there: ValueAndGradient) -> str:
    if not jnp.isfinite(there.value):
        return "the loss is not finite"
    return "" if jnp.all(jnp.isfinite(there.gradient)) else "the gradient of the loss is not finite"


def _length(data: Tree) -> int:
    return jax.tree.leaves(data)[0].shape[0]


def _rows_at(data: Tree, places) -> Tree:
    return jax.tree.map(lambda a: a[places], data)


@dataclasses.dataclass(frozen=True)
class PlainSetting(AbstractSetting):
    """Nothing is renewed, and nothing is held out."""

    every: int = 10
    batches: Batches | None = None
    seed: int = 0

    def batch(self, system, number):
        if self.batches is None or self.batches.size >= _length(system.data):
            return system
        return system.at(self.batches.places(_length(system.data), number, self.seed))

    def next(self, accepted):
        return (accepted // self.every + 1) * self.every

    def size(self, run):
        del run
        return 0

    def renew(self, run, history):
        del history
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
    loss: Callable[..., Any] | None = None,
    residuals: Callable[..., Any] | None = None,
    data: Tree | None = None,
    batches: Batches | None = None,
    optimizer: AbstractIntegrator | Sequence[Phase] | None = None,
    steps: int | None = None,
    time_limit: float | None = None,
    target: float | None = None,
    seed: int = 0,
    precision: str = "float64",
    callback: Callable[[Progress], None] | None = None,
) -> Minimum:
    """Minimise `loss(params)`, a scalar, or the sum of squares of `residuals(params)`, for any tree of arrays.

    The default optimizer is the implicit step for residuals and L-BFGS for a loss. `target` is on the root of the loss.
    With `data`, a tree of arrays with one leading axis, the functions are called as `loss(params, data)`. With
    `batches` every step sees a part of it, in an order that `seed` chooses; what is reported is the loss of the whole.
    What comes back is NumPy, in the precision of the computation.
    """
    if (loss is None) == (residuals is None):
        raise StiffaxError("minimise: give exactly one of loss= (a scalar) and residuals= (to be squared and summed).")
    _check_data(data, batches)
    limits = Limits(steps, 120.0 if steps is None and time_limit is None else time_limit, target)
    with computing(precision), programs_kept():
        tree = jax.tree.map(lambda a: jnp.asarray(a, float), params)
        θ, unravel = ravel_pytree(tree)
        system = _system(loss, residuals, unravel, tree, () if data is None else (_computed(data),))
        chosen = optimizer or (ExplicitEuler(optax.lbfgs()) if residuals is None else ImplicitEuler())
        setting = PlainSetting(batches=batches, seed=seed)
        plan = Plan(phases(chosen), setting, limits, Clock(), callback or (lambda progress: None))
        outcome = plan.go(system, θ)
        run = outcome.run
        best = jax.tree.map(np.asarray, unravel(run.best))
        work = {f.name: int(getattr(run.work, f.name)) for f in dataclasses.fields(run.work)}
    counts = int(run.accepted), int(run.refused)
    return Minimum(best, float(run.best_parts[0]), outcome.result, *counts, work, tuple(outcome.history))


def _check_data(data: Tree, batches: Batches | None) -> None:
    lengths = {np.shape(leaf)[:1] for leaf in jax.tree.leaves(data)}
    if batches is not None and not lengths:
        raise StiffaxError("minimise: batches= needs data=, the arrays that batches are cut from.")
    if len(lengths) > 1 or lengths == {()}:
        raise StiffaxError(
            f"minimise: the arrays of data= must share their first axis, one place for each datum; "
            f"found {sorted(np.shape(leaf) for leaf in jax.tree.leaves(data))}."
        )


def _computed(data: Tree) -> Tree:
    """Data on the device: real numbers in the precision of the computation, whole ones and truths as they are."""
    arrays = jax.tree.map(jnp.asarray, data)
    return jax.tree.map(lambda a: a.astype(float) if jnp.issubdtype(a.dtype, jnp.floating) else a, arrays)


def _system(loss, residuals, unravel, tree, data) -> AbstractLoss:
    function = loss or residuals
    shape = jax.eval_shape(function, tree, *data)
    if residuals is not None:
        rows = sum(leaf.size for leaf in jax.tree.leaves(shape))
        if data and rows % _length(data):
            raise StiffaxError(f"minimise: {rows} residuals of {_length(data)} data; expected as many of each datum.")
        return FunctionLeastSquares(function, unravel, rows, data)
    if getattr(shape, "shape", None) != ():
        raise StiffaxError(f"minimise: loss must return a scalar, but it returns {shape}.")
    return FunctionLoss(function, unravel, data)

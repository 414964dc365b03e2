"""The implicit step as an optax transformation, for people with their own training loop."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array

from stiffax.errors import StiffaxError
from stiffax.inner.base import AbstractInner
from stiffax.inner.gauss_newton import GaussNewton
from stiffax.integrators.base import proximal_step
from stiffax.minimise import FunctionLeastSquares, FunctionLoss
from stiffax.records import Work, work
from stiffax.system import AbstractLoss

Tree = Any
GAUSS_NEWTON = GaussNewton()


class ImplicitEulerState(NamedTuple):
    """Counters, and what is known of the last step: its proximal defect, and the loss where it led."""

    steps: Array
    refused: Array
    defect: Array
    value: Array
    work: Work


def implicit_euler(alpha: float, inner: AbstractInner = GAUSS_NEWTON) -> optax.GradientTransformationExtraArgs:
    """θ⁺ = θ - α∇L(θ⁺), used like `optax.lbfgs`: `update(grads, state, params, value_fn=loss)`.

    `value_fn` is the loss of the parameters alone: close over the batch. For least squares give `residual_fn` instead,
    whose sum of squares is the loss; the default `inner`, `sx.GaussNewton()`, needs it. `value` and `grad` are taken
    for compatibility and not looked at: the step finds its own gradients. Everything is computed in the precision of
    the parameters, each step afresh. One that ends where the loss is not finite is not taken: its updates are zero.
    """
    if not alpha > 0:
        raise StiffaxError(f"implicit_euler: alpha={alpha}; expected a positive number.")

    def init(params: Tree) -> Any:
        zero, nan = jnp.asarray(0), jnp.asarray(jnp.nan, ravel_pytree(params)[0].dtype)
        return ImplicitEulerState(zero, zero, nan, nan, work())

    def update(
        updates: Tree,
        state: Any,
        params: Tree | None = None,
        *,
        value: Array | None = None,
        grad: Tree | None = None,
        value_fn: Callable[[Tree], Array] | None = None,
        residual_fn: Callable[[Tree], Tree] | None = None,
        **others: Any,
    ) -> tuple[Tree, Any]:
        del updates, value, grad, others
        if params is None:
            raise StiffaxError("implicit_euler: update needs the parameters: update(grads, state, params, ...).")
        θ, unravel = ravel_pytree(params)
        system, α = _system(params, unravel, value_fn, residual_fn), jnp.asarray(alpha, θ.dtype)
        prepared = inner.prepare(system, θ, inner.init(system, θ))
        step = proximal_step(system, θ, inner.solve(system, θ, prepared, α), prepared, None, α)
        keep = jnp.isfinite(step.after)
        new = ImplicitEulerState(
            state.steps + keep,
            state.refused + ~keep,
            jnp.where(keep, step.defect, state.defect).astype(state.defect.dtype),
            jnp.where(keep, step.after, step.before).astype(state.value.dtype),
            state.work + prepared.work + step.work,
        )
        return unravel(jnp.where(keep, step.θ - θ, 0)), new

    return optax.GradientTransformationExtraArgs(init, update)


def _system(params: Tree, unravel, value_fn, residual_fn) -> AbstractLoss:
    if (value_fn is None) == (residual_fn is None):
        raise StiffaxError(
            "implicit_euler: give update exactly one of value_fn= (the loss) and residual_fn= (squared and summed)."
        )
    if value_fn is not None:
        return FunctionLoss(value_fn, unravel)
    rows = sum(leaf.size for leaf in jax.tree.leaves(jax.eval_shape(residual_fn, params)))
    return FunctionLeastSquares(residual_fn, unravel, rows)

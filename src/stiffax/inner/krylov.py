"""Conjugate gradients: a symmetric system from products alone."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int


class Krylov(eqx.Module):
    """An approximate solution of A x = b, on the way or at the end."""

    x: Float[Array, " n"]
    residual: Float[Array, " n"]
    direction: Float[Array, " n"]
    square: Float[Array, ""]  # of the residual, preconditioned
    curved: Bool[Array, ""]  # whether a direction of negative curvature was met
    products: Int[Array, ""]


def conjugate_gradients(
    matrix: Callable, b: Float[Array, " n"], steps, tolerance, precondition: Callable = lambda v: v
) -> Krylov:
    """Until ‖b - A x‖ ≤ tolerance ‖b‖, or `steps` products, or a direction along which A is not positive.

    What was found before such a direction is a descent direction; where it is the first one, x follows it as far as
    if its curvature were positive.
    """
    enough = tolerance * jnp.linalg.norm(b)

    def going(k: Krylov):
        return (k.products < steps) & ~k.curved & (jnp.linalg.norm(k.residual) > enough)

    def step(k: Krylov) -> Krylov:
        image = matrix(k.direction)
        curvature = k.direction @ image
        curved, size = curvature <= 0, jnp.abs(curvature)
        length = k.square / jnp.where(size > 0, size, k.square)
        length = jnp.where(curved & (k.products > 0), 0.0, length)
        residual = k.residual - length * image
        conditioned = precondition(residual)
        square = residual @ conditioned
        direction = conditioned + square / k.square * k.direction
        return Krylov(k.x + length * k.direction, residual, direction, square, curved, k.products + 1)

    first = precondition(b)
    start = Krylov(0 * b, b, first, b @ first, jnp.asarray(False), jnp.asarray(0))
    return jax.lax.while_loop(going, step, start)

"""Matrix-free: conjugate gradients with a Nyström preconditioner, for what is too large to be factorised."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from stiffax.linear.base import AbstractLinear, Linearised, Solved, smaller_space
from stiffax.records import work
from stiffax.system import ProductLinearisation


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


class Sketch(eqx.Module):
    """The leading eigenvectors and eigenvalues of a Gram matrix, nearly."""

    vectors: Float[Array, "n rank"]
    values: Float[Array, " rank"]


class Nystrom(eqx.Module):
    """A preconditioner for every λ from `rank` products with random vectors (Frangella, Tropp, Udell 2023)."""

    rank: int = eqx.field(static=True, default=50)

    def prepare(self, matrix, n: int, dtype) -> Sketch:
        """The sketch of a positive semi-definite matrix of n rows, given by its products."""
        rank = min(self.rank, n)
        probes = jnp.linalg.qr(jax.random.normal(jax.random.key(0), (n, rank), dtype))[0]
        images = jax.vmap(matrix, 1, 1)(probes)
        shift = 10 * jnp.finfo(dtype).eps * jnp.linalg.norm(images)
        images = images + shift * probes
        core = jnp.linalg.cholesky((probes.T @ images + images.T @ probes) / 2)
        half = jax.scipy.linalg.solve_triangular(core, images.T, lower=True).T
        vectors, singular, _ = jnp.linalg.svd(half, full_matrices=False)
        return Sketch(vectors, jnp.maximum(singular**2 - shift, 0.0))

    def apply(self, sketch: Sketch, λ: Array, v: Array) -> Array:
        """Nearly a multiple of (A + λI)⁻¹ v."""
        parts = sketch.vectors.T @ v
        return v + sketch.vectors @ (((sketch.values[-1] + λ) / (sketch.values + λ) - 1) * parts)


class CG(AbstractLinear):
    """Conjugate gradients until the residual has fallen by `tolerance`. Neither J nor a Gram matrix is ever formed."""

    steps: int = 200
    tolerance: float = 1e-8
    preconditioner: Nystrom | None = Nystrom()

    def prepare(self, system, θ):
        linear = ProductLinearisation(system, θ, system.residuals(θ))
        rows = linear.r.size
        at = Linearised(linear, smaller_space(rows, θ.size), None, work(losses=1))
        if self.preconditioner is None:
            return at
        sketch = self.preconditioner.prepare(lambda v: _gram(at, v), min(rows, θ.size), θ.dtype)
        return Linearised(linear, at.space, sketch, at.work + work(products=2 * sketch.values.size))

    def solve(self, at, λ, b):
        def precondition(v):
            return v if self.preconditioner is None else self.preconditioner.apply(at.kept, λ, v)

        dual = at.space == "residuals"
        target = b if dual else at.linear.vm(b)
        found = conjugate_gradients(lambda v: _gram(at, v) + λ * v, target, self.steps, self.tolerance, precondition)
        δ = -at.linear.vm(found.x) if dual else -found.x
        done = work(products=2 * found.products + 2)
        return Solved(δ, at.linear.mv(δ), None, done)

    def again(self, at, λ, b, factor):
        del factor
        return self.solve(at, λ, b)


def _gram(at: Linearised, v: Array) -> Array:
    """The product with JᵀJ or JJᵀ."""
    if at.space == "residuals":
        return at.linear.mv(at.linear.vm(v))
    return at.linear.vm(at.linear.mv(v))

"""Direct: triangular factors of the damped matrix."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from stiffax.linear.base import AbstractLinear, Linearised, Solved, smaller_space
from stiffax.records import work


class Orthogonal(eqx.Module):
    """The triangular factor, and the orthonormal rows that belong to J."""

    q: Float[Array, "m n"]
    upper: Float[Array, "n n"]


class QR(AbstractLinear):
    """Orthogonal factors of [J; √λ I], or of its transpose where rows are fewer.

    Never squares the condition number, and costs four to five times as much as Cholesky.
    """

    def prepare(self, system, θ):
        linear = system.linearise(θ)
        rows = linear.residual().size
        return Linearised(linear, smaller_space(rows, θ.size), None, work(losses=1, rows=rows))

    def solve(self, at, λ, b):
        tall = at.linear.rows() if at.space == "params" else at.linear.rows().T
        m, n = tall.shape
        q, upper = jnp.linalg.qr(jnp.concatenate([tall, jnp.sqrt(λ) * jnp.eye(n, dtype=tall.dtype)]))
        solved = self.again(at, λ, b, Orthogonal(q[:m], upper))
        return Solved(solved.δ, solved.image, solved.factor, work(factorisations=1))

    def again(self, at, λ, b, factor):
        del λ
        if at.space == "params":
            δ = -jax.scipy.linalg.solve_triangular(factor.upper, factor.q.T @ b)
        else:
            δ = -factor.q @ jax.scipy.linalg.solve_triangular(factor.upper, b, trans=1)
        return Solved(δ, at.linear.mv(δ), factor, work())


class Lower(eqx.Module):
    """A Cholesky factor, and whether it can be trusted."""

    matrix: Float[Array, "n n"]
    sound: Bool[Array, ""]


class Cholesky(AbstractLinear):
    """Cholesky factors of the smaller Gram matrix, which is formed once for every λ that is tried.

    Where the matrix is not positive definite in this precision, or the solution does not solve, the fallback takes
    over for this λ (counted in `Work.fallbacks`). It solves once: what asks again, such as the geodesic correction,
    gets numbers that are not finite and goes without.
    """

    fallback: QR | None = QR()
    doubt: float = 0.1

    def prepare(self, system, θ):
        linear = system.linearise(θ)
        rows = linear.residual().size
        space = smaller_space(rows, θ.size)
        return Linearised(linear, space, linear.gram(space), work(losses=1, rows=rows))

    def solve(self, at, λ, b):
        damped = at.kept + λ * jnp.eye(at.kept.shape[0], dtype=at.kept.dtype)
        lower = jax.lax.linalg.cholesky(damped, symmetrize_input=False)
        δ, image = _substitute(at, lower, b)
        factor = Lower(lower, self._sound(at, λ, b, δ, image))
        done = work(factorisations=1)
        if self.fallback is None:
            return Solved(δ, image, factor, done)
        other = self.fallback
        # Handed over as flat arrays: XLA would copy J into the column order that QR wants, rescued or not.
        flat = jax.tree.map(jnp.ravel, at.linear)

        def rescue(flat, b):
            linear = jax.tree.map(lambda leaf, like: leaf.reshape(like.shape), flat, at.linear)
            solved = other.solve(Linearised(linear, at.space, None, work()), λ, b)
            return solved.δ, solved.image, solved.work + work(fallbacks=1)

        δ, image, more = jax.lax.cond(factor.sound, lambda flat, b: (δ, image, work()), rescue, flat, b)
        return Solved(δ, image, factor, done + more)

    def again(self, at, λ, b, factor):
        δ, image = _substitute(at, factor.matrix, b)
        return Solved(jnp.where(factor.sound, δ, jnp.nan), image, factor, work())

    def _sound(self, at, λ, b, δ, image):
        """The solution satisfies Jδ·(b + Jδ) + λ‖δ‖² = 0: a test that costs nothing, up to the rounding of b.

        Where b or J are not finite, there is nothing to rescue.
        """
        size = jnp.sum(image**2) + λ * jnp.sum(δ**2)
        off = jnp.abs(image @ b + size)
        noise = 100 * jnp.finfo(b.dtype).eps * jnp.linalg.norm(image) * jnp.linalg.norm(b)
        hopeless = ~jnp.isfinite(jnp.sum(b) + at.kept[0, 0] + λ)
        return (off <= self.doubt * size + noise) | hopeless


def _substitute(at: Linearised, lower, b):
    δ = at.through(lambda v: jax.scipy.linalg.cho_solve((lower, True), v), b)
    return δ, at.linear.mv(δ)

"""One Gauss–Newton solve of the proximal problem, corrected to second order."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from stiffax.inner.base import AbstractInner, Increment, Prepared
from stiffax.records import work
from stiffax.system import AbstractLeastSquares, AbstractLinearisation


class AbstractGram(eqx.Module):
    """(JᵀJ + λI)⁻¹Jᵀ by Cholesky, formed once for every λ that is tried."""

    linear: eqx.AbstractVar[AbstractLinearisation]

    @abc.abstractmethod
    def factor(self, λ: Array) -> Array:
        """The Cholesky factor of the damped matrix."""

    @abc.abstractmethod
    def step(self, factor: Array, r: Float[Array, " rows"]) -> Array:
        """δ = -(JᵀJ + λI)⁻¹Jᵀr."""


class ParameterGram(AbstractGram):
    """In the space of the parameters, where they are fewer than the rows."""

    linear: AbstractLinearisation
    matrix: Float[Array, "p p"]

    def factor(self, λ):
        return _factor(self.matrix, λ)

    def step(self, factor, r):
        return -jax.scipy.linalg.cho_solve((factor, True), self.linear.vm(r))


class ResidualGram(AbstractGram):
    """In the space of the rows, where they are fewer: Jᵀ(JJᵀ + λI)⁻¹."""

    linear: AbstractLinearisation
    matrix: Float[Array, "n n"]

    def factor(self, λ):
        return _factor(self.matrix, λ)

    def step(self, factor, r):
        return -self.linear.vm(jax.scipy.linalg.cho_solve((factor, True), r))


def _factor(matrix, λ):
    damped = matrix + λ * jnp.eye(matrix.shape[0], dtype=matrix.dtype)
    return jax.lax.linalg.cholesky(damped, symmetrize_input=False)


class GaussNewton(AbstractInner):
    """Levenberg–Marquardt's step δ = -(JᵀJ + λI)⁻¹Jᵀr with λ = 1/(2α), and its geodesic correction.

    The correction (Transtrum, Sethna 2012) solves the same matrix against r''[δ, δ]/2 and is added where it is
    shorter than `trust`/2 times the step.
    """

    correction: bool = eqx.field(static=True, default=True)
    trust: float = 0.75

    def prepare(self, system: AbstractLeastSquares, θ):
        linear = system.linearise(θ)
        r = linear.residual()
        fewer_rows = r.size < θ.size
        matrix = linear.gram("residuals" if fewer_rows else "params")
        gram = ResidualGram(linear, matrix) if fewer_rows else ParameterGram(linear, matrix)
        return Prepared(jnp.sum(r**2), gram, work(losses=1, rows=r.size))

    def solve(self, system: AbstractLeastSquares, θ, prepared, α, away=None):
        gram, r = prepared.state, prepared.state.linear.residual()
        factor = gram.factor(1 / (2 * α))
        δ = gram.step(factor, r) if away is None else away + gram.step(factor, r + gram.linear.mv(away))
        predicted = prepared.loss - jnp.sum((r + gram.linear.mv(δ)) ** 2)
        if self.correction:
            bend = gram.step(factor, system.curvature(θ, δ)) / 2
            δ = jnp.where(2 * jnp.linalg.norm(bend) < self.trust * jnp.linalg.norm(δ), δ + bend, δ)
        return Increment(δ, predicted, work(iterations=1, losses=2 if self.correction else 0, factorisations=1))

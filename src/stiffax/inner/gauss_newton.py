"""Gauss–Newton on the proximal problem: one solve, corrected to second order, or several to a tolerance."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from stiffax.inner.base import (
    AbstractInner,
    Increment,
    Place,
    Prepared,
    Proximal,
    Search,
    descend,
    expect_residuals,
    finish,
)
from stiffax.linear.base import AbstractLinear, Linearised
from stiffax.linear.factors import Cholesky
from stiffax.linear.krylov import CG
from stiffax.records import Work, work
from stiffax.system import AbstractLeastSquares, ValueAndGradient, Vector

MOST_STORED = 2**28  # numbers of a Jacobian that is kept: 2 GiB in float64
MOST_FACTORED = 12_000  # rows of a matrix that is factorised


def by_size(rows: int, parameters: int) -> AbstractLinear:
    """Cholesky where the Jacobian can be kept and its smaller Gram matrix factorised, else conjugate gradients."""
    fits = rows * parameters <= MOST_STORED and min(rows, parameters) <= MOST_FACTORED
    return Cholesky() if fits else CG()


class Move(eqx.Module):
    """One solve: the new increment, and the loss that the linear model sees there."""

    δ: Vector
    model: Float[Array, ""]
    work: Work


class GaussNewton(AbstractInner):
    """Levenberg–Marquardt's step δ = -(JᵀJ + λI)⁻¹Jᵀr with λ = 1/(2α), and its geodesic correction.

    The correction (Transtrum, Sethna 2012) solves the same matrix against r''[δ, δ]/2 and is added where it is
    shorter than `trust`/2 times the step. With `steps` > 1 the residual is linearised anew until the proximal defect
    is below `tolerance`, and no solve raises the proximal objective. Without `linear` the way to solve is chosen
    `by_size`.
    """

    steps: int = eqx.field(static=True, default=1)
    tolerance: float = 1e-8
    correction: bool = eqx.field(static=True, default=True)
    trust: float = 0.75
    linear: AbstractLinear | None = None

    def init(self, system, θ):
        expect_residuals(system)

    def prepare(self, system: AbstractLeastSquares, θ, carried=None):
        at = self._linear(system, θ).prepare(system, θ)
        return Prepared(jnp.sum(at.linear.residual() ** 2), at, at.work)

    def solve(self, system: AbstractLeastSquares, θ, prepared, α, away=None):
        move = self._first(system, θ, prepared.state, 1 / (2 * α), away)
        if self.steps == 1:
            return Increment(move.δ, prepared.loss - move.model, move.work)
        return self._iterate(system, Proximal(system, θ, α, away), prepared, move)

    def _linear(self, system, θ) -> AbstractLinear:
        return self.linear or by_size(system.count, θ.size)

    def _first(self, system, θ, at: Linearised, λ, away) -> Move:
        solver, r = self._linear(system, θ), at.linear.residual()
        b = r if away is None else r + at.linear.mv(away)
        solved = solver.solve(at, λ, b)
        # (JᵀJ + λI)(δ - away) = -Jᵀ(r + J away): what is solved for is the distance from the anchor.
        δ = solved.δ if away is None else solved.δ + away
        model, done = jnp.sum((b + solved.image) ** 2), solved.work + work(iterations=1)
        if self.correction:
            bend = solver.again(at, λ, system.curvature(θ, δ) / 2, solved.factor)
            δ = jnp.where(2 * jnp.linalg.norm(bend.δ) < self.trust * jnp.linalg.norm(δ), δ + bend.δ, δ)
            done = done + bend.work + work(losses=2)
        return Move(δ, model, done)

    def _iterate(self, system, proximal: Proximal, prepared: Prepared, move: Move) -> Increment:
        linear = prepared.state.linear
        here = ValueAndGradient(prepared.loss, 2 * linear.vm(linear.residual()))
        start = proximal.place(jnp.zeros_like(proximal.θ), here)

        def towards(place: Place, move: Move, iterations) -> Search:
            descent = descend(proximal, place, move.δ)
            tried = work(losses=descent.tried, gradients=descent.tried)
            return Search(descent.place, descent.moved, iterations + 1, move.work + tried)

        def step(search: Search) -> Search:
            after = towards(search.place, self._next(system, proximal, search.place.δ), search.iterations)
            return eqx.tree_at(lambda s: s.work, after, search.work + after.work)

        def going(search: Search):
            return search.moved & (search.iterations < self.steps) & ~search.place.solves(self.tolerance)

        end = jax.lax.while_loop(going, step, towards(start, move, jnp.asarray(0)))
        return finish(proximal, start, end.place, end.work)

    def _next(self, system: AbstractLeastSquares, proximal: Proximal, d: Vector) -> Move:
        """Linearised at θ + d: (JᵀJ + λI)u = -Jᵀ(r - J(d - away)) for the distance u = δ - away from the anchor."""
        θ, away = proximal.θ, proximal.away
        solver = self._linear(system, θ)
        at = solver.prepare(system, θ + d)
        apart = d if away is None else d - away
        b = at.linear.residual() - at.linear.mv(apart)
        solved = solver.solve(at, 1 / (2 * proximal.α), b)
        δ = solved.δ if away is None else solved.δ + away
        return Move(δ, jnp.sum((b + solved.image) ** 2), at.work + solved.work + work(iterations=1))

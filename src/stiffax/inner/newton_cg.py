"""Inexact Newton steps on the proximal objective, for losses that are not sums of squares."""

import jax
import jax.numpy as jnp

from stiffax.inner.base import AbstractInner, Proximal, Search, descend, finish, looked
from stiffax.linear.krylov import conjugate_gradients
from stiffax.records import work


class NewtonCG(AbstractInner):
    """Newton's method with (I + α∇²L) s = -∇Φ solved by truncated conjugate gradients (Steihaug 1983).

    The systems are solved the more exactly the smaller the defect is. The proximal term makes the matrix positive
    where α times the negative curvature of L is below 1; beyond, the truncated direction still descends, and the way
    along it is halved until the objective has not risen. Ends when the proximal defect is below `tolerance`.
    """

    steps: int = 20
    tolerance: float = 1e-6
    linear_steps: int = 100

    def init(self, system, θ):
        return None

    def prepare(self, system, θ, carried=None):
        return looked(system, θ)

    def solve(self, system, θ, prepared, α, away=None):
        proximal = Proximal(system, θ, α, away)
        start = proximal.start(prepared)

        def step(search: Search) -> Search:
            here = search.place
            forcing = jnp.minimum(0.5, jnp.sqrt(here.steepness / here.distance))
            found = conjugate_gradients(
                lambda v: v + α * system.hvp(θ + here.δ, v),
                -here.slope,
                self.linear_steps,
                jnp.where(jnp.isfinite(forcing), forcing, 0.5),
            )
            descent = descend(proximal, here, here.δ + found.x)
            done = work(iterations=1, losses=descent.tried, gradients=descent.tried, products=found.products)
            return Search(descent.place, descent.moved, search.iterations + 1, search.work + done)

        def going(search: Search):
            return search.moved & (search.iterations < self.steps) & ~search.place.solves(self.tolerance)

        first = Search(start, jnp.asarray(True), jnp.asarray(0), work())
        end = jax.lax.while_loop(going, step, first)
        return finish(proximal, start, end.place, end.work)

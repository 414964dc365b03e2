"""L-BFGS on the proximal objective, to convergence."""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Int

from stiffax.inner.base import AbstractInner, Place, Proximal, finish, looked
from stiffax.records import Work, work
from stiffax.system import ValueAndGradient


class Search(eqx.Module):
    """How far L-BFGS has come."""

    place: Place
    state: optax.OptState
    moved: Bool[Array, ""]
    iterations: Int[Array, ""]
    work: Work


class LBFGS(AbstractInner):
    """optax's L-BFGS with its default settings, until the proximal defect is below `tolerance`, afresh at every step.

    It also ends after `steps` iterations, and where its line search finds nothing better.
    """

    steps: int = 200
    tolerance: float = 1e-6

    def init(self, system, θ):
        return None

    def prepare(self, system, θ, carried=None):
        return looked(system, θ)

    def solve(self, system, θ, prepared, α, away=None):
        proximal, transform = Proximal(system, θ, α, away), optax.lbfgs()
        start = proximal.start(prepared)

        def step(search: Search) -> Search:
            here = search.place
            update, state = transform.update(
                here.slope, search.state, here.δ, value=here.value, grad=here.slope, value_fn=proximal.value
            )
            place = _seen(proximal, here.δ + jnp.asarray(update), state)
            tried = optax.tree.get(state, "num_linesearch_steps")
            done = search.work + work(iterations=1, losses=tried, gradients=tried)
            return Search(place, state, place.improves(here), search.iterations + 1, done)

        def going(search: Search):
            return search.moved & (search.iterations < self.steps) & ~search.place.solves(self.tolerance)

        first = Search(start, transform.init(start.δ), jnp.asarray(True), jnp.asarray(0), work())
        end = jax.lax.while_loop(going, step, first)
        return finish(proximal, start, end.place, end.work)


def _seen(proximal: Proximal, δ, state) -> Place:
    """The place that the line search has evaluated already."""
    value, slope = optax.tree.get(state, "value"), optax.tree.get(state, "grad")
    here = proximal.place(δ, ValueAndGradient(jnp.zeros_like(value), jnp.zeros_like(slope)))
    return Place(δ, value, slope, here.distance)

"""The paper's inner solver: Adam on the proximal objective."""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

from stiffax.inner.base import AbstractInner, Proximal, finish, looked
from stiffax.records import work


class Adam(AbstractInner):
    """`steps` steps of Adam from θ (Li, Chen, Huang, AAAI 2023, Algorithm 1: γ is `rate`, K1 is `steps`).

    The moments are fresh at every outer step, as in the paper; with `warm` they are kept from one accepted step to the
    next.
    """

    rate: float = 1e-3
    steps: int = eqx.field(static=True, default=100)
    warm: bool = eqx.field(static=True, default=False)

    def init(self, system, θ):
        del system
        return optax.adam(self.rate).init(θ) if self.warm else None

    def prepare(self, system, θ, carried=None):
        return looked(system, θ, carried)

    def solve(self, system, θ, prepared, α, away=None):
        proximal, transform = Proximal(system, θ, α, away), optax.adam(self.rate)
        start, carried = proximal.start(prepared), prepared.state.carried

        def step(_, at):
            place, state = at
            update, state = transform.update(place.slope, state)
            return proximal.at(place.δ + update), state

        moments = transform.init(jnp.zeros_like(θ)) if carried is None else carried
        end, moments = jax.lax.fori_loop(0, self.steps, step, (start, moments))
        done = work(iterations=self.steps, losses=self.steps, gradients=self.steps)
        return finish(proximal, start, end, done, moments if self.warm else None)

"""Explicit steps: any optax transformation, L-BFGS included."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

from stiffax.controllers.base import AbstractController
from stiffax.controllers.constant import Constant
from stiffax.inner.base import Prepared
from stiffax.integrators.base import AbstractIntegrator
from stiffax.records import Step, work


class ExplicitEuler(AbstractIntegrator):
    """θ⁺ = θ + α · update, the update of an optax transformation: `ExplicitEuler(optax.adam(1e-3))`."""

    renewal: ClassVar[int] = 200
    transform: optax.GradientTransformation = eqx.field(static=True)
    controller: AbstractController = eqx.field(default=Constant(), kw_only=True)

    def init(self, system, θ):
        state = optax.with_extra_args_support(self.transform).init(system.tree(θ))
        return jax.tree.map(jnp.asarray, state)

    def prepare(self, system, θ, state):
        del state
        here = system.value_and_gradient(θ)
        return Prepared(here.value, here.gradient, work(losses=1, gradients=1))

    def attempt(self, system, θ, state, prepared, α):
        tree, slope = system.tree(θ), system.tree(prepared.state)
        transform = optax.with_extra_args_support(self.transform)
        updates, new_state = transform.update(
            slope,
            state,
            tree,
            value=prepared.loss,
            grad=slope,
            value_fn=lambda t: system.value(system.flat(t)),
        )
        new = θ + α * system.flat(updates)
        # The loss there is seen when the next step looks at it: an explicit step that went wrong shows in its numbers.
        after = jnp.where(jnp.isfinite(prepared.loss) & jnp.all(jnp.isfinite(new)), prepared.loss, jnp.nan)
        nan, moved = jnp.full_like(after, jnp.nan), jnp.linalg.norm(new - θ)
        return Step(new, prepared.loss, after, jnp.zeros_like(after), moved, nan, new_state, work(iterations=1))

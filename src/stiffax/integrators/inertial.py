"""The implicit step about a point that the last step points at."""

from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from stiffax.controllers.base import AbstractController
from stiffax.controllers.gain_ratio import GainRatio
from stiffax.inner.base import AbstractInner
from stiffax.inner.gauss_newton import GaussNewton
from stiffax.integrators.base import AbstractIntegrator, proximal_step
from stiffax.system import Vector


class Last(eqx.Module):
    """The last accepted step, the α that it was taken with (0 before the first), and what the inner solver carries."""

    step: Vector
    α: Float[Array, ""]
    carried: Any


class Inertial(AbstractIntegrator):
    """The minimiser of ½‖ϑ - θ - β(θ - θ₋)‖² + α L(ϑ): what the points of one step do not see, the last one remembers.

    With Gauss–Newton and a constant α this is SPRING (Goldshlager, Abrahamsen, Lin 2024): right for points redrawn at
    each step and for networks with more parameters than rows. β is `momentum`, times α/α₋ where α has shrunk, so that
    refused attempts come back to θ. Give it `GaussNewton(correction=False)` for the published step to the letter.
    """

    renewal: ClassVar[int] = 10
    inner: AbstractInner = GaussNewton()
    momentum: float = 0.9
    controller: AbstractController = eqx.field(default=GainRatio(), kw_only=True)

    def init(self, system, θ):
        return Last(jnp.zeros_like(θ), jnp.zeros((), θ.dtype), self.inner.init(system, θ))

    def prepare(self, system, θ, state):
        return self.inner.prepare(system, θ, state.carried)

    def attempt(self, system, θ, state, prepared, α):
        β = self.momentum * jnp.where(state.α > 0, jnp.minimum(α / state.α, 1.0), 0.0)
        away = β * state.step
        increment = self.inner.solve(system, θ, prepared, α, away)
        return proximal_step(system, θ, increment, prepared, Last(increment.δ, α, increment.carried), α, away)

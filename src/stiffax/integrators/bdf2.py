"""The two-step backward differentiation formula, for steps of any sizes."""

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

MOST_GROWTH = 2.4  # the formula is zero-stable while α/α₋ stays below 1 + √2


class Before(eqx.Module):
    """The accepted parameters before the last ones, the α that led from there (0 before the first step), and what the
    inner solver carries."""

    θ: Vector
    α: Float[Array, ""]
    carried: Any


class BDF2(AbstractIntegrator):
    """The implicit step of second order: θ⁺ = θ + ω²/(1+2ω) (θ - θ₋) - (1+ω)/(1+2ω) α∇L(θ⁺), ω = α/α₋.

    It is the proximal step of size (1+ω)/(1+2ω) α about an extrapolated point; the first one is backward Euler's. As α
    shrinks the point tends to θ, so that refused attempts end where a step downhill exists.
    """

    renewal: ClassVar[int] = 10
    inner: AbstractInner = GaussNewton()
    controller: AbstractController = eqx.field(default=GainRatio(), kw_only=True)

    def init(self, system, θ):
        return Before(θ, jnp.zeros((), θ.dtype), self.inner.init(system, θ))

    def prepare(self, system, θ, state):
        return self.inner.prepare(system, θ, state.carried)

    def attempt(self, system, θ, state, prepared, α):
        ω = jnp.where(state.α > 0, jnp.minimum(α / state.α, MOST_GROWTH), 0.0)
        away = ω**2 / (1 + 2 * ω) * (θ - state.θ)
        size = (1 + ω) / (1 + 2 * ω) * α
        increment = self.inner.solve(system, θ, prepared, size, away)
        return proximal_step(system, θ, increment, prepared, Before(θ, α, increment.carried), size, away)

"""Backward Euler: θ⁺ = θ - α ∇L(θ⁺), the minimiser of ½‖ϑ - θ‖² + α L(ϑ)."""

from typing import ClassVar

import equinox as eqx

from stiffax.controllers.base import AbstractController
from stiffax.controllers.gain_ratio import GainRatio
from stiffax.inner.base import AbstractInner
from stiffax.inner.gauss_newton import GaussNewton
from stiffax.integrators.base import AbstractIntegrator, proximal_step


class ImplicitEuler(AbstractIntegrator):
    """The implicit step, as exactly as its inner solver solves it (Li, Chen, Huang, AAAI 2023)."""

    renewal: ClassVar[int] = 10
    inner: AbstractInner = GaussNewton()
    controller: AbstractController = eqx.field(default=GainRatio(), kw_only=True)

    def init(self, system, θ):
        return self.inner.init(system, θ)

    def prepare(self, system, θ, state):
        return self.inner.prepare(system, θ, state)

    def attempt(self, system, θ, state, prepared, α):
        del state
        increment = self.inner.solve(system, θ, prepared, α)
        return proximal_step(system, θ, increment, prepared, increment.carried, α)

"""α grows as the residual falls: the continuation of steady-state flow solvers."""

import jax.numpy as jnp

from stiffax.controllers.base import AbstractController
from stiffax.records import Verdict


class PseudoTransient(AbstractController):
    """Switched evolution relaxation (Mulder, Van Leer 1985): α⁺ = α (r/r⁺)^power with r = √L.

    On fixed points and without refusals that is α = start · (r₀/r)^power. No step goes up: one that would is refused
    and tried with α / `refuse`.
    """

    start: float = 1.0
    power: float = 1.0
    refuse: float = 4.0

    def judge(self, step, α):
        keep = jnp.isfinite(step.after) & (step.after < step.before)
        grown = α * (step.before / step.after) ** (self.power / 2)
        return Verdict(keep, jnp.clip(jnp.where(keep, grown, α / self.refuse), 1e-30, 1e30))

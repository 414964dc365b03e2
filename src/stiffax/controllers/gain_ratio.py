"""α by how well the model foretold the decrease."""

import jax.numpy as jnp

from stiffax.controllers.base import AbstractController
from stiffax.records import Verdict


class GainRatio(AbstractController):
    """Actual over promised decrease: α grows above `good`, stays above `fair`, shrinks below, and no step goes up."""

    start: float = 1.0
    good: float = 0.75
    fair: float = 0.25
    least: float = 1e-3
    grow: float = 3.0
    shrink: float = 2.0
    refuse: float = 4.0

    def judge(self, step, α):
        ratio = (step.before - step.after) / step.predicted
        keep = jnp.isfinite(step.after) & (step.after < step.before) & (ratio > self.least)
        kept = jnp.where(ratio > self.good, α * self.grow, jnp.where(ratio > self.fair, α, α / self.shrink))
        return Verdict(keep, jnp.clip(jnp.where(keep, kept, α / self.refuse), 1e-30, 1e30))

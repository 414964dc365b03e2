"""The same α for ever: the paper's choice, and the one of explicit optimizers."""

import jax.numpy as jnp

from stiffax.controllers.base import AbstractController
from stiffax.records import Verdict


class Constant(AbstractController):
    """Every step with a finite loss is kept."""

    start: float = 1.0

    def judge(self, step, α):
        return Verdict(jnp.isfinite(step.after), α)

"""α by the local error in time: for following the gradient flow, not for training."""

import jax.numpy as jnp

from stiffax.controllers.base import AbstractController
from stiffax.records import Verdict


class LocalError(AbstractController):
    """Keeps the error of each backward Euler step against the gradient flow below `tolerance`, in the norm of θ.

    Do not train with it. It follows the flow faithfully, and the flow is stiff: the slow modes that hold the solution
    move on a scale of time that small errors forbid to cross. After 150 attempts on `helmholtz-2d` the relative error
    is 0.35, 0.39 and 5e-4 for tolerances of 1e-3, 1e-2 and 1e-1, and 4e-6 with `GainRatio`, whose α has grown to 4e4
    (`benchmarks/local_error.py`). The error is read off the energy: along a mode λ the loss
    falls by ‖θ⁺ - θ‖²/α · (1 + αλ/2), and αλ/2 is the local error relative to the step.
    """

    tolerance: float = 1e-2
    start: float = 1e-3
    safety: float = 0.9
    most: float = 5.0

    def judge(self, step, α):
        error = jnp.abs((step.before - step.after) * α / step.moved - step.moved)
        keep = jnp.isfinite(step.after) & (error <= self.tolerance)
        factor = self.safety * jnp.sqrt(self.tolerance / error)
        factor = jnp.where(jnp.isnan(factor), 1 / self.most, jnp.clip(factor, 1 / self.most, self.most))
        return Verdict(keep, jnp.clip(α * factor, 1e-30, 1e30))

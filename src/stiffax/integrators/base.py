"""HOW, part two: one step of the gradient flow dθ/dt = -∇L(θ)."""

import abc
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from stiffax.controllers.base import AbstractController
from stiffax.inner.base import Increment, Prepared
from stiffax.records import Step, work
from stiffax.system import AbstractLoss, Vector


class AbstractIntegrator(eqx.Module):
    """An optimizer: a way to step along the gradient flow, and a controller of its step size α."""

    controller: eqx.AbstractVar[AbstractController]
    renewal: eqx.AbstractClassVar[int]  # accepted steps for which one set of points is good, unless told otherwise

    @abc.abstractmethod
    def init(self, system: AbstractLoss, θ: Vector) -> Any:
        """The state before the first step."""

    @abc.abstractmethod
    def prepare(self, system: AbstractLoss, θ: Vector, state: Any) -> Prepared:
        """What every attempt from θ shares, whatever α is; computed once for an accepted step."""

    @abc.abstractmethod
    def attempt(self, system: AbstractLoss, θ: Vector, state: Any, prepared: Any, α: Float[Array, ""]) -> Step:
        """One step of size α. Failure shows as a loss that is not finite."""


def proximal_step(
    system: AbstractLoss, θ: Vector, increment: Increment, prepared: Prepared, state, α, away: Vector | float = 0.0
) -> Step:
    """The step from θ by an increment, with the loss there and the defect of the proximal problem about θ + away.

    A controller compares with the loss at θ, the last accepted parameters, also where the anchor is another point: an
    anchor uphill is no excuse for going up.
    """
    new = θ + increment.δ
    there = system.value_and_gradient(new)
    from_anchor = increment.δ - away
    defect = jnp.linalg.norm(from_anchor + α * there.gradient) / jnp.linalg.norm(from_anchor)
    moved = jnp.linalg.norm(increment.δ)
    done = increment.work + work(losses=1, gradients=1)
    return Step(new, prepared.loss, there.value, increment.predicted, moved, defect, state, done)

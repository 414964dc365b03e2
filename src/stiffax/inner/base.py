"""HOW, part one: solving the proximal problem min ½‖δ‖² + α L(θ + δ) for the increment δ."""

import abc
from typing import Any

import equinox as eqx
from jaxtyping import Array, Float

from stiffax.records import Work
from stiffax.system import AbstractLoss, Vector


class Increment(eqx.Module):
    """δ, the decrease of L that the inner model promises, and the work it took."""

    δ: Vector
    predicted: Float[Array, ""]
    work: Work


class Prepared(eqx.Module):
    """What attempts from the same θ share, whatever α is: the loss there, and whatever else the solver keeps."""

    loss: Float[Array, ""]
    state: Any
    work: Work


class AbstractInner(eqx.Module):
    """Solves the proximal problem, exactly or nearly."""

    @abc.abstractmethod
    def prepare(self, system: AbstractLoss, θ: Vector) -> Prepared:
        """Everything at θ that does not depend on α."""

    @abc.abstractmethod
    def solve(
        self, system: AbstractLoss, θ: Vector, prepared: Prepared, α: Array, away: Vector | None = None
    ) -> Increment:
        """The increment for this α. Failure shows as numbers that are not finite, never as an exception.

        With `away` the proximal term is about θ + away: min ½‖δ - away‖² + α L(θ + δ), still linearised or begun at θ.
        """

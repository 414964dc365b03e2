"""Solving min ‖J δ + b‖² + λ‖δ‖², the linear heart of Gauss–Newton, for many λ and b with one J."""

import abc
from collections.abc import Callable
from typing import Any

import equinox as eqx
from jaxtyping import Array, Float

from stiffax.records import Work
from stiffax.system import AbstractLeastSquares, AbstractLinearisation, Vector

Rows = Float[Array, " rows"]


class Linearised(eqx.Module):
    """r and J at some θ, what a solver keeps of them for every λ, and the work it took.

    `space` is where the matrix to be solved is the smaller one: "residuals" or "params".
    """

    linear: AbstractLinearisation
    space: str = eqx.field(static=True)
    kept: Any
    work: Work

    def through(self, inverse: Callable, b: Rows) -> Vector:
        """-(JᵀJ + λI)⁻¹Jᵀb or -Jᵀ(JJᵀ + λI)⁻¹b, which are equal."""
        if self.space == "residuals":
            return -self.linear.vm(inverse(b))
        return -inverse(self.linear.vm(b))


class Solved(eqx.Module):
    """The solution δ and its image J δ; `factor` serves other right-hand sides with the same λ."""

    δ: Vector
    image: Rows
    factor: Any
    work: Work


class AbstractLinear(eqx.Module):
    """A way to solve the damped linear least-squares problem."""

    @abc.abstractmethod
    def prepare(self, system: AbstractLeastSquares, θ: Vector) -> Linearised:
        """Everything at θ that does not depend on λ."""

    @abc.abstractmethod
    def solve(self, at: Linearised, λ: Array, b: Rows) -> Solved:
        """The minimiser of ‖J δ + b‖² + λ‖δ‖²."""

    @abc.abstractmethod
    def again(self, at: Linearised, λ: Array, b: Rows, factor: Any) -> Solved:
        """The same for another b, with the factor that `solve` gave for this λ."""


def smaller_space(rows: int, parameters: int) -> str:
    """The space of the smaller Gram matrix."""
    return "residuals" if rows < parameters else "params"

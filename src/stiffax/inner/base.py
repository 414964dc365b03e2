"""HOW, part one: solving the proximal problem min ½‖δ‖² + α L(θ + δ) for the increment δ."""

import abc
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from stiffax.errors import StiffaxError
from stiffax.records import Work, work
from stiffax.system import AbstractLeastSquares, AbstractLoss, ValueAndGradient, Vector

MOST_HALVINGS = 30


class Increment(eqx.Module):
    """δ, the decrease of L that the inner model promises, and the work it took.

    `carried` is what the solver hands to the next accepted step (None: nothing).
    """

    δ: Vector
    predicted: Float[Array, ""]
    work: Work
    carried: Any = None


class Prepared(eqx.Module):
    """What attempts from the same θ share, whatever α is: the loss there, and whatever else the solver keeps."""

    loss: Float[Array, ""]
    state: Any
    work: Work


class AbstractInner(eqx.Module):
    """Solves the proximal problem, exactly or nearly."""

    @abc.abstractmethod
    def init(self, system: AbstractLoss, θ: Vector) -> Any:
        """What is carried into the first step; None where every step begins afresh."""

    @abc.abstractmethod
    def prepare(self, system: AbstractLoss, θ: Vector, carried: Any = None) -> Prepared:
        """Everything at θ that does not depend on α. Without `carried`, the step begins afresh."""

    @abc.abstractmethod
    def solve(
        self, system: AbstractLoss, θ: Vector, prepared: Prepared, α: Array, away: Vector | None = None
    ) -> Increment:
        """The increment for this α. Failure shows as numbers that are not finite, never as an exception.

        With `away` the proximal term is about θ + away: min ½‖δ - away‖² + α L(θ + δ), still linearised or begun at θ.
        """


def expect_residuals(system: AbstractLoss) -> None:
    """Refuse a loss that is not a sum of squares, before anything is traced."""
    if not isinstance(system, AbstractLeastSquares):
        raise StiffaxError(
            "this inner solver needs residuals, and was given a loss: give residuals= to minimise or residual_fn= to "
            "update, or choose inner=sx.NewtonCG(), sx.LBFGS() or sx.Adam(...)."
        )


class Place(eqx.Module):
    """A point of the proximal problem: its objective and slope there, and the distance from the anchor."""

    δ: Vector
    value: Float[Array, ""]
    slope: Vector
    distance: Float[Array, ""]

    @property
    def steepness(self):
        return jnp.linalg.norm(self.slope)

    def solves(self, tolerance) -> Bool[Array, ""]:
        """Whether the proximal defect is at most `tolerance`; also where nothing is finite any more."""
        return ~(self.steepness > tolerance * self.distance)

    def improves(self, other: "Place") -> Bool[Array, ""]:
        """Lower; or, where values differ by rounding only, less steep."""
        noise = 8 * jnp.finfo(self.value.dtype).eps * jnp.abs(other.value)
        flatter = (self.value <= other.value + noise) & (self.steepness < other.steepness)
        return jnp.isfinite(self.value) & ((self.value < other.value - noise) | flatter)


class Proximal(eqx.Module):
    """The objective ½‖δ - away‖² + α L(θ + δ), for solvers that see its values and slopes only."""

    system: AbstractLoss
    θ: Vector
    α: Array
    away: Vector | None

    def _apart(self, δ):
        return δ if self.away is None else δ - self.away

    def value(self, δ: Vector) -> Float[Array, ""]:
        return jnp.sum(self._apart(δ) ** 2) / 2 + self.α * self.system.value(self.θ + δ)

    def at(self, δ: Vector) -> Place:
        """One evaluation of the loss and its gradient."""
        return self.place(δ, self.system.value_and_gradient(self.θ + δ))

    def start(self, prepared: Prepared) -> Place:
        """δ = 0, from what `looked` prepared."""
        return self.place(jnp.zeros_like(self.θ), ValueAndGradient(prepared.loss, prepared.state.gradient))

    def place(self, δ: Vector, there: ValueAndGradient) -> Place:
        apart = self._apart(δ)
        square = jnp.sum(apart**2)
        return Place(δ, square / 2 + self.α * there.value, apart + self.α * there.gradient, jnp.sqrt(square))

    def promised(self, start: Place, end: Place) -> Float[Array, ""]:
        """The decrease that the exact solution could reach at most, if L is convex: (Φ(0) - Φ(δ) + ½‖∇Φ(δ)‖²)/α.

        Φ is 1-strongly convex then, hence the last term bounds what is missing. Against it a solved problem has a gain
        ratio of 1 or more, an unsolved one of nearly 0, and one whose objective rose a negative one: `GainRatio` finds
        the largest α that the solver can solve for.
        """
        return (start.value - end.value + end.steepness**2 / 2) / self.α


class Look(eqx.Module):
    """The gradient of L at θ, and what was carried there."""

    gradient: Vector
    carried: Any


def looked(system: AbstractLoss, θ: Vector, carried: Any = None) -> Prepared:
    """What solvers prepare that need no more than the loss and its gradient."""
    there = system.value_and_gradient(θ)
    return Prepared(there.value, Look(there.gradient, carried), work(losses=1, gradients=1))


class Search(eqx.Module):
    """How far an iteration on the proximal problem has come."""

    place: Place
    moved: Bool[Array, ""]
    iterations: Int[Array, ""]
    work: Work


class Descent(eqx.Module):
    """Where a search ended, whether it moved at all, and the evaluations that it took."""

    place: Place
    moved: Bool[Array, ""]
    tried: Int[Array, ""]


def descend(proximal: Proximal, here: Place, target: Vector) -> Descent:
    """Towards a target, halving the way until the objective has not risen."""

    def halve(search: Descent) -> Descent:
        place = proximal.at(here.δ + (target - here.δ) * 0.5**search.tried)
        return Descent(place, place.improves(here), search.tried + 1)

    first = Descent(here, jnp.asarray(False), jnp.asarray(0))
    search = jax.lax.while_loop(lambda s: ~s.moved & (s.tried < MOST_HALVINGS) & jnp.isfinite(here.value), halve, first)
    place = jax.tree.map(lambda new, old: jnp.where(search.moved, new, old), search.place, here)
    return Descent(place, search.moved, search.tried)


def finish(proximal: Proximal, start: Place, end: Place, done: Work, carried: Any = None) -> Increment:
    """The increment from where a solver began to where it ended; not finite where it could not begin."""
    δ = jnp.where(jnp.isfinite(start.value), end.δ, jnp.nan)
    return Increment(δ, proximal.promised(start, end), done, carried)

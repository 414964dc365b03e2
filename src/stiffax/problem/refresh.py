"""Which points a run is trained on, and when they are renewed: a function of the seed and of the accepted steps."""

import abc
import dataclasses
import math
from collections.abc import Callable, Mapping

import numpy as np

from stiffax.errors import StiffaxError
from stiffax.problem.base import INTERIOR, Term
from stiffax.problem.names import nearest
from stiffax.problem.points import AbstractPoints, Fixed, Points, Sobol
from stiffax.problem.problem import Problem

Magnitudes = Callable[[Term, np.ndarray], np.ndarray]  # how large a term's rows are at given points

TRAINING, HELD_OUT, REPORTED = 0, 1, 2  # streams of points that never meet


def draw_seed(seed: int, stream: int, count: int, term: int) -> int:
    return int(np.random.SeedSequence([seed, stream, count, term]).generate_state(1)[0])


@dataclasses.dataclass(frozen=True)
class Choice:
    """How many points a term has and how they are drawn."""

    kind: AbstractPoints
    count: int
    free: bool = False  # whether the number is ours: then a run may take more

    def times(self, factor: int) -> "Choice":
        return dataclasses.replace(self, count=self.count * factor) if self.free else self

    def draw(self, term: Term, seed: int) -> Points:
        assert term.region is not None, "measured points are what they are"
        return self.kind.draw(term.region, self.count, seed)

    def unseen(self, term: Term, seed: int) -> Points:
        """As many points that are never trained on: other ones where the kind has one set only."""
        points = self.draw(term, seed)
        if self.kind.renewable:
            return points
        other = Choice(Sobol(), len(points.points)).draw(term, seed)
        return Points(other.points, None if points.normals is None else other.normals, other.density)


class AbstractRefresh(abc.ABC):
    """When the points are renewed, and how."""

    every: int

    @abc.abstractmethod
    def draw(self, term: Term, choice: Choice, seed: int, magnitudes: Magnitudes, gap: float) -> Points:
        """New points of one term. `magnitudes` says how large its rows are anywhere, `gap` how far above the loss of
        training the held-out one has been at most, as a factor.
        """


@dataclasses.dataclass(frozen=True)
class Redraw(AbstractRefresh):
    """Fresh points after every so many accepted steps."""

    every: int = 10

    def __post_init__(self):
        _check_every(self)

    def draw(self, term, choice, seed, magnitudes, gap):
        del magnitudes, gap
        return choice.draw(term, seed)


@dataclasses.dataclass(frozen=True)
class Adaptive(AbstractRefresh):
    """Fresh points, more of them where the residual is large.

    Of `pool` times as many candidates each is taken with probability ∝ |residual|/mean + `uniform` (Wu et al. 2023),
    so that no region starves. Conditions are redrawn evenly; grids and given points stay.
    """

    every: int = 10
    pool: int = 8
    uniform: float = 1.0

    def __post_init__(self):
        _check_every(self)

    def draw(self, term, choice, seed, magnitudes, gap):
        del gap
        if term.condition is not None or not choice.kind.renewable:
            return choice.draw(term, seed)
        candidates = Choice(choice.kind, self.pool * choice.count).draw(term, seed)
        size = magnitudes(term, candidates.points)
        chance = size / max(size.mean(), 1e-300) + self.uniform
        chosen = np.random.default_rng(seed).choice(len(size), choice.count, replace=False, p=chance / chance.sum())
        normals = None if candidates.normals is None else candidates.normals[chosen]
        return Points(candidates.points[chosen], normals, candidates.density[chosen])


@dataclasses.dataclass(frozen=True)
class Watchful(AbstractRefresh):
    """Even points, until a feature shows that hides between them: then adaptive ones.

    It shows by a held-out loss far above that of training (a shock between the points of Burgers' equation: 10³ to 10⁶;
    smooth solutions that are merely seen by few points: up to 10²).
    """

    every: int = 10
    hidden: float = 300.0

    def __post_init__(self):
        _check_every(self)

    def draw(self, term, choice, seed, magnitudes, gap):
        chosen = Adaptive(self.every) if gap > self.hidden else Redraw(self.every)
        return chosen.draw(term, choice, seed, magnitudes, gap)


@dataclasses.dataclass(frozen=True)
class Keep(AbstractRefresh):
    """The first points for ever."""

    every: int = 0

    def draw(self, term, choice, seed, magnitudes, gap):
        raise AssertionError("kept points are never drawn again")


def _check_every(refresh):
    if refresh.every < 1:
        raise StiffaxError(f"{type(refresh).__name__}: every={refresh.every}; expected 1 accepted step or more.")


def choices(problem: Problem, given: Mapping[str, int | AbstractPoints] | None) -> dict[str, Choice]:
    """Counts and kinds of points by name, the defaults filled in."""
    given = dict(given or {})
    known = [*problem.equations, *(n for n, c in problem.conditions.items() if not c.hard)]
    for name in given:
        if name not in known:
            raise StiffaxError(f"points: unknown name {name!r}.{nearest(name, known)}")
    counts = default_counts(problem)
    ours = {name: Choice(Sobol(), count, free=count > 2) for name, count in counts.items()}
    theirs = {name: _choice(name, value, counts[name]) for name, value in given.items()}
    return {name: theirs.get(name, ours[name]) for name in (INTERIOR, *known)}


def _choice(name: str, value, count: int) -> Choice:
    if isinstance(value, AbstractPoints):
        return Choice(value, value.count or count)
    if isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= 1:
        return Choice(Sobol(), int(value))
    if isinstance(value, Mapping) or np.ndim(value) == 2:
        return _choice(name, Fixed(value), count)
    raise StiffaxError(
        f"points of {name!r}: expected a count of at least 1, sx.Sobol(400), or an array with one row for each point; "
        f"got {value!r}."
    )


def default_counts(problem: Problem) -> dict[str, int]:
    """By the number of coordinates: enough to see the solution, few enough for a laptop."""
    axes = len(problem.coordinates)
    inside = {1: 400, 2: 1200, 3: 1600}.get(axes, 2000)
    counts = dict.fromkeys((INTERIOR, *problem.equations), inside)
    for name, condition in problem.conditions.items():
        given = condition.points(problem.names)
        region = None if condition.region is None else problem.region(condition.region)
        if given is not None:
            counts[name] = len(given)
        elif region is not None and region.unit_dim == 0:
            counts[name] = 1
        elif condition.region is not None and axes == 1:
            counts[name] = 2
        else:
            counts[name] = inside if condition.group() else max(200, math.ceil(inside / 6))
    return counts

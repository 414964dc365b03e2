"""Every equation and condition of a problem before training: what it reads, and its rows at sample points."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from stiffax.errors import StiffaxError
from stiffax.problem.base import AbstractProblem
from stiffax.problem.conditions import AbstractCondition, prescribed_at
from stiffax.problem.fields import Here, Read, Replay
from stiffax.problem.points import Points, Sobol
from stiffax.problem.reads import read
from stiffax.problem.regions import AbstractRegion

SAMPLE = 256
FARTHER = (1, 1, 1, 1, 10, 10, 10, 10, 1000, 1000, 1000, 1000)
ANY, POSITIVE, NEGATIVE = range(3)  # what is read in place of the fields: numbers of both signs, or of one


@dataclasses.dataclass(frozen=True, eq=False)
class Subject:
    """An equation or a condition, by its title in messages; `titles` are those of its rows."""

    title: str
    titles: tuple[str, ...]
    condition: AbstractCondition | None
    rows: Callable[[Here], list]
    reads: list[Read]
    points: Points
    targets: np.ndarray  # (n, number of measured values)


@dataclasses.dataclass(frozen=True)
class Expected:
    """Around which value a field is expected, and how far from it."""

    centre: float = 0.0
    spread: float = 1.0


def subjects(problem: AbstractProblem) -> list[Subject]:
    """All equations, then all conditions, also those that are built into the network."""
    found = []
    for name, function in problem.equations.items():
        title = f"equation {name!r}"
        found.append(_equation(problem, title, function))
    for name, condition in problem.conditions.items():
        found.append(_condition(problem, f"condition {name!r}", condition))
    return found


def _equation(problem: AbstractProblem, title: str, function: Callable) -> Subject:
    def rows(here):
        return [here.call(function, title)]

    reads = read(rows, problem.names, problem.starting)
    points = sample(problem.region(problem.domain), "the domain")
    return Subject(title, (title,), None, rows, reads, points, np.zeros((len(points.points), 0)))


def _condition(problem: AbstractProblem, title: str, condition: AbstractCondition) -> Subject:
    labels = condition.labels(problem.names)
    titles = (title,) if len(labels) == 1 else tuple(f"{title}, {label}" for label in labels)

    def rows(here):
        return condition.rows(here, title)

    given, targets = condition.points(problem.names), condition.targets()
    if given is None:
        points = sample(problem.region(_region(problem, title, condition.region)), title)
    else:
        points = Points(given, None, np.ones(len(given)))
    targets = np.zeros((len(points.points), 0)) if targets is None else targets
    reads = read(rows, problem.names, problem.starting, targets.shape[1])
    return Subject(title, titles, condition, rows, reads, points, targets)


def _region(problem: AbstractProblem, title: str, region) -> AbstractRegion:
    if not isinstance(region, AbstractRegion):
        raise StiffaxError(
            f"{title}: expected a domain or a piece of one, such as domain.boundary, got {type(region).__name__}."
        )
    if region.names != problem.domain.names:
        raise StiffaxError(
            f"{title} stands in the coordinates {', '.join(region.names)}; the problem's domain has "
            f"{', '.join(problem.domain.names)}. Take a piece of the domain itself."
        )
    return region


def sample(region: AbstractRegion, title: str, count: int = SAMPLE) -> Points:
    """Points spread evenly; always the same."""
    if not region.measure > 0:
        raise StiffaxError(
            f"{title}: this piece is empty, no point belongs to it. Look at the function given to where(...): "
            f"the region spans {extent(region)}."
        )
    return Sobol().draw(region, count if region.unit_dim else 1, 0)


def extent(region: AbstractRegion) -> str:
    spans = zip(region.names, region.bounds, strict=True)
    return ", ".join(f"{name} from {low:g} to {high:g}" for name, (low, high) in spans)


def prescribed(problem: AbstractProblem, title: str, value, points: np.ndarray) -> np.ndarray:
    """A prescribed value, number or function, at points in the problem's coordinates."""

    at = jax.vmap(lambda point: prescribed_at(point, problem.starting, problem.names, value, title))
    return np.asarray(jax.jit(at)(jnp.asarray(points, float)))


def expected(problem: AbstractProblem, found: Sequence[Subject]) -> dict[str, Expected]:
    """What conditions and measurements let expect of each field."""
    seen: dict[str, list[np.ndarray]] = {field: [] for field in problem.fields}
    for subject in found:
        if subject.condition is None:
            continue
        for (field, order), value in subject.condition.pins().items():
            if order == 0:
                seen[field].append(prescribed(problem, f"{subject.title}: {field}", value, subject.points.points))
        if subject.targets.size:
            for field, column in zip(subject.condition.labels(problem.names), subject.targets.T, strict=True):
                seen[field].append(column)
    return {field: _expected(np.concatenate(values) if values else np.zeros(1)) for field, values in seen.items()}


def _expected(values: np.ndarray) -> Expected:
    values = values[np.isfinite(values)]
    lowest, highest = (values.min(), values.max()) if values.size else (0.0, 0.0)
    spread = (highest - lowest) / 2
    return Expected(float(highest + lowest) / 2, float(spread) if spread > 0 else 1.0)


def rows(problem: AbstractProblem, found: Sequence[Subject], expectations: Mapping[str, Expected]) -> list[np.ndarray]:
    """The rows of every subject, (draws, points, rows): with numbers of both signs and of one for what it reads.

    The numbers are independent ones of the size that a smooth field of the expected size has there, then ones that are
    ten and a thousand times as far from where it is expected: what is finite for none of them is finite for no field.
    No network is needed to see that, and how large an equation is.
    """
    drawn = [_draws(problem, s, [expectations[f] for f in problem.fields]) for s in found]
    surroundings = [(s.points.points, s.points.normals, s.targets) for s in found]

    def every(drawn, surroundings):
        return [_mapped(problem, *each) for each in zip(found, drawn, surroundings, strict=True)]

    return [np.asarray(r) for r in jax.jit(every)(drawn, surroundings)]


def _mapped(problem, subject, drawn, surroundings):
    def at(values, point, normal, target):
        source = Replay(problem.names, dict(zip(subject.reads, values, strict=True)))
        here = Here(source, point, problem.starting, normal, target)
        return jnp.stack([jnp.asarray(row, float) for row in subject.rows(here)])

    over_points = jax.vmap(at)
    return jax.vmap(lambda values: over_points(values, *surroundings))(drawn)


def _draws(problem: AbstractProblem, subject: Subject, expectations: list[Expected]) -> np.ndarray:
    """(draws, points, reads): half a wave over the domain's width is what counts as smooth."""
    rng = np.random.default_rng(0)
    rate = np.array([np.pi / (high - low) for low, high in problem.bounds])
    drawn = np.zeros((3 + len(FARTHER), len(subject.points.points), len(subject.reads)))
    for column, r in enumerate(subject.reads):
        e = expectations[r.field]
        size = sum(rate[i] ** 2 for i in problem.names.space) if r.laplacian else np.prod(rate[list(r.key)])
        centre = e.centre * (r.key == () and not r.laplacian)
        value = e.spread * size * rng.standard_normal(drawn.shape[1]) + centre
        far = (
            centre + e.spread * size * rng.standard_normal((len(FARTHER), drawn.shape[1])) * np.array(FARTHER)[:, None]
        )
        drawn[:, :, column] = np.stack([value, abs(value), -abs(value), *far])
    return drawn

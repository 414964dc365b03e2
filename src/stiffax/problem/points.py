"""How points are drawn from regions. Every set of points carries its density relative to uniform by measure."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil, log
from typing import ClassVar

import numpy as np
from scipy.stats import qmc

from stiffax.errors import StiffaxError
from stiffax.problem.regions import AbstractRegion, Placed, choose

LARGEST_BATCH = 2**17
EMPTY_BATCHES = 64


@dataclass(frozen=True, eq=False)
class Points:
    """Points (n, d), their outward normals where there are any, and their density by measure (1 is uniform)."""

    points: np.ndarray
    normals: np.ndarray | None
    density: np.ndarray


class AbstractPoints(ABC):
    """A way to draw points. `count`: how many were asked for; None where that is left to others."""

    count: int | None
    renewable: ClassVar[bool] = True  # whether another seed gives other points

    @abstractmethod
    def draw(self, region: AbstractRegion, count: int, seed: int) -> Points:
        """`count` points of the region (given points are what they are); equal arguments give equal bits."""


@dataclass(frozen=True)
class Uniform(AbstractPoints):
    """Independent uniform points."""

    count: int | None = None

    def __post_init__(self):
        check_count(self.count)

    def draw(self, region: AbstractRegion, count: int, seed: int) -> Points:
        random = np.random.default_rng(seed)
        return filled(region, lambda n: random.random((n, columns(region))), count)


@dataclass(frozen=True)
class Sobol(AbstractPoints):
    """A scrambled Sobol sequence: more even than independent points."""

    count: int | None = None

    def __post_init__(self):
        check_count(self.count)

    def draw(self, region: AbstractRegion, count: int, seed: int) -> Points:
        return filled(region, sobol(columns(region), seed), count)


@dataclass(frozen=True)
class Halton(AbstractPoints):
    """A scrambled Halton sequence."""

    count: int | None = None

    def __post_init__(self):
        check_count(self.count)

    def draw(self, region: AbstractRegion, count: int, seed: int) -> Points:
        engine = qmc.Halton(columns(region), rng=np.random.default_rng(seed))
        return filled(region, engine.random, count)


@dataclass(frozen=True)
class LatinHypercube(AbstractPoints):
    """As many layers as points in every coordinate, one point in each."""

    count: int | None = None

    def __post_init__(self):
        check_count(self.count)

    def draw(self, region: AbstractRegion, count: int, seed: int) -> Points:
        engine = qmc.LatinHypercube(columns(region), rng=np.random.default_rng(seed))
        return filled(region, engine.random, count)


@dataclass(frozen=True)
class Grid(AbstractPoints):
    """The centres of a regular grid, as fine as the count allows: at most `count` points. The seed has no effect."""

    count: int | None = None
    renewable: ClassVar[bool] = False

    def __post_init__(self):
        check_count(self.count)

    def draw(self, region: AbstractRegion, count: int, seed: int) -> Points:
        check_not_empty(region)
        dim = region.unit_dim
        side = int((count * region.offered / region.measure) ** (1 / dim) * (1 + 1e-12)) if dim else 1
        for cells in range(max(1, side), 0, -1):
            axis = (np.arange(cells) + 0.5) / cells
            u = np.stack(np.meshgrid(*[axis] * dim, indexing="ij"), -1).reshape(-1, dim) if dim else np.zeros((1, 0))
            placed = region.place(u)
            if 0 < placed.keep.sum() <= count:
                return kept([placed])
        raise StiffaxError(
            f"No grid of at most {count} points has a point in this piece of {described(region)}: ask for more points, "
            f"or draw them with sx.Sobol()."
        )


@dataclass(frozen=True)
class Graded(AbstractPoints):
    """Points graded towards the boundary of a box: a share of them at log-uniform distances from a random side.

    The distances go from half the width down to 10**-depth of that; the other points are uniform.
    """

    count: int | None = None
    depth: float = 10.3
    share: float = 0.5

    def __post_init__(self):
        check_count(self.count)
        if not self.depth > 0:
            raise StiffaxError(f"Graded(depth={self.depth!r}): the depth counts powers of ten and must be positive.")
        if not 0 < self.share < 1:
            raise StiffaxError(f"Graded(share={self.share!r}): the share must lie strictly between 0 and 1.")

    def draw(self, region: AbstractRegion, count: int, seed: int) -> Points:
        sides = self._sides(region)
        low, high = np.array(region.bounds).T
        u = sobol(1 + len(region.names), seed)(count)
        chosen, _ = choose(u[:, 0], [1 - self.share, *[self.share / len(sides)] * len(sides)])
        points = low + u[:, 1:] * (high - low)
        for i, (column, end) in enumerate(sides, start=1):
            distance = 0.5 * (high - low)[column] * 10.0 ** (-self.depth * u[:, 1 + column])
            graded = high[column] - distance if end else low[column] + distance
            points[:, column] = np.where(chosen == i, graded, points[:, column])
        return Points(points, None, self.density(region, points))

    def density(self, region: AbstractRegion, points: np.ndarray) -> np.ndarray:
        """The density of this mixture at any points of the region, relative to uniform."""
        sides, graded = self._sides(region), np.zeros(len(points))
        for column, end in sides:
            low, high = region.bounds[column]
            distance = (high - points[:, column] if end else points[:, column] - low) / (high - low)
            within = (distance >= 0.5 * 10.0**-self.depth) & (distance <= 0.5)
            graded += np.where(within, 1 / (np.where(within, distance, 1.0) * self.depth * log(10)), 0.0)
        return 1 - self.share + self.share * graded / len(sides)

    def _sides(self, region: AbstractRegion) -> list[tuple[int, int]]:
        if not region.fills_box or not region.space:
            raise StiffaxError(
                f"Graded draws towards the sides of a box in space, but got a {type(region).__name__} in "
                f"{', '.join(region.names)}: draw with sx.Sobol() here."
            )
        return [(region.names.index(name), end) for name in region.space for end in (0, 1)]


@dataclass(frozen=True, init=False)
class Fixed(AbstractPoints):
    """Given points, an (n, d) array in the order of the coordinates or a dictionary of columns by name."""

    names: tuple[str, ...] | None
    rows: tuple[tuple[float, ...], ...]
    renewable: ClassVar[bool] = False

    def __init__(self, points):
        named = isinstance(points, Mapping)
        table = tabled(points) if named else finite("points", points)
        if table.ndim != 2 or not len(table):
            raise StiffaxError(f"Fixed: expected an array of shape (n, d) with n at least 1, got shape {table.shape}.")
        object.__setattr__(self, "names", tuple(points) if named else None)
        object.__setattr__(self, "rows", tuple(map(tuple, table.tolist())))

    @property
    def count(self) -> int:
        return len(self.rows)

    def draw(self, region: AbstractRegion, count: int, seed: int) -> Points:
        table = np.array(self.rows)
        if self.names is not None:
            if set(self.names) != set(region.names):
                raise StiffaxError(f"Fixed: got columns {', '.join(self.names)}; expected {', '.join(region.names)}.")
            table = table[:, [self.names.index(name) for name in region.names]]
        if table.shape[1] != len(region.names):
            raise StiffaxError(
                f"Fixed: got {table.shape[1]} columns; expected {len(region.names)}, for {', '.join(region.names)}."
            )
        return Points(table, None, np.ones(len(table)))


def tabled(columns: Mapping) -> np.ndarray:
    arrays = {name: finite(f"column {name!r}", column) for name, column in columns.items()}
    shapes = {name: array.shape for name, array in arrays.items()}
    if not arrays or len(set(shapes.values())) > 1 or any(len(shape) != 1 for shape in shapes.values()):
        raise StiffaxError(f"Fixed: expected one-dimensional columns of equal length by name, got shapes {shapes}.")
    return np.column_stack(list(arrays.values()))


def finite(what: str, values) -> np.ndarray:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise StiffaxError(f"Fixed: {what} must be numbers, (n, d) or columns by name; got {values!r}.") from error
    if not np.isfinite(array).all():
        row = int(np.argwhere(~np.isfinite(np.atleast_1d(array)))[0, 0])
        raise StiffaxError(f"Fixed: {what} must be finite; the first that is not stands in row {row}.")
    return array


def columns(region: AbstractRegion) -> int:
    return max(1, region.unit_dim)  # the sequences have no dimension zero


def sobol(dim: int, seed: int) -> Callable[[int], np.ndarray]:
    engine = qmc.Sobol(dim, rng=np.random.default_rng(seed))
    first = engine.random(1)  # alone, because scipy warns when a first request is no power of two
    given = 0

    def more(n: int) -> np.ndarray:
        nonlocal given
        rows = np.concatenate([first, engine.random(n - 1)]) if given == 0 else engine.random(n)
        given += n
        return rows

    return more


def filled(region: AbstractRegion, stream: Callable[[int], np.ndarray], count: int) -> Points:
    """Place numbers of the stream until `count` points are kept."""
    check_not_empty(region)
    check_count(count)
    share = region.measure / region.offered
    batches, found, empty = [], 0, 0
    while found < count:
        missing = count - found
        n = missing if share == 1 else min(ceil(1.1 * missing / share) + 8, LARGEST_BATCH)
        placed = region.place(stream(n)[:, : region.unit_dim])
        batches.append(placed)
        found += int(placed.keep.sum())
        empty = 0 if placed.keep.any() else empty + 1
        if empty == EMPTY_BATCHES:
            raise StiffaxError(f"{count} points were asked for, but almost nothing was found of {described(region)}.")
    return kept(batches, count)


def kept(batches: list[Placed], count: int | None = None) -> Points:
    points = np.concatenate([placed.points[placed.keep] for placed in batches])[:count]
    normals = [placed.normals[placed.keep] for placed in batches if placed.normals is not None]
    return Points(points, np.concatenate(normals)[:count] if normals else None, np.ones(len(points)))


def check_count(count: int | None) -> None:
    if count is not None and (not isinstance(count, int | np.integer) or isinstance(count, bool) or count < 1):
        raise StiffaxError(f"The number of points must be a whole number of at least 1, got {count!r}.")


def check_not_empty(region: AbstractRegion) -> None:
    if not region.measure > 0:
        raise StiffaxError(
            f"No points can be drawn: a piece of {described(region)} is empty. Look at the condition given to "
            f"where(...), or at whether the combined domains meet."
        )


def described(region: AbstractRegion) -> str:
    axes = zip(region.names, region.bounds, strict=True)
    return "the box " + ", ".join(f"{name} in [{low:g}, {high:g}]" for name, (low, high) in axes)

"""Regions: sets of points with a measure, all in float64 NumPy on the host, and the pieces that are cut out of them."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from scipy.stats import qmc

from stiffax.errors import StiffaxError
from stiffax.problem.names import wanted

Bounds = tuple[tuple[float, float], ...]
TIME = "t"
LATTICE_LOG2 = 16


class Placed(NamedTuple):
    """Points, their outward unit normals where the region has them, and which of the points belong to the region."""

    points: np.ndarray
    normals: np.ndarray | None
    keep: np.ndarray


class AbstractRegion(ABC):
    """A set of points with a measure: a domain, a boundary, a piece of one.

    `names` are the coordinates in column order, `bounds` the bounding box, `parameters` those coordinates that are
    neither space nor time, `unit_dim` how many uniform numbers one point takes, `measure` the volume, area, length or
    count, `offered` the measure of all that `place` returns, kept or not, `fills_box` whether the region is its
    bounding box, `whole` whether it is a domain rather than a piece of one, and `flat_ends` the (coordinate, 0 lower
    or 1 upper) whose whole faces make up the region.
    """

    names: tuple[str, ...]
    bounds: Bounds
    parameters: tuple[str, ...]
    unit_dim: int
    measure: float
    offered: float
    fills_box: bool
    whole: bool = False
    flat_ends: tuple[tuple[str, int], ...] = ()

    @abstractmethod
    def place(self, u: np.ndarray) -> Placed:
        """Map `u`, (n, unit_dim) in [0, 1), to points; those kept are uniform by measure if `u` is uniform."""

    @abstractmethod
    def __mul__(self, other: "AbstractRegion") -> "AbstractRegion":
        """All pairs of a point here and a point of `other`, which has other coordinates."""

    @property
    def space(self) -> tuple[str, ...]:
        """The coordinates that are space: neither time nor parameters."""
        return tuple(name for name in self.names if name != TIME and name not in self.parameters)

    def where(self, predicate: Callable[..., bool]) -> "Where":
        """The piece on which `predicate`, a function of any of the coordinates by name, is true."""
        return Where(self, predicate, wanted(predicate, self.names, f"where over {', '.join(self.names)}"))


class AbstractPiece(AbstractRegion):
    """A region that is not a whole domain: a boundary, a face, what a condition keeps."""

    fills_box = False

    def __mul__(self, other: AbstractRegion) -> "Cross":
        return Cross(self, factor(self, other))


class AbstractFiltered(AbstractPiece):
    """A piece of `base`, told by a rule which of its points to keep."""

    base: AbstractRegion

    @abstractmethod
    def sift(self, placed: Placed) -> Placed:
        """The same points with fewer of them kept (and normals turned where the rule says so)."""

    @property
    def names(self) -> tuple[str, ...]:
        return self.base.names

    @property
    def bounds(self) -> Bounds:
        return self.base.bounds

    @property
    def parameters(self) -> tuple[str, ...]:
        return self.base.parameters

    @property
    def unit_dim(self) -> int:
        return self.base.unit_dim

    @property
    def offered(self) -> float:
        return self.base.offered

    @property
    def share(self) -> float:
        """Which share of `base` is kept, exact where it is nothing or everything."""
        before = self.base.place(lattice(self.unit_dim))
        among = int(before.keep.sum())
        return int(self.sift(before).keep.sum()) / among if among else 0.0

    def place(self, u: np.ndarray) -> Placed:
        return self.sift(self.base.place(u))


@dataclass(frozen=True)
class Where(AbstractFiltered):
    """The part of `base` on which a user's predicate is true."""

    base: AbstractRegion
    predicate: Callable[..., bool]
    arguments: tuple[str, ...]

    @cached_property
    def measure(self) -> float:
        return self.base.measure * self.share

    def sift(self, placed: Placed) -> Placed:
        keep = placed.keep.copy()
        keep[keep] = self._verdict(placed.points[keep])
        return placed._replace(keep=keep)

    def _verdict(self, points: np.ndarray) -> np.ndarray:
        columns = {name: points[:, self.names.index(name)] for name in self.arguments}
        try:
            answer = np.asarray(self.predicate(**columns))
        except Exception:  # written for one point (`x < 0.5 and y > 0`), or wrong: then it fails again, point by point
            rows = ({name: float(column[i]) for name, column in columns.items()} for i in range(len(points)))
            answer = np.asarray([self.predicate(**row) for row in rows] or np.zeros(0, bool))
        if answer.dtype != bool or answer.shape not in ((), (len(points),)):
            raise StiffaxError(
                f"where over {', '.join(self.names)}: the function must return True or False for each point, but "
                f"returned {answer.dtype} of shape {answer.shape} for {len(points)} points; compare with < or >."
            )
        return answer


@dataclass(frozen=True)
class Several(AbstractPiece):
    """Regions side by side that do not overlap. The first uniform number chooses among them by what they offer."""

    pieces: tuple[AbstractRegion, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return self.pieces[0].names

    @property
    def bounds(self) -> Bounds:
        by_coordinate = zip(*(piece.bounds for piece in self.pieces), strict=True)
        return tuple((min(low for low, _ in ends), max(high for _, high in ends)) for ends in by_coordinate)

    @property
    def parameters(self) -> tuple[str, ...]:
        return self.pieces[0].parameters

    @property
    def flat_ends(self) -> tuple[tuple[str, int], ...]:
        ends = [piece.flat_ends for piece in self.pieces]
        return tuple(end for piece in ends for end in piece) if all(ends) else ()

    @property
    def unit_dim(self) -> int:
        return max(1, *(piece.unit_dim for piece in self.pieces))

    @cached_property
    def offered(self) -> float:
        return sum(piece.offered for piece in self.pieces)

    @cached_property
    def measure(self) -> float:
        return sum(piece.measure for piece in self.pieces)

    def place(self, u: np.ndarray) -> Placed:
        chosen, rest = choose(u[:, 0], [piece.offered for piece in self.pieces])
        u = np.column_stack([rest, u[:, 1:]])
        rows = [np.flatnonzero(chosen == i) for i in range(len(self.pieces))]
        parts = [p.place(u[row, : p.unit_dim]) for p, row in zip(self.pieces, rows, strict=True)]
        back = np.argsort(np.concatenate(rows))
        normals = [part.normals for part in parts if part.normals is not None]
        return Placed(
            np.concatenate([part.points for part in parts])[back],
            np.concatenate(normals)[back] if len(normals) == len(parts) else None,
            np.concatenate([part.keep for part in parts])[back],
        )


@dataclass(frozen=True)
class Cross(AbstractPiece):
    """All pairs of a point of `first` and one of `second`: a boundary at all times, say."""

    first: AbstractRegion
    second: AbstractRegion

    @property
    def names(self) -> tuple[str, ...]:
        return self.first.names + self.second.names

    @property
    def bounds(self) -> Bounds:
        return self.first.bounds + self.second.bounds

    @property
    def parameters(self) -> tuple[str, ...]:
        return self.first.parameters + self.second.parameters

    @property
    def unit_dim(self) -> int:
        return self.first.unit_dim + self.second.unit_dim

    @property
    def flat_ends(self) -> tuple[tuple[str, int], ...]:
        if self.first.whole or self.second.whole:
            return self.first.flat_ends + self.second.flat_ends
        return ()

    @property
    def offered(self) -> float:
        return self.first.offered * self.second.offered

    @property
    def measure(self) -> float:
        return self.first.measure * self.second.measure

    def place(self, u: np.ndarray) -> Placed:
        a, b = self.first.place(u[:, : self.first.unit_dim]), self.second.place(u[:, self.first.unit_dim :])
        normals = None  # also when both have normals: a corner has no single one
        if a.normals is not None and b.normals is None:
            normals = np.hstack([a.normals, np.zeros_like(b.points)])
        elif b.normals is not None and a.normals is None:
            normals = np.hstack([np.zeros_like(a.points), b.normals])
        return Placed(np.hstack([a.points, b.points]), normals, a.keep & b.keep)


def factor(first: AbstractRegion, second: AbstractRegion) -> AbstractRegion:
    """`second`, checked to be something that `first` can be multiplied by."""
    if not isinstance(second, AbstractRegion):
        raise StiffaxError(f"* multiplies domains and their pieces, got {second!r}; sx.Interval(t=(0, 1)) is one.")
    common = set(first.names) & set(second.names)
    if common:
        raise StiffaxError(
            f"* multiplies domains with different coordinates, but both have {', '.join(sorted(common))}: "
            f"rename one, or use |, & or - to combine domains in the same coordinates."
        )
    return second


def choose(u: np.ndarray, weights: list[float] | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Choose by weight with uniform numbers, and stretch what is left of each to [0, 1) to be used again."""
    ends = np.cumsum(weights) / np.sum(weights)
    chosen = np.minimum(np.searchsorted(ends, u, side="right"), len(ends) - 1)
    starts = np.concatenate([[0.0], ends[:-1]])
    rest = (u - starts[chosen]) / (ends - starts)[chosen]
    return chosen, np.clip(rest, 0.0, np.nextafter(1.0, 0.0))


@lru_cache(maxsize=8)
def lattice(unit_dim: int) -> np.ndarray:
    """The fixed points by which measures without closed form are taken: one Sobol net.

    Scrambled, because the plain one has rows of points along the diagonals that conditions like x + y < 1 cut along.
    """
    if unit_dim == 0:
        return np.zeros((1, 0))
    return qmc.Sobol(unit_dim, rng=np.random.default_rng(0)).random_base2(LATTICE_LOG2)

"""Domains: regions that know their inside and their boundary; their products, unions, intersections and differences."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import overload

import numpy as np

from stiffax.errors import StiffaxError
from stiffax.problem.names import nearest
from stiffax.problem.parts import Edge, Inside, Outside
from stiffax.problem.regions import (
    AbstractPiece,
    AbstractRegion,
    Bounds,
    Cross,
    Placed,
    Several,
    factor,
)

TOLERANCE = 1e-12  # of the box: how far outside a point still counts as inside
PROBE = 1e-8  # of the box: how far from a boundary its two sides are looked at


class AbstractDomain(AbstractRegion):
    """A region with an inside. `faces` are the coordinates in which it has flat ends."""

    faces: tuple[str, ...]
    whole = True

    @property
    @abstractmethod
    def boundary(self) -> AbstractPiece:
        """The boundary in space, at all times and for all parameters; its unit normals point out and lie in space."""

    @abstractmethod
    def holds(self, points: np.ndarray, margin: float) -> np.ndarray:
        """Which points lie inside when the domain is widened by `margin` of its box (narrowed in space if negative)."""

    @abstractmethod
    def flat_face(self, name: str, end: int) -> AbstractPiece:
        """The face at one end of a coordinate in `faces`; both arguments are checked already."""

    @abstractmethod
    def times(self, other: "AbstractDomain") -> "AbstractDomain":
        """The product with a domain in other coordinates: `Product`, or something plainer."""

    def contains(self, points) -> np.ndarray:
        """Which of the points, (n, number of coordinates), lie in the closed set."""
        points = np.asarray(points, dtype=np.float64)
        if points.ndim != 2 or points.shape[1] != len(self.names):
            raise StiffaxError(
                f"contains: expected an array of shape (n, {len(self.names)}) with columns {', '.join(self.names)}, "
                f"got shape {points.shape}."
            )
        return self.holds(points, TOLERANCE)

    def face(self, name: str, end: int) -> AbstractPiece:
        """Coordinate `name` at its lower (0) or upper (1) end, all others free; normals point out along `name`."""
        if name not in self.names:
            raise StiffaxError(f"face: no coordinate {name!r} here.{nearest(name, self.names)}")
        if end not in (0, 1):
            raise StiffaxError(f"face({name!r}, {end!r}): the end must be 0 (the lower end) or 1 (the upper end).")
        if name not in self.faces:
            raise StiffaxError(no_face(self, name, end))
        return self.flat_face(name, int(end))

    @overload
    def __mul__(self, other: "AbstractDomain") -> "AbstractDomain": ...
    @overload
    def __mul__(self, other: AbstractRegion) -> AbstractRegion: ...
    def __mul__(self, other: AbstractRegion) -> AbstractRegion:
        other = factor(self, other)
        return self.times(other) if isinstance(other, AbstractDomain) else Cross(self, other)

    def __or__(self, other: "AbstractDomain") -> "Union":
        return Union(self, matched(self, other, "|"))

    def __and__(self, other: "AbstractDomain") -> "Intersection":
        return Intersection(self, matched(self, other, "&"))

    def __sub__(self, other: "AbstractDomain") -> "Difference":
        return Difference(self, matched(self, other, "-"))


class AbstractComposed(AbstractDomain):
    """A domain made of two, whose points are those of a region made of the two."""

    first: AbstractDomain
    second: AbstractDomain

    @property
    @abstractmethod
    def interior(self) -> AbstractRegion:
        """The same points, as a region that can place and measure them."""

    @property
    def names(self) -> tuple[str, ...]:
        return self.interior.names

    @property
    def parameters(self) -> tuple[str, ...]:
        return self.interior.parameters

    @property
    def unit_dim(self) -> int:
        return self.interior.unit_dim

    @property
    def measure(self) -> float:
        return self.interior.measure

    @property
    def offered(self) -> float:
        return self.interior.offered

    def place(self, u: np.ndarray) -> Placed:
        return self.interior.place(u)

    def times(self, other: AbstractDomain) -> AbstractDomain:
        return Product(self, other)


@dataclass(frozen=True)
class Product(AbstractComposed):
    """All pairs of a point of `first` and a point of `second`: a disk at all times, say."""

    first: AbstractDomain
    second: AbstractDomain

    @cached_property
    def interior(self) -> AbstractRegion:
        return Cross(self.first, self.second)

    @property
    def bounds(self) -> Bounds:
        return self.interior.bounds

    @property
    def fills_box(self) -> bool:
        return self.first.fills_box and self.second.fills_box

    @property
    def faces(self) -> tuple[str, ...]:
        return self.first.faces + self.second.faces

    @cached_property
    def boundary(self) -> AbstractPiece:
        pieces = []
        if self.first.space:
            pieces.append(Cross(self.first.boundary, self.second))
        if self.second.space:
            pieces.append(Cross(self.first, self.second.boundary))
        return joined(pieces, self)

    def holds(self, points: np.ndarray, margin: float) -> np.ndarray:
        width = len(self.first.names)
        return self.first.holds(points[:, :width], margin) & self.second.holds(points[:, width:], margin)

    def flat_face(self, name: str, end: int) -> AbstractPiece:
        if name in self.first.names:
            return Cross(self.first.face(name, end), self.second)
        return Cross(self.first, self.second.face(name, end))


class AbstractCombined(AbstractComposed):
    """Two domains in the same coordinates made into one. Its boundary is what is left of theirs."""

    fills_box = False

    @property
    def faces(self) -> tuple[str, ...]:
        return tuple(name for name in self.names if name in self.first.faces + self.second.faces)

    @property
    def step(self) -> tuple[float, ...]:
        """How far from a boundary its two sides are probed, by coordinate."""
        return tuple((PROBE * np.maximum(scales(self.first.bounds), scales(self.second.bounds))).tolist())

    @cached_property
    def boundary(self) -> AbstractPiece:
        first = Edge(self.first.boundary, self, (), self.step)
        return Several((first, Edge(self.second.boundary, self, (self.first,), self.step)))

    def flat_face(self, name: str, end: int) -> AbstractPiece:
        column = self.names.index(name)
        pieces, before = [], ()
        for domain in (self.first, self.second):
            reaches = abs(domain.bounds[column][end] - self.bounds[column][end]) <= self.step[column]
            if name in domain.faces and reaches:
                pieces.append(Edge(domain.face(name, end), self, before, self.step))
                before += (domain,)
        if not pieces:
            raise StiffaxError(no_face(self, name, end))
        return joined(pieces, self)


@dataclass(frozen=True)
class Union(AbstractCombined):
    """What lies in the first domain or in the second."""

    first: AbstractDomain
    second: AbstractDomain

    @cached_property
    def interior(self) -> AbstractRegion:
        return Several((self.first, outside(self.second, self.first)))

    @property
    def bounds(self) -> Bounds:
        return self.interior.bounds

    def holds(self, points: np.ndarray, margin: float) -> np.ndarray:
        return self.first.holds(points, margin) | self.second.holds(points, margin)


@dataclass(frozen=True)
class Intersection(AbstractCombined):
    """What lies in both domains."""

    first: AbstractDomain
    second: AbstractDomain

    @cached_property
    def interior(self) -> AbstractRegion:
        return common(self.first, self.second)

    @property
    def bounds(self) -> Bounds:
        boxes = np.array([self.first.bounds, self.second.bounds])
        lows, highs = boxes[:, :, 0].max(axis=0), boxes[:, :, 1].min(axis=0)
        return tuple(zip(lows.tolist(), np.maximum(lows, highs).tolist(), strict=True))

    def holds(self, points: np.ndarray, margin: float) -> np.ndarray:
        return self.first.holds(points, margin) & self.second.holds(points, margin)


@dataclass(frozen=True)
class Difference(AbstractCombined):
    """What lies in the first domain but not inside the second."""

    first: AbstractDomain
    second: AbstractDomain

    @cached_property
    def interior(self) -> AbstractRegion:
        return outside(self.first, self.second)

    @property
    def bounds(self) -> Bounds:
        return self.first.bounds

    def holds(self, points: np.ndarray, margin: float) -> np.ndarray:
        return self.first.holds(points, margin) & ~self.second.holds(points, -margin)


def common(first: AbstractDomain, second: AbstractDomain) -> Inside:
    """What both contain, drawn from the smaller, so that its measure is exact when one lies in the other."""
    small, large = (first, second) if first.measure <= second.measure else (second, first)
    return Inside(small, large)


def outside(first: AbstractDomain, second: AbstractDomain) -> Outside:
    return Outside(first, second, common(first, second))


def joined(pieces: Sequence[AbstractPiece], domain: AbstractDomain) -> AbstractPiece:
    """Pieces of a boundary as one, or the error that there is no boundary in space."""
    if not pieces:
        raise StiffaxError(
            f"A domain in {', '.join(domain.names)} has no boundary in space: none of its coordinates is space. "
            f'State initial values with sx.Initial(domain, ...) or take an end in time with domain.face("t", 0).'
        )
    return pieces[0] if len(pieces) == 1 else Several(tuple(pieces))


def matched(first: AbstractDomain, second: AbstractDomain, operator: str) -> AbstractDomain:
    """`second`, checked to be a domain in the coordinates of `first`."""
    if not isinstance(second, AbstractDomain):
        raise StiffaxError(f"{operator} combines two domains, got {second!r}.")
    if (first.names, first.parameters) != (second.names, second.parameters):
        raise StiffaxError(
            f"{operator} combines domains in the same coordinates in the same order, got ({', '.join(first.names)}) "
            f"and ({', '.join(second.names)}); use * to multiply domains in different coordinates."
        )
    return second


def no_face(domain: AbstractDomain, name: str, end: int) -> str:
    flat = ", ".join(domain.faces) if domain.faces else "no coordinate"
    return (
        f"face({name!r}, {end}): this {type(domain).__name__} has no flat face at that end of {name!r} (it may "
        f"have some in: {flat}). Choose the part of the boundary with domain.boundary.where(...)."
    )


def scales(bounds: Bounds) -> np.ndarray:
    """The sizes by coordinate to which tolerances refer: the widths, or more where rounding far from zero needs it."""
    box = np.array(bounds)
    return np.maximum(box[:, 1] - box[:, 0], 1e-3 * np.abs(box).max(axis=1))

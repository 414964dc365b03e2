"""Boxes and balls of any dimension, with the short names for one, two and three dimensions."""

from dataclasses import dataclass
from functools import cached_property
from math import gamma, pi, prod
from typing import overload

import numpy as np
from scipy.special import betaincinv

from stiffax.errors import StiffaxError
from stiffax.problem.domains import AbstractDomain, Product, joined, scales
from stiffax.problem.number import number
from stiffax.problem.regions import TIME, AbstractPiece, AbstractRegion, Bounds, Placed


@dataclass(frozen=True, init=False)
class Box(AbstractDomain):
    """A box in any number of coordinates: `Box(a=(0, 1), b=(-1, 1))`. A coordinate `t` is time."""

    names: tuple[str, ...]
    bounds: Bounds
    parameters: tuple[str, ...]

    fills_box = True

    def __init__(self, parameters: tuple[str, ...] = (), /, **axes: tuple[float, float]):
        if not axes:
            raise StiffaxError("Box() has no coordinates; expected ends by name: Box(x=(0, 1), y=(0, 1)).")
        object.__setattr__(self, "names", tuple(axes))
        object.__setattr__(self, "bounds", tuple(ends(name, value) for name, value in axes.items()))
        object.__setattr__(self, "parameters", tuple(parameters))

    @property
    def unit_dim(self) -> int:
        return len(self.names)

    @property
    def measure(self) -> float:
        return prod(high - low for low, high in self.bounds)

    @property
    def offered(self) -> float:
        return self.measure

    @property
    def faces(self) -> tuple[str, ...]:
        return self.names

    @cached_property
    def boundary(self) -> AbstractPiece:
        return joined([Face(self, name, end) for name in self.space for end in (0, 1)], self)

    def place(self, u: np.ndarray) -> Placed:
        low, high = np.array(self.bounds).T
        return Placed(low + u * (high - low), None, np.ones(len(u), bool))

    def holds(self, points: np.ndarray, margin: float) -> np.ndarray:
        low, high = np.array(self.bounds).T
        # The ends of time and of parameters are no boundary in space, so nothing is ever cut off there.
        margins = np.array([margin if name in self.space else abs(margin) for name in self.names]) * scales(self.bounds)
        return np.all((points >= low - margins) & (points <= high + margins), axis=1)

    def flat_face(self, name: str, end: int) -> AbstractPiece:
        return Face(self, name, end)

    def times(self, other: AbstractDomain) -> AbstractDomain:
        if not other.fills_box:
            return Product(self, other)
        axes = dict(zip(self.names + other.names, self.bounds + other.bounds, strict=True))
        return Box(self.parameters + other.parameters, **axes)


@dataclass(frozen=True)
class Face(AbstractPiece):
    """One coordinate of a box at its lower (0) or upper (1) end, all others free."""

    box: Box
    name: str
    end: int

    @property
    def flat_ends(self) -> tuple[tuple[str, int], ...]:
        return ((self.name, self.end),)

    @property
    def column(self) -> int:
        return self.names.index(self.name)

    @property
    def names(self) -> tuple[str, ...]:
        return self.box.names

    @property
    def bounds(self) -> Bounds:
        at = self.box.bounds[self.column][self.end]
        return self.box.bounds[: self.column] + ((at, at),) + self.box.bounds[self.column + 1 :]

    @property
    def parameters(self) -> tuple[str, ...]:
        return self.box.parameters

    @property
    def unit_dim(self) -> int:
        return len(self.names) - 1

    @property
    def measure(self) -> float:
        return prod(high - low for i, (low, high) in enumerate(self.box.bounds) if i != self.column)

    @property
    def offered(self) -> float:
        return self.measure

    def place(self, u: np.ndarray) -> Placed:
        low, high = np.array(self.bounds).T
        points = low + np.insert(u, self.column, 0.0, axis=1) * (high - low)
        normals = np.zeros_like(points)
        normals[:, self.column] = 1.0 if self.end else -1.0
        return Placed(points, normals, np.ones(len(u), bool))


@dataclass(frozen=True, init=False)
class Ball(AbstractDomain):
    """A ball in any number of dimensions, its centre by name: `Ball(x=0, y=0, z=0, radius=1)`."""

    names: tuple[str, ...]
    centre: tuple[float, ...]
    radius: float

    parameters = ()
    faces = ()
    fills_box = False

    def __init__(self, /, *, radius: float, **centre: float):
        if not centre:
            raise StiffaxError("A ball needs its centre by name: Ball(x=0, y=0, z=0, radius=1).")
        object.__setattr__(self, "names", spatial(tuple(centre), "a ball or disk"))
        object.__setattr__(self, "centre", tuple(number(f"the centre {k}", value) for k, value in centre.items()))
        object.__setattr__(self, "radius", number("the radius", radius))
        if self.radius <= 0:
            raise StiffaxError(f"The radius of a ball or disk must be positive, got {radius!r}.")

    @property
    def bounds(self) -> Bounds:
        return tuple((c - self.radius, c + self.radius) for c in self.centre)

    @property
    def unit_dim(self) -> int:
        return 1 + self.boundary.unit_dim

    @property
    def measure(self) -> float:
        dim = len(self.names)
        return pi ** (dim / 2) / gamma(dim / 2 + 1) * self.radius**dim

    @property
    def offered(self) -> float:
        return self.measure

    @property
    def boundary(self) -> "Sphere":
        return Sphere(self)

    def place(self, u: np.ndarray) -> Placed:
        distance = self.radius * u[:, :1] ** (1 / len(self.names))
        return Placed(self.centre + distance * directions(u[:, 1:], len(self.names)), None, np.ones(len(u), bool))

    def holds(self, points: np.ndarray, margin: float) -> np.ndarray:
        return np.linalg.norm(points - self.centre, axis=1) <= self.radius + margin * scales(self.bounds).max()

    def flat_face(self, name: str, end: int) -> AbstractPiece:
        raise AssertionError("a ball has no flat faces")

    def times(self, other: AbstractDomain) -> AbstractDomain:
        return Product(self, other)


@dataclass(frozen=True)
class Sphere(AbstractPiece):
    """The boundary of a ball."""

    ball: Ball
    parameters = ()

    @property
    def names(self) -> tuple[str, ...]:
        return self.ball.names

    @property
    def bounds(self) -> Bounds:
        return self.ball.bounds

    @property
    def unit_dim(self) -> int:
        return max(1, len(self.names) - 1)

    @property
    def measure(self) -> float:
        return len(self.names) * self.ball.measure / self.ball.radius

    @property
    def offered(self) -> float:
        return self.measure

    def place(self, u: np.ndarray) -> Placed:
        normals = directions(u, len(self.names))
        return Placed(self.ball.centre + self.ball.radius * normals, normals, np.ones(len(u), bool))


def Interval(**axes: tuple[float, float]) -> Box:
    """An interval in one coordinate: `Interval(x=(-1, 1))`. `Interval(t=(0, 10))` alone is the domain of an ODE."""
    return Box(**counted(axes, 1, "Interval(x=(-1, 1))"))


def Rectangle(**axes: tuple[float, float]) -> Box:
    """A rectangle in two coordinates: `Rectangle(x=(0, 1), y=(0, 1))`."""
    return Box(**counted(axes, 2, "Rectangle(x=(0, 1), y=(0, 1))"))


def Disk(*, radius: float, **centre: float) -> Ball:
    """A disk, its centre by name: `Disk(x=0, y=0, radius=1)`."""
    return Ball(radius=radius, **counted(centre, 2, "Disk(x=0, y=0, radius=1)"))


@overload
def with_parameters(region: AbstractDomain, bounds: dict[str, tuple[float, float]]) -> AbstractDomain: ...
@overload
def with_parameters(region: AbstractRegion, bounds: dict[str, tuple[float, float]]) -> AbstractRegion: ...
def with_parameters(region: AbstractRegion, bounds: dict[str, tuple[float, float]]) -> AbstractRegion:
    """The region for all values of some parameters: they become coordinates, but neither space nor time."""
    return region * Box(tuple(bounds), **bounds) if bounds else region


def directions(u: np.ndarray, dim: int) -> np.ndarray:
    """Unit vectors, uniform on the sphere: one Cartesian component after another by its distribution, then an angle."""
    if dim == 1:
        return np.where(u < 0.5, -1.0, 1.0)
    vectors, rest = np.empty((len(u), dim)), np.ones(len(u))
    for i in range(dim - 2):
        half = (dim - 1 - i) / 2
        component = 2 * betaincinv(half, half, u[:, i]) - 1
        vectors[:, i] = rest * component
        rest = rest * np.sqrt(np.maximum(0.0, 1 - component**2))
    angle = 2 * pi * u[:, dim - 2]
    vectors[:, dim - 2], vectors[:, dim - 1] = rest * np.cos(angle), rest * np.sin(angle)
    return vectors


def counted(named: dict, count: int, example: str) -> dict:
    if len(named) != count:
        got = ", ".join(named) if named else "none"
        raise StiffaxError(f"{example} takes {count} coordinate{'s' * (count > 1)} by name, got {len(named)}: {got}.")
    return named


def spatial(names: tuple[str, ...], shape: str) -> tuple[str, ...]:
    if TIME in names:
        raise StiffaxError(
            f"A coordinate named t is time, and {shape} has no time. Build the shape in space and multiply: "
            f"sx.Disk(x=0, y=0, radius=1) * sx.Interval(t=(0, 1)); or give the coordinate another name."
        )
    return names


def ends(name: str, value) -> tuple[float, float]:
    try:
        low, high = value
    except (TypeError, ValueError) as error:
        raise StiffaxError(f"{name}={value!r}: expected two ends, lower and upper: {name}=(0, 1).") from error
    low, high = number(f"the lower end of {name}", low), number(f"the upper end of {name}", high)
    if not low < high:
        raise StiffaxError(f"{name}={value!r}: the lower end must come first and be smaller than the upper end.")
    return low, high

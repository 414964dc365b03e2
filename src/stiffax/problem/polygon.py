"""Polygons: any simple one, triangulated by clipping ears."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stiffax.errors import StiffaxError
from stiffax.problem.domains import AbstractDomain, Product, scales
from stiffax.problem.regions import AbstractPiece, Bounds, Placed, choose
from stiffax.problem.shapes import number, spatial


@dataclass(frozen=True, init=False)
class Polygon(AbstractDomain):
    """A simple polygon by its corners in order, either way round: `Polygon([(0, 0), (1, 0), (0, 1)])` in x and y."""

    corners: tuple[tuple[float, float], ...]
    names: tuple[str, ...]

    parameters = ()
    faces = ()
    fills_box = False
    unit_dim = 2

    def __init__(self, corners: Iterable[Sequence[float]], names: Sequence[str] = ("x", "y")):
        if len(set(names)) != 2 or len(names) != 2:
            raise StiffaxError(f'Polygon: expected two different names, names=("x", "y"), got {names!r}.')
        object.__setattr__(self, "names", spatial(tuple(names), "a polygon"))
        object.__setattr__(self, "corners", simple(corners))

    @cached_property
    def triangles(self) -> np.ndarray:
        return np.array(self.corners)[ears(np.array(self.corners))]

    @cached_property
    def areas(self) -> np.ndarray:
        return turn(self.triangles[:, 0], self.triangles[:, 1], self.triangles[:, 2]) / 2

    @property
    def bounds(self) -> Bounds:
        corners = np.array(self.corners)
        return tuple(zip(corners.min(axis=0).tolist(), corners.max(axis=0).tolist(), strict=True))

    @property
    def measure(self) -> float:
        return signed_area(np.array(self.corners))

    @property
    def offered(self) -> float:
        return self.measure

    @property
    def boundary(self) -> "Outline":
        return Outline(self)

    def place(self, u: np.ndarray) -> Placed:
        chosen, rest = choose(u[:, 0], self.areas)
        a, b, c = np.moveaxis(self.triangles[chosen], 1, 0)
        across, along = np.sqrt(rest)[:, None], u[:, 1:]
        return Placed((1 - across) * a + across * ((1 - along) * b + along * c), None, np.ones(len(u), bool))

    def holds(self, points: np.ndarray, margin: float) -> np.ndarray:
        """Counts the sides to the right of each point, and treats those within the margin of a side apart."""
        x, y = points.T
        inside, distance = np.zeros(len(points), bool), np.full(len(points), np.inf)
        for a, b in zip(self.corners, self.corners[1:] + self.corners[:1], strict=True):
            start, side = np.array(a), np.subtract(b, a)
            crosses = (a[1] > y) != (b[1] > y)
            if a[1] != b[1]:
                inside ^= crosses & (x < a[0] + (y - a[1]) * side[0] / side[1])
            along = np.clip((points - start) @ side / (side @ side), 0, 1)
            distance = np.minimum(distance, np.linalg.norm(points - start - along[:, None] * side, axis=1))
        near = distance <= abs(margin) * scales(self.bounds).max()
        return inside | near if margin >= 0 else inside & ~near

    def flat_face(self, name: str, end: int) -> AbstractPiece:
        raise AssertionError("a polygon has no faces by coordinate")

    def times(self, other: AbstractDomain) -> AbstractDomain:
        return Product(self, other)


@dataclass(frozen=True)
class Outline(AbstractPiece):
    """The boundary of a polygon."""

    polygon: Polygon
    parameters = ()
    unit_dim = 1

    @cached_property
    def sides(self) -> np.ndarray:
        corners = np.array(self.polygon.corners)
        return np.roll(corners, -1, axis=0) - corners

    @property
    def names(self) -> tuple[str, ...]:
        return self.polygon.names

    @property
    def bounds(self) -> Bounds:
        return self.polygon.bounds

    @property
    def measure(self) -> float:
        return float(np.linalg.norm(self.sides, axis=1).sum())

    @property
    def offered(self) -> float:
        return self.measure

    def place(self, u: np.ndarray) -> Placed:
        lengths = np.linalg.norm(self.sides, axis=1)
        chosen, rest = choose(u[:, 0], lengths)
        outward = np.column_stack([self.sides[:, 1], -self.sides[:, 0]]) / lengths[:, None]  # corners run anticlockwise
        points = np.array(self.polygon.corners)[chosen] + rest[:, None] * self.sides[chosen]
        return Placed(points, outward[chosen], np.ones(len(u), bool))


def turn(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Twice the signed area of the triangle abc: positive when it runs anticlockwise."""
    return (b[..., 0] - a[..., 0]) * (c[..., 1] - a[..., 1]) - (b[..., 1] - a[..., 1]) * (c[..., 0] - a[..., 0])


def signed_area(corners: np.ndarray) -> float:
    after = np.roll(corners - corners[0], -1, axis=0)
    before = corners - corners[0]
    return float(np.sum(before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0]) / 2)


def simple(corners: Iterable[Sequence[float]]) -> tuple[tuple[float, float], ...]:
    """The corners anticlockwise, checked to make a simple polygon; a last corner equal to the first is dropped."""
    try:
        rows = [(number("a corner", x), number("a corner", y)) for x, y in corners]
    except (TypeError, ValueError) as error:
        raise StiffaxError(f"Polygon: expected a list of corners (x, y). {error}") from error
    if len(rows) > 1 and rows[0] == rows[-1]:
        rows = rows[:-1]
    if len(rows) < 3:
        raise StiffaxError(f"Polygon: expected at least 3 corners, got {len(rows)}.")
    here = np.array(rows)
    refuse_spikes(here)
    refuse_crossings(here)
    return tuple(rows if signed_area(here) > 0 else rows[::-1])


def refuse_spikes(corners: np.ndarray) -> None:
    side = np.roll(corners, -1, axis=0) - corners
    following = np.roll(side, -1, axis=0)
    back = (side[:, 0] * following[:, 1] == side[:, 1] * following[:, 0]) & (np.sum(side * following, axis=1) <= 0)
    if back.any():
        i = (int(np.argmax(back)) + 1) % len(corners)
        raise StiffaxError(f"Polygon: at corner {tuple(corners[i].tolist())} the outline repeats itself or turns back.")


def refuse_crossings(corners: np.ndarray) -> None:
    count = len(corners)
    i, j = np.triu_indices(count, 2)
    apart = (i > 0) | (j < count - 1)  # the last side and the first are neighbours
    i, j = i[apart], j[apart]
    ends = np.roll(corners, -1, axis=0)
    a, b, c, d = corners[i], ends[i], corners[j], ends[j]
    lows, highs = np.maximum(np.minimum(a, b), np.minimum(c, d)), np.minimum(np.maximum(a, b), np.maximum(c, d))
    near = np.all(lows <= highs, axis=1)
    separated = (turn(a, b, c) * turn(a, b, d) > 0) | (turn(c, d, a) * turn(c, d, b) > 0)
    bad = near & ~separated
    if bad.any():
        first = int(np.argmax(bad))
        sides = [f"{tuple(p[first].tolist())} to {tuple(q[first].tolist())}" for p, q in ((a, b), (c, d))]
        raise StiffaxError(
            f"Polygon: the outline meets itself (the side from {sides[0]} and the side from {sides[1]}). Give the "
            f"corners in order around the polygon; holes are cut with `-`, several parts joined with `|`."
        )


def ears(corners: np.ndarray) -> np.ndarray:
    """Triangles, (n, 3) indices of corners, that make up a simple anticlockwise polygon."""
    left, triangles = list(range(len(corners))), []
    while len(left) > 3:
        ear = next((k for k in range(len(left)) if is_ear(corners, left, k)), None)
        if ear is None:
            raise StiffaxError("Polygon: some corners are too close to one line; remove the needless ones.")
        triangles.append((left[ear - 1], left[ear], left[(ear + 1) % len(left)]))
        del left[ear]
    return np.array([*triangles, tuple(left)])


def is_ear(corners: np.ndarray, left: list[int], k: int) -> bool:
    """Whether the k-th corner left is convex and its triangle holds none of the others."""
    own = (left[k - 1], left[k], left[(k + 1) % len(left)])
    a, b, c = corners[list(own)]
    if turn(a, b, c) <= 0:
        return False
    others = corners[[i for i in left if i not in own]]
    return not np.any((turn(a, b, others) >= 0) & (turn(b, c, others) >= 0) & (turn(c, a, others) >= 0))

"""Where conditions that prescribe the same field meet, and whether they agree there."""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.spatial import KDTree

from stiffax.problem.base import AbstractProblem
from stiffax.problem.conditions import Value
from stiffax.problem.points import Points
from stiffax.problem.survey import Subject, prescribed, sample

SAMPLE = 2048  # many, so that neighbours across two pieces are near
TOLERANCE = 1e-4  # of the values: what is smaller is seldom worth a word
PARALLEL = 0.999  # cosine between normals above which two pieces count as parts of one smooth surface


class Pin(NamedTuple):
    title: str
    field: str
    value: Value
    points: Points  # in the domain's coordinates


class Meeting(NamedTuple):
    """Pairs of near points of two pieces: two guesses of where the pieces meet, and whether they do."""

    first: np.ndarray
    second: np.ndarray
    flush: np.ndarray  # both pieces are parts of one smooth surface: the guess is half way only
    near: np.ndarray
    rows: np.ndarray  # which point of the second piece was nearest


def disagreements(problem: AbstractProblem, found: Sequence[Subject]) -> list[str]:
    """One sentence for each two conditions that prescribe different values of a field where they meet."""
    pins = [
        Pin(s.title, field, value, sample(s.condition.region, s.title, SAMPLE))
        for s in found
        if s.condition is not None
        for (field, order), value in s.condition.pins().items()
        if order == 0 and s.condition.region is not None
    ]
    pairs = [(a, b) for a, b in itertools.combinations(pins, 2) if a.field == b.field and a.title != b.title]
    return [text for a, b in pairs if (text := _disagreement(problem, a, b))]


def _disagreement(problem: AbstractProblem, a: Pin, b: Pin) -> str | None:
    if not callable(a.value) and not callable(b.value) and a.value == b.value:
        return None
    met = _meeting(problem, a.points, b.points)
    middles = [(low + high) / 2 for low, high in problem.ranges.values()]

    def values(pin, points):
        whole = np.hstack([points, np.tile(middles, (len(points), 1))])
        return prescribed(problem, f"{pin.title}: {pin.field}", pin.value, whole)

    places = np.concatenate([met.first, met.second, a.points.points, b.points.points[met.rows]])
    by_a, by_b = values(a, places).reshape(4, -1), values(b, places).reshape(4, -1)
    apart = np.abs(by_a[:2] - by_b[:2])
    slack = np.abs(by_a[2] - by_a[3]) + np.abs(by_b[2] - by_b[3])
    jump = np.where(met.near, apart.min(axis=0) - 2 * np.where(met.flush, slack, 0.0), 0.0)
    jump[~np.isfinite(jump)] = 0.0
    worst, size = int(jump.argmax()), max(np.nanmax(np.abs(by_a)), np.nanmax(np.abs(by_b)))
    if not jump[worst] > TOLERANCE * size:
        return None
    which = int(apart[:, worst].argmin())
    place = (met.first, met.second)[which][worst]
    at = ", ".join(f"{name}={value:.4g}" for name, value in zip(problem.domain.names, place, strict=True))
    one, other = (0.0 if abs(v) < 1e-12 * size else v for v in (by_a[which, worst], by_b[which, worst]))
    return (
        f"{a.title} and {b.title} disagree where they meet: near {at} the field {a.field} is {one:.4g} "
        f"by the one and {other:.4g} by the other. Both cannot hold: the solution will blur the jump."
    )


def _meeting(problem: AbstractProblem, a: Points, b: Points) -> Meeting:
    """For every point of `a` the nearest of `b`, and where their pieces meet if they do so nearby."""
    low, high = np.array(problem.domain.bounds).T
    p, q = a.points / (high - low), b.points / (high - low)
    distance, rows = KDTree(q).query(p)
    reach = 3 * max(_spacing(p), _spacing(q)) + 1e-9
    start, end = a.points, b.points[rows]
    n = np.zeros_like(start) if a.normals is None else a.normals
    m = np.zeros_like(start) if b.normals is None else b.normals[rows]
    flush = np.abs((n * m).sum(1)) > PARALLEL
    away = np.abs(((end - start) * n).sum(1)) > 0.3 * np.linalg.norm(end - start, axis=1)
    middle = (start + end) / 2
    first = np.where(flush[:, None], middle, _slide(start, n, end, m))
    second = np.where(flush[:, None], middle, _slide(end, m, start, n))
    moved = np.minimum(*(np.linalg.norm((x - y) / (high - low), axis=1) for x, y in ((first, start), (second, end))))
    near = (distance <= reach) & (moved <= 2 * reach) & ~(flush & away)
    return Meeting(first, second, flush, near, np.asarray(rows))


def _spacing(points: np.ndarray) -> float:
    """How far neighbours typically are from each other."""
    if len(points) < 2:
        return 0.0
    return float(np.quantile(KDTree(points).query(points, k=2)[0][:, 1], 0.9))


def _slide(start, normal, target, other_normal):
    """Move `start` within its own plane until it lies in the plane of `target`."""
    along = other_normal - (other_normal * normal).sum(1, keepdims=True) * normal
    rate = (along * other_normal).sum(1)
    missing = ((target - start) * other_normal).sum(1)
    return start + along * np.divide(missing, rate, out=np.zeros_like(rate), where=rate > 0)[:, None]

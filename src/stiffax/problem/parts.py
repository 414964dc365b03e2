"""Parts of regions chosen by domains: what lies inside, what lies outside, and what bounds a combined domain."""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from stiffax.problem.regions import AbstractFiltered, AbstractRegion, Placed


class Container(Protocol):
    """What can say whether it contains points: a domain, seen from its pieces."""

    def contains(self, points: np.ndarray) -> np.ndarray: ...


@dataclass(frozen=True)
class Inside(AbstractFiltered):
    """The part of `base` that lies in another domain."""

    base: AbstractRegion
    other: Container

    @cached_property
    def measure(self) -> float:
        return self.base.measure * self.share

    def sift(self, placed: Placed) -> Placed:
        return placed._replace(keep=placed.keep & self.other.contains(placed.points))


@dataclass(frozen=True)
class Outside(AbstractFiltered):
    """The part of `base` that lies outside another domain; `common` is the rest of `base`."""

    base: AbstractRegion
    other: Container
    common: Inside

    @property
    def measure(self) -> float:
        return max(0.0, self.base.measure - self.common.measure)

    def sift(self, placed: Placed) -> Placed:
        return placed._replace(keep=placed.keep & ~self.other.contains(placed.points))


@dataclass(frozen=True)
class Edge(AbstractFiltered):
    """The part of `base`, a piece of boundary of something that `domain` is made of, which bounds `domain` too.

    A point is kept if of two probes, just before and behind it along the normal, exactly one lies inside; the normal
    then points to the other. Where a domain in `before` has its boundary too, the point has been given there already.
    """

    base: AbstractRegion
    domain: Container
    before: tuple[Container, ...]
    step: tuple[float, ...]

    @cached_property
    def measure(self) -> float:
        return self.base.measure * self.share

    def sift(self, placed: Placed) -> Placed:
        assert placed.normals is not None
        ahead, behind = placed.points + placed.normals * self.step, placed.points - placed.normals * self.step
        inward = self.domain.contains(ahead)
        keep = placed.keep & (inward != self.domain.contains(behind))
        for other in self.before:
            keep &= other.contains(ahead) == other.contains(behind)
        return Placed(placed.points, np.where(inward[:, None], -placed.normals, placed.normals), keep)

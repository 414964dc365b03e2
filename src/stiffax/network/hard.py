"""Conditions that are built into the network: u = G + φ N, with G taking the prescribed values and φ vanishing there.

On a box the values on its faces are blended inwards, one coordinate after the other: each adds what the faces of that
coordinate still lack. Time comes first, as a Taylor polynomial of the initial values.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Mapping

import jax.numpy as jnp
from jaxtyping import Array

from stiffax import jets
from stiffax.jets import Basis, Jet
from stiffax.problem.conditions import AbstractCondition, Value, prescribed_at
from stiffax.problem.problem import Problem

Function = Callable[[Array, Mapping[str, Array]], Array]  # (point, coefficients) -> number


@dataclasses.dataclass(frozen=True, eq=False)
class Face:
    """A flat end of a coordinate, and the field's value there or its derivatives in time, by order."""

    axis: int
    end: int
    at: float
    width: float
    values: tuple[Function, ...]

    def distance(self, point):
        """From this end, in widths of the box: 0 here, 1 at the other end."""
        return (point[self.axis] - self.at) * (1 - 2 * self.end) / self.width

    def blended(self, taylor: list, opposite: int, point):
        """A function with these derivatives at this end, by order, and none below the order `opposite` at the other.

        It is (1 - distance)ᵐ times a polynomial, whose own derivatives at this end follow from Leibniz' rule.
        """
        away, slope = point[self.axis] - self.at, (2 * self.end - 1) / self.width
        bend = [math.perm(opposite, k) * slope**k for k in range(len(taylor))]
        polynomial = []
        for order, wanted in enumerate(taylor):
            mixed = sum(math.comb(order, k) * c * bend[order - k] for k, c in enumerate(polynomial))
            polynomial.append(wanted - mixed)
        value = sum(c * away**k / math.factorial(k) for k, c in enumerate(polynomial))
        return (1 - self.distance(point)) ** opposite * value


@dataclasses.dataclass(frozen=True, eq=False)
class Hard:
    """The two functions G and φ of one field."""

    faces: tuple[Face, ...]

    def extension(self, point, coefficients):
        total = jnp.zeros((), point.dtype)
        for axis in dict.fromkeys(face.axis for face in self.faces):
            total = total + self._lacking(axis, point, coefficients)
        return total

    def _before(self, axis: int) -> "Hard":
        order = list(dict.fromkeys(face.axis for face in self.faces))
        return Hard(tuple(f for f in self.faces if order.index(f.axis) < order.index(axis)))

    def _lacking(self, axis, point, coefficients):
        """What the faces of this coordinate lack after the earlier ones, blended inwards."""
        earlier, faces = self._before(axis), [f for f in self.faces if f.axis == axis]
        total = jnp.zeros((), point.dtype)
        along = jnp.zeros_like(point).at[axis].set(1.0)
        for face in faces:
            place = point.at[axis].set(face.at)
            opposite = sum(len(f.values) for f in faces if f is not face)
            taylor = []
            for order, value in enumerate(face.values):
                had = jets.directional(lambda p: earlier.extension(p, coefficients), place, [along] * order)
                taylor.append(value(place, coefficients) - had)
            total = total + face.blended(taylor, opposite, point)
        return total

    def vanishing(self, point):
        """φ: zero on every face, to the order that is prescribed there; about one in the middle."""
        total = jnp.ones((), point.dtype)
        for face in self.faces:
            sides = sum(f.axis == face.axis for f in self.faces)
            total = total * (sides * face.distance(point)) ** len(face.values)
        return total


def hard_fields(problem: Problem) -> dict[str, Hard]:
    """For every field that has hard conditions, how they are built in; time first, then the coordinates in order.

    The problem has been checked: what is hard can be built in.
    """
    found: dict[str, list[Face]] = {}
    for name, condition in problem.conditions.items():
        if condition.hard and condition.pins():
            for field, face in _faces(problem, name, condition):
                found.setdefault(field, []).append(face)
    time = problem.coordinates.index("t") if "t" in problem.coordinates else -1
    first = lambda face: (face.axis != time, face.axis, face.end)
    return {field: Hard(tuple(sorted(faces, key=first))) for field, faces in found.items()}


def _faces(problem: Problem, name: str, condition: AbstractCondition):
    assert condition.region is not None
    by_field: dict[str, dict[int, Value]] = {}
    for (field, order), value in condition.pins().items():
        by_field.setdefault(field, {})[order] = value
    for field, values in by_field.items():
        where = f"condition {name!r}: {field}"
        functions = tuple(
            functools.partial(prescribed_at, names=problem.names, value=values[order], where=where)
            for order in sorted(values)
        )
        for coordinate, end in condition.region.flat_ends:
            axis = problem.coordinates.index(coordinate)
            lower, upper = problem.bounds[axis]
            yield field, Face(axis, end, (lower, upper)[end], upper - lower, functions)


def build_in(hard: Hard, free: Jet, point, basis: Basis, coefficients: Mapping) -> Jet:
    """G + φ N, with its derivatives."""
    place = jets.coordinates(point, basis)
    extension = jets.compose(place, lambda p: hard.extension(p, coefficients)[None])
    vanishing = jets.compose(place, lambda p: hard.vanishing(p)[None])
    return extension + vanishing * free

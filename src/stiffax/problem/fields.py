"""What an equation sees at one point: fields that are numbers, with their derivatives as attributes.

A user function is run twice. First by a recorder, to learn which derivatives it reads and at how many places
(`u(x=0.0)` is the same field at another place); then, for every point, with the values. Only what was read is
computed, all derivatives of one place in one pass through the network.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from stiffax.errors import StiffaxError
from stiffax.jets import Basis, Jet, Key
from stiffax.problem.names import call, nearest

RESERVED = ("diff", "gradient", "laplacian", "normal", "value")

Fields = Callable[[Float[Array, " axes"], Basis], Jet]  # all fields at a point, one column each


@dataclasses.dataclass(frozen=True)
class Names:
    """The vocabulary of a problem. `space` are the axes that are neither time nor a coefficient's range."""

    fields: tuple[str, ...]
    coordinates: tuple[str, ...]
    space: tuple[int, ...]
    coefficients: tuple[str, ...] = ()

    def axis(self, name: str) -> int:
        if name not in self.coordinates:
            raise StiffaxError(f"unknown coordinate {name!r}.{nearest(name, self.coordinates)}")
        return self.coordinates.index(name)

    def key(self, attribute: str) -> Key | None:
        """`xxt` -> the axes it differentiates, None where it does not spell coordinates."""
        ways = self._spellings(attribute)
        if len(ways) > 1:
            raise StiffaxError(f"derivative {attribute!r} can be read in {len(ways)} ways; write diff(...) instead.")
        return tuple(sorted(ways[0])) if ways else None

    def _spellings(self, text: str) -> list[Key]:
        if not text:
            return [()]
        starts = [(i, name) for i, name in enumerate(self.coordinates) if text.startswith(name)]
        return [(i, *rest) for i, name in starts for rest in self._spellings(text[len(name) :])]


@dataclasses.dataclass(frozen=True)
class Read:
    """One derivative of one field at one place; `laplacian` stands for the sum over the space axes."""

    place: int
    field: int
    key: Key
    laplacian: bool = False


@dataclasses.dataclass(frozen=True)
class Place:
    """What is computed at a place, and for which pairs (field, key) the Laplacian's stream stands in.

    Where an equation reads u.xx and u.yy only as c·(u.xx + u.yy), the first is given the sum and the others zero.
    """

    basis: Basis
    lead: frozenset[tuple[int, Key]] = frozenset()
    silent: frozenset[tuple[int, Key]] = frozenset()


class Recorder:
    """Answers every read with a placeholder and remembers it, each once, in the order of first reading."""

    def __init__(self, names: Names):
        self.names, self.reads, self.places = names, [], 1

    def value(self, place: "Spot", field: int, read: Read) -> Array:
        del place, field
        if read not in self.reads:
            self.reads.append(read)
        return jnp.zeros(())

    def at(self, point: Array) -> "Spot":
        self.places += 1
        return Spot(self.places - 1, point, None)


class Replay:
    """Answers every read from a table: the equation as a function of what it reads."""

    def __init__(self, names: Names, values: Mapping[Read, Array]):
        self.names, self.values, self.places = names, values, 1

    def value(self, place: "Spot", field: int, read: Read) -> Array:
        del place, field
        return self.values[read]

    def at(self, point: Array) -> "Spot":
        self.places += 1
        return Spot(self.places - 1, point, None)


class Evaluator:
    """Answers reads with values of the fields: one pass for every place, when it is first read."""

    def __init__(self, names: Names, fields: Fields, plan: Sequence[Place]):
        self.names, self.fields, self.plan, self.places, self.jets = names, fields, plan, 1, {}

    def value(self, place: "Spot", field: int, read: Read) -> Array:
        plan = self.plan[place.number]
        if place.number not in self.jets:
            self.jets[place.number] = self.fields(place.point, plan.basis)
        jet = self.jets[place.number]
        if read.laplacian:
            return jet.laplacian(self.names.space)[field]
        if (field, read.key) in plan.lead:
            return jet.laplacian(plan.basis.laplacian)[field]
        if (field, read.key) in plan.silent:
            return jnp.zeros_like(jet.value[field])
        return jet.derivative(read.key)[field]

    def at(self, point: Array) -> "Spot":
        self.places += 1
        return Spot(self.places - 1, point, None)


@dataclasses.dataclass(frozen=True)
class Spot:
    """A place where fields are read: the point of the row, or another one that the equation asked for."""

    number: int
    point: Array
    normal: Array | None


class NoDerivative(AttributeError):
    """An attribute of a field that spells no derivative (JAX itself asks fields for attributes that they lack)."""


class _Value:
    """What is left of a field behind a jit boundary of JAX: its value alone."""

    def __init__(self, value):
        self.value = value


class Field:
    """A field at a place. Works wherever a number does; its attributes are its derivatives there."""

    def __init__(self, source, index: int, spot: Spot):
        self._source, self._index, self._spot = source, index, spot

    @property
    def value(self) -> Array:
        return self._read(())

    def _read(self, key: Key, laplacian: bool = False) -> Array:
        read = Read(self._spot.number, self._index, tuple(sorted(key)), laplacian)
        return self._source.value(self._spot, self._index, read)

    def __getattr__(self, name: str) -> Array:
        names = self._source.names
        key = None if name.startswith("_") else names.key(name)
        if key is None:
            known = ", ".join((*names.coordinates, *RESERVED))
            field = names.fields[self._index]
            raise NoDerivative(
                f"{field}.{name} is no derivative: expected letters of the coordinates, or one of {known}."
            )
        return self._read(key)

    def diff(self, *names: str) -> Array:
        return self._read(tuple(self._source.names.axis(name) for name in names))

    @property
    def laplacian(self) -> Array:
        space = self._source.names.space
        if not space:
            raise StiffaxError("laplacian: the domain has no coordinate in space.")
        return self._read((space[0], space[0])) if len(space) == 1 else self._read((), laplacian=True)

    @property
    def gradient(self) -> Array:
        return jnp.stack([self._read((i,)) for i in self._source.names.space])

    @property
    def normal(self) -> Array:
        if self._spot.normal is None:
            raise StiffaxError("u.normal exists on a boundary only: these points have no outward normal.")
        terms = [self._spot.normal[i] * self._read((i,)) for i in range(len(self._source.names.coordinates))]
        return sum(terms[1:], terms[0])

    def __call__(self, **coordinates: Any) -> "Field":
        names, point = self._source.names, self._spot.point
        for name, value in coordinates.items():
            point = point.at[names.axis(name)].set(jnp.asarray(value, point.dtype))
        return Field(self._source, self._index, self._source.at(point))


class Here:
    """One row's surroundings: its point, normal and target, the coefficients, and the fields of a source."""

    def __init__(self, source, point, coefficients: Mapping[str, Array], normal=None, target: Any = None):
        self.source, self.point, self.coefficients, self.target = source, point, coefficients, target
        self.spot = Spot(0, point, normal)

    def at(self, **coordinates: Any) -> "Here":
        """The same surroundings at another place."""
        moved = self.field(self.source.names.fields[0])(**coordinates)._spot
        here = Here(self.source, moved.point, self.coefficients, None, self.target)
        here.spot = moved
        return here

    def field(self, name: str) -> Field:
        return Field(self.source, self.source.names.fields.index(name), self.spot)

    @property
    def values(self) -> dict[str, Any]:
        """Everything that a user function may name here."""
        return {name: self.field(name) for name in self.source.names.fields} | self.without_fields

    @property
    def without_fields(self) -> dict[str, Any]:
        names = self.source.names
        coordinates = {name: self.point[i] for i, name in enumerate(names.coordinates)}
        return coordinates | dict(self.coefficients)

    def call(self, function: Callable, where: str, fields: bool = True) -> Array:
        """A user function at this point; anything but a scalar is refused, with the name and the shape."""
        try:
            result = call(function, self.values if fields else self.without_fields, where)
        except NoDerivative as error:
            raise StiffaxError(f"{where}: {error}") from error
        except ValueError as error:
            if "__jax_array__" not in str(error):
                raise
            raise StiffaxError(
                f"{where}: a function of JAX takes numbers only and was given a field. "
                "Write +u there, which is the number: jax.lax.cos(+u)."
            ) from error
        try:
            result = jnp.asarray(result.value if isinstance(result, Field) else result)
        except (TypeError, ValueError) as error:
            raise StiffaxError(f"{where}: expected a scalar, got {type(result).__name__}.") from error
        if result.shape != ():
            raise StiffaxError(
                f"{where}: expected a scalar at one point, got an array of shape {result.shape}. "
                "Functions are written for one point; the library maps them over points."
            )
        return result.astype(self.point.dtype)


def _number(operation: str):
    def method(self, *others):
        return getattr(self.value, operation)(*[o.value if isinstance(o, (Field, _Value)) else o for o in others])

    return method


_ARITHMETIC = (
    "add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow "
    "neg pos abs lt le gt ge eq ne bool float"
)

for _kind in (Field, _Value):  # both are numbers, and trees of one leaf: so they pass through JAX's own jit boundaries
    for _name in _ARITHMETIC.split():
        setattr(_kind, f"__{_name}__", _number(f"__{_name}__"))
    _kind.__jax_array__ = lambda self: self.value  # pyright: ignore[reportAttributeAccessIssue]
    _kind.__array_priority__ = 100  # pyright: ignore[reportAttributeAccessIssue]  # NumPy leaves arithmetic to us
    jax.tree_util.register_pytree_node(_kind, lambda field: ((field.value,), None), lambda _, leaf: _Value(leaf[0]))

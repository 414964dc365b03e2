"""What holds besides the equations: on the boundary, at the start, at measured points.

A condition gives `rows`: at a point of its region, the numbers that must vanish there, each with a label.
"""

import abc
from collections.abc import Callable, Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from stiffax.errors import StiffaxError
from stiffax.problem.domains import AbstractDomain
from stiffax.problem.fields import Here, Names, Recorder
from stiffax.problem.names import nearest
from stiffax.problem.regions import AbstractRegion

Value = float | Callable  # a number, or a function of coordinates and coefficients


def evaluate(value: Value, here: Here, where: str):
    if callable(value):
        return here.call(value, where, fields=False)
    if np.asarray(value).dtype.kind not in "iuf" or np.shape(value) != ():
        raise StiffaxError(f"{where}: expected a number, or a function of coordinates and coefficients; got {value!r}.")
    return value


def prescribed_at(point: Array, coefficients: Mapping[str, Array], names: Names, value: Value, where: str) -> Array:
    """A prescribed value at a point in the problem's coordinates, checked as in a condition that is trained."""
    return jnp.asarray(evaluate(value, Here(Recorder(names), point, coefficients), where), point.dtype)


def along_normal(field: str, here: Here, where: str):
    if here.spot.normal is None:
        raise StiffaxError(
            f"{where}: these points have no outward normal, so {field} has no derivative along it. "
            "Give a boundary: domain.boundary, a piece of it by where(...), or domain.face(...); and let its points be "
            "drawn, because given ones (sx.Fixed) come without normals."
        )
    return here.field(field).normal


class AbstractCondition(abc.ABC):
    """One named condition of a problem.

    `region`: where it holds. `pins`: the fields whose values (derivative order 0) or time derivatives it prescribes,
    with what they are there: {(field, order in time): value}; empty where it prescribes none. `hard`: whether it is
    built into the network and has no rows.
    """

    region: AbstractRegion | None
    hard: bool = False

    @abc.abstractmethod
    def labels(self, names: Names) -> tuple[str, ...]:
        """A short name for each row; refuses fields that the problem does not have."""

    @abc.abstractmethod
    def rows(self, here: Here, where: str) -> list:
        """What must vanish at this point, one number for each label."""

    @abc.abstractmethod
    def pins(self) -> Mapping[tuple[str, int], Value]:
        """What the condition prescribes outright."""

    def targets(self) -> np.ndarray | None:
        """Measured numbers, one row for each point, for conditions that hold at given points only."""
        return None

    def points(self, names: Names) -> np.ndarray | None:
        """The points themselves, for conditions that hold at given points only."""
        del names
        return None

    def group(self) -> "Group | None":
        """How all points make one row together; None where every point has its own."""
        return None


class Group:
    """One row for all points: factor times the mean over them, less a value."""

    def __init__(self, factor: float, value: float):
        self.factor, self.value = factor, value


def _checked(fields: Mapping[str, Any], names: Names, kind: str) -> tuple[str, ...]:
    if not fields:
        raise StiffaxError(f"{kind}: name at least one field, such as {names.fields[0]}=0.0.")
    for name in fields:
        if name == "hard":
            raise StiffaxError(f"{kind} cannot be built into the network: leave hard=... out, and it is trained.")
        if name not in names.fields:
            raise StiffaxError(f"{kind}: unknown field {name!r}.{nearest(name, names.fields)}")
    return tuple(fields)


class Dirichlet(AbstractCondition):
    """Prescribed values: `Dirichlet(where, u=0.0, v=lambda x, y: x)`; `hard=True` builds them into the network."""

    def __init__(self, where: AbstractRegion, hard: bool = False, **fields: Value):
        self.region, self.hard, self.fields = where, hard, fields

    def labels(self, names):
        return _checked(self.fields, names, "Dirichlet")

    def rows(self, here, where):
        return [here.field(f).value - evaluate(g, here, f"{where}: {f}") for f, g in self.fields.items()]

    def pins(self):
        return {(f, 0): g for f, g in self.fields.items()}


class Neumann(AbstractCondition):
    """Prescribed derivatives along the outward normal: `Neumann(where, u=g)`."""

    def __init__(self, where: AbstractRegion, **fields: Value):
        self.region, self.fields = where, fields

    def labels(self, names):
        return _checked(self.fields, names, "Neumann")

    def rows(self, here, where):
        return [along_normal(f, here, where) - evaluate(g, here, f"{where}: {f}") for f, g in self.fields.items()]

    def pins(self):
        return {}


class Robin(AbstractCondition):
    """a·u + b·u.normal = g: `Robin(where, a=1.0, b=2.0, u=g)`; a, b, g numbers or functions."""

    def __init__(self, where: AbstractRegion, a: Value = 1.0, b: Value = 1.0, **fields: Value):
        self.region, self.a, self.b, self.fields = where, a, b, fields

    def labels(self, names):
        return _checked(self.fields, names, "Robin")

    def rows(self, here, where):
        a, b = evaluate(self.a, here, f"{where}: a"), evaluate(self.b, here, f"{where}: b")
        return [
            a * here.field(f).value + b * along_normal(f, here, where) - evaluate(g, here, f"{where}: {f}")
            for f, g in self.fields.items()
        ]

    def pins(self):
        return {}


class Periodic(AbstractCondition):
    """Values and derivatives up to `order` agree at both ends of a coordinate, for all fields or the ones named."""

    def __init__(self, domain: AbstractDomain, coordinate: str, order: int = 1, fields=None, hard: bool = False):
        if order < 0:
            raise StiffaxError(f"Periodic: order must be 0 (values only) or more, got {order}.")
        self.region, self.coordinate = domain.face(coordinate, 0), coordinate
        self.upper_end = domain.bounds[domain.names.index(coordinate)][1]
        self.order, self.fields, self.hard = order, fields, hard

    def _fields(self, names):
        return names.fields if self.fields is None else _checked(dict.fromkeys(self.fields), names, "Periodic")

    def labels(self, names):
        tail = ["", *("_" + self.coordinate * k for k in range(1, self.order + 1))]
        return tuple(f + t for f in self._fields(names) for t in tail)

    def rows(self, here, where):
        names = here.source.names
        other = here.at(**{self.coordinate: self.upper_end})
        orders = [(self.coordinate,) * k for k in range(self.order + 1)]
        return [here.field(f).diff(*o) - other.field(f).diff(*o) for f in self._fields(names) for o in orders]

    def pins(self):
        return {}


class Initial(AbstractCondition):
    """Values at the start, and time derivatives: `Initial(domain, t=0, u=..., u_t=..., u_tt=...)`."""

    def __init__(self, domain: AbstractDomain, t: float | None = None, hard: bool = False, **fields: Value):
        if "t" not in domain.names:
            raise StiffaxError(f"Initial: the domain has no time. Its coordinates: {', '.join(domain.names)}.")
        ends = domain.bounds[domain.names.index("t")]
        self.time = ends[0] if t is None else float(t)
        if self.time not in ends:
            raise StiffaxError(f"Initial: t={self.time:g} is no end of the time interval {ends}: values stand at one.")
        self.region, self.hard, self.fields = domain.face("t", ends.index(self.time)), hard, fields

    @staticmethod
    def split(name: str) -> tuple[str, int]:
        """`u_tt` -> (u, 2); a name without such an end is a field itself."""
        head, _, tail = name.rpartition("_")
        return (head, len(tail)) if head and tail and set(tail) == {"t"} else (name, 0)

    def labels(self, names):
        _checked({self.split(name)[0]: 0 for name in self.fields}, names, "Initial")
        return tuple(self.fields)

    def rows(self, here, where):
        return [
            here.field(f).diff(*["t"] * order) - evaluate(self.fields[name], here, f"{where}: {name}")
            for name in self.fields
            for f, order in [self.split(name)]
        ]

    def pins(self):
        return {self.split(name): g for name, g in self.fields.items()}


class Condition(AbstractCondition):
    """Any relation: `Condition(where, lambda u, x: u.xx - x)` holds with zero."""

    def __init__(self, where: AbstractRegion, relation: Callable):
        self.region, self.relation = where, relation

    def labels(self, names):
        del names
        return ("",)

    def rows(self, here, where):
        return [here.call(self.relation, where)]

    def pins(self):
        return {}


class Integral(AbstractCondition):
    """The integral of an expression over a region has a value; with `mean=True` its mean has."""

    region: AbstractRegion

    def __init__(self, where: AbstractRegion, integrand: Callable, value: float = 0.0, mean: bool = False):
        self.region, self.integrand, self.value, self.mean = where, integrand, float(value), mean

    def labels(self, names):
        del names
        return ("",)

    def rows(self, here, where):
        return [here.call(self.integrand, where)]

    def pins(self):
        return {}

    def group(self):
        return Group(1.0 if self.mean else self.region.measure, self.value)


class Data(AbstractCondition):
    """Measurements: `Data({"x": xs, "t": ts}, u=values)`."""

    def __init__(self, points: Mapping[str, Any], **fields: Any):
        self.columns = {name: np.asarray(column, np.float64).ravel() for name, column in points.items()}
        self.fields = {name: np.asarray(values, np.float64).ravel() for name, values in fields.items()}
        lengths = {name: c.size for name, c in (self.columns | self.fields).items()}
        if len(set(lengths.values())) != 1 or 0 in lengths.values():
            raise StiffaxError(f"Data: all columns need the same length, at least 1; got {lengths}.")
        for name, column in (self.columns | self.fields).items():
            if not np.isfinite(column).all():
                at = int(np.flatnonzero(~np.isfinite(column))[0])
                raise StiffaxError(f"Data: {name}[{at}] = {column[at]} is not finite; leave that point out.")
        self.single = [n for n, v in (dict(points) | fields).items() if getattr(v, "dtype", None) == np.float32]
        self.region = None

    def labels(self, names):
        missing = [name for name in names.coordinates if name not in self.columns]
        unknown = [name for name in self.columns if name not in names.coordinates]
        if missing or unknown:
            raise StiffaxError(
                f"Data: expected the coordinates {', '.join(names.coordinates)}; "
                f"missing: {', '.join(missing) or 'none'}; unknown: {', '.join(unknown) or 'none'}."
            )
        return _checked(self.fields, names, "Data")

    def rows(self, here, where):
        return [here.field(f).value - here.target[i] for i, f in enumerate(self.fields)]

    def pins(self):
        return {}

    def targets(self):
        return np.stack(list(self.fields.values()), axis=1)

    def points(self, names):
        return np.stack([self.columns[name] for name in names.coordinates], axis=1)

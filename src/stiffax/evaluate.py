"""Values and derivatives of trained fields, from a network in memory or from an artefact in a folder."""

import abc
import dataclasses
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from stiffax.errors import StiffaxError
from stiffax.jets import Basis, Key
from stiffax.precision import computing
from stiffax.problem.fields import Names
from stiffax.problem.names import nearest
from stiffax.problem.physics import Trained

BATCH = 1000


class AbstractSource(abc.ABC):
    """Where values of the fields come from: a network in memory, or a compiled artefact in a folder."""

    @abc.abstractmethod
    def streams(self, points: np.ndarray, keys: tuple[Key, ...]) -> np.ndarray:
        """Derivatives of all fields at points: (points, keys, fields), float64."""


class Live(AbstractSource):
    def __init__(self, trained: Trained, coefficients: Mapping[str, float], precision: str):
        self.trained, self.coefficients, self.precision = trained, dict(coefficients), precision
        self.compiled: dict[Basis, Any] = {}

    def streams(self, points, keys):
        basis = Basis.of(keys)
        with computing(self.precision):
            if basis not in self.compiled:
                self.compiled[basis] = jax.jit(self.function(basis))
            function, values = self.compiled[basis], []
            for start in range(0, len(points), BATCH):
                part = points[start : start + BATCH]
                room = BATCH - len(part) if len(points) > BATCH else 0  # equal shapes: nothing is compiled twice
                whole = jnp.asarray(np.pad(part, ((0, room), (0, 0)), "edge"), float)
                values.append(np.asarray(function(whole))[: len(part)])
        streams = np.concatenate(values).astype(np.float64)
        return streams[:, [basis.index(key) for key in keys]]

    def function(self, basis: Basis):
        """Points to streams, all that it needs inside."""
        coefficients = {n: jnp.asarray(v, float) for n, v in self.coefficients.items()}
        return lambda points: jax.vmap(lambda p: jnp.stack(self.trained.model(p, basis, coefficients).streams))(points)


class Exported(AbstractSource):
    def __init__(self, exported, basis: Basis, names: Names, precision: str):
        self.exported, self.basis, self.names, self.precision = exported, basis, names, precision

    def streams(self, points, keys):
        missing = [key for key in keys if key not in self.basis.keys]
        if missing:
            held = [self._spelled(key) for key in self.basis.keys if key]
            raise StiffaxError(
                f"the saved solution has no derivative {self._spelled(missing[0])!r}; it holds "
                f"{', '.join(held) or 'values only'}. Solve again, or read it from an equation before saving."
            )
        with computing(self.precision):
            streams = np.asarray(self.exported.call(jnp.asarray(points, float)), np.float64)
        return streams[:, [self.basis.index(key) for key in keys]]

    def _spelled(self, key: Key) -> str:
        return "".join(self.names.coordinates[i] for i in key)


class FieldFunction:
    """One field of a solution, or a derivative of it: a function of the coordinates, on numbers and arrays alike."""

    def __init__(self, source: AbstractSource, names: Names, field: int, keys: tuple[Key, ...] = ((),)):
        self._source, self._names, self._field, self._keys = source, names, field, keys

    def __call__(self, *positional, **named) -> np.ndarray:
        names = self._names.coordinates
        for name in named:
            if name not in names:
                raise StiffaxError(f"unknown coordinate {name!r}.{nearest(name, names)}")
        given = dict(zip(names, positional, strict=False)) | named
        if len(positional) > len(names) or set(given) != set(names):
            count = len(positional) + len(named)
            raise StiffaxError(f"expected the coordinates {', '.join(names)}; got {count} values.")
        columns = np.broadcast_arrays(*(np.asarray(given[n], np.float64) for n in names))
        points = np.stack([c.ravel() for c in columns], axis=1)
        return self._source.streams(points, self._keys)[:, :, self._field].sum(1).reshape(columns[0].shape)

    def __getattr__(self, name: str) -> "FieldFunction":
        key = None if name.startswith("_") else self._names.key(name)
        if key is None:
            raise AttributeError(f"no derivative {name!r}: expected letters of {', '.join(self._names.coordinates)}.")
        return FieldFunction(self._source, self._names, self._field, (key,))

    def diff(self, *names: str) -> "FieldFunction":
        key = tuple(sorted(self._names.axis(name) for name in names))
        return FieldFunction(self._source, self._names, self._field, (key,))

    @property
    def gradient(self) -> "GradientFunction":
        parts = [FieldFunction(self._source, self._names, self._field, ((i,),)) for i in self._names.space]
        return GradientFunction(tuple(parts))

    @property
    def laplacian(self) -> "FieldFunction":
        return FieldFunction(self._source, self._names, self._field, tuple((i, i) for i in self._names.space))


@dataclasses.dataclass(frozen=True)
class GradientFunction:
    """The derivatives along the space coordinates, stacked along a last axis."""

    parts: tuple[FieldFunction, ...]

    def __call__(self, *positional, **named) -> np.ndarray:
        return np.stack([part(*positional, **named) for part in self.parts], axis=-1)

"""What a run gives back: fields to evaluate with their derivatives, errors, what happened, and a folder that lasts."""

import abc
import dataclasses
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from stiffax.errors import StiffaxError
from stiffax.jets import Basis, Key
from stiffax.precision import computing
from stiffax.problem.domains import AbstractDomain
from stiffax.problem.fields import Names
from stiffax.problem.names import call, nearest
from stiffax.problem.physics import Trained
from stiffax.problem.problem import Problem
from stiffax.problem.spec import from_spec
from stiffax.records import Result, Row

BATCH = 1000
FIELD, FACTS = "fields.jaxexport", "solution.json"


@dataclasses.dataclass(frozen=True)
class FieldError:
    """Against the reference: relative in the mean square, and the largest absolute difference."""

    rel_l2: float
    linf: float


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
                room = BATCH - len(part) if len(points) > BATCH else 0
                values.append(np.asarray(function(jnp.asarray(np.pad(part, ((0, room), (0, 0)), "edge"), float)))[: len(part)])
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
            spelled = ["".join(self.names.coordinates[i] for i in key) for key in self.basis.keys if key]
            raise StiffaxError(
                f"the saved solution has no derivative {''.join(self.names.coordinates[i] for i in missing[0])!r}; "
                f"it holds {', '.join(spelled) or 'values only'}. Solve again, or read it from an equation before saving."
            )
        with computing(self.precision):
            streams = np.asarray(self.exported.call(jnp.asarray(points, float)), np.float64)
        return streams[:, [self.basis.index(key) for key in keys]]


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
            raise StiffaxError(f"expected the coordinates {', '.join(names)}; got {len(positional) + len(named)} values.")
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
    def laplacian(self) -> "FieldFunction":
        return FieldFunction(self._source, self._names, self._field, tuple((i, i) for i in self._names.space))


@dataclasses.dataclass(frozen=True)
class Facts:
    """What a solution knows about itself, besides its fields; JSON holds all of it."""

    problem: str
    coordinates: tuple[str, ...]
    fields: tuple[str, ...]
    space: tuple[int, ...]
    bounds: tuple[tuple[float, float], ...]
    domain: dict
    keys: tuple[Key, ...]
    coefficients: dict[str, float]
    errors: dict[str, FieldError]
    residuals: dict[str, float]
    loss: float
    seconds: float
    compile_seconds: float
    steps: int
    refused: int
    work: dict[str, int]
    result: Result
    warnings: tuple[str, ...]
    parameters: int
    points: dict[str, int]
    weights: dict[str, float]
    network: dict | list
    precision: str
    device: str
    seed: int
    history: tuple[Row, ...]


class Solution:
    """A trained problem. Its fields are attributes: `solution.u(x, y)`, `solution.u.xx(x, y)`."""

    def __init__(self, facts: Facts, source: AbstractSource, problem: Problem | None = None):
        self.facts, self._source, self.problem = facts, source, problem
        self.names = Names(facts.fields, facts.coordinates, facts.space)

    def __getattr__(self, name: str) -> Any:
        facts = self.__dict__.get("facts")
        if facts is not None and name in facts.fields:
            return self.field(name)
        raise AttributeError(f"no field or attribute {name!r}." + (nearest(name, facts.fields) if facts else ""))

    def field(self, name: str) -> FieldFunction:
        """A field by name, also where its name is that of something else here."""
        if name not in self.facts.fields:
            raise StiffaxError(f"unknown field {name!r}.{nearest(name, self.facts.fields)}")
        return FieldFunction(self._source, self.names, self.facts.fields.index(name))

    @property
    def fields(self) -> tuple[str, ...]:
        return self.facts.fields

    @property
    def coordinates(self) -> tuple[str, ...]:
        return self.facts.coordinates

    @property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        return self.facts.bounds

    @property
    def domain(self) -> AbstractDomain:
        return from_spec(self.facts.domain)

    @property
    def coefficients(self) -> dict[str, float]:
        return dict(self.facts.coefficients)

    @property
    def history(self) -> tuple[Row, ...]:
        return self.facts.history

    @property
    def result(self) -> Result:
        return self.facts.result

    @property
    def warnings(self) -> tuple[str, ...]:
        return self.facts.warnings

    def error(self) -> dict[str, FieldError]:
        """Per field with a reference, on points that were never trained on."""
        return dict(self.facts.errors)

    def residual(self) -> dict[str, float]:
        """Root mean square of what must vanish, per equation and condition, on points that were never trained on."""
        return dict(self.facts.residuals)

    def values(self, points: np.ndarray) -> dict[str, np.ndarray]:
        """All fields at points (n, coordinates)."""
        streams = self._source.streams(np.asarray(points, np.float64), ((),))
        return {name: streams[:, 0, i] for i, name in enumerate(self.fields)}

    def exact_values(self, points: np.ndarray) -> dict[str, np.ndarray]:
        """The reference at points, for the fields that have one; a loaded solution has none."""
        if self.problem is None:
            return {}
        return exact_values(self.problem, np.asarray(points, np.float64), self.coefficients)

    def summary(self) -> dict[str, Any]:
        """One flat record, the one that `stiffax solve --json` prints."""
        facts = self.facts
        errors = facts.errors

        def by_field(what):
            values = {name: getattr(e, what) for name, e in errors.items()}
            return None if not values else next(iter(values.values())) if len(facts.fields) == 1 else values

        return {
            "problem": facts.problem,
            "loss": facts.loss,
            "rel_l2": by_field("rel_l2"),
            "linf": by_field("linf"),
            "residual": dict(facts.residuals),
            "seconds": facts.seconds,
            "compile_seconds": facts.compile_seconds,
            "steps": facts.steps,
            "refused": facts.refused,
            "result": dataclasses.asdict(facts.result),
            "parameters": facts.parameters,
            "points": facts.points,
            "network": facts.network,
            "precision": facts.precision,
            "device": facts.device,
            "seed": facts.seed,
            "coefficients": facts.coefficients,
            "weights": facts.weights,
            "work": facts.work,
            "warnings": list(facts.warnings),
        }

    def plot(self, path: str | Path) -> Path:
        """Draw prediction, reference and error into a file (PNG, PDF or SVG by its suffix)."""
        from stiffax.report.plots import plot

        return plot(self, path)

    def save(self, folder: str | Path) -> Path:
        """Write a folder that a stranger can `load` and evaluate without the script that made it."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        if not isinstance(self._source, Live):
            raise StiffaxError("this solution was loaded from a folder; copy that folder instead of saving it again.")
        basis = Basis(self.facts.keys)
        with computing(self._source.precision):
            (count,) = jax.export.symbolic_shape("n")
            shape = jax.ShapeDtypeStruct((count, len(self.coordinates)), jnp.result_type(float))
            exported = jax.export.export(jax.jit(self._source.function(basis)), platforms=("cpu", "cuda"))(shape)
        facts = json.dumps(dataclasses.asdict(self.facts), indent=1, default=float)
        _write(folder / FIELD, bytes(exported.serialize()))
        _write(folder / FACTS, facts.encode())  # last: where it stands, the solution is whole
        return folder

    @staticmethod
    def load(folder: str | Path) -> "Solution":
        """Read a folder that `save` wrote."""
        folder = Path(folder)
        for name in (FIELD, FACTS):
            if not (folder / name).exists():
                raise StiffaxError(f"no saved solution in {folder}: {name} is missing.")
        facts = _facts(json.loads((folder / FACTS).read_text()))
        exported = jax.export.deserialize(bytearray((folder / FIELD).read_bytes()))
        names = Names(facts.fields, facts.coordinates, facts.space)
        return Solution(facts, Exported(exported, Basis(facts.keys), names, facts.precision))


def _write(path: Path, content: bytes) -> None:
    """In one move: a kill leaves nothing half written."""
    new = path.with_name(path.name + ".new")
    new.write_bytes(content)
    os.replace(new, path)


def is_saved(folder: Path) -> bool:
    return (folder / FACTS).exists()


def _facts(read: dict) -> Facts:
    tuples = {k: tuple(read[k]) for k in ("coordinates", "fields", "space", "warnings")}
    return Facts(
        **read
        | tuples
        | {
            "bounds": tuple((float(a), float(b)) for a, b in read["bounds"]),
            "keys": tuple(tuple(k) for k in read["keys"]),
            "errors": {name: FieldError(**e) for name, e in read["errors"].items()},
            "result": Result(**read["result"]),
            "history": tuple(Row(**row) for row in read["history"]),
        }
    )


def exact_values(problem: Problem, points: np.ndarray, coefficients: Mapping[str, float]) -> dict[str, np.ndarray]:
    """The problem's reference at points."""
    with computing():
        given = {n: jnp.asarray(v, float) for n, v in coefficients.items()}

        def at(point):
            known = {n: point[i] for i, n in enumerate(problem.coordinates)} | given
            return {f: jnp.asarray(call(g, known, f"exact {f!r}"), point.dtype) for f, g in problem.exact.items()}

        found = jax.lax.map(at, jnp.asarray(points), batch_size=500) if problem.exact else {}
        return {name: np.asarray(found[name]) for name in problem.fields if name in found}



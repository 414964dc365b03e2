"""What a run gives back: fields to evaluate with their derivatives, errors, what happened, and a folder that lasts."""

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
from stiffax.evaluate import AbstractSource, Exported, FieldFunction, Live
from stiffax.jets import Basis, Key
from stiffax.precision import computing
from stiffax.problem.domains import AbstractDomain
from stiffax.problem.fields import Names
from stiffax.problem.names import call, nearest
from stiffax.problem.problem import Problem
from stiffax.problem.spec import from_spec
from stiffax.records import Result, Row

FIELD, FACTS = "fields.jaxexport", "solution.json"


@dataclasses.dataclass(frozen=True)
class FieldError:
    """Against the reference: relative in the mean square, and the largest absolute difference."""

    rel_l2: float
    linf: float


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


def _facts(read: dict[str, Any]) -> Facts:
    tuples = {k: tuple(read[k]) for k in ("coordinates", "fields", "space", "warnings")}
    return Facts(
        **{
            **read,
            **tuples,
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

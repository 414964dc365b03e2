"""A stated problem as everything else sees it, and the terms that it makes of a loss."""

import abc
import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from stiffax.problem.coefficients import Range, Unknown
from stiffax.problem.conditions import AbstractCondition, Group
from stiffax.problem.domains import AbstractDomain
from stiffax.problem.fields import Here, Names, Place
from stiffax.problem.reads import plan
from stiffax.problem.regions import AbstractRegion, Bounds
from stiffax.problem.shapes import with_parameters

INTERIOR = "equations"  # the name of the points that equations share


@dataclasses.dataclass(frozen=True)
class Checked:
    """A problem that can be trained; `warnings` say what looks wrong but may be meant."""

    warnings: tuple[str, ...] = ()


class Measured(NamedTuple):
    """Points where something was measured, and what: one row each."""

    points: np.ndarray
    targets: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class Term:
    """Rows that live on one set of points: labels, owners (equation or condition names), and how to compute them."""

    name: str
    labels: tuple[str, ...]
    owners: tuple[str, ...]
    region: AbstractRegion | None
    condition: AbstractCondition | None
    rows: Callable[[Here], list]
    plan: tuple[Place, ...]
    group: Group | None = None
    measured: Measured | None = None


class AbstractProblem(abc.ABC):
    """What was stated, by name. `coordinates` and `bounds` are those of the domain, then the ranges of coefficients."""

    domain: AbstractDomain
    fields: tuple[str, ...]
    equations: dict[str, Callable]
    conditions: dict[str, AbstractCondition]
    coefficients: dict[str, float | Unknown | Range]
    exact: dict[str, Callable]
    name: str
    ranges: dict[str, tuple[float, float]]
    coordinates: tuple[str, ...]
    bounds: Bounds
    names: Names

    @abc.abstractmethod
    def check(self) -> Checked:
        """Look at everything that is known before training.

        Raises StiffaxError for what cannot be trained, and lets a user's own exception through.
        """

    @property
    def fixed(self) -> dict[str, float]:
        return {n: float(c) for n, c in self.coefficients.items() if not isinstance(c, (Unknown, Range))}

    @property
    def unknowns(self) -> dict[str, Unknown]:
        return {n: c for n, c in self.coefficients.items() if isinstance(c, Unknown)}

    @property
    def starting(self) -> dict[str, Any]:
        """Fixed coefficients and the starts of the unknown ones, as arrays for tracing."""
        starts = {n: float(c.start) for n, c in self.unknowns.items()}
        return {n: jnp.asarray(v, float) for n, v in (self.fixed | starts).items()}

    def region(self, region: AbstractRegion) -> AbstractRegion:
        return with_parameters(region, self.ranges) if self.ranges else region

    def terms(self, separate: tuple[str, ...] = ()) -> tuple[Term, ...]:
        """The rows of the loss: equations together on shared points (`separate` ones on their own), then conditions."""
        shared = [n for n in self.equations if n not in separate]
        groups = ([(INTERIOR, shared)] if shared else []) + [(n, [n]) for n in self.equations if n in separate]
        equations = [self._equation_term(name, members) for name, members in groups]
        return (*equations, *(self._condition_term(n, c) for n, c in self.conditions.items() if not c.hard))

    def _equation_term(self, name, members):
        functions = [(m, self.equations[m]) for m in members]

        def rows(here):
            return [here.call(function, f"equation {m!r}") for m, function in functions]

        return self._term(name, tuple(members), tuple(members), self.region(self.domain), None, rows)

    def _condition_term(self, name, condition):
        where = f"condition {name!r}"
        labels = condition.labels(self.names)
        labels = (name,) if len(labels) == 1 else tuple(f"{name}.{label}" for label in labels)
        region = self.region(condition.region) if condition.region is not None else None
        return self._term(name, labels, (name,) * len(labels), region, condition, lambda h: condition.rows(h, where))

    def _term(self, name, labels, owners, region, condition, rows):
        group, points, targets = None, None, None
        if condition is not None:
            group, points, targets = condition.group(), condition.points(self.names), condition.targets()
        measured = None if points is None or targets is None else Measured(points, targets)
        places = plan(rows, self.names, self.starting, 0 if measured is None else measured.targets.shape[1])
        return Term(name, labels, owners, region, condition, rows, places, group, measured)

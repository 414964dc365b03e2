"""The problem: equations, conditions and coefficients by name, and the terms that they make of a loss."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import jax.numpy as jnp

from stiffax.errors import StiffaxError
from stiffax.problem.coefficients import Range, Unknown
from stiffax.problem.conditions import AbstractCondition, Data, Group
from stiffax.problem.domains import AbstractDomain
from stiffax.problem.fields import RESERVED, Here, Names, Place
from stiffax.problem.names import nearest
from stiffax.problem.reads import plan
from stiffax.problem.regions import AbstractRegion
from stiffax.problem.shapes import with_parameters

INTERIOR = "equations"  # the name of the points that equations share


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


class Problem:
    """An equation to solve, stated as mathematics: nothing here says how.

    **Arguments:** `domain`: where. `fields`: names of the unknown functions. `equations`: {name: function that
    vanishes}, written for one point, parameters matched by name. `conditions`: {name: Dirichlet(...), ...}.
    `coefficients`: {name: number, Unknown or Range}. `exact`: {field: function of coordinates and coefficients}, for
    some or all fields; used to report errors only. `name`: shown in reports.
    """

    def __init__(
        self,
        domain: AbstractDomain,
        fields: tuple[str, ...] | str,
        equations: Mapping[str, Callable] | None = None,
        conditions: Mapping[str, AbstractCondition] | None = None,
        coefficients: Mapping[str, float | Unknown | Range] | None = None,
        exact: Mapping[str, Callable] | None = None,
        name: str = "problem",
    ):
        self.domain, self.name = domain, name
        self.fields = (fields,) if isinstance(fields, str) else tuple(fields)
        self.equations, self.conditions = dict(equations or {}), dict(conditions or {})
        self.coefficients, self.exact = dict(coefficients or {}), dict(exact or {})
        ranges = {n: (c.lower, c.upper) for n, c in self.coefficients.items() if isinstance(c, Range)}
        self.ranges = ranges
        self.coordinates = (*domain.names, *ranges)
        self.bounds = (*domain.bounds, *ranges.values())
        plain = tuple(n for n in self.coefficients if n not in ranges)
        space = tuple(self.coordinates.index(n) for n in domain.space)
        self.names = Names(self.fields, self.coordinates, space, plain)
        _check_names(self)

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
        targets = condition.targets() if condition else None
        places = plan(rows, self.names, self.starting, 0 if targets is None else targets.shape[1])
        return Term(name, labels, owners, region, condition, rows, places, condition.group() if condition else None)


def _check_names(problem: Problem) -> None:
    """Names that could be confused are refused as soon as the problem is built."""
    names = problem.names
    every = [*problem.fields, *problem.coordinates, *names.coefficients]
    doubled = sorted({n for n in every if every.count(n) > 1})
    if not problem.fields:
        raise StiffaxError("fields: name at least one unknown function, such as fields=('u',).")
    if doubled:
        raise StiffaxError(f"the name {doubled[0]!r} is used twice among fields, coordinates and coefficients.")
    for name in every:
        if not name.isidentifier() or name in RESERVED:
            raise StiffaxError(f"{name!r} cannot be a name here: expected an identifier other than {', '.join(RESERVED)}.")
    for name in problem.coordinates:
        if len(names._spellings(name)) > 1:
            raise StiffaxError(f"ambiguous coordinates: {name!r} is also spelled by other coordinates; rename it.")
    both = set(problem.equations) & set(problem.conditions)
    if both or INTERIOR in problem.equations or INTERIOR in problem.conditions:
        name = next(iter(both), INTERIOR)
        raise StiffaxError(f"{name!r} cannot name this: equations and conditions need names of their own.")
    for name in problem.exact:
        if name not in problem.fields:
            raise StiffaxError(f"exact: unknown field {name!r}.{nearest(name, problem.fields)}")
    for name, condition in problem.conditions.items():
        if not isinstance(condition, AbstractCondition):
            raise StiffaxError(f"condition {name!r}: expected Dirichlet, Neumann, ... got {type(condition).__name__}.")


__all__ = ["INTERIOR", "Data", "Problem", "Term"]

"""The problem: equations, conditions and coefficients by name, stated as mathematics."""

import keyword
from collections.abc import Callable, Mapping

from stiffax.errors import StiffaxError
from stiffax.problem.base import INTERIOR, AbstractProblem, Checked
from stiffax.problem.check import check
from stiffax.problem.coefficients import Range, Unknown
from stiffax.problem.conditions import AbstractCondition
from stiffax.problem.domains import AbstractDomain
from stiffax.problem.fields import RESERVED, Names
from stiffax.problem.names import nearest
from stiffax.problem.number import number


class Problem(AbstractProblem):
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
        if not isinstance(domain, AbstractDomain):
            raise StiffaxError(f"domain: expected a domain such as sx.Interval(x=(0, 1)), got {type(domain).__name__}.")
        self.domain, self.name = domain, name
        self.fields = (fields,) if isinstance(fields, str) else tuple(fields)
        self.equations, self.conditions = dict(equations or {}), dict(conditions or {})
        self.coefficients = {n: _coefficient(n, c) for n, c in (coefficients or {}).items()}
        self.exact = dict(exact or {})
        ranges = {n: (c.lower, c.upper) for n, c in self.coefficients.items() if isinstance(c, Range)}
        self.ranges = ranges
        self.coordinates = (*domain.names, *ranges)
        self.bounds = (*domain.bounds, *ranges.values())
        plain = tuple(n for n in self.coefficients if n not in ranges)
        space = tuple(self.coordinates.index(n) for n in domain.space)
        self.names = Names(self.fields, self.coordinates, space, plain)
        _check_names(self)

    def check(self) -> Checked:
        return check(self)


def _coefficient(name: str, value) -> float | Unknown | Range:
    if isinstance(value, Unknown | Range):
        return value
    try:
        return number(f"the coefficient {name!r}", value)
    except StiffaxError as error:
        raise StiffaxError(f"{error} Give a number, sx.Unknown(start) or sx.Range(lower, upper).") from error


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
        _check_name(name)
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


def _check_name(name: str) -> None:
    """A name must do as a parameter of a function, and as an attribute beside those that fields have."""
    if not isinstance(name, str) or not name.isidentifier() or name.startswith("_"):
        why = "names are letters, digits and underscores, and begin with a letter"
    elif keyword.iskeyword(name):
        why = "it is a word of Python's own, so no function can have a parameter of that name"
    elif name in RESERVED:
        why = f"a field has {', '.join(RESERVED)} for other purposes"
    else:
        return
    raise StiffaxError(f"{name!r} cannot be a name here: {why}. Choose another.")

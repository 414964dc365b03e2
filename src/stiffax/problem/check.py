"""What can be known to be wrong before training: errors stop it, warnings are kept in the solution and printed once."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core

from stiffax.errors import StiffaxError
from stiffax.problem.base import AbstractProblem, Checked
from stiffax.problem.conditions import Data
from stiffax.problem.fields import Here, Recorder
from stiffax.problem.meeting import disagreements
from stiffax.problem.regions import TIME, AbstractRegion
from stiffax.problem.survey import ANY, Subject, expected, rows, sample, subjects

LARGEST_RATIO = 1e6
OUTSIDE = 1e-6  # of the box: how far outside the domain a point may lie by rounding
EXACT_POINTS = 16


def check(problem: AbstractProblem) -> Checked:
    """See `AbstractProblem.check`."""
    with jax.enable_x64(True):
        if not problem.equations and all(condition.hard for condition in problem.conditions.values()):
            raise StiffaxError(
                "The problem has nothing to train on: no equation, no condition, no data. Give equations={...}, "
                "or conditions={...} without hard=True."
            )
        found = subjects(problem)
        _check_hard(problem, found)
        _check_exact(problem)
        numbers = rows(problem, found, expected(problem, found))
        for subject, values in zip(found, numbers, strict=True):
            _check_finite(problem, subject, values)
        return Checked(tuple(_warnings(problem, found, numbers)))


def _warnings(problem: AbstractProblem, found: list[Subject], numbers: list[np.ndarray]):
    yield from _idle(problem, found)
    starts = _missing_starts(problem, found)
    yield from starts.values()
    yield from (text for field, text in _loose_fields(problem, found).items() if field not in starts)
    yield from disagreements(problem, found)
    yield from _one_sign_only(found, numbers)
    yield from _far_sizes(found, numbers)
    yield from _strays(problem, found)


def _check_hard(problem: AbstractProblem, found: list[Subject]) -> None:
    """What is built in must be whole flat ends of the domain's coordinates, each once for a field."""
    taken: dict[tuple[str, str, int], str] = {}
    for subject in found:
        condition = subject.condition
        if condition is None or not condition.hard or condition.region is None:
            continue
        _check_flat(problem, subject, condition.region)
        orders: dict[str, list[int]] = {}
        for field, order in condition.pins():
            orders.setdefault(field, []).append(order)
        if not orders and {r.field for r in subject.reads} != set(range(len(problem.fields))):
            raise StiffaxError(f"{subject.title}: hard=True makes all fields periodic together; leave fields=... out.")
        for field, name, end in ((f, *place) for f in orders for place in condition.region.flat_ends):
            if sorted(orders[field]) != list(range(len(orders[field]))):
                raise StiffaxError(
                    f"{subject.title}: hard=True needs {field} itself, and every time derivative below the highest one "
                    "that is given. Add them, or leave hard=True out."
                )
            before = taken.setdefault((field, name, end), subject.title)
            if before != subject.title:
                raise StiffaxError(
                    f"{subject.title}: {before} builds in {field} at the {('lower', 'upper')[end]} end of {name} "
                    "already. Prescribe it there once, or leave hard=True out."
                )


def _check_flat(problem: AbstractProblem, subject: Subject, region: AbstractRegion) -> None:
    ends, points = region.flat_ends, subject.points.points
    at = np.zeros(len(points), bool)
    for name, end in ends:
        axis = problem.coordinates.index(name)
        low, high = problem.bounds[axis]
        at |= np.abs(points[:, axis] - (low, high)[end]) <= OUTSIDE * (high - low)
    across = [i for i, name in enumerate(region.names) if {name} != {other for other, _ in ends}]
    whole = all(region.bounds[i] == problem.domain.bounds[i] for i in across)
    if not (at.all() and whole):
        raise StiffaxError(
            f"{subject.title}: hard=True is possible on whole flat ends of coordinates only: the boundary or a face of "
            "an interval or a box (at all times, too), the start in time, and a period. This piece is none of them: "
            "leave hard=True out, and the condition is trained like the others."
        )


def _check_exact(problem: AbstractProblem) -> None:
    """Point by point on the host, so that a reference may be written with NumPy or SciPy."""
    points = sample(problem.region(problem.domain), "the domain").points[:EXACT_POINTS]
    for field, function in problem.exact.items():
        for point in points:
            here = Here(Recorder(problem.names), point, problem.starting)
            value = np.asarray(here.call(function, f"exact {field!r}", fields=False))
            if not np.isfinite(value):
                raise StiffaxError(f"exact {field!r} is {value} at {_point(problem, point)}: expected a finite number.")


def _check_finite(problem: AbstractProblem, subject: Subject, values: np.ndarray) -> None:
    bad = ~np.isfinite(values).any(axis=0)
    if bad.any():
        point, row = np.argwhere(bad)[0]
        raise StiffaxError(
            f"{subject.titles[row]} is {values[ANY, point, row]} at {_point(problem, subject.points.points[point])}, "
            "whatever the fields are: expected a finite number. Look for a division by zero, or a root or logarithm of "
            "a number that is negative there."
        )


def _point(problem: AbstractProblem, point: np.ndarray) -> str:
    return ", ".join(f"{name}={value:.6g}" for name, value in zip(problem.coordinates, point, strict=True))


def _idle(problem: AbstractProblem, found: list[Subject]):
    """Rows without a field, unknown coefficients that no row reads."""
    for subject in found:
        if not subject.reads:
            yield f"{subject.title} reads no field: training cannot change it."
    unread = set(problem.unknowns)
    for subject in found:
        unread -= _coefficients_read(problem, subject)
    for name in sorted(unread):
        yield f"the unknown coefficient {name!r} is read by no equation and no condition: it will keep its start."


def _coefficients_read(problem: AbstractProblem, subject: Subject) -> set[str]:
    starting = problem.starting
    normal = None if subject.points.normals is None else subject.points.normals[0]

    def at(coefficients):
        here = Here(Recorder(problem.names), jnp.asarray(subject.points.points[0]), coefficients, normal)
        here.target = subject.targets[0]
        return subject.rows(here)

    jaxpr = jax.make_jaxpr(at)(starting).jaxpr
    used = {v for eqn in jaxpr.eqns for v in eqn.invars if not isinstance(v, core.Literal)}
    used |= {v for v in jaxpr.outvars if not isinstance(v, core.Literal)}
    return {name for name, var in zip(sorted(starting), jaxpr.invars, strict=True) if var in used}


def _missing_starts(problem: AbstractProblem, found: list[Subject]) -> dict[str, str]:
    """By field: fewer initial values than its order in time. Measured fields may do without."""
    if TIME not in problem.domain.names:
        return {}
    time, texts = problem.names.axis(TIME), {}
    for index, field in enumerate(problem.fields):
        reads = [(s, r) for s in found for r in s.reads if r.field == index]
        order = max((r.key.count(time) for s, r in reads if s.condition is None), default=0)
        given = {
            (r.place, s.points.points[0, time], len(r.key))
            for s, r in reads
            if s.condition is not None and set(r.key) <= {time} and not r.laplacian and (r.place or _at_one(s, time))
        }
        if len(given) < order and not any(s.targets.size for s, _ in reads):
            wanted = ", ".join(f"{field}{'_' * (k > 0)}{'t' * k}=..." for k in range(order))
            texts[field] = (
                f"field {field!r}: the equations read {field}.{'t' * order}, which needs {order} initial "
                f"value{'s' * (order > 1)}, and {len(given)} given: write sx.Initial(domain, {wanted})."
            )
    return texts


def _at_one(subject: Subject, axis: int) -> bool:
    return bool(np.ptp(subject.points.points[:, axis]) == 0)


def _loose_fields(problem: AbstractProblem, found: list[Subject]) -> dict[str, str]:
    """By field: no condition says anything about it, or all that is said is about its derivatives."""
    texts = {}
    for index, field in enumerate(problem.fields):
        reads = [(s, r) for s in found for r in s.reads if r.field == index]
        conditioned = any(s.condition is not None for s, _ in reads)
        valued = any(r.key == () and not r.laplacian for _, r in reads)
        order = max((2 if r.laplacian else len(r.key) for _, r in reads), default=0)
        if not reads:
            texts[field] = f"field {field!r} is read by no equation and no condition: nothing determines it."
        elif not valued and (conditioned or order == 1):
            texts[field] = (
                f"field {field!r} is fixed only up to a constant, because only its derivatives are read: "
                f"add sx.Integral(domain, lambda {field}: {field}), say, which sets its mean to zero."
            )
        elif not conditioned and not _algebraic(found, index):
            texts[field] = (
                f"field {field!r} has no condition, so there may be many solutions: add sx.Dirichlet(domain.boundary, "
                f"{field}=...), another condition, or data."
            )
    return texts


def _algebraic(found: list[Subject], index: int) -> bool:
    """Whether an equation reads the field's value and none of its derivatives, and so may determine it."""
    for subject in found:
        mine = [r for r in subject.reads if r.field == index]
        if mine and subject.condition is None and all(r.key == () and not r.laplacian for r in mine):
            return True
    return False


def _one_sign_only(found: list[Subject], numbers: list[np.ndarray]):
    for subject, values in zip(found, numbers, strict=True):
        bad = ~np.isfinite(values[ANY]).all(axis=0)
        for row in np.flatnonzero(bad):
            yield (
                f"{subject.titles[row]} is not finite for some values of the fields (a root, a logarithm?): a network "
                "may come there in training, and such steps are refused. Better make it finite for all values."
            )


def _far_sizes(found: list[Subject], numbers: list[np.ndarray]):
    """The largest and the smallest term, when they lie too far apart."""
    sizes: dict[str, float] = {}
    for subject, values in zip(found, numbers, strict=True):
        group = subject.condition.group() if subject.condition else None
        for title, column in zip(subject.titles, values[ANY].T, strict=True):
            finite = column[np.isfinite(column)] * (group.factor if group else 1.0)
            if subject.reads and finite.any():
                sizes[title] = float(np.sqrt(np.mean(finite**2)))
    if not sizes:
        return
    large, small = max(sizes, key=sizes.__getitem__), min(sizes, key=sizes.__getitem__)
    if sizes[large] > LARGEST_RATIO * sizes[small]:
        yield (
            "the terms differ in size by more than a million: for smooth fields of the expected size "
            f"{large} is about {sizes[large]:.0e} and {small} about {sizes[small]:.0e}. "
            "Change units, or divide the large one, so that both are nearer to one."
        )


def _strays(problem: AbstractProblem, found: list[Subject]):
    """Points outside the domain, and measurements in single precision."""
    for subject in found:
        points = subject.points.points[:, : len(problem.domain.names)]
        outside = ~problem.domain.holds(points, OUTSIDE)
        if outside.any():
            first = _point(problem, subject.points.points[int(outside.argmax())])
            yield f"{subject.title}: {outside.sum()} of {len(points)} points lie outside the domain, such as {first}."
        if isinstance(subject.condition, Data) and subject.condition.single:
            yield (
                f"{subject.title}: {', '.join(subject.condition.single)} came as float32, which holds about 7 digits; "
                "give float64 if you have it."
            )

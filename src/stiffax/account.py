"""What a run amounts to: errors against the reference, residuals by name, and what only the run could show."""

from collections.abc import Mapping

import numpy as np

from stiffax.evaluate import Live
from stiffax.jets import Basis, Key
from stiffax.plan import Outcome
from stiffax.problem.base import Term
from stiffax.problem.problem import Problem
from stiffax.setting import error_points, is_overfitted
from stiffax.solution import FieldError, exact_values


def derivatives_read(terms: tuple[Term, ...]) -> tuple[Key, ...]:
    """The derivatives that the problem reads, and the first ones: what a saved solution can be asked for."""
    bases = [place.basis for term in terms for place in term.plan]
    axes = {axis for basis in bases for key in basis.keys for axis in key}
    wanted = [key for basis in bases for key in basis.keys] + [(i, i) for basis in bases for i in basis.laplacian]
    return Basis.of(wanted + [(i,) for i in axes]).keys


def errors(problem: Problem, source: Live, coefficients: Mapping[str, float]) -> dict[str, FieldError]:
    points = error_points(problem)
    want = exact_values(problem, points, coefficients)
    got = source.streams(points, ((),))[:, 0] if want else np.zeros((0, 0))
    found = {}
    for name, values in want.items():
        off = got[:, problem.fields.index(name)] - values
        size = np.linalg.norm(values) or np.sqrt(len(values))  # a reference that is zero everywhere: as if it were one
        found[name] = FieldError(float(np.linalg.norm(off) / size), float(np.abs(off).max()))
    return found


def by_owner(squares: np.ndarray, owners: tuple[str, ...]) -> dict[str, float]:
    return {
        owner: float(np.sqrt(sum(s for s, o in zip(squares, owners, strict=True) if o == owner)))
        for owner in dict.fromkeys(owners)
    }


def seen_late(outcome: Outcome) -> tuple[str, ...]:
    """What only the run could show."""
    if not is_overfitted(outcome.history):
        return ()
    last = outcome.history[-1]
    return (
        f"the held-out residual stayed far above that of training (loss {last.validation:.1e} against {last.loss:.1e}, "
        f"{last.points} points): more points, such as points={{...: {2 * last.points}}}, may bring a better solution.",
    )

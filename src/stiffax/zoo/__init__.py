"""Ready problems with exact or reference solutions. A new one is a file beside this and a line in the list."""

from stiffax.errors import StiffaxError
from stiffax.problem.names import nearest
from stiffax.problem.problem import Problem
from stiffax.zoo import (  # noqa: F401  (a file enters its problem when it is imported)
    boundary_layer,
    burgers,
    convection,
    heat,
    helmholtz_2d,
    helmholtz_2d_wide,
    inverse_heat,
    kovasznay,
    poisson_1d,
    poisson_1d_multiscale,
    poisson_2d,
    poisson_nd,
    reaction,
    van_der_pol,
    wave,
)
from stiffax.zoo.base import ENTRIES, Entry, Setting


def names() -> tuple[str, ...]:
    """The names of all problems."""
    return tuple(ENTRIES)


def get(name: str) -> Entry:
    """What is known of a problem: its text, settings and the error of its reference."""
    if name not in ENTRIES:
        raise StiffaxError(f"unknown problem {name!r}.{nearest(name, ENTRIES)}")
    return ENTRIES[name]


def problem(name: str, **settings: Setting | str) -> Problem:
    """A ready problem: `problem("helmholtz-2d", k=4)`. Settings not given keep their defaults."""
    return get(name).problem(**settings)


__all__ = ["Entry", "get", "names", "problem"]

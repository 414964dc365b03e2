"""The wave equation: two standing waves, the first and the m-th.

    u_tt = 4 u_xx   on (0, 1), t in (0, 1)                        (wave)
    u(x, 0) = sin πx + ½ sin mπx,   u_t(x, 0) = 0                 (start)
    u(0, t) = u(1, t) = 0                                         (walls)

Problem: Wang, Yu, Perdikaris, "When and why PINNs fail to train: a neural tangent kernel perspective", J. Comput. Phys.
449 (2022) (m = 4). Reference: exact, u = sin πx cos 2πt + ½ sin mπx cos 2mπt.
"""

from jax import numpy as jnp

from stiffax.problem.conditions import Dirichlet, Initial
from stiffax.problem.problem import Problem
from stiffax.problem.shapes import Interval
from stiffax.zoo.base import at_least, entry


def standing(x, t, n):
    return jnp.sin(n * jnp.pi * x) * jnp.cos(2 * n * jnp.pi * t)


@entry("wave")
def problem(m: int = 3) -> Problem:
    at_least("m", m, 1)
    domain = Interval(x=(0, 1)) * Interval(t=(0, 1))
    return Problem(
        name="wave",
        domain=domain,
        fields=("u",),
        equations={"wave": lambda u: u.tt - 4 * u.xx},
        conditions={
            "start": Initial(domain, t=0, u=lambda x: jnp.sin(jnp.pi * x) + 0.5 * jnp.sin(m * jnp.pi * x), u_t=0.0),
            "walls": Dirichlet(domain.boundary, u=0.0),
        },
        exact={"u": lambda x, t: standing(x, t, 1) + 0.5 * standing(x, t, m)},
    )

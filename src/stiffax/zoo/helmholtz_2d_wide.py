"""Helmholtz' equation on a square of side two, eight half waves across.

    Δu + k²u = (k² - 17π²) sin πx sin 4πy   on (-1, 1)²      (helmholtz)
    u = 0 on the edge                                        (walls)

Problem: Wang, Teng, Perdikaris, "Understanding and mitigating gradient flow pathologies in physics-informed neural
networks", SIAM J. Sci. Comput. 43 (2021) (k = 1). Reference: exact, u = sin πx sin 4πy.
"""

from jax import numpy as jnp

from stiffax.problem.conditions import Dirichlet
from stiffax.problem.problem import Problem
from stiffax.problem.shapes import Rectangle
from stiffax.zoo.base import entry


def exact(x, y):
    return jnp.sin(jnp.pi * x) * jnp.sin(4 * jnp.pi * y)


@entry("helmholtz-2d-wide")
def problem(k: float = 1.0) -> Problem:
    square = Rectangle(x=(-1, 1), y=(-1, 1))
    return Problem(
        name="helmholtz-2d-wide",
        domain=square,
        fields=("u",),
        coefficients={"k": k},
        equations={"helmholtz": lambda u, x, y, k: u.xx + u.yy + k**2 * u - (k**2 - 17 * jnp.pi**2) * exact(x, y)},
        conditions={"walls": Dirichlet(square.boundary, u=0.0)},
        exact={"u": exact},
    )

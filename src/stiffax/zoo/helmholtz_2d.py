"""Helmholtz' equation on the unit square.

    Δu + k²u = (k² - 17π²) sin πx sin 4πy   on (0, 1)²      (helmholtz)
    u = 0 on the edge                                       (walls)

Problem: Li, Chen, Huang, "Implicit stochastic gradient descent for training physics-informed neural networks", AAAI
2023, section 4.3 (k = 4). Reference: exact, u = sin πx sin 4πy.
"""

from jax import numpy as jnp

from stiffax.problem.conditions import Dirichlet
from stiffax.problem.problem import Problem
from stiffax.problem.shapes import Rectangle
from stiffax.zoo.base import entry


def exact(x, y):
    return jnp.sin(jnp.pi * x) * jnp.sin(4 * jnp.pi * y)


@entry("helmholtz-2d")
def problem(k: float = 4.0) -> Problem:
    square = Rectangle(x=(0, 1), y=(0, 1))
    return Problem(
        name="helmholtz-2d",
        domain=square,
        fields=("u",),
        coefficients={"k": k},
        equations={"helmholtz": lambda u, x, y, k: u.xx + u.yy + k**2 * u - (k**2 - 17 * jnp.pi**2) * exact(x, y)},
        conditions={"walls": Dirichlet(square.boundary, u=0.0)},
        exact={"u": exact},
    )

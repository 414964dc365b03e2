"""Poisson's equation on the unit square with a slow wave and a small fast one.

    -Δu = 2π² sin πx sin πy + 20π² sin 10πx sin 10πy   on (0, 1)²      (poisson)
    u = 0 on the edge                                                  (walls)

Problem: Li, Chen, Huang, "Implicit stochastic gradient descent for training physics-informed neural networks", AAAI
2023, section 4.2. Reference: exact, u = sin πx sin πy + 0.1 sin 10πx sin 10πy.
"""

from jax import numpy as jnp

from stiffax.problem.conditions import Dirichlet
from stiffax.problem.problem import Problem
from stiffax.problem.shapes import Rectangle
from stiffax.zoo.base import entry


def wave(x, y, n):
    return jnp.sin(n * jnp.pi * x) * jnp.sin(n * jnp.pi * y)


def source(x, y):
    return 2 * jnp.pi**2 * wave(x, y, 1) + 20 * jnp.pi**2 * wave(x, y, 10)


@entry("poisson-2d")
def problem() -> Problem:
    square = Rectangle(x=(0, 1), y=(0, 1))
    return Problem(
        name="poisson-2d",
        domain=square,
        fields=("u",),
        equations={"poisson": lambda u, x, y: -(u.xx + u.yy) - source(x, y)},
        conditions={"walls": Dirichlet(square.boundary, u=0.0)},
        exact={"u": lambda x, y: wave(x, y, 1) + 0.1 * wave(x, y, 10)},
    )

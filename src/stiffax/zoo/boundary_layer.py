"""Convection and weak diffusion in one dimension, with a layer of width eps at x = 1.

    -eps u'' + u' = eps π²/4 sin(πx/2) + π/2 cos(πx/2)   on (0, 1)      (layer)
    u(0) = u(1) = 0                                                     (ends)

Problem: Li, Chen, Huang, "Implicit stochastic gradient descent for training physics-informed neural networks", AAAI
2023, section 4.1 (eps = 2 and 0.01). Reference: exact, (1 - e^(x/eps))/(e^(1/eps) - 1) + sin(πx/2), written with
negative exponents so that no small eps overflows.
"""

from jax import numpy as jnp

from stiffax.problem.conditions import Dirichlet
from stiffax.problem.problem import Problem
from stiffax.problem.shapes import Interval
from stiffax.zoo.base import entry, positive


def source(x, eps):
    return eps * jnp.pi**2 / 4 * jnp.sin(jnp.pi * x / 2) + jnp.pi / 2 * jnp.cos(jnp.pi * x / 2)


def exact(x, eps):
    layer = (jnp.exp(-1 / eps) - jnp.exp((x - 1) / eps)) / -jnp.expm1(-1 / eps)
    return layer + jnp.sin(jnp.pi * x / 2)


@entry("boundary-layer")
def problem(eps: float = 0.01) -> Problem:
    positive("eps", eps)
    line = Interval(x=(0, 1))
    return Problem(
        name="boundary-layer",
        domain=line,
        fields=("u",),
        coefficients={"eps": eps},
        equations={"layer": lambda u, x, eps: -eps * u.xx + u.x - source(x, eps)},
        conditions={"ends": Dirichlet(line.boundary, u=0.0)},
        exact={"u": exact},
    )

"""Burgers' equation: a sine that steepens into a thin front at x = 0.

    u_t + u u_x = nu u_xx   on (-1, 1), t in (0, 1)      (burgers)
    u(x, 0) = -sin πx                                    (start)
    u(-1, t) = u(1, t) = 0                               (walls)

Problem: Raissi, Perdikaris, Karniadakis, "Physics-informed neural networks", J. Comput. Phys. 378 (2019)
(nu = 0.01/π). Reference: the transformation of Cole and Hopf, its integrals by Gauss and Hermite's rule (Basdevant et
al., "Spectral and finite difference solutions of the Burgers equation", Comput. Fluids 14 (1986)). Its error comes from
comparing numbers of nodes, and with a fine trapezoidal rule in extended precision.
"""

import math

import jax
from jax import numpy as jnp
from scipy.special import roots_hermite

from stiffax.problem.conditions import Dirichlet, Initial
from stiffax.problem.problem import Problem
from stiffax.problem.shapes import Interval
from stiffax.zoo.base import entry, positive

REFERENCE_ERROR = 1e-13


def cole_hopf(nodes: int):
    """u(x, t) = -∫ sin(πy) w dz / ∫ w dz with y = x - 2 √(nu t) z and w = exp(-z² - cos(πy)/(2π nu))."""
    z, weights = roots_hermite(nodes)

    def solution(x, t, nu):
        y = x - 2 * jnp.sqrt(nu * t) * z
        exponent = jnp.log(weights) - jnp.cos(jnp.pi * y) / (2 * jnp.pi * nu)
        w = jnp.exp(exponent - jax.lax.stop_gradient(exponent.max()))  # the largest is 1: nothing overflows
        return -jnp.sum(w * jnp.sin(jnp.pi * y)) / jnp.sum(w)

    return solution


def enough_nodes(nu: float) -> int:
    """Enough to reach the peaks of small nu (z up to 1/(2 √nu) for t ≤ 1), and to follow the waves of large nu."""
    return max(250, math.ceil(0.5 / nu), math.ceil(500 * nu))


@entry("burgers", REFERENCE_ERROR)
def problem(nu: float = 0.01 / math.pi) -> Problem:
    positive("nu", nu)
    domain = Interval(x=(-1, 1)) * Interval(t=(0, 1))
    return Problem(
        name="burgers",
        domain=domain,
        fields=("u",),
        coefficients={"nu": nu},
        equations={"burgers": lambda u, nu: u.t + u * u.x - nu * u.xx},
        conditions={
            "start": Initial(domain, t=0, u=lambda x: -jnp.sin(jnp.pi * x)),
            "walls": Dirichlet(domain.boundary, u=0.0),
        },
        exact={"u": cole_hopf(enough_nodes(nu))},
    )

"""Logistic growth at every point of a periodic line, from a bell curve.

    u_t = rho u (1 - u)   on (0, 2π), t in (0, 1)      (reaction)
    u(x, 0) = h(x) = exp(-8 (x - π)²/π²)               (start)
    u(0, t) = u(2π, t)                                 (periodic)

Problem: Krishnapriyan, Gholami, Zhe, Kirby, Mahoney, "Characterizing possible failure modes in physics-informed neural
networks", NeurIPS 2021 (rho = 5). Reference: exact, u = h e^(rho t)/(h e^(rho t) + 1 - h). Values agree at both ends,
slopes do not: h is even about the middle.
"""

from jax import numpy as jnp

from stiffax.problem.conditions import Initial, Periodic
from stiffax.problem.problem import Problem
from stiffax.problem.shapes import Interval
from stiffax.zoo.base import entry


def bell(x):
    return jnp.exp(-8 * (x - jnp.pi) ** 2 / jnp.pi**2)


def exact(x, t, rho):
    growth = bell(x) * jnp.exp(rho * t)
    return growth / (growth + 1 - bell(x))


@entry("reaction")
def problem(rho: float = 5.0) -> Problem:
    domain = Interval(x=(0, 2 * jnp.pi)) * Interval(t=(0, 1))
    return Problem(
        name="reaction",
        domain=domain,
        fields=("u",),
        coefficients={"rho": rho},
        equations={"reaction": lambda u, rho: u.t - rho * u * (1 - u)},
        conditions={
            "start": Initial(domain, t=0, u=bell),
            "periodic": Periodic(domain, "x", order=0),
        },
        exact={"u": exact},
    )

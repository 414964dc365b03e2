"""A sine carried around a periodic line, beta radians in all.

    u_t + beta u_x = 0   on (0, 2π), t in (0, 1)      (convection)
    u(x, 0) = sin x                                   (start)
    u(0, t) = u(2π, t)                                (periodic)

Problem: Krishnapriyan, Gholami, Zhe, Kirby, Mahoney, "Characterizing possible failure modes in physics-informed neural
networks", NeurIPS 2021 (beta = 30). Reference: exact, u = sin(x - beta t).
"""

from jax import numpy as jnp

from stiffax.problem.conditions import Initial, Periodic
from stiffax.problem.problem import Problem
from stiffax.problem.shapes import Interval
from stiffax.zoo.base import entry


@entry("convection")
def problem(beta: float = 30.0) -> Problem:
    domain = Interval(x=(0, 2 * jnp.pi)) * Interval(t=(0, 1))
    return Problem(
        name="convection",
        domain=domain,
        fields=("u",),
        coefficients={"beta": beta},
        equations={"convection": lambda u, beta: u.t + beta * u.x},
        conditions={
            "start": Initial(domain, t=0, u=lambda x: jnp.sin(x)),
            "periodic": Periodic(domain, "x", order=0),
        },
        exact={"u": lambda x, t, beta: jnp.sin(x - beta * t)},
    )

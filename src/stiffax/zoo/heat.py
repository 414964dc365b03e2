"""The heat equation: one sine that fades.

    u_t = nu u_xx   on (0, 1), t in (0, 1)      (heat)
    u(x, 0) = sin πx                            (start)
    u(0, t) = u(1, t) = 0                       (walls)

Problem: textbook (separation of variables). Reference: exact, u = exp(-nu π² t) sin πx.
"""

from jax import numpy as jnp

from stiffax.problem.conditions import Dirichlet, Initial
from stiffax.problem.problem import Problem
from stiffax.problem.shapes import Interval
from stiffax.zoo.base import entry, positive


@entry("heat")
def problem(nu: float = 0.1) -> Problem:
    positive("nu", nu)
    domain = Interval(x=(0, 1)) * Interval(t=(0, 1))
    return Problem(
        name="heat",
        domain=domain,
        fields=("u",),
        coefficients={"nu": nu},
        equations={"heat": lambda u, nu: u.t - nu * u.xx},
        conditions={
            "start": Initial(domain, t=0, u=lambda x: jnp.sin(jnp.pi * x)),
            "walls": Dirichlet(domain.boundary, u=0.0),
        },
        exact={"u": lambda x, t, nu: jnp.exp(-nu * jnp.pi**2 * t) * jnp.sin(jnp.pi * x)},
    )

"""Steady flow behind a grid: the full Navier-Stokes equations for velocities u, v and pressure p.

    u u_x + v u_y + p_x = Δu/Re   on (-1/2, 1) × (-1/2, 3/2)      (momentum-x)
    u v_x + v v_y + p_y = Δv/Re                                   (momentum-y)
    u_x + v_y = 0                                                 (continuity)
    u, v, p of the reference on the edge                          (walls)

Problem: Kovasznay, "Laminar flow behind a two-dimensional grid", Proc. Camb. Phil. Soc. 44 (1948). Reference: exact,
u = 1 - e^(λx) cos 2πy, v = λ/(2π) e^(λx) sin 2πy, p = (1 - e^(2λx))/2 with λ = Re/2 - √(Re²/4 + 4π²).
"""

from jax import numpy as jnp

from stiffax.problem.conditions import Dirichlet
from stiffax.problem.problem import Problem
from stiffax.problem.shapes import Rectangle
from stiffax.zoo.base import entry, positive


def decay(Re):
    return Re / 2 - jnp.sqrt(Re**2 / 4 + 4 * jnp.pi**2)


def exact_u(x, y, Re):
    return 1 - jnp.exp(decay(Re) * x) * jnp.cos(2 * jnp.pi * y)


def exact_v(x, y, Re):
    return decay(Re) / (2 * jnp.pi) * jnp.exp(decay(Re) * x) * jnp.sin(2 * jnp.pi * y)


def exact_p(x, Re):
    return (1 - jnp.exp(2 * decay(Re) * x)) / 2


@entry("kovasznay")
def problem(Re: float = 40.0) -> Problem:
    positive("Re", Re)
    box = Rectangle(x=(-0.5, 1), y=(-0.5, 1.5))
    exact = {"u": exact_u, "v": exact_v, "p": exact_p}
    return Problem(
        name="kovasznay",
        domain=box,
        fields=("u", "v", "p"),
        coefficients={"Re": Re},
        equations={
            "momentum-x": lambda u, v, p, Re: u * u.x + v * u.y + p.x - (u.xx + u.yy) / Re,
            "momentum-y": lambda u, v, p, Re: u * v.x + v * v.y + p.y - (v.xx + v.yy) / Re,
            "continuity": lambda u, v: u.x + v.y,
        },
        conditions={"walls": Dirichlet(box.boundary, **exact)},
        exact=exact,
    )

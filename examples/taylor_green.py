"""A decaying vortex: velocity (u, v) and pressure p of a viscous flow in time (Taylor, Green 1937)."""

import jax.numpy as jnp

import stiffax as sx

square = sx.Rectangle(x=(0, 3.141592653589793), y=(0, 3.141592653589793))
domain = square * sx.Interval(t=(0, 1))


def u_exact(x, y, t, nu):
    return jnp.cos(x) * jnp.sin(y) * jnp.exp(-2 * nu * t)


def v_exact(x, y, t, nu):
    return -jnp.sin(x) * jnp.cos(y) * jnp.exp(-2 * nu * t)


def p_exact(x, y, t, nu):
    return -(jnp.cos(2 * x) + jnp.cos(2 * y)) / 4 * jnp.exp(-4 * nu * t)


problem = sx.Problem(
    domain=domain,
    fields=("u", "v", "p"),
    equations={
        "momentum-x": lambda u, v, p, nu: u.t + u * u.x + v * u.y + p.x - nu * u.laplacian,
        "momentum-y": lambda u, v, p, nu: v.t + u * v.x + v * v.y + p.y - nu * v.laplacian,
        "continuity": lambda u, v: u.x + v.y,
    },
    conditions={
        "start": sx.Initial(
            domain, t=0, u=lambda x, y, nu: u_exact(x, y, 0, nu), v=lambda x, y, nu: v_exact(x, y, 0, nu)
        ),
        "walls": sx.Dirichlet(domain.boundary, u=u_exact, v=v_exact),
        # The equations read derivatives of p in space only: its level is given at one corner, at all times.
        "level": sx.Condition(domain.face("x", 0), lambda p, t, nu: p(x=0.0, y=0.0) - p_exact(0, 0, t, nu)),
    },
    coefficients={"nu": 0.1},
    exact={"u": u_exact, "v": v_exact, "p": p_exact},
    name="taylor-green",
)

if __name__ == "__main__":
    solution = sx.solve(problem)
    for field, error in solution.error().items():
        print(field, error)

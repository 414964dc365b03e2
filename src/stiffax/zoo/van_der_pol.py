"""Van der Pol's oscillator: a system of two ordinary differential equations that runs onto a limit cycle.

    u' = v                       t in (0, 10)      (position)
    v' = mu (1 - u²) v - u                         (velocity)
    u(0) = 2, v(0) = 0                             (start)

Problem: van der Pol, "On relaxation-oscillations", Phil. Mag. 2 (1926). Reference, for mu = 1 only: Taylor series of
order 40 in 50-digit arithmetic, kept as Chebyshev coefficients (references/make_van_der_pol.py). With another mu the
problem has no reference.
"""

from importlib import resources

import jax
import numpy as np
from jax import numpy as jnp

from stiffax.problem.conditions import Initial
from stiffax.problem.problem import Problem
from stiffax.problem.shapes import Interval
from stiffax.zoo.base import entry

REFERENCE_ERROR = 3e-13
MU, END = 1.0, 10.0


def reference():
    """u and v as functions of t, from the stored Chebyshev coefficients by Clenshaw's recurrence."""
    with resources.files("stiffax.zoo").joinpath("references/van_der_pol.npz").open("rb") as file:
        table = np.load(file)
        columns = {name: table[name] for name in ("u", "v")}
    return {name: lambda t, c=c: clenshaw(c, 2 * t / END - 1) for name, c in columns.items()}


def clenshaw(coefficients: np.ndarray, s):
    s = jnp.asarray(s, float)

    def down(pair, c):
        return (c + 2 * s * pair[0] - pair[1], pair[0]), None

    (first, second), _ = jax.lax.scan(down, (0 * s, 0 * s), jnp.asarray(coefficients[:0:-1], s.dtype))
    return coefficients[0] + s * first - second


@entry("van-der-pol", REFERENCE_ERROR)
def problem(mu: float = MU) -> Problem:
    domain = Interval(t=(0, END))
    return Problem(
        name="van-der-pol",
        domain=domain,
        fields=("u", "v"),
        coefficients={"mu": mu},
        equations={
            "position": lambda u, v: u.t - v,
            "velocity": lambda u, v, mu: v.t - mu * (1 - u**2) * v + u,
        },
        conditions={"start": Initial(domain, t=0, u=2.0, v=0.0)},
        exact=reference() if mu == MU else {},
    )

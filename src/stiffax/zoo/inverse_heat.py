"""An unknown conductivity from noisy temperatures: the heat equation backwards.

    u_t = kappa u_xx   on (0, 1), t in (0, 1), kappa unknown, begun at 1      (heat)
    u(x, 0) = sin πx                                                          (start)
    u(0, t) = u(1, t) = 0                                                     (walls)
    200 measured temperatures inside, each with a normal error                (data)

`noise` is the standard deviation of these errors as a part of the largest temperature, which is 1. The true kappa is
0.3. Problem: textbook. Reference: exact, u = exp(-0.3 π² t) sin πx; `standard_error` says how well kappa can be known.
"""

import numpy as np
from jax import numpy as jnp

from stiffax.problem.coefficients import Unknown
from stiffax.problem.conditions import Data, Dirichlet, Initial
from stiffax.problem.problem import Problem
from stiffax.problem.shapes import Interval
from stiffax.zoo.base import at_least, entry

KAPPA = 0.3
MEASUREMENTS = 200
SEED = 1


def places() -> tuple[np.ndarray, np.ndarray]:
    """x and t of the measurements: always the same."""
    x, t = np.random.default_rng(SEED).uniform(size=(2, MEASUREMENTS))
    return x, t


def measurements(noise: float) -> Data:
    x, t = places()
    errors = np.random.default_rng(SEED + 1).normal(size=MEASUREMENTS)
    return Data({"x": x, "t": t}, u=np.exp(-KAPPA * np.pi**2 * t) * np.sin(np.pi * x) + noise * errors)


def standard_error(noise: float = 0.01) -> float:
    """The standard error of kappa that no unbiased estimate from these measurements can beat (Cramér and Rao)."""
    x, t = places()
    sensitivity = -(np.pi**2) * t * np.exp(-KAPPA * np.pi**2 * t) * np.sin(np.pi * x)
    return float(noise / np.linalg.norm(sensitivity))


@entry("inverse-heat")
def problem(noise: float = 0.01) -> Problem:
    at_least("noise", noise, 0)
    domain = Interval(x=(0, 1)) * Interval(t=(0, 1))
    return Problem(
        name="inverse-heat",
        domain=domain,
        fields=("u",),
        coefficients={"kappa": Unknown(1.0, positive=True)},
        equations={"heat": lambda u, kappa: u.t - kappa * u.xx},
        conditions={
            "start": Initial(domain, t=0, u=lambda x: jnp.sin(jnp.pi * x)),
            "walls": Dirichlet(domain.boundary, u=0.0),
            "data": measurements(noise),
        },
        exact={"u": lambda x, t: jnp.exp(-KAPPA * jnp.pi**2 * t) * jnp.sin(jnp.pi * x)},
    )

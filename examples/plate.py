"""A simply supported square plate under a sinusoidal load: the biharmonic equation, of fourth order.

On the edges the deflection and the bending moment vanish: w = 0 and w.xx + w.yy = 0 there.
"""

import jax.numpy as jnp

import stiffax as sx

plate = sx.Rectangle(x=(0, 1), y=(0, 1))
pi = jnp.pi

problem = sx.Problem(
    domain=plate,
    fields=("w",),
    equations={
        "bending": lambda w, x, y: (w.xxxx + 2 * w.xxyy + w.yyyy) / (4 * pi**4) - jnp.sin(pi * x) * jnp.sin(pi * y)
    },
    conditions={
        "edges": sx.Dirichlet(plate.boundary, w=0.0),
        "moments": sx.Condition(plate.boundary, lambda w: w.xx + w.yy),
    },
    exact={"w": lambda x, y: jnp.sin(pi * x) * jnp.sin(pi * y)},
    name="plate",
)

if __name__ == "__main__":
    solution = sx.solve(problem, time_limit=60)
    print(solution.error()["w"])

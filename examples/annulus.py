"""Heat conduction in a ring that is held at 1 inside and cools into its surroundings outside (a Robin condition).

The exact temperature depends on the radius alone: u = 1 - c ln(r / 0.3), with c from u + u.normal = 0 at r = 1.
"""

import jax.numpy as jnp

import stiffax as sx

ring = sx.Disk(x=0, y=0, radius=1.0) - sx.Disk(x=0, y=0, radius=0.3)
c = 1 / (jnp.log(1 / 0.3) + 1)

problem = sx.Problem(
    domain=ring,
    fields=("u",),
    equations={"conduction": lambda u: u.laplacian},
    conditions={
        "inside": sx.Dirichlet(ring.boundary.where(lambda x, y: x**2 + y**2 < 0.25), u=1.0),
        "outside": sx.Robin(ring.boundary.where(lambda x, y: x**2 + y**2 > 0.25), a=1.0, b=1.0, u=0.0),
    },
    exact={"u": lambda x, y: 1 - c * jnp.log(jnp.sqrt(x**2 + y**2) / 0.3)},
    name="annulus",
)

if __name__ == "__main__":
    solution = sx.solve(problem, time_limit=30)
    print(solution.error()["u"])
    solution.plot("annulus.png")

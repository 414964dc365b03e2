"""A screened Poisson equation in a box of five dimensions."""

import jax.numpy as jnp

import stiffax as sx

box = sx.Box(a=(0, 1), b=(0, 1), c=(0, 1), d=(0, 1), e=(0, 1))


def exact(a, b, c, d, e):
    return jnp.exp(-(a + 2 * b + c) / 2) + jnp.sin(c + d - e)


def source(a, b, c, d, e):
    """exact - its Laplacian: the exponential has Laplacian 1.5 times itself, the sine -3 times itself."""
    return -0.5 * jnp.exp(-(a + 2 * b + c) / 2) + 4 * jnp.sin(c + d - e)


problem = sx.Problem(
    domain=box,
    fields=("u",),
    equations={"screened": lambda u, a, b, c, d, e: u - u.laplacian - source(a, b, c, d, e)},
    conditions={"walls": sx.Dirichlet(box.boundary, u=exact)},
    exact={"u": exact},
    name="five-dimensions",
)

if __name__ == "__main__":
    solution = sx.solve(problem, time_limit=30)
    print(solution.error()["u"])

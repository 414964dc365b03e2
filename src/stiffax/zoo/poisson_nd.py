"""Poisson's equation on the unit cube of any dimension, with coordinates x1, x2, ...

    Δu = -π² Σ cos πxᵢ   on (0, 1)^dim      (poisson)
    u = Σ cos πxᵢ on all faces              (walls)

Problem: Dangel, Müller, Zeinhofer, "Kronecker-factored approximate curvature for physics-informed neural networks",
NeurIPS 2024 (dim = 5). Reference: exact, u = Σ cos πxᵢ.
"""

import inspect
from collections.abc import Callable

from jax import numpy as jnp

from stiffax.problem.conditions import Dirichlet
from stiffax.problem.problem import Problem
from stiffax.problem.shapes import Box
from stiffax.zoo.base import at_least, entry


def with_names(names: tuple[str, ...], function: Callable) -> Callable:
    """A function whose parameters have these names, as many as there are: the language matches arguments by name."""

    def called(**values):
        return function(*[values[name] for name in names])

    parameters = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in names]
    called.__signature__ = inspect.Signature(parameters)  # pyright: ignore[reportFunctionMemberAccess]
    return called


def exact(*x):
    return sum(jnp.cos(jnp.pi * xi) for xi in x)


@entry("poisson-nd")
def problem(dim: int = 5) -> Problem:
    at_least("dim", dim, 1)
    names = tuple(f"x{i}" for i in range(1, dim + 1))
    cube = Box(**dict.fromkeys(names, (0, 1)))
    return Problem(
        name="poisson-nd",
        domain=cube,
        fields=("u",),
        equations={"poisson": with_names(("u", *names), lambda u, *x: u.laplacian + jnp.pi**2 * exact(*x))},
        conditions={"walls": Dirichlet(cube.boundary, u=with_names(names, exact))},
        exact={"u": with_names(names, exact)},
    )

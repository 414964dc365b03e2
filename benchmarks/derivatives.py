"""What derivatives cost: one Adam step on the two-scale Poisson loss of the paper, on one core, in float32.

Four ways, interleaved in one run, 6 x 100 tanh, 4,000 points inside and 400 on the walls, in blocks of equal size:

  loop      what `sx.solve` runs: the compiled loop over the problem's system
  jets      the same loss by hand from the jet algebra, gradients added up block by block
  nested    the same loss from `jax.hessian` of the network at each point
  products  the matrix products of a layer alone: streams forward, and back to the weights and to the streams

Prints milliseconds per step (least and median) and what each costs in products: python benchmarks/derivatives.py
"""

# ruff: noqa: E402  (one core must be chosen before JAX is imported)
import os

os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

import stiffax as sx
from stiffax import jets
from stiffax.integrators.explicit import ExplicitEuler
from stiffax.network.composition import compose
from stiffax.precision import computing
from stiffax.problem.physics import assemble
from stiffax.problem.refresh import Keep, choices
from stiffax.setting import PhysicsSetting, weights
from stiffax.train import attempts, begin
from stiffax.zoo.poisson_2d import source

ARCHITECTURE = sx.MLP(100, 6, start=sx.Glorot())
INSIDE, WALLS, WALL_WEIGHT = 4000, 400, 100.0
LAPLACIAN = jets.Basis.of(laplacian=(0, 1))
STEPS = 5  # in one call of a compiled program


def loop(block: int) -> tuple[Callable, Any]:
    problem = sx.zoo.problem("poisson-2d")
    terms = problem.terms(separate=("poisson",))
    drawn = choices(problem, {"poisson": INSIDE, "walls": WALLS})
    model = compose(problem, ARCHITECTURE, points()[0], seed=0)
    layout, θ = assemble(problem, terms, model, block)
    rule = weights(problem, terms, {"walls": WALL_WEIGHT})
    setting = PhysicsSetting(problem, layout, drawn, Keep(), rule, 0)
    system, integrator = setting.system(), ExplicitEuler(optax.adam(1e-3))
    counts = [term.points.shape[0] for term in system.points]
    assert counts == [INSIDE, WALLS], f"the loop would train on {counts} points"
    chunk = attempts(integrator)
    far = jnp.asarray(1_000_000)
    return lambda run: chunk(run, far, jnp.asarray(STEPS)), begin(system, θ, integrator)


def points() -> tuple[np.ndarray, np.ndarray]:
    """Inside, and on two of the walls: what they cost does not depend on where they are."""
    rng = np.random.default_rng(0)
    walls = rng.uniform(0, 1, (WALLS, 2))
    walls[:, 0] = walls[:, 0] > 0.5
    return rng.uniform(0, 1, (INSIDE, 2)), walls


def by_blocks(rows: tuple[Callable, Callable], block: int) -> tuple[Callable, Any]:
    """Adam steps on the mean squares of two rows, (network, point) -> number, the gradient added up over blocks."""
    sets = [jnp.asarray(p, jnp.float32) for p in points()]

    def share(network, row, chunk):
        return jnp.sum(jax.vmap(lambda point: row(network, point))(chunk) ** 2)

    def gradient(network):
        total = jax.tree.map(jnp.zeros_like, network)
        for row, factor, chosen in zip(rows, (1 / INSIDE, WALL_WEIGHT / WALLS), sets, strict=True):
            slope = lambda chunk, row=row: jax.grad(share)(network, row, chunk)
            add = lambda sums, chunk, slope=slope: (jax.tree.map(jnp.add, sums, slope(chunk)), None)
            zero = jax.tree.map(jnp.zeros_like, network)
            parts, _ = jax.lax.scan(add, zero, chosen.reshape(-1, min(block, len(chosen)), 2))
            total = jax.tree.map(lambda t, p, factor=factor: t + factor * p, total, parts)
        return total

    return adam(gradient)


def adam(gradient: Callable) -> tuple[Callable, Any]:
    network: Any = ARCHITECTURE.build(2, 1, 2 * points()[0] - 1, seed=0)
    transform = optax.adam(1e-3)

    def step(state, _):
        trained, moments = state
        updates, moments = transform.update(gradient(trained), moments, trained)
        return (optax.apply_updates(trained, updates), moments), None

    return lambda state: jax.lax.scan(step, state, None, length=STEPS)[0], (network, transform.init(network))


def field(network, point, basis):
    inputs = jets.shift(jets.scale(jets.coordinates(point, basis), 2.0), -1.0)
    for layer in network.layers[:-1]:
        inputs = jets.apply(layer(inputs), jnp.tanh)
    return network.layers[-1](inputs)


def by_jets(block: int) -> tuple[Callable, Any]:
    poisson = lambda network, point: field(network, point, LAPLACIAN).laplacian((0, 1))[0] + source(*point)
    walls = lambda network, point: field(network, point, jets.VALUE).value[0]
    return by_blocks((poisson, walls), block)


def nested(block: int) -> tuple[Callable, Any]:
    def u(network, point):
        values = 2 * point - 1
        for layer in network.layers[:-1]:
            values = jnp.tanh(values @ layer.weight + layer.bias)
        return (values @ network.layers[-1].weight + network.layers[-1].bias)[0]

    poisson = lambda network, point: jnp.trace(jax.hessian(u, argnums=1)(network, point)) + source(*point)
    return by_blocks((poisson, u), block)


def products(block: int) -> tuple[Callable, Any]:
    """As many rows as there are streams, forward and back; the chain keeps a product from being left out."""

    def of_rows(network, rows):
        """The gradient of half the square of the network's output, were it linear and without biases."""
        seen = []
        for layer in network.layers:
            seen.append(rows)
            rows = rows @ layer.weight
        back = []
        for layer, rows_in in zip(network.layers[::-1], seen[::-1], strict=True):
            back.append(eqx.tree_at(lambda one: one.weight, layer, rows_in.T @ rows))
            rows = rows @ layer.weight.T
        return eqx.tree_at(lambda n: n.layers, network, tuple(back[::-1]))

    sets = [np.tile(p, (streams, 1)) for p, streams in zip(points(), (LAPLACIAN.size, 1), strict=True)]
    sizes = [min(block, len(p)) * streams for p, streams in zip(points(), (LAPLACIAN.size, 1), strict=True)]

    def gradient(network):
        total = jax.tree.map(jnp.zeros_like, network)
        add = lambda sums, rows: (jax.tree.map(jnp.add, sums, of_rows(network, rows)), None)
        for rows, size in zip(sets, sizes, strict=True):
            total, _ = jax.lax.scan(add, total, jnp.asarray(rows, jnp.float32).reshape(-1, size, 2))
        return total

    return adam(gradient)


WAYS = {"loop": loop, "jets": by_jets, "nested": nested, "products": products}


def measure(ways: list[str], block: int, rounds: int) -> dict[str, list[float]]:
    """Milliseconds per step, one number for each round and way, the ways taking turns."""
    programs, states, times = {}, {}, {name: [] for name in ways}
    for name in ways:
        many_steps, state = WAYS[name](block)
        programs[name] = eqx.filter_jit(many_steps, donate="all")
        states[name] = jax.block_until_ready(programs[name](jax.tree.map(jnp.array, state)))
    for _, name in ((r, n) for r in range(rounds) for n in ways):
        start = time.perf_counter()
        states[name] = jax.block_until_ready(programs[name](states[name]))
        times[name].append(1e3 * (time.perf_counter() - start) / STEPS)
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description="What derivatives cost, in matrix products.")
    parser.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS))
    parser.add_argument("--block", type=int, default=400, help="points in a block; divides 4000 (default 400)")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--json", type=Path, help="also write the numbers here")
    asked = parser.parse_args()
    with computing("float32"):
        times = measure(asked.ways, asked.block, asked.rounds)
    least = {name: min(t) for name, t in times.items()}
    found = {n: {"least_ms": least[n], "median_ms": float(np.median(t))} for n, t in times.items()}
    for name, numbers in found.items():
        if "products" in found:
            numbers["in_products"] = least[name] / least["products"]
            numbers["median_in_products"] = numbers["median_ms"] / found["products"]["median_ms"]
        print(f"{name:9s}", *(f"{key} {value:.2f}" for key, value in numbers.items()))
    if asked.json:
        asked.json.write_text(
            json.dumps({"block": asked.block, "rounds": asked.rounds, "ways": found}, indent=2) + "\n"
        )


if __name__ == "__main__":
    main()

"""The jet algebra against an independent computation: the value alone, differentiated by nested forward mode."""

import functools
import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from stiffax import jets
from stiffax.jets import Basis
from stiffax.network.inputs import FourierInput, PeriodicInput
from stiffax.network.mlp import MLP
from stiffax.network.modified import ModifiedMLP
from stiffax.network.opaque import Opaque
from stiffax.network.starts import Glorot

POINTS = np.random.default_rng(0).uniform(-1, 1, (20, 2))
POINT = np.array([0.31, -0.47])
PERIODIC = PeriodicInput("x", harmonics=2, period=0.7).on(("x", "t"), [(0.0, 1.4), (0.0, 1.0)])
FOURIER = FourierInput(count=3, scale=0.7, seed=1)


def up_to(order):
    return Basis.of(key for n in range(order + 1) for key in itertools.combinations_with_replacement(range(2), n))


LAPLACIAN = Basis.of(laplacian=(0, 1))

ACTIVATIONS = {
    "tanh": MLP(4, 1, jnp.tanh),
    "sin": MLP(4, 1, jnp.sin, start=Glorot()),
    "cos": MLP(4, 1, jnp.cos),
    "gelu": MLP(4, 1, jax.nn.gelu),
    "swish": MLP(4, 1, jax.nn.swish),
    "softplus": MLP(4, 1, jax.nn.softplus),
    "relu": MLP(4, 2, jax.nn.relu),
    "any function": MLP(4, 1, lambda z: z * jnp.exp(-z * z)),
}
OTHERS = {
    "gated": ModifiedMLP(4, 1, jnp.tanh),
    "fourier": MLP(4, 1, jnp.sin, inputs=FOURIER),
    "periodic": MLP(4, 1, jnp.tanh, inputs=PERIODIC),
    "gated behind waves": ModifiedMLP(4, 1, jnp.sin, inputs=PERIODIC, start=Glorot()),
    "opaque": Opaque(eqx.nn.MLP(2, 2, 4, 1, jnp.tanh, key=jax.random.key(0))),
}
NETWORKS = ACTIVATIONS | OTHERS


def value_of(network, point):
    return network(jets.coordinates(point, jets.VALUE)).value


def by_jets(network, point, keys):
    """Every stream of both bases, one row each."""
    passes = [network(jets.coordinates(point, basis)) for basis in (keys, LAPLACIAN)]
    return jnp.stack([stream for jet in passes for stream in jet.streams])


def by_nesting(network, point, keys):
    """The same rows from one Jacobian inside the other."""
    tensors = lambda x: (value_of(network, x),)
    for _ in range(keys.order):
        tensors = functools.partial(and_next, tensors)
    tensors = tensors(point)
    partial = lambda key: tensors[len(key)][(slice(None), *key)]
    return jnp.stack([*map(partial, keys.keys), *map(partial, LAPLACIAN.keys), partial((0, 0)) + partial((1, 1))])


def and_next(tensors, point):
    """The derivatives so far and those of one order more."""

    def highest(x):
        known = tensors(x)
        return known[-1], known

    more, known = jax.jacfwd(highest, has_aux=True)(point)
    return (*known, more)


def agree(ours, theirs, tolerance=1e-11):
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape and ours.dtype == np.float64
    assert np.all(np.isfinite(theirs))
    assert np.linalg.norm(ours - theirs) <= tolerance * np.linalg.norm(theirs)


@pytest.mark.parametrize("name", NETWORKS)
def test_streams_and_their_parameter_gradients_agree_with_nested_forward_mode(name):
    """Where a stream vanishes (relu has no curvature), it must do so exactly.

    Every activation is followed to fourth order; what else a network is made of to third, which nests one time less.
    """
    keys = up_to(4 if name in ACTIVATIONS else 3)
    with jax.enable_x64(True):
        network, point = NETWORKS[name].build(2, 2, POINTS, seed=3), jnp.asarray(POINT)
        trained, rest = eqx.partition(network, eqx.is_inexact_array)
        mix = jnp.asarray(np.random.default_rng(5).normal(size=(keys.size + LAPLACIAN.size, 2)))

        def contraction(parameters, way):
            rows = way(eqx.combine(parameters, rest), point, keys)
            sizes = jax.lax.stop_gradient(jnp.linalg.norm(rows, axis=1, keepdims=True))
            return jnp.sum(mix * rows / jnp.where(sizes > 0, sizes, 1.0)), rows

        differentiate = jax.grad(contraction, has_aux=True)
        (ours, rows), (theirs, references) = differentiate(trained, by_jets), differentiate(trained, by_nesting)
        for row, reference in zip(rows, references, strict=True):
            agree(row, reference)
        assert np.linalg.norm(references[-1]) > 0 or "relu" in name
        agree(ravel_pytree(ours)[0], ravel_pytree(theirs)[0])


def test_polynomials_have_the_derivatives_of_calculus():
    """x³ t² by products alone, and every derivative of a product with a constant and a sum."""
    with jax.enable_x64(True):
        point = jets.coordinates(jnp.asarray([2.0, 3.0]), Basis.of([(0, 0, 1, 1), (0, 0, 0, 1)]))
        x, t = point[jnp.array([0])], point[jnp.array([1])]
        five = jets.constant(jnp.asarray([5.0]), point.basis)
        u = five * (x * x * x * t * t) + jets.shift(jets.scale(t, 7.0), 1.0)
        expected = {
            (): 5 * 8 * 9 + 7 * 3 + 1,
            (0,): 15 * 4 * 9,
            (1,): 10 * 8 * 3 + 7,
            (0, 1): 30 * 4 * 3,
            (0, 0, 0): 30 * 9,
            (0, 0, 1): 60 * 2 * 3,
            (0, 0, 1, 1): 60 * 2,
            (0, 0, 0, 1): 60 * 3,
        }
        for key, number in expected.items():
            assert u.derivative(key)[0] == number, key


def test_the_laplacian_stream_follows_products_and_powers():
    """r² in five dimensions: Δ r² = 2 d and Δ r⁴ = 4 (d + 2) r²."""
    with jax.enable_x64(True):
        where = np.random.default_rng(2).normal(size=5)
        axes = tuple(range(5))
        point = jets.coordinates(jnp.asarray(where), Basis.of(laplacian=axes))
        square = jets.linear(point * point, jnp.ones((5, 1)), 0.0)
        assert square.laplacian(axes)[0] == pytest.approx(10.0, rel=1e-14)
        expected = 4 * 7 * np.sum(where**2)
        assert (square * square).laplacian(axes)[0] == pytest.approx(expected, rel=1e-14)
        assert jets.apply(square, lambda z: z**2).laplacian(axes)[0] == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("axes", [(0, 1), (0, 1, 2), tuple(range(10))])
def test_a_laplacian_costs_two_streams_more_than_there_are_axes(axes):
    basis = Basis.of([()], laplacian=axes)
    point = jets.coordinates(jnp.ones(len(axes)), basis)
    assert len(point.streams) == basis.size == len(axes) + 2


def test_a_basis_holds_all_parts_of_what_is_wanted_and_no_laplacian_stream_twice():
    assert Basis.of([(1, 0, 0)]).keys == ((), (0,), (1,), (0, 0), (0, 1), (0, 0, 1))
    assert Basis.of([(0, 0), (1, 1)], laplacian=(0, 1)).laplacian == ()
    assert Basis.of(laplacian=(1,)).keys == ((), (1,), (1, 1))


def test_many_points_at_once_give_what_single_points_give():
    with jax.enable_x64(True):
        network = NETWORKS["gated"].build(2, 2, POINTS, seed=0)
        rows = lambda point: jnp.stack(network(jets.coordinates(point, LAPLACIAN)).streams)
        together = jax.vmap(rows)(jnp.asarray(POINTS))
        agree(together, np.stack([rows(jnp.asarray(point)) for point in POINTS]), 1e-14)

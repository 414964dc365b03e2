"""Networks: how they begin, what stands in front of them, what they refuse."""

import json
from typing import Any, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from stiffax import jets
from stiffax.errors import StiffaxError
from stiffax.network.base import embed
from stiffax.network.inputs import FourierInput, PeriodicInput
from stiffax.network.mlp import MLP
from stiffax.network.modified import ModifiedMLP
from stiffax.network.opaque import Opaque
from stiffax.network.starts import Fronts, Glorot, Siren

ANY = cast(Any, lambda given: given)  # hides from the type checker what is wrong on purpose
PLANE = np.random.default_rng(0).uniform(-1, 1, (400, 2))


def first_layer(start, points, outputs, seed=0):
    with jax.enable_x64(True):
        layer = start.first(points, outputs, np.random.default_rng(seed))
    return np.asarray(layer.weight), np.asarray(layer.bias)


def distances_to(points, centre):
    return np.sort(np.linalg.norm(points - centre, axis=1))


def passed_through(points, weight, bias):
    """For each neuron the point on its front, and how far from zero its argument is there."""
    arguments = np.abs(points @ weight + bias)
    return points[arguments.argmin(axis=0)], arguments.min(axis=0)


def test_fronts_pass_through_points_and_are_no_finer_than_the_points_can_see():
    weight, bias = first_layer(Fronts(neighbour=8), PLANE, 300)
    centres, misses = passed_through(PLANE, weight, bias)
    steepness = np.linalg.norm(weight, axis=0)
    finest = np.array([1 / distances_to(PLANE, centre)[8] for centre in centres])
    assert np.all(misses < 1e-12)
    assert np.all(steepness >= 1 - 1e-12) and np.all(steepness <= finest * (1 + 1e-12))


def test_front_directions_are_uniform_and_steepnesses_log_uniform():
    weight, bias = first_layer(Fronts(neighbour=8), PLANE, 2000)
    centres, _ = passed_through(PLANE, weight, bias)
    angles = np.arctan2(weight[1], weight[0])
    assert stats.kstest(angles, stats.uniform(-np.pi, 2 * np.pi).cdf).pvalue > 1e-3
    finest = np.array([1 / distances_to(PLANE, centre)[8] for centre in centres])
    exponents = np.log(np.linalg.norm(weight, axis=0)) / np.log(finest)
    assert stats.kstest(exponents, stats.uniform().cdf).pvalue > 1e-3


@pytest.mark.parametrize(
    "points",
    [np.zeros((1, 2)), np.zeros((9, 1)), np.repeat(PLANE[:3], 20, axis=0), PLANE[:5], np.linspace(-1, 1, 50)[:, None]],
    ids=["a single point", "one point many times", "three points many times", "few points", "a line"],
)
def test_fronts_begin_finitely_on_any_points(points):
    weight, bias = first_layer(Fronts(neighbour=8), points, 40)
    _, misses = passed_through(points, weight, bias)
    assert np.all(np.isfinite(weight)) and np.all(misses < 1e-12)
    assert np.all(np.linalg.norm(weight, axis=0) >= 1 - 1e-12)
    distinct = np.unique(points, axis=0)
    closest = min([1.0, *(distances_to(distinct, centre)[1] for centre in distinct if len(distinct) > 1)])
    assert np.linalg.norm(weight, axis=0).max() <= (1 + 1e-12) / closest


def test_glorot_weights_have_their_variance_and_siren_its_bounds():
    weight, bias = first_layer(Glorot(), np.zeros((1, 100)), 300)
    assert np.var(weight) == pytest.approx(2 / 400, rel=0.05) and not np.any(bias)
    weight, bias = first_layer(Siren(omega=30.0), PLANE, 3000)
    assert 14.9 < np.abs(weight).max() <= 15.0 and 3.1 < np.abs(bias).max() <= np.pi
    with jax.enable_x64(True):
        deeper = Siren().deeper(150, 200, np.random.default_rng(0))
    assert 0.199 < np.abs(deeper.weight).max() <= 0.2


def test_a_sine_network_keeps_its_spread_from_layer_to_layer():
    """What the SIREN start is for: arguments of unit-order spread in every hidden layer, however deep."""
    with jax.enable_x64(True):
        network = MLP(200, 6, jnp.sin).build(2, 1, PLANE, seed=0)
        values = jnp.asarray(PLANE)
        for layer in network.layers[:-1]:
            arguments = values @ layer.weight + layer.bias
            values = jnp.sin(arguments)
            assert 0.5 < float(jnp.std(values)) < 0.9
        assert float(jnp.std(arguments)) == pytest.approx(1.0, rel=0.15)


def test_the_start_follows_the_activation_unless_it_is_named():
    assert MLP(3, 1, jnp.sin).describe()["start"] == "Siren(omega=30.0)"
    assert MLP(3, 1).describe()["start"] == "Fronts(neighbour=8)"
    assert ModifiedMLP(3, 1, jnp.sin, start=Fronts(4)).describe()["start"] == "Fronts(neighbour=4)"
    with jax.enable_x64(True):
        by_name = MLP(5, 2, jnp.sin, start=Fronts()).build(2, 1, PLANE, seed=1)
        as_tanh = MLP(5, 2, jnp.tanh).build(2, 1, PLANE, seed=1)
    assert np.array_equal(by_name.layers[0].weight, as_tanh.layers[0].weight)


@pytest.mark.parametrize("architecture", [MLP(7, 3), ModifiedMLP(7, 3)], ids=lambda a: type(a).__name__)
def test_building_is_a_function_of_the_seed_and_of_the_precision(architecture):
    leaves = lambda seed: jax.tree.leaves(eqx.filter(architecture.build(2, 3, PLANE, seed), eqx.is_inexact_array))
    with jax.enable_x64(True):
        once, again, other = leaves(4), leaves(4), leaves(5)
    single = leaves(4)
    assert all(a.dtype == np.float64 and np.array_equal(a, b) for a, b in zip(once, again, strict=True))
    assert any(not np.array_equal(a, b) for a, b in zip(once, other, strict=True))
    for a, b in zip(once, single, strict=True):
        assert b.dtype == np.float32 and np.array_equal(np.asarray(a, np.float32), b)
    json.dumps(architecture.describe())


def test_parameters_are_counted_as_the_papers_do():
    count = lambda architecture: sum(a.size for a in jax.tree.leaves(architecture.build(2, 1, PLANE, 0)))
    assert count(MLP(30, 4)) == 2911
    assert count(MLP(30, 4, inputs=FourierInput(16))) == 2911 + 32 * 30
    assert count(ModifiedMLP(30, 4)) == 2911 + 2 * 90


def test_a_periodic_input_makes_value_and_derivatives_periodic():
    resolved = PeriodicInput("x", harmonics=3, period=0.5).on(("t", "x"), [(0.0, 1.0), (0.0, 2.0)])
    with jax.enable_x64(True):
        network = MLP(6, 2, inputs=resolved).build(2, 1, PLANE, seed=0)
        at = lambda t, x: np.stack(
            network(jets.coordinates(jnp.asarray([2 * t - 1, x - 1]), jets.Basis.of([(1, 1), (0, 1)]))).streams
        )
        assert resolved.width(2) == 7 == network.layers[0].weight.shape[0]
        assert np.allclose(at(0.3, 0.2), at(0.3, 0.7), rtol=1e-12, atol=1e-10)
        assert not np.allclose(at(0.3, 0.2), at(0.3, 0.45), rtol=1e-3)
        assert not np.allclose(at(0.3, 0.2), at(0.8, 0.2), rtol=1e-3)


def test_several_periodic_coordinates_and_the_whole_width_as_period():
    resolved = PeriodicInput(("x", "y"), harmonics=2).on(("x", "y", "t"), [(0, 3), (-1, 1), (0, 1)])
    with jax.enable_x64(True):
        point = np.array([[0.3, -0.6, 0.9]])
        angles = np.pi * np.array([0.3, 0.6, -0.6, -1.2])
        expected = np.concatenate([[0.9], np.cos(angles), np.sin(angles)])
        assert np.allclose(embed(resolved, point)[0], expected, rtol=1e-14)
        assert embed(resolved, point).shape[1] == resolved.width(3)


def test_fourier_inputs_keep_the_coordinates_and_lie_on_circles():
    waves = FourierInput(count=5, scale=2.0, seed=3)
    with jax.enable_x64(True):
        embedded = embed(waves, PLANE)
    assert embedded.shape == (400, waves.width(2)) and np.array_equal(embedded[:, :2], PLANE)
    assert np.allclose(embedded[:, 2:7] ** 2 + embedded[:, 7:] ** 2, 1.0, atol=1e-14)
    assert not jax.tree.leaves(waves)


def test_any_equinox_module_is_taken_in_the_precision_of_the_run():
    module = eqx.nn.MLP(2, "scalar", 5, 1, jnp.tanh, key=jax.random.key(0))
    with jax.enable_x64(True):
        network = Opaque(module).build(2, 1, PLANE, seed=0)
        point = jnp.asarray([0.1, 0.2])
        value = network(jets.coordinates(point, jets.VALUE)).value
        assert value.shape == (1,) and value.dtype == np.float64
        assert all(a.dtype == np.float64 for a in jax.tree.leaves(eqx.filter(network, eqx.is_inexact_array)))
    assert float(value[0]) == pytest.approx(float(module(jnp.asarray([0.1, 0.2]))), rel=1e-5)


@pytest.mark.parametrize(
    "wrong, words",
    [
        (lambda: MLP(0, 2), "MLP: width is 0; expected a whole number of at least 1"),
        (lambda: ModifiedMLP(5, ANY(1.5)), "ModifiedMLP: depth is 1.5"),
        (lambda: MLP(5, 1, jax.nn.softmax), "activation softmax is not a function of one number"),
        (lambda: MLP(5, 1, ANY("tanh")), "activation 'tanh' is not a function of one number"),
        (lambda: Fronts(neighbour=0), "Fronts: neighbour is 0"),
        (lambda: Siren(omega=-1.0), "Siren: omega is -1.0"),
        (lambda: FourierInput(count=0), "FourierInput: count=0"),
        (lambda: PeriodicInput("x", period=0.0), "PeriodicInput: harmonics=1, period=0.0"),
        (lambda: PeriodicInput("z").on(("x", "t"), [(0, 1), (0, 1)]), "unknown coordinate 'z'. Known here: x, t"),
        (lambda: MLP(5, 1, inputs=PeriodicInput("x")).build(2, 1, PLANE, 0), "the names mean nothing yet"),
        (lambda: Opaque(eqx.nn.Linear(3, 1, key=jax.random.key(0))).build(2, 1, PLANE, 0), "a vector of 2"),
        (lambda: Opaque(eqx.nn.Linear(2, 3, key=jax.random.key(0))).build(2, 1, PLANE, 0), "vector of 1, got"),
    ],
)
def test_what_cannot_work_is_refused_with_words(wrong, words):
    with pytest.raises(StiffaxError) as caught:
        wrong()
    assert words in str(caught.value)

"""Mini-batches: what every step sees, and what a run counts."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import stiffax as sx
from stiffax.batches import Batches
from stiffax.network.composition import compose
from stiffax.precision import computing
from stiffax.problem.physics import assemble
from stiffax.problem.refresh import choices
from stiffax.setting import PhysicsSetting, weights


@pytest.mark.parametrize(("count", "size"), [(12, 4), (13, 4), (400, 40), (7, 1)])
def test_an_epoch_sees_every_place(count, size):
    batches = Batches(size)
    at = jax.jit(lambda number: batches.places(count, number, 5))
    steps = batches.steps(count)
    assert steps == int(np.ceil(count / size))
    epochs = []
    for epoch in range(3):
        seen = np.concatenate([np.asarray(at(epoch * steps + k)) for k in range(steps)])
        assert len(seen) == steps * size
        assert sorted(seen[:count]) == list(range(count))  # each once; what fills up the last batch comes after
        epochs.append(seen)
    assert not np.array_equal(epochs[0], epochs[1]) and not np.array_equal(epochs[1], epochs[2])


def test_the_order_is_random():
    """Over many epochs every place stands in the first batch equally often, and so does every pair of neighbours."""
    count, size, epochs = 20, 5, 4000
    firsts = np.asarray(jax.vmap(lambda e: Batches(size).places(count, e * 4, 0))(jnp.arange(epochs)))
    inside = np.zeros((epochs, count))
    np.put_along_axis(inside, firsts, 1.0, axis=1)
    share, noise = size / count, np.sqrt(0.25 * 0.75 / epochs)
    assert np.abs(inside.mean(0) - share).max() < 4.5 * noise
    pairs = (inside * np.roll(inside, 1, axis=1)).mean(0)
    assert np.abs(pairs - share * (size - 1) / (count - 1)).max() < 5 * noise


def test_a_size_that_is_none_is_refused():
    sizes: list[Any] = [0, -1, 2.5, True]
    for size in sizes:
        with pytest.raises(sx.StiffaxError, match="size="):
            Batches(size)
    with pytest.raises(sx.StiffaxError, match="needs data="):
        sx.minimise(loss=jnp.sum, params=jnp.ones(2), batches=Batches(2))
    with pytest.raises(sx.StiffaxError, match="share their first axis"):
        sx.minimise(loss=lambda p, d: p, params=1.0, data={"a": np.ones(3), "b": np.ones(4)})


DATA = {"x": np.arange(12.0) - 3.0, "y": np.arange(12.0) ** 2}


def by_hand(rate, size, steps, seed):
    """Gradient descent on mean (p·x - y)², a batch at a time."""
    p = 0.5
    for number in range(steps):
        with computing():
            places = np.asarray(Batches(size).places(12, jnp.asarray(number), seed))
        x, y = DATA["x"][places], DATA["y"][places]
        p -= rate * np.mean(2 * (p * x - y) * x)
    return p


def test_every_step_of_minimise_sees_its_batch():
    loss = lambda p, data: jnp.mean((p * data["x"] - data["y"]) ** 2)
    for seed in (0, 3):
        found = sx.minimise(
            loss=loss, params=0.5, data=DATA, batches=Batches(5), seed=seed, steps=7,
            optimizer=sx.ExplicitEuler(optax.sgd(1e-4)),
        )  # fmt: skip
        assert float(found.params) == pytest.approx(by_hand(1e-4, 5, 7, seed), rel=1e-12)
        # what is reported is the loss of all data
        assert found.loss == pytest.approx(np.mean((float(found.params) * DATA["x"] - DATA["y"]) ** 2), rel=1e-12)


def test_residuals_of_a_batch_stand_for_all():
    """The implicit step of size α on a batch of 4 among 12: the sum of squares counts three times."""
    α, x, y = 0.02, DATA["x"], DATA["y"]
    found = sx.minimise(
        residuals=lambda p, data: p * data["x"] - data["y"], params=0.5, data=DATA, batches=Batches(4), steps=1,
        optimizer=sx.ImplicitEuler(controller=sx.Constant(α)),
    )  # fmt: skip
    with computing():
        at = np.asarray(Batches(4).places(12, jnp.asarray(0), 0))
    want = (0.5 + 2 * α * 3 * np.sum(x[at] * y[at])) / (1 + 2 * α * 3 * np.sum(x[at] ** 2))
    assert float(found.params) == pytest.approx(want, rel=1e-12)


def test_classification_by_implicit_steps():
    """Three overlapping clouds, cross-entropy, the paper's method on mini-batches; then plain Adam."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, 3, 300)
    centre = np.asarray([[0, 2], [2, -1], [-2, -1]])[label]
    data = {"x": (centre + 0.6 * rng.normal(size=(300, 2))).astype(np.float32), "label": label}
    params = {"a": rng.normal(size=(2, 8)) / 2, "b": np.zeros(8), "c": rng.normal(size=(8, 3)) / 3, "d": np.zeros(3)}

    def scores(p, x):
        return jax.nn.relu(x @ p["a"] + p["b"]) @ p["c"] + p["d"]

    def loss(p, data):
        return optax.softmax_cross_entropy_with_integer_labels(scores(p, data["x"]), data["label"]).mean()

    k0, k1, k2, batches = 3, 10, 2, 5  # in epochs of 5 batches
    optimizer = [
        sx.Phase(sx.ImplicitEuler(sx.Adam(rate=0.05, steps=k1), controller=sx.Constant(2.0)), steps=k0 * batches),
        sx.Phase(sx.ExplicitEuler(optax.adam(0.01)), steps=k2 * batches),
    ]
    found = sx.minimise(
        loss=loss, params=params, data=data, batches=Batches(60), optimizer=optimizer, precision="float32"
    )
    right = np.argmax(scores(found.params, data["x"]), axis=1) == label
    assert right.mean() > 0.95
    # the paper's count, and beside it every evaluation: K1 inside, one before and one after each implicit step
    assert found.work["iterations"] == (k0 * k1 + k2) * batches
    assert found.history[-1].iterations == found.work["iterations"]
    assert found.work["gradients"] == (k0 * (k1 + 2) + k2) * batches


def test_solve_in_batches():
    problem = sx.zoo.problem("boundary-layer", eps=2.0)
    (name,) = problem.equations
    optimizer = sx.ImplicitEuler(sx.Adam(rate=1e-3, steps=4), controller=sx.Constant(0.5))
    network, points = sx.MLP(width=6, depth=1), {name: 60}
    parts, everything, none = (
        sx.solve(problem, network=network, points=points, optimizer=optimizer, steps=12, batches=batches)
        for batches in (Batches(20), Batches(60), None)
    )
    assert parts.facts.work["iterations"] == parts.facts.history[-1].iterations == 12 * 4
    assert everything.u(0.3) == none.u(0.3) != parts.u(0.3)


def test_a_batch_of_points_stands_for_all():
    """Over an epoch the mean loss of the batches is the loss of all points; conditions of few points are seen whole."""
    problem = sx.zoo.problem("boundary-layer", eps=2.0)
    (name,) = problem.equations
    with computing():
        chosen, terms = choices(problem, {name: 60}), problem.terms(separate=(name,))
        layout, θ = assemble(problem, terms, compose(problem, sx.MLP(width=6, depth=1), np.ones((9, 1)), 0, 1.0), 400)
        setting = PhysicsSetting(problem, layout, chosen, sx.Keep(), weights(problem, terms, None), 0, Batches(20))
        system = setting.system()
        seen = [setting.batch(system, jnp.asarray(number)) for number in range(3)]
        assert [p.share.shape[0] for p in seen[0].points] == [20, *(p.share.shape[0] for p in system.points[1:])]
        loss = jax.jit(lambda part: part.value(θ))
        values = [float(loss(part)) for part in seen]
        assert np.mean(values) == pytest.approx(float(loss(system)), rel=1e-12) and np.std(values) > 0


def test_a_refused_attempt_is_counted():
    jump = lambda v: jnp.where(v > 1.0, jnp.log(v) + 1, jnp.nan)
    optimizer = sx.ImplicitEuler(controller=sx.GainRatio(start=1e9))
    found = sx.minimise(residuals=jump, params=np.asarray([3.0]), optimizer=optimizer, steps=3)
    assert found.refused > 0
    assert found.work["iterations"] == found.work["factorisations"] == found.steps + found.refused
    assert found.work["rows"] == found.steps  # one Jacobian for all attempts of a step
    assert found.steps == 3 and dataclasses.asdict(found.history[-1])["iterations"] == found.work["iterations"]

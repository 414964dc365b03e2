"""The implicit step against its exact laws, the controllers on hand-made steps, the loop on small systems."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.flatten_util import ravel_pytree

import stiffax as sx
from stiffax.endings import stagnates
from stiffax.minimise import FunctionLeastSquares, FunctionLoss, PlainSetting
from stiffax.precision import computing
from stiffax.records import Step, work
from stiffax.train import Clock, Limits, Loop, attempts, begin


@pytest.fixture(autouse=True)
def float64():
    with computing():
        yield


def least_squares(function, θ, rows):
    return FunctionLeastSquares(function, ravel_pytree(θ)[1], rows)


def step(system, θ, α, correction=True):
    euler = sx.ImplicitEuler(sx.GaussNewton(correction=correction))
    state = euler.init(system, θ)
    return euler.attempt(system, θ, state, euler.prepare(system, θ, state), jnp.asarray(α))


@pytest.mark.parametrize("α", [1e-6, 1e-2, 1.0, 1e3, 1e6, 1e12])
@pytest.mark.parametrize("rows", [3, 4])
def test_quadratic_modes_contract_exactly(α, rows):
    """L = Σ λᵢ/2 θᵢ²: backward Euler multiplies mode i by 1/(1 + αλᵢ), in the space of parameters and of rows."""
    λ = jnp.asarray([1e-4, 1.0, 1e4])
    scale = jnp.sqrt(λ / 2)
    pad = jnp.zeros(rows - 3)
    θ = jnp.asarray([1.0, -2.0, 3.0])
    system = least_squares(lambda v: jnp.concatenate([scale * v, pad]), θ, rows)
    new = step(system, θ, α).θ
    assert np.asarray(new) == pytest.approx(np.asarray(θ / (1 + α * λ)), rel=1e-9, abs=1e-13)


def test_fewer_rows_than_parameters_is_the_same_step():
    rng = np.random.default_rng(0)
    a, b = jnp.asarray(rng.normal(size=(5, 9))), jnp.asarray(rng.normal(size=5))
    θ = jnp.asarray(rng.normal(size=9))
    r = lambda v: jnp.tanh(a @ v) - b
    wide = least_squares(r, θ, 5)
    tall = least_squares(lambda v: jnp.concatenate([r(v), jnp.zeros(6)]), θ, 11)
    for α in (0.1, 100.0):
        assert np.asarray(step(wide, θ, α).θ) == pytest.approx(np.asarray(step(tall, θ, α).θ), rel=1e-9)


@pytest.mark.parametrize("correction", [False, True])
def test_one_solve_is_a_dense_levenberg_marquardt_step(correction):
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(8, 4)), rng.normal(size=8)
    θ, α = jnp.asarray(rng.normal(size=4)), 0.01
    r = lambda v: jnp.sin(jnp.asarray(a) @ v) - b
    new = step(least_squares(r, θ, 8), θ, α, correction).θ
    z = a @ np.asarray(θ)
    J, res = np.cos(z)[:, None] * a, np.sin(z) - b
    matrix = J.T @ J + np.eye(4) / (2 * α)
    δ = -np.linalg.solve(matrix, J.T @ res)
    bend = -np.linalg.solve(matrix, J.T @ (-np.sin(z) * (a @ δ) ** 2)) / 2
    assert 2 * np.linalg.norm(bend) < 0.75 * np.linalg.norm(δ)
    assert np.asarray(new - θ) == pytest.approx(δ + bend if correction else δ, rel=1e-12)


def test_correction_raises_the_order_of_the_step():
    """At large α the step aims at a zero of r: from distance h it lands within h² of it, with the correction h³."""
    r = lambda v: jnp.stack([jnp.exp(v[0]) - 1 + v[1], jnp.sin(v[1]) + v[0] ** 2])

    def landed(h, correction):
        θ = h * jnp.asarray([1.0, 0.7])
        return float(jnp.linalg.norm(step(least_squares(r, θ, 2), θ, 1e12, correction).θ))

    for correction, order in ((False, 2.0), (True, 3.0)):
        assert np.log2(landed(2e-3, correction) / landed(1e-3, correction)) == pytest.approx(order, abs=0.05)


def test_predicted_decrease_is_that_of_the_linear_model():
    θ = jnp.asarray([1.0, 2.0])
    a = jnp.asarray([[2.0, 0.0], [1.0, 1.0], [0.0, 3.0]])
    taken = step(least_squares(lambda v: a @ v - 1, θ, 3), θ, 5.0)
    assert float(taken.predicted) == pytest.approx(float(taken.before - taken.after), rel=1e-12)


def made(before, after, predicted):
    zero, none = jnp.zeros(1), jnp.asarray(0.0)
    return Step(zero, jnp.asarray(before), jnp.asarray(after), jnp.asarray(predicted), none, none, zero, work())


@pytest.mark.parametrize(
    ("before", "after", "predicted", "keep", "factor"),
    [
        (1.0, 0.1, 1.0, True, 3.0),  # as promised
        (1.0, 0.5, 1.0, True, 1.0),
        (1.0, 0.9, 1.0, True, 0.5),  # less than a quarter of what was promised
        (1.0, 1.1, 1.0, False, 0.25),  # up
        (1.0, np.nan, 1.0, False, 0.25),
        (1.0, 0.5, np.nan, False, 0.25),
        (np.nan, 0.5, 1.0, False, 0.25),
        (1.0, np.inf, 1.0, False, 0.25),
    ],
)
def test_gain_ratio(before, after, predicted, keep, factor):
    verdict = sx.GainRatio().judge(made(before, after, predicted), jnp.asarray(8.0))
    assert bool(verdict.keep) is keep and float(verdict.α) == 8.0 * factor


def test_constant_keeps_what_is_finite():
    α = jnp.asarray(0.5)
    assert bool(sx.Constant(0.5).judge(made(1.0, 2.0, 0.0), α).keep)
    refused = sx.Constant(0.5).judge(made(1.0, np.nan, 0.0), α)
    assert not bool(refused.keep) and float(refused.α) == 0.5


def test_a_refused_step_leaves_no_trace_but_its_count():
    θ = jnp.asarray([3.0])
    # a kink behind which the loss is nan: the first steps of size 1e9 jump over it
    system = least_squares(lambda v: jnp.where(v[0] > 1.0, jnp.log(v) + 1, jnp.nan), θ, 1)
    euler = sx.ImplicitEuler(controller=sx.GainRatio(start=1e9))
    chunk = jax.jit(attempts(euler))
    first = begin(system, θ, euler)
    after = chunk(first, jnp.asarray(1), jnp.asarray(1))
    assert (int(after.accepted), int(after.refused), int(after.streak)) == (0, 1, 1)
    same = lambda run: (run.θ, run.integrator, run.system, run.best)
    assert eqx.tree_equal(same(after), same(first))
    later = chunk(first, jnp.asarray(1), jnp.asarray(50))
    assert int(later.accepted) == 1 and int(later.streak) == 0 and float(later.θ[0]) > 1.0


def test_no_accepted_step_goes_up():
    rng = np.random.default_rng(4)
    a = jnp.asarray(rng.normal(size=(12, 6)))
    θ = jnp.asarray(rng.normal(size=6)) * 3
    system = least_squares(lambda v: jnp.sin(3 * a @ v) + 0.1 * (a @ v) ** 2 - 1, θ, 12)
    euler = sx.ImplicitEuler()
    chunk, run, losses = jax.jit(attempts(euler)), begin(system, θ, euler), []
    for _ in range(60):
        run = chunk(run, jnp.asarray(10**6), jnp.asarray(1))
        losses.append(float(system.value(run.θ)))
    assert int(run.accepted) > 10 and int(run.refused) > 0
    assert all(b <= a for a, b in zip(losses, losses[1:], strict=False))


def test_work_counts_refused_attempts():
    θ = jnp.asarray([3.0])
    system = least_squares(lambda v: jnp.where(v > 1.0, jnp.log(v) + 1, jnp.nan), θ, 1)
    euler = sx.ImplicitEuler(controller=sx.GainRatio(start=1e9))
    run = jax.jit(attempts(euler))(begin(system, θ, euler), jnp.asarray(2), jnp.asarray(100))
    assert int(run.work.factorisations) == int(run.accepted) + int(run.refused)


def test_explicit_euler_is_gradient_descent():
    θ = jnp.asarray([1.0, -2.0])
    system = FunctionLoss(lambda v: jnp.sum(jnp.asarray([1.0, 3.0]) * v**2), ravel_pytree(θ)[1])
    euler = sx.ExplicitEuler(optax.sgd(0.1))
    state = euler.init(system, θ)
    taken = euler.attempt(system, θ, state, euler.prepare(system, θ, state), jnp.asarray(1.0))
    assert np.asarray(taken.θ) == pytest.approx(np.asarray(θ) * [0.8, 0.4], rel=1e-14)


def test_loop_ends_and_says_why():
    θ = jnp.asarray([1.0, 2.0])
    system = least_squares(lambda v: v**2 + 1.0, θ, 2)  # the least loss is 2, not 0

    def run(limits):
        told = []
        euler = sx.ImplicitEuler()
        loop = Loop(euler, PlainSetting(), limits, Clock(), [], told.append, lambda run, rows: None)
        _, result = loop.go(begin(system, θ, euler))
        return result, told

    floor, told = run(Limits(seconds=60))
    assert floor.ok and floor.name in ("converged", "stagnation") and len(floor.text) > 40
    assert told[0].phase == "compiling" and told[-1].phase == "training"
    assert run(Limits(steps=3))[0].name == "steps"

    def interrupt(progress):
        if progress.phase == "training":
            raise KeyboardInterrupt

    euler = sx.ImplicitEuler()
    loop = Loop(euler, PlainSetting(), Limits(seconds=60), Clock(), [], interrupt, lambda run, rows: None)
    last, result = loop.go(begin(system, θ, euler))
    assert result.name == "interrupted" and np.isfinite(np.asarray(last.θ)).all()


def test_stagnation_looks_at_the_last_third():
    falling = [(n, 0.9 ** (n / 10)) for n in range(0, 2000, 10)]
    assert not stagnates(falling)
    assert stagnates(falling + [(n, falling[-1][1]) for n in range(2000, 3500, 10)])
    assert not stagnates([(n, 1.0) for n in range(0, 300, 10)])

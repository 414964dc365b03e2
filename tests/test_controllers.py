"""Controllers on steps whose exact behaviour is known."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

import stiffax as sx
from stiffax.minimise import FunctionLeastSquares
from stiffax.precision import computing
from stiffax.records import Step, work
from stiffax.train import attempts, begin


@pytest.fixture(autouse=True)
def float64():
    with computing():
        yield


def made(before, after, moved):
    zero, one = jnp.zeros(1), jnp.asarray(1.0)
    return Step(zero, jnp.asarray(before), jnp.asarray(after), one, jnp.asarray(moved), 0 * one, zero, work())


def linear_flow(λ, θ):
    scale = jnp.sqrt(jnp.asarray(λ) / 2)
    return FunctionLeastSquares(lambda v: scale * v, ravel_pytree(θ)[1], len(λ))


def accepted(integrator, system, θ, time, most=5000):
    """The attempts up to a time of the flow, as (α of the step, θ after it)."""
    chunk, run, seen, reached = eqx.filter_jit(attempts(integrator)), begin(system, θ, integrator), [], 0.0
    for _ in range(most):
        α, count = float(run.α), int(run.accepted)
        run = chunk(run, jnp.asarray(10**6), jnp.asarray(1))
        if int(run.accepted) > count:
            seen.append((α, np.asarray(run.θ)))
            reached += α
        if reached >= time:
            break
    return seen


def test_pseudo_transient_follows_the_residual():
    """Without refusals α = start · (r₀/r)^power."""
    θ = jnp.asarray([1.0, -2.0, 0.5])
    system = linear_flow([0.3, 2.0, 9.0], θ)
    r0 = float(jnp.sqrt(system.value(θ)))
    for power in (1.0, 0.5):
        euler = sx.ImplicitEuler(controller=sx.PseudoTransient(start=0.2, power=power))
        run = jax.jit(attempts(euler))(begin(system, θ, euler), jnp.asarray(12), jnp.asarray(100))
        assert int(run.accepted) == 12 and int(run.refused) == 0
        r = float(jnp.sqrt(system.value(run.θ)))
        assert float(run.α) == pytest.approx(0.2 * (r0 / r) ** power, rel=1e-10)


@pytest.mark.parametrize("after", [1.5, np.nan, np.inf])
def test_pseudo_transient_refuses_what_goes_up(after):
    verdict = sx.PseudoTransient().judge(made(1.0, after, 1.0), jnp.asarray(8.0))
    assert not bool(verdict.keep) and float(verdict.α) == 2.0


@pytest.mark.parametrize("λ", [0.1, 1.0, 30.0])
def test_local_error_is_estimated_from_the_energy(λ):
    """The controller's limit lies where the step's error against exp(-αλ) crosses the tolerance."""
    θ, tolerance = jnp.asarray([2.0]), 1e-4
    system, controller = linear_flow([λ], θ), sx.LocalError(tolerance)
    euler = sx.ImplicitEuler(controller=controller)

    def verdict(α):
        state = euler.init(system, θ)
        step = euler.attempt(system, θ, state, euler.prepare(system, θ, state), jnp.asarray(α))
        return bool(controller.judge(step, jnp.asarray(α)).keep), abs(float(step.θ[0] - θ[0] * jnp.exp(-α * λ)))

    limit = np.sqrt(tolerance) / λ  # where θ₀(αλ)²/2 is the tolerance
    kept, error = verdict(0.9 * limit)
    assert kept and error < tolerance
    kept, error = verdict(1.1 * limit)
    assert not kept and error > tolerance


def test_local_error_follows_the_flow():
    θ, λ = jnp.asarray([1.0, 1.0]), np.asarray([1.0, 8.0])
    system, far = linear_flow(λ, θ), []
    for tolerance in (1e-3, 1e-5):
        steps = accepted(sx.ImplicitEuler(controller=sx.LocalError(tolerance)), system, θ, 1.0)
        times = np.cumsum([α for α, _ in steps])
        far.append(max(np.linalg.norm(at - np.exp(-λ * t)) for t, (_, at) in zip(times, steps, strict=True)))
    # steps shrink with the root of the tolerance, and so does the error of a method of first order
    assert far[0] / far[1] == pytest.approx(10, rel=0.4) and far[1] < 5e-3


def test_local_error_is_the_wrong_controller_for_training():
    """Equal attempts on a stiff quadratic: the flow has hardly begun to move its slow mode."""
    θ = jnp.asarray([1.0, 1.0])
    system = linear_flow([1e-4, 1e4], θ)

    def loss(controller):
        euler = sx.ImplicitEuler(controller=controller)
        run = jax.jit(attempts(euler))(begin(system, θ, euler), jnp.asarray(10**6), jnp.asarray(40))
        return float(system.value(run.θ) / system.value(θ)), float(run.θ[0])

    assert loss(sx.GainRatio(start=1e-3))[1] < 1e-6
    assert loss(sx.LocalError(tolerance=1e-3))[1] > 0.2

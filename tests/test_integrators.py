"""Orders of convergence on the gradient flow, the published inertial step, and steps that never go up."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.flatten_util import ravel_pytree

import stiffax as sx
from stiffax.minimise import FunctionLeastSquares
from stiffax.precision import computing
from stiffax.train import attempts, begin

Λ = jnp.asarray([0.5, 2.0])
START = jnp.asarray([1.0, 1.0])


@pytest.fixture(autouse=True)
def float64():
    with computing():
        yield


def least_squares(function, θ, rows):
    return FunctionLeastSquares(function, ravel_pytree(θ)[1], rows)


def walk(integrator, system, θ, sizes):
    """Accept every step, of the sizes given."""
    state, seen = integrator.init(system, θ), []

    @jax.jit
    def once(θ, state, α):
        return integrator.attempt(system, θ, state, integrator.prepare(system, θ, state), α)

    for α in sizes:
        step = once(θ, state, jnp.asarray(α))
        θ, state = step.θ, step.state
        seen.append(step)
    return seen


def flow_error(integrator, sizes):
    """After time Σα on θ' = -∇L for L = ½ Σ λθ²."""
    system = least_squares(lambda v: jnp.sqrt(jnp.asarray(Λ, float) / 2) * v, jnp.asarray(START, float), 2)
    end = walk(integrator, system, jnp.asarray(START, float), sizes)[-1].θ
    return float(jnp.linalg.norm(end - jnp.exp(-Λ * np.sum(sizes)) * START))


def even(n):
    return np.full(n, 1 / n)


def alternating(n):
    """Every second step is twice as long."""
    return np.tile([2.0, 4.0], n // 2) / (3 * n)


@pytest.mark.parametrize("sizes", [even, alternating])
@pytest.mark.parametrize(
    ("integrator", "order"),
    [(sx.ExplicitEuler(optax.sgd(1.0)), 1), (sx.ImplicitEuler(), 1), (sx.BDF2(), 2)],
    ids=["explicit", "implicit", "bdf2"],
)
def test_order_on_the_gradient_flow(integrator, order, sizes):
    errors = [flow_error(integrator, sizes(n)) for n in (40, 80, 160)]
    observed = [np.log2(a / b) for a, b in zip(errors, errors[1:], strict=False)]
    assert observed == pytest.approx([order, order], abs=0.06)


def test_bdf2_solves_its_formula():
    """On an iterated inner solve every step satisfies the two-step formula, with sizes that change."""
    integrator = sx.BDF2(sx.LBFGS(tolerance=1e-12))
    r = lambda v: jnp.stack([jnp.sin(v[0]) + v[1], v[0] * v[1] - 0.3, v[1]])
    θ = jnp.asarray([0.8, -0.5])
    system = least_squares(r, θ, 3)
    sizes = [0.3, 0.2, 0.4]
    first, second, third = (s.θ for s in walk(integrator, system, θ, sizes))
    slope = lambda v: system.value_and_gradient(v).gradient
    assert np.asarray(first - θ) == pytest.approx(np.asarray(-0.3 * slope(first)), abs=1e-9)
    for old, mid, new, α, before in ((θ, first, second, 0.2, 0.3), (first, second, third, 0.4, 0.2)):
        ω = α / before
        left = (1 + 2 * ω) / (1 + ω) * new - (1 + ω) * mid + ω**2 / (1 + ω) * old
        assert np.asarray(left) == pytest.approx(np.asarray(-α * slope(new)), abs=1e-9)


def test_inertial_is_the_published_spring_step():
    """φ = μφ₋ + Jᵀ(JJᵀ + λI)⁻¹(-r - μJφ₋) with λ = 1/(2α) (Goldshlager, Abrahamsen, Lin 2024, equation 26)."""
    rng = np.random.default_rng(0)
    a, b, θ, μ, α = rng.normal(size=(4, 7)), rng.normal(size=4), rng.normal(size=7), 0.95, 3.0
    system = least_squares(lambda v: jnp.tanh(jnp.asarray(a) @ v) - b, jnp.asarray(θ), 4)
    seen = walk(sx.Inertial(sx.GaussNewton(correction=False), momentum=μ), system, jnp.asarray(θ), [α] * 4)
    φ = np.zeros(7)
    for step in seen:
        t = np.tanh(a @ θ)
        J, r = (1 - t**2)[:, None] * a, t - b
        φ = μ * φ + J.T @ np.linalg.solve(J @ J.T + np.eye(4) / (2 * α), -r - μ * J @ φ)
        θ = θ + φ
        assert np.asarray(step.θ) == pytest.approx(θ, rel=1e-10)


@pytest.mark.parametrize("integrator", [sx.BDF2(), sx.Inertial()], ids=["bdf2", "inertial"])
def test_loss_before_is_that_of_the_accepted_parameters(integrator):
    """... and not of the anchor, which may lie uphill."""
    θ = jnp.asarray([2.0, -1.0])
    system = least_squares(lambda v: jnp.stack([v[0] ** 2 - 1, v[0] * v[1], jnp.exp(v[1]) - 1]), θ, 3)
    seen = walk(integrator, system, θ, [0.1, 0.1, 0.2])
    for last, step in zip(seen, seen[1:], strict=False):
        assert float(step.before) == pytest.approx(float(system.value(last.θ)), rel=1e-12)
        assert float(step.after) == pytest.approx(float(system.value(step.θ)), rel=1e-12)


@pytest.mark.parametrize("integrator", [sx.BDF2(), sx.Inertial()], ids=["bdf2", "inertial"])
def test_anchored_steps_never_go_up_and_arrive(integrator):
    """Rosenbrock's valley, from where everybody starts."""
    θ = jnp.asarray([-1.2, 1.0])
    system = least_squares(lambda v: jnp.stack([10 * (v[1] - v[0] ** 2), 1 - v[0]]), θ, 2)
    chunk, run, losses = jax.jit(attempts(integrator)), begin(system, θ, integrator), []
    for _ in range(120):
        run = chunk(run, jnp.asarray(10**6), jnp.asarray(1))
        losses.append(float(system.value(run.θ)))
    assert int(run.refused) > 0 and np.asarray(run.θ) == pytest.approx(1.0, abs=1e-6)
    assert all(b <= a for a, b in zip(losses, losses[1:], strict=False))

"""Inner solvers: exact laws on quadratics, agreement with each other, failures as numbers, work as counted by hand."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import optimistix
import pytest
from jax.flatten_util import ravel_pytree

import stiffax as sx
from stiffax.inner.gauss_newton import by_size
from stiffax.minimise import FunctionLeastSquares, FunctionLoss
from stiffax.network.composition import compose
from stiffax.precision import computing
from stiffax.problem.physics import assemble
from stiffax.problem.refresh import Redraw, choices
from stiffax.setting import PhysicsSetting
from stiffax.setting import weights as weight_rule
from stiffax.train import attempts, begin


@pytest.fixture(autouse=True)
def float64():
    with computing():
        yield


def least_squares(function, θ):
    return FunctionLeastSquares(function, ravel_pytree(θ)[1], function(θ).size)


def loss(function, θ):
    return FunctionLoss(function, ravel_pytree(θ)[1])


@eqx.filter_jit
def compiled(inner, system, θ, α, away):
    return inner.solve(system, θ, inner.prepare(system, θ, inner.init(system, θ)), α, away)


def solved(inner, system, θ, α, away=None):
    return compiled(inner, system, θ, jnp.asarray(α, θ.dtype), away)


def defect(system, θ, δ, α):
    slope = jax.grad(system.value)(θ + δ)
    return float(jnp.linalg.norm(δ + α * slope) / jnp.linalg.norm(δ))


@functools.cache
def waves(rows, parameters, seed=0):
    rng = np.random.default_rng(seed)
    a, b = jnp.asarray(rng.normal(size=(rows, parameters))), jnp.asarray(rng.normal(size=rows))
    θ = jnp.asarray(rng.normal(size=parameters))
    return least_squares(lambda v: jnp.sin(a @ v) + 0.1 * (a @ v) - b, θ), θ


λ = np.asarray([1e-2, 1.0, 1e2])
DIRECT = {
    "cholesky": sx.GaussNewton(),
    "iterated": sx.GaussNewton(steps=5),
    "qr": sx.GaussNewton(linear=sx.QR()),
}
ITERATIVE = {
    "cg": sx.GaussNewton(linear=sx.CG(tolerance=1e-12)),
    "cg-plain": sx.GaussNewton(linear=sx.CG(tolerance=1e-12, preconditioner=None)),
    "lbfgs": sx.LBFGS(tolerance=1e-9),
    "newton": sx.NewtonCG(tolerance=1e-9),
    "optimistix": sx.Optimistix(optimistix.LevenbergMarquardt(1e-12, 1e-12)),
    "adam": sx.Adam(rate=1e-2, steps=4000),
}


@functools.cache
def quadratic(rows):
    """L = Σ λᵢ/2 θᵢ²."""
    θ, pad = jnp.asarray([1.0, -2.0, 3.0]), jnp.zeros(rows - 3)
    return least_squares(lambda v: jnp.concatenate([np.sqrt(λ / 2) * v, pad]), θ), θ


@pytest.mark.parametrize("α", [1e-6, 1.0, 1e6, 1e12])
@pytest.mark.parametrize("name", DIRECT)
def test_direct_solvers_contract_modes_exactly(name, α):
    system, θ = quadratic(3 if name == "iterated" else 4)
    new = θ + solved(DIRECT[name], system, θ, α).δ
    assert np.asarray(new) == pytest.approx(np.asarray(θ) / (1 + α * λ), rel=1e-9, abs=1e-13)


@pytest.mark.parametrize("α", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("name", ITERATIVE)
def test_iterative_solvers_contract_modes_to_their_tolerance(name, α):
    if name == "adam" and α > 1:
        pytest.skip("thousands of steps of a fixed rate do not solve a condition number of 1e5")
    system, θ = quadratic(3)
    new = θ + solved(ITERATIVE[name], system, θ, α).δ
    digits = 1e-3 if name == "adam" else 1e-6
    assert np.asarray(new) == pytest.approx(np.asarray(θ) / (1 + α * λ), rel=digits, abs=digits)


@pytest.mark.parametrize("name", [*DIRECT, *ITERATIVE])
def test_the_anchor_may_stand_elsewhere(name):
    """min ½‖δ - away‖² + αL(θ + δ) on the quadratic: θ + δ = (θ + away)/(1 + αλ)."""
    system, θ = quadratic(3)
    away = jnp.asarray([0.3, 0.2, -0.1])
    new = θ + solved({**DIRECT, **ITERATIVE}[name], system, θ, 0.1, away).δ
    assert np.asarray(new) == pytest.approx(np.asarray(θ + away) / (1 + 0.1 * λ), abs=2e-3 if name == "adam" else 1e-6)


@pytest.mark.parametrize("shape", [(12, 5), (5, 12)])
@pytest.mark.parametrize("α", [0.1, 0.5])
def test_iterated_gauss_newton_is_implicit_to_its_tolerance(shape, α):
    system, θ = waves(*shape)
    found = solved(sx.GaussNewton(steps=500, tolerance=1e-9), system, θ, α)
    assert int(found.work.iterations) < 500
    assert defect(system, θ, found.δ, α) <= 1.01e-9
    assert float(system.value(θ + found.δ)) < float(system.value(θ))


def pinn():
    """A Poisson problem with 21 residual rows or so, as `solve` builds it."""
    problem = sx.zoo.problem("poisson-1d")
    terms = problem.terms(separate=())
    drawn = choices(problem, {"poisson": 24})
    seen = np.linspace(0.0, 1.0, 24)[:, None]
    layout, θ = assemble(problem, terms, compose(problem, sx.MLP(width=6, depth=2), seen, 0, 1.0), 400)
    rule = weight_rule(problem, terms, "balanced")
    return PhysicsSetting(problem, layout, drawn, Redraw(every=10), rule, 0).system(), θ


def test_iterated_gauss_newton_on_a_network():
    system, θ = pinn()
    one, many = (solved(sx.GaussNewton(steps=n, tolerance=1e-6), system, θ, 1e-3) for n in (1, 100))
    assert defect(system, θ, many.δ, 1e-3) <= 1.01e-6 < defect(system, θ, one.δ, 1e-3)


@pytest.mark.parametrize("shape", [(12, 5), (5, 12)])
@pytest.mark.parametrize("α", [0.1, 100.0])
def test_linear_solvers_agree(shape, α):
    system, θ = waves(*shape)
    one = solved(sx.GaussNewton(linear=sx.Cholesky()), system, θ, α).δ
    for linear in (sx.QR(), sx.CG(tolerance=1e-13), sx.CG(tolerance=1e-13, preconditioner=sx.Nystrom(2))):
        other = solved(sx.GaussNewton(linear=linear), system, θ, α).δ
        assert np.asarray(other) == pytest.approx(np.asarray(one), rel=1e-9, abs=1e-10)


def test_nonlinear_solvers_find_the_same_step():
    system, θ = waves(12, 5)
    want = np.asarray(solved(sx.GaussNewton(steps=200, tolerance=1e-11), system, θ, 0.05).δ)
    others = (
        sx.LBFGS(tolerance=1e-9),
        sx.NewtonCG(tolerance=1e-9),
        sx.Optimistix(optimistix.LevenbergMarquardt(1e-12, 1e-12)),
        sx.Optimistix(optimistix.Dogleg(1e-12, 1e-12)),
        sx.Adam(rate=1e-2, steps=3000),
    )
    for inner in others:
        got = np.asarray(solved(inner, system, θ, 0.05).δ)
        assert got == pytest.approx(want, abs=1e-4 if isinstance(inner, sx.Adam) else 1e-7), inner


def test_preconditioner_saves_products():
    rng = np.random.default_rng(2)
    q = np.linalg.qr(rng.normal(size=(40, 40)))[0]
    a = jnp.asarray(q * np.where(np.arange(40) < 10, 10.0 ** np.linspace(4, 1, 40), 1.0) @ q.T)
    θ = jnp.ones(40)
    system = least_squares(lambda v: a @ v, θ)
    plain, helped = (
        solved(sx.GaussNewton(linear=sx.CG(tolerance=1e-10, preconditioner=p), correction=False), system, θ, 1.0)
        for p in (None, sx.Nystrom(15))
    )
    assert int(helped.work.products) < int(plain.work.products) / 2
    want = jnp.linalg.solve(a.T @ a + jnp.eye(40) / 2, -a.T @ (a @ θ))
    assert np.asarray(helped.δ) == pytest.approx(np.asarray(want), abs=1e-5)


def test_inner_adam_is_algorithm_1():
    """The increments of three outer steps against a loop written by hand, fresh moments at each."""
    system, θ = waves(8, 4)
    α, rate, mine = 0.5, 1e-2, θ
    for _ in range(3):
        θ = θ + solved(sx.Adam(rate=rate, steps=7), system, θ, α).δ
        anchor, first, second = mine, 0.0, 0.0
        for k in range(1, 8):
            g = (mine - anchor) + α * jax.grad(system.value)(mine)
            first, second = 0.9 * first + 0.1 * g, 0.999 * second + 0.001 * g**2
            mine = mine - rate * (first / (1 - 0.9**k)) / (jnp.sqrt(second / (1 - 0.999**k)) + 1e-8)
    assert np.asarray(θ) == pytest.approx(np.asarray(mine), rel=1e-10)


def test_warm_adam_keeps_its_moments_for_accepted_steps_only():
    system, θ = waves(8, 4)
    warm = sx.ImplicitEuler(sx.Adam(rate=1e-2, steps=5, warm=True), controller=sx.Constant(0.5))
    run = jax.jit(attempts(warm))(begin(system, θ, warm), jnp.asarray(3), jnp.asarray(3))
    assert int(optax.tree.get(run.integrator, "count")) == 15
    cold = sx.ImplicitEuler(sx.Adam(rate=1e-2, steps=5), controller=sx.Constant(0.5))
    other = jax.jit(attempts(cold))(begin(system, θ, cold), jnp.asarray(3), jnp.asarray(3))
    assert other.integrator is None and float(jnp.linalg.norm(run.θ - other.θ)) > 1e-3
    broken = least_squares(lambda v: jnp.where(v > 5, v, jnp.nan), jnp.zeros(2))
    refused = jax.jit(attempts(warm))(begin(broken, jnp.zeros(2), warm), jnp.asarray(1), jnp.asarray(2))
    assert int(refused.refused) == 2 and int(optax.tree.get(refused.integrator, "count")) == 0


def test_lbfgs_reaches_its_tolerance():
    system, θ = waves(12, 5)
    found = solved(sx.LBFGS(tolerance=1e-7), system, θ, 0.5)
    assert defect(system, θ, found.δ, 0.5) <= 1e-7 and int(found.work.iterations) < 200


def test_newton_on_logistic_regression():
    rng = np.random.default_rng(3)
    x, y = jnp.asarray(rng.normal(size=(40, 6))), jnp.asarray(rng.integers(0, 2, 40))
    θ = jnp.zeros(6)
    system = loss(lambda v: jnp.mean(jnp.logaddexp(0, x @ v) - y * (x @ v)), θ)
    for α in (0.1, 10.0, 1e3):
        found = solved(sx.NewtonCG(tolerance=1e-9), system, θ, α)
        assert defect(system, θ, found.δ, α) <= 1e-9 and int(found.work.iterations) <= 10


@pytest.mark.parametrize("inner", [sx.NewtonCG(), sx.LBFGS()], ids=["newton", "lbfgs"])
def test_negative_curvature_is_left_behind(inner):
    """L = (x² - 1)² + y² at x = 0.01, where 1 + αL'' < 0: the step still goes down, into the well at x = 1."""
    θ = jnp.asarray([0.01, 0.5])
    system = loss(lambda v: (v[0] ** 2 - 1) ** 2 + v[1] ** 2, θ)
    assert 1 + 10.0 * float(jax.hessian(system.value)(θ)[0, 0]) < 0
    found = solved(inner, system, θ, 10.0)
    assert float(jnp.sum(found.δ**2) / 2 + 10 * system.value(θ + found.δ)) < 10 * float(system.value(θ))
    assert float((θ + found.δ)[0]) > 0.9 and defect(system, θ, found.δ, 10.0) < 1e-5


@pytest.mark.parametrize("name", [*DIRECT, *ITERATIVE])
def test_not_a_number_is_a_refused_step(name):
    inner = {**DIRECT, **ITERATIVE}[name]
    θ = jnp.ones(3)
    system = least_squares(lambda v: jnp.log(-v), θ)
    assert not np.isfinite(np.asarray(solved(inner, system, θ, 1.0).δ)).any()
    euler = sx.ImplicitEuler(inner, controller=sx.Constant(1.0))
    run = jax.jit(attempts(euler))(begin(system, θ, euler), jnp.asarray(1), jnp.asarray(2))
    assert (int(run.accepted), int(run.refused)) == (0, 2) and bool((run.θ == θ).all())


@pytest.mark.parametrize("rows", [6, 3])
def test_qr_takes_over_where_cholesky_fails(rows):
    """Two equal columns (or rows) and a damping below the rounding of the Gram matrix, in float32."""
    rng = np.random.default_rng(3)
    a = rng.normal(size=(rows, 4))
    a[:, 1] = a[:, 0]
    a[1] = a[0]
    b = rng.normal(size=4)
    α = 1e10
    with computing("float32"):
        matrix, θ = jnp.asarray(a, "float32"), jnp.zeros(4, "float32")
        system = least_squares(lambda v: matrix @ (v - jnp.asarray(b, "float32")), θ)
        alone = solved(sx.GaussNewton(linear=sx.Cholesky(fallback=None)), system, θ, α)
        helped = solved(sx.GaussNewton(), system, θ, α)
        assert int(helped.work.fallbacks) == 1 and int(helped.work.factorisations) == 2
        δ = np.asarray(helped.δ, "float64")
    want = np.linalg.pinv(a) @ (a @ b)  # of least norm, which the smallest damping selects
    assert not np.isfinite(np.asarray(alone.δ)).any()
    assert a @ δ == pytest.approx(a @ want, abs=1e-4)
    assert δ == pytest.approx(want, abs=1e-2)


def test_sound_systems_are_left_to_cholesky():
    system, θ = waves(12, 5)
    for α in (1e-6, 1.0, 1e6):
        assert int(solved(sx.GaussNewton(), system, θ, α).work.fallbacks) == 0


def counts(done):
    names = ("iterations", "losses", "gradients", "rows", "products", "factorisations")
    return tuple(int(getattr(done, name)) for name in names)


def test_work_is_what_was_done():
    """By hand, on a linear residual of 4 rows and 3 parameters: one Newton step is exact."""
    system, θ = quadratic(4)
    prepared = {n: counts(i.prepare(system, θ).work) for n, i in (DIRECT | ITERATIVE).items()}
    assert prepared["cholesky"] == prepared["qr"] == (0, 1, 0, 4, 0, 0)
    assert prepared["adam"] == prepared["lbfgs"] == prepared["newton"] == (0, 1, 1, 0, 0, 0)
    assert prepared["cg"] == (0, 1, 0, 0, 6, 0) and prepared["cg-plain"] == (0, 1, 0, 0, 0, 0)
    assert counts(solved(sx.Adam(steps=9), system, θ, 1.0).work) == (9, 9, 9, 0, 0, 0)
    assert counts(solved(sx.GaussNewton(), system, θ, 1.0).work) == (1, 2, 0, 0, 0, 1)
    assert counts(solved(sx.GaussNewton(correction=False), system, θ, 1.0).work) == (1, 0, 0, 0, 0, 1)
    # one solve, one look where it led, and the defect is small enough
    assert counts(solved(sx.GaussNewton(steps=9), system, θ, 1.0).work) == (1, 3, 1, 0, 0, 1)
    # three distinct eigenvalues: three products with JᵀJ, two with J around them
    plain = sx.GaussNewton(linear=sx.CG(preconditioner=None), correction=False)
    assert counts(solved(plain, system, θ, 1.0).work) == (1, 0, 0, 0, 8, 0)


def test_promise_tells_solved_from_unsolved():
    """The gain ratio is at least 1 where the problem is solved, and small where a few steps are far from solving it."""
    system, θ = quadratic(3)

    def ratio(inner, α):
        found = solved(inner, system, θ, α)
        return float((system.value(θ) - system.value(θ + found.δ)) / found.predicted)

    assert ratio(sx.LBFGS(), 1.0) >= 1.0
    assert 0 < ratio(sx.Adam(rate=1e-3, steps=5), 1e3) < 0.01


def test_large_systems_are_not_factorised():
    assert isinstance(by_size(2000, 1500), sx.Cholesky)
    assert isinstance(by_size(50_000, 100_000), sx.CG)

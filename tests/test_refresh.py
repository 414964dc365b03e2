"""Which points a run is trained on, when they are renewed, and what weighs how much."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import stiffax as sx
from stiffax.errors import StiffaxError
from stiffax.jets import VALUE
from stiffax.network.composition import compose
from stiffax.precision import computing
from stiffax.problem.physics import assemble
from stiffax.problem.refresh import HELD_OUT, REPORTED, TRAINING, AbstractRefresh, choices, draw_seed
from stiffax.records import Row
from stiffax.setting import PhysicsSetting
from stiffax.setting import weights as weight_rule
from stiffax.train import begin

LINE = sx.Interval(x=(0, 1))
SQUARE = sx.Rectangle(x=(0, 1), y=(0, 2))
ROOM = sx.Box(x=(0, 1), y=(0, 1), z=(0, 1))
WHOLE = 1 << 20  # points in a block: all of them


@pytest.fixture(autouse=True)
def in_float64():
    with computing():
        yield


def poisson(domain=SQUARE, **conditions):
    return sx.Problem(
        domain,
        "u",
        {"poisson": lambda u, x: u.laplacian - 30 * jnp.sin(9 * x)},
        {"walls": sx.Dirichlet(domain.boundary, u=lambda x: x)} | conditions,
    )


def prepared(problem, points=None, refresh=None, weights: Any = "balanced", seed=0, most=WHOLE):
    """The physics and a run before its first step, as `solve` makes them."""
    counts = choices(problem, points)
    terms = problem.terms(separate=tuple(n for n in points or {} if n in problem.equations))
    seen = sx.Uniform().draw(problem.region(problem.domain), 50, 0).points
    network = sx.MLP(6, 1, start=sx.Glorot())
    layout, θ = assemble(problem, terms, compose(problem, network, seen, 0), most)
    rule = weight_rule(problem, terms, weights)
    setting = PhysicsSetting(problem, layout, counts, refresh or sx.Redraw(every=5), rule, seed)
    return setting, begin(setting.system(), θ, sx.ImplicitEuler())


def arrays(run):
    return [np.asarray(term.points) for term in run.system.points]


def after(setting, run, accepted):
    return setting.renew(eqx.tree_at(lambda r: r.accepted, run, jnp.asarray(accepted)), [])


def same(some, others):
    return [np.array_equal(a, b) for a, b in zip(some, others, strict=True)]


# ---- when -----------------------------------------------------------------------------------------------------------


def test_points_are_a_function_of_the_seed_and_of_the_count():
    setting, run = prepared(poisson())
    again, fresh = prepared(poisson())
    other, elsewhere = prepared(poisson(), seed=1)
    assert all(same(arrays(run), arrays(fresh))) and not any(same(arrays(run), arrays(elsewhere)))
    at_ten = after(setting, after(setting, run, 5), 10)
    assert all(same(arrays(at_ten), arrays(after(again, fresh, 10))))  # whatever was there before
    assert not any(same(arrays(at_ten), arrays(after(other, elsewhere, 10))))
    assert not any(same(arrays(at_ten), arrays(after(setting, run, 5))))


def test_points_are_renewed_at_multiples_only():
    setting, run = prepared(poisson(), refresh=sx.Redraw(every=7))
    for accepted in range(1, 30):
        new = after(setting, run, accepted)
        assert same(arrays(run), arrays(new)) == [accepted % 7 != 0] * 2
        run = new
    assert [setting.next(n) for n in (0, 6, 7, 20)] == [7, 7, 10, 21]  # and where weights are balanced


def test_kept_points_stay():
    setting, run = prepared(poisson(), refresh=sx.Keep())
    assert all(all(same(arrays(run), arrays(after(setting, run, n)))) for n in (1, 5, 10, 30, 100))


def test_measured_points_never_move():
    data = sx.Data({"x": [0.1, 0.2, 0.7], "y": [0.5, 1.5, 1.0]}, u=[1.0, 2.0, 3.0])
    for refresh in (sx.Redraw(every=5), sx.Adaptive(every=5)):
        setting, run = prepared(poisson(data=data), refresh=refresh)
        new = after(setting, run, 5)
        assert same(arrays(run), arrays(new)) == [False, False, True]
        assert np.asarray(new.system.points[2].targets).ravel().tolist() == [1.0, 2.0, 3.0]
        assert arrays(new)[2].tolist() == [[0.1, 0.5], [0.2, 1.5], [0.7, 1.0]]


@dataclasses.dataclass(frozen=True)
class Noted(AbstractRefresh):
    """Redraws, and notes for which terms and seeds."""

    seeds: list
    every: int = 5

    def draw(self, term, choice, seed, magnitudes, gap):
        self.seeds.append((term.name, seed))
        return choice.draw(term, seed)


def test_a_run_renews_after_accepted_steps_and_not_after_its_last():
    noted = Noted([])
    solution = sx.solve(poisson(LINE), network=sx.MLP(5, 1), points={"poisson": 20}, refresh=noted, steps=15)
    assert solution.summary()["steps"] == 15
    names = ("poisson", "walls")
    assert noted.seeds == [(n, draw_seed(0, TRAINING, k, i)) for k in (0, 5, 10) for i, n in enumerate(names)]


# ---- where ----------------------------------------------------------------------------------------------------------


def bump(x, y, z):
    return jnp.exp(-8 * ((x - 0.2) ** 2 + (y - 0.2) ** 2 + (z - 0.2) ** 2))


def test_adaptive_points_follow_the_residual_and_leave_no_region_empty():
    problem = sx.Problem(ROOM, "u", {"planted": lambda u, x, y, z: 0 * u + 7 * bump(x, y, z)}, {})
    setting, run = prepared(problem, {"planted": 400}, sx.Adaptive(every=5))
    points = np.concatenate([arrays(after(setting, run, 5 * k))[0] for k in range(1, 6)])
    assert points.shape == (2000, 3) and points.min() >= 0 and points.max() <= 1
    octant = (points > 0.5) @ [1, 2, 4]
    found = np.bincount(octant, minlength=8) / 2000

    axis = (np.arange(40) + 0.5) / 40
    grid = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), -1).reshape(-1, 3)
    size = np.asarray(bump(*grid.T))
    chance = size / size.mean() + 1
    expected = np.bincount((grid > 0.5) @ [1, 2, 4], chance, 8) / chance.sum()
    assert expected[0] > 0.35  # against 1/8 without the residual
    assert found == pytest.approx(expected, abs=0.05)
    each = [np.bincount((arrays(after(setting, run, 5 * k))[0] > 0.5) @ [1, 2, 4], minlength=8) for k in range(1, 6)]
    assert np.min(each) >= 0.5 * 400 / 16


def test_adaptive_takes_from_more_candidates_also_where_the_count_is_the_samplers_own():
    problem = sx.Problem(ROOM, "u", {"planted": lambda u, x, y, z: 0 * u + bump(x, y, z)}, {})
    setting, run = prepared(problem, {"planted": sx.Uniform(300)}, sx.Adaptive(every=5))
    near = lambda run: float(np.mean(np.all(arrays(run)[0] < 0.5, axis=1)))
    assert near(run) < 0.2 and near(after(setting, run, 5)) > 0.35


@pytest.mark.parametrize("kind", [sx.Grid(100), sx.Fixed({"y": [0.5, 1.0], "x": [0.25, 0.5]})], ids=["grid", "given"])
def test_adaptive_leaves_points_that_have_no_others(kind):
    setting, run = prepared(poisson(), {"poisson": kind}, sx.Adaptive(every=5))
    assert same(arrays(run), arrays(after(setting, run, 5))) == [True, False]


@pytest.mark.parametrize(
    "kind",
    [
        90,
        sx.Uniform(),
        sx.Halton(90),
        sx.LatinHypercube(90),
        sx.Grid(90),
        sx.Graded(90),
        {"x": [0.1, 0.2], "y": [1, 2]},
    ],
    ids=["count", "uniform", "halton", "latin", "grid", "graded", "given"],
)
def test_held_out_reported_and_training_points_are_disjoint(kind):
    setting, run = prepared(poisson(), {"poisson": kind, "walls": 40})
    sets = [setting.points(stream) for stream in (TRAINING, HELD_OUT, REPORTED)]
    if not isinstance(kind, dict | sx.Grid):
        sets.append(after(setting, run, 5).system.points)
    for term in range(2):
        rows = [{tuple(row) for row in np.asarray(s[term].points)} for s in sets]
        assert len(set.union(*rows)) == sum(map(len, rows)) > 0
        assert len({np.asarray(s[term].points).shape for s in sets}) == 1


def test_given_points_as_an_array_or_by_name_are_the_ones_of_training():
    rows = np.random.default_rng(0).uniform(0, 1, (7, 2))
    for given in (rows, {"y": rows[:, 1], "x": rows[:, 0]}, sx.Fixed(rows)):
        setting, run = prepared(poisson(), {"poisson": given})
        assert np.array_equal(arrays(run)[0], rows) and np.array_equal(arrays(after(setting, run, 5))[0], rows)
    for wrong in (0, True, 2.5, "many", [1.0, 2.0]):
        with pytest.raises(StiffaxError, match="points of 'poisson': expected a count of at least 1"):
            choices(poisson(), {"poisson": wrong})  # pyright: ignore[reportArgumentType]


# ---- weights --------------------------------------------------------------------------------------------------------


def flow():
    """Two equations of different size, and two conditions."""
    return sx.Problem(
        SQUARE,
        ("u", "v"),
        {"a": lambda u, v: 5 * u.xx + v, "b": lambda u, v: v.y - 0.1 * u},
        {
            "walls": sx.Dirichlet(SQUARE.boundary, u=0.0),
            "flux": sx.Neumann(SQUARE.face("x", 1), v=1.0),
            "mean": sx.Integral(SQUARE, lambda v: v, value=1.0),
        },
    )


def mean_squared_rows(setting, run):
    """Of every term of `flow`, by differentiating the network's values with JAX alone."""
    values = lambda θ, p: setting.layout.trained(θ).model(p, VALUE, {}).value
    d = lambda f, axis: lambda θ, p: jax.jacfwd(f, 1)(θ, p)[..., axis]
    u, v = (lambda θ, p: values(θ, p)[0]), (lambda θ, p: values(θ, p)[1])
    rows = {
        "a": (0, lambda θ, p: 5 * d(d(u, 0), 0)(θ, p) + v(θ, p)),
        "b": (0, lambda θ, p: d(v, 1)(θ, p) - 0.1 * u(θ, p)),
        "walls": (1, u),
        "flux": (2, d(v, 0)),
    }
    places = [term.points for term in run.system.points]

    def everything(θ):
        jacobians = {n: jax.vmap(jax.jacrev(row), (None, 0))(θ, places[term]) for n, (term, row) in rows.items()}
        mean = jax.grad(lambda θ: SQUARE.measure * jnp.mean(jax.vmap(lambda p: v(θ, p))(places[3])))(θ)
        return {n: jnp.mean(jnp.sum(j**2, axis=1)) for n, j in jacobians.items()} | {"mean": jnp.sum(mean**2)}

    return {name: float(square) for name, square in jax.jit(everything)(run.θ).items()}


def test_balanced_factors_make_the_mean_squared_rows_equal():
    setting, run = prepared(flow())
    balanced = setting.balanced(run)
    factors = dict(zip(setting.weights.labels, setting.factors(balanced), strict=True))
    squares = mean_squared_rows(setting, run)
    assert set(factors) == set(squares) and len(squares) == 5
    level = [factors[n] * squares[n] for n in factors]
    assert level == pytest.approx([level[0]] * 5, rel=1e-9)
    assert factors["a"] * factors["b"] == pytest.approx(1.0, rel=1e-12)
    assert squares["a"] / squares["b"] > 5  # there was something to balance


def test_fixed_factors_stay_and_the_others_are_balanced():
    setting, run = prepared(flow(), weights={"walls": 12.0, "a": 3.0})
    squares = mean_squared_rows(setting, run)
    for accepted in (0, 10, 30):
        run = after(setting, run, accepted)
        factors = dict(zip(setting.weights.labels, setting.factors(run), strict=True))
        assert factors["walls"] == pytest.approx(12.0, rel=1e-14) and factors["a"] == pytest.approx(3.0, rel=1e-14)
        if accepted == 0:
            assert factors["flux"] * squares["flux"] == pytest.approx(factors["mean"] * squares["mean"], rel=1e-9)
    before = setting.factors(run)
    assert np.array_equal(setting.factors(after(setting, run, 11)), before)  # between the counts they rest


# ---- shares ---------------------------------------------------------------------------------------------------------


def test_graded_points_count_by_their_density():
    """A mean over them is the mean over the domain; squared residuals in the dense layer count once more as little."""
    kind = sx.Graded(2**13, depth=4.0)
    mean = sx.Integral(LINE, lambda u, x: 0 * u + jnp.exp(x), value=0.0)
    problem = poisson(LINE, mean=mean)
    setting, run = prepared(problem, {"poisson": kind, "mean": kind})
    inside, walls, whole = run.system.points
    axis = (np.arange(2**18) + 0.5)[:, None] / 2**18
    density = kind.density(LINE, axis)
    assert density.mean() == pytest.approx(1.0, rel=1e-3)
    f = lambda points: np.exp(np.asarray(points)[:, 0])
    assert float(whole.share @ f(whole.points)) == pytest.approx(np.e - 1, rel=1e-2)
    assert float(inside.share @ f(inside.points)) == pytest.approx(np.mean(f(axis) / density), rel=1e-2)
    assert np.asarray(walls.share) == pytest.approx(1 / len(walls.share), rel=1e-14)
    parts = dict(zip(setting.weights.labels, np.asarray(run.system.parts(run.θ)), strict=True))
    assert parts["mean"] == pytest.approx((np.e - 1) ** 2, rel=2e-2)


def test_padded_places_carry_no_weight():
    problem = poisson(mean=sx.Integral(SQUARE, lambda u: u, value=1.0))
    counts = {"poisson": 20, "walls": 8, "mean": 23}
    whole, plain = prepared(problem, counts)
    cut, padded = prepared(problem, counts, most=7)
    sizes = [(len(a.share), len(b.share)) for a, b in zip(plain.system.points, padded.system.points, strict=True)]
    assert sizes == [(20, 21), (8, 8), (23, 24)]
    θ = plain.θ

    def numbers(system, θ):
        gradients = system.value_and_gradient(θ).gradient, jax.grad(system.value)(θ)
        rows = system.linearise(θ)
        return system.value(θ), system.parts(θ), *gradients, rows.gram("params"), rows.vm(rows.residual())

    found = [jax.jit(numbers)(run.system, θ) for run in (plain, padded)]
    for one, other in zip(*found, strict=True):
        assert np.asarray(other) == pytest.approx(np.asarray(one), rel=1e-10, abs=1e-10)
    assert np.asarray(found[0][2]) == pytest.approx(np.asarray(found[0][3]), rel=1e-11, abs=1e-11)
    assert cut.factors(cut.balanced(padded)) == pytest.approx(whole.factors(whole.balanced(plain)), rel=1e-11)


def row(steps, loss, validation, points):
    return Row(steps, 0, 0.0, loss, 1.0, 0.0, validation, None, steps, points)


def test_points_are_doubled_when_few_are_fitted_and_not_the_equation():
    setting, run = prepared(poisson(), refresh=sx.Redraw(every=5))
    start = setting.size(run)
    fitted = [row(n, 1e-6, 2e-5, start) for n in (5, 10, 15)]
    seen = [row(n, 1e-6, 5e-6, start) for n in (5, 10, 15)]
    at = eqx.tree_at(lambda r: r.accepted, run, jnp.asarray(15))
    assert setting.size(setting.renew(at, seen)) == start
    assert setting.size(setting.renew(at, fitted[:2])) == start
    grown = setting.renew(at, fitted)
    assert setting.size(grown) == 2 * start
    assert setting.size(setting.renew(grown, fitted)) == 2 * start  # these looks were at fewer points
    again = setting.renew(grown, [row(n, 1e-6, 2e-5, 2 * start) for n in (20, 25, 30)])
    full = setting.renew(again, [row(n, 1e-6, 2e-5, 4 * start) for n in (35, 40, 45)])
    assert setting.size(again) == setting.size(full) == 4 * start  # and no more than that


def test_points_that_the_user_counted_stay_that_many():
    setting, run = prepared(poisson(), {"poisson": 60}, refresh=sx.Redraw(every=5))
    at = eqx.tree_at(lambda r: r.accepted, run, jnp.asarray(15))
    looks = [row(n, 1e-9, 1.0, setting.size(run)) for n in (5, 10, 15)]
    assert setting.size(setting.renew(at, looks)) == setting.size(run)


def test_watchful_points_turn_adaptive_when_a_feature_hides_between_them():
    setting, run = prepared(poisson(), refresh=sx.Watchful(every=5))
    even, adaptive = (
        prepared(poisson(), refresh=r)[0].renew(eqx.tree_at(lambda r: r.accepted, run, jnp.asarray(5)), [])
        for r in (sx.Redraw(every=5), sx.Adaptive(every=5))
    )
    at = eqx.tree_at(lambda r: r.accepted, run, jnp.asarray(5))
    seen, hidden = [row(5, 1e-6, 2e-4, 0)], [row(5, 1e-6, 4e-4, 0)]
    for history, expected in ((seen, even), (hidden, adaptive), ([*hidden, *seen], adaptive)):
        for one, other in zip(setting.renew(at, history).system.points, expected.system.points, strict=True):
            assert np.array_equal(np.asarray(one.points), np.asarray(other.points))

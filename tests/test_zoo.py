"""The zoo: every exact solution satisfies its problem, references are as good as they say, settings are checked."""

import ast
import math
from pathlib import Path

import jax
import numpy as np
import pytest
from jax import numpy as jnp
from scipy.integrate import solve_ivp

from stiffax import zoo
from stiffax.errors import StiffaxError
from stiffax.jets import compose, coordinates
from stiffax.problem.base import Term
from stiffax.problem.conditions import Dirichlet
from stiffax.problem.fields import Evaluator, Here
from stiffax.problem.names import call
from stiffax.problem.problem import Problem
from stiffax.problem.shapes import Rectangle
from stiffax.zoo import base, burgers, inverse_heat, van_der_pol

POINTS = 20

# name: (defaults, equations, conditions), as promised.
PROMISED = {
    "boundary-layer": ({"eps": 0.01}, ["layer"], ["ends"]),
    "poisson-1d": ({}, ["poisson"], ["ends"]),
    "poisson-1d-multiscale": ({}, ["poisson"], ["ends"]),
    "poisson-2d": ({}, ["poisson"], ["walls"]),
    "helmholtz-2d": ({"k": 4}, ["helmholtz"], ["walls"]),
    "helmholtz-2d-wide": ({"k": 1}, ["helmholtz"], ["walls"]),
    "heat": ({"nu": 0.1}, ["heat"], ["start", "walls"]),
    "wave": ({"m": 3}, ["wave"], ["start", "walls"]),
    "convection": ({"beta": 30}, ["convection"], ["start", "periodic"]),
    "reaction": ({"rho": 5}, ["reaction"], ["start", "periodic"]),
    "burgers": ({"nu": 0.01 / math.pi}, ["burgers"], ["start", "walls"]),
    "poisson-nd": ({"dim": 5}, ["poisson"], ["walls"]),
    "kovasznay": ({"Re": 40}, ["momentum-x", "momentum-y", "continuity"], ["walls"]),
    "van-der-pol": ({"mu": 1}, ["position", "velocity"], ["start"]),
    "inverse-heat": ({"noise": 0.01}, ["heat"], ["start", "walls", "data"]),
}

OTHER_SETTINGS = {
    "boundary-layer": {"eps": 1e-6},
    "helmholtz-2d": {"k": 2.5},
    "helmholtz-2d-wide": {"k": 3},
    "heat": {"nu": 1},
    "wave": {"m": 5},
    "convection": {"beta": 50},
    "reaction": {"rho": -3},
    "burgers": {"nu": 0.3},
    "poisson-nd": {"dim": 2},
    "kovasznay": {"Re": 10},
    "inverse-heat": {"noise": 0.1},
}


def fields_of(problem: Problem, functions, coefficients):
    """The jets of known functions of the coordinates, in place of a network."""

    def at(point):
        values = dict(zip(problem.coordinates, point, strict=True)) | coefficients
        return jnp.stack([call(functions[name], values, name) for name in problem.fields])

    return lambda point, basis: compose(coordinates(point, basis), at)


def points_of(problem: Problem, term: Term):
    """Points of the term's region, drawn as `place` maps uniform numbers, or the measured ones; normals; targets."""
    if term.region is None:
        assert term.condition is not None
        points, targets = term.condition.points(problem.names), term.condition.targets()
        assert points is not None and targets is not None
        return points, np.zeros((len(points), 0)), targets
    placed = term.region.place(np.random.default_rng(0).uniform(size=(POINTS, term.region.unit_dim)))
    normals = np.zeros_like(placed.points) if placed.normals is None else placed.normals
    return placed.points, normals, np.zeros((len(placed.points), 0))


def rows_and_sizes(problem: Problem, term: Term, functions=None, **known: float):
    """Every row of the term at points of its region, and how large the parts are that it is made of.

    The size of a row is Σ |∂row/∂z · z| over the fields and derivatives z that it reads: what rounding is measured by.
    """
    coefficients = problem.starting | {name: jnp.asarray(value) for name, value in known.items()}
    exact = fields_of(problem, functions or problem.exact, coefficients)

    def at(point, normal, target):
        jets = []

        def recorded(place, basis):
            jets.append(exact(place, basis))
            return jets[-1]

        def rows(fields):
            here = Here(Evaluator(problem.names, fields, term.plan), point, coefficients, normal, target)
            return jnp.stack(term.rows(here))

        values = rows(recorded)

        def from_jets(given):
            answers = iter(given)
            return rows(lambda place, basis: next(answers))

        slopes = jax.jacrev(from_jets)(jets)
        parts = [jnp.abs(s * z).sum(-1) for s, z in zip(jax.tree.leaves(slopes), jax.tree.leaves(jets), strict=True)]
        return values, sum(parts)

    values, sizes = jax.vmap(at)(*map(jnp.asarray, points_of(problem, term)))
    return np.asarray(values), np.asarray(sizes)


def truth(name: str) -> dict[str, float]:
    return {"kappa": inverse_heat.KAPPA} if name == "inverse-heat" else {}


def test_the_zoo_is_as_promised():
    assert set(zoo.names()) == set(PROMISED)
    for name, (defaults, equations, conditions) in PROMISED.items():
        entry, problem = zoo.get(name), zoo.problem(name)
        assert entry.settings == pytest.approx(defaults, rel=1e-15)
        assert (list(problem.equations), list(problem.conditions)) == (equations, conditions)
        assert problem.name == entry.name == name
        assert set(problem.exact) == set(problem.fields)
        assert all(
            word in entry.text for word in ("Problem: ", "Reference", *(f"({n})" for n in equations + conditions))
        )


@pytest.mark.parametrize(("name", "settings"), [*((name, {}) for name in PROMISED), *OTHER_SETTINGS.items()])
def test_the_exact_solution_satisfies_the_problem(name, settings):
    """To 1e-8 of the largest size that the row has among the points, at least 1: every field here is of that order."""
    with jax.enable_x64(True):
        problem = zoo.problem(name, **settings)
        for term in problem.terms():
            values, sizes = rows_and_sizes(problem, term, **truth(name))
            if term.name == "data":
                continue
            assert values.dtype == np.float64 and values.shape[1] == len(term.labels)
            assert np.all(np.abs(values).max(0) <= 1e-8 * np.maximum(sizes.max(0), 1)), term.labels


def test_a_wrong_solution_is_noticed():
    """The test above has teeth: one digit in the seventh place of one setting shows."""
    with jax.enable_x64(True):
        problem = zoo.problem("heat")
        term = problem.terms()[0]
        values, sizes = rows_and_sizes(problem, term, nu=0.1)
        assert np.abs(values).max() <= 1e-14 * sizes.max()
        wrong = {"u": lambda x, t: jnp.exp(-0.1000001 * jnp.pi**2 * t) * jnp.sin(jnp.pi * x)}
        values, sizes = rows_and_sizes(problem, term, wrong)
        assert np.abs(values).max() > 1e-7 * sizes.max()


def test_the_same_problem_typed_by_hand_has_the_same_rows():
    square = Rectangle(x=(0, 1), y=(0, 1))
    typed = Problem(
        domain=square,
        fields="u",
        coefficients={"k": 4},
        equations={
            "helmholtz": lambda u, x, y, k: (
                u.xx + u.yy + k**2 * u - (k**2 - 17 * jnp.pi**2) * (jnp.sin(jnp.pi * x) * jnp.sin(4 * jnp.pi * y))
            )
        },
        conditions={"walls": Dirichlet(square.boundary, u=0)},
    )
    ready = zoo.problem("helmholtz-2d")
    some = {"u": lambda x, y: jnp.exp(x) * jnp.cos(3 * y) + x * y}
    with jax.enable_x64(True):
        for mine, theirs in zip(typed.terms(), ready.terms(), strict=True):
            assert (mine.name, mine.labels, mine.plan) == (theirs.name, theirs.labels, theirs.plan)
            mine_rows, theirs_rows = (rows_and_sizes(p, t, some)[0] for p, t in ((typed, mine), (ready, theirs)))
            assert np.abs(mine_rows).max() > 0.1 and np.array_equal(mine_rows, theirs_rows)


def cole_hopf_by_trapezoids(x: float, t: float, nu: float) -> float:
    """Burgers' solution by a fine equidistant rule, in extended precision where the machine has it."""
    far = 12 + 0.5 / math.sqrt(nu)
    z = np.linspace(-far, far, 8001).astype(np.longdouble)
    pi = np.longdouble("3.14159265358979323846264338327950288")
    y = x - 2 * np.sqrt(np.longdouble(nu) * t) * z
    exponent = -(z**2) - np.cos(pi * y) / (2 * pi * nu)
    w = np.exp(exponent - exponent.max())
    return float(-(w * np.sin(pi * y)).sum() / w.sum())


@pytest.mark.parametrize("nu", [0.001, zoo.get("burgers").settings["nu"], 0.1, 1.0])
def test_burgers_reference_is_as_good_as_it_says(nu):
    rng = np.random.default_rng(3)
    x, t = np.r_[rng.uniform(-1, 1, 40), rng.uniform(-0.02, 0.02, 40)], rng.uniform(0, 1, 80)
    with jax.enable_x64(True):
        nodes = burgers.enough_nodes(nu)
        one, other = (
            np.asarray(jax.vmap(lambda x, t, n=n: burgers.cole_hopf(n)(x, t, nu))(x, t)) for n in (nodes, 2 * nodes)
        )
    independent = np.array([cole_hopf_by_trapezoids(*p, nu) for p in zip(x, t, strict=True)])
    assert np.abs(one - other).max() <= burgers.REFERENCE_ERROR
    assert np.abs(one - independent).max() <= burgers.REFERENCE_ERROR


def test_burgers_reference_has_its_known_slope_at_the_front():
    """Basdevant et al. (1986): the largest slope is 152.00516 at x = 0, t = 1.6037/π = 0.5105."""
    nu = zoo.get("burgers").settings["nu"]
    with jax.enable_x64(True):
        slope = jax.grad(burgers.cole_hopf(burgers.enough_nodes(nu)))
        slopes = np.abs(jax.vmap(lambda t: slope(0.0, t, nu))(jnp.linspace(0.505, 0.515, 1001)))
    assert slopes.max() == pytest.approx(152.00516, abs=1e-4)
    assert 0.505 + 1e-5 * slopes.argmax() == pytest.approx(1.6037 / math.pi, abs=1e-4)


def test_van_der_pol_table_agrees_with_an_independent_integration():
    """A Runge-Kutta method of order 8, tight; between steps it answers with order 7, which wants them small."""
    t = np.linspace(0, van_der_pol.END, 401)
    integrated = solve_ivp(
        lambda t, z: [z[1], (1 - z[0] ** 2) * z[1] - z[0]],
        (0, van_der_pol.END),
        [2.0, 0.0],
        method="DOP853",
        t_eval=t,
        max_step=0.02,
        rtol=3e-14,
        atol=3e-14,
    ).y
    with jax.enable_x64(True):
        exact = zoo.problem("van-der-pol").exact
        table = np.stack([np.asarray(jax.vmap(exact[name])(jnp.asarray(t))) for name in ("u", "v")])
    assert np.abs(table - integrated).max() <= zoo.get("van-der-pol").reference_error


def test_van_der_pol_has_no_reference_for_another_mu():
    assert not zoo.problem("van-der-pol", mu=2).exact


def test_the_measured_temperatures_have_the_noise_that_was_asked_for():
    with jax.enable_x64(True):
        for noise in (0.01, 0.1):
            problem = zoo.problem("inverse-heat", noise=noise)
            term = problem.terms()[-1]
            errors, _ = rows_and_sizes(problem, term, **truth("inverse-heat"))
            assert errors.shape == (200, 1)
            assert errors.std() == pytest.approx(noise, rel=0.15)  # three standard errors of a standard deviation
            assert abs(errors.mean()) < 3 * noise / math.sqrt(200)


def test_the_standard_error_of_kappa_is_what_many_fits_show():
    """Fit kappa to many fresh sets of noise (Gauss-Newton on the exact solution): its scatter is the bound."""
    x, t = inverse_heat.places()
    noise, rng = 0.01, np.random.default_rng(5)
    fits = []
    for _ in range(400):
        measured = np.exp(-0.3 * np.pi**2 * t) * np.sin(np.pi * x) + noise * rng.normal(size=t.size)
        kappa = 0.3
        for _ in range(5):
            u = np.exp(-kappa * np.pi**2 * t) * np.sin(np.pi * x)
            slope = -(np.pi**2) * t * u
            kappa += slope @ (measured - u) / (slope @ slope)
        fits.append(kappa)
    assert np.std(fits) == pytest.approx(inverse_heat.standard_error(noise), rel=3 / math.sqrt(800))


def test_settings_may_be_text_and_keep_their_kind():
    assert zoo.problem("boundary-layer", eps="1e-3").coefficients == {"eps": 0.001}
    assert zoo.problem("poisson-nd", dim="3").coordinates == ("x1", "x2", "x3")


@pytest.mark.parametrize(
    ("name", "settings", "text"),
    [
        (
            "helmholz-2d",
            {},
            "unknown problem 'helmholz-2d'. Did you mean 'helmholtz-2d'? Known here: boundary-layer, b",
        ),
        ("heat", {"mu": 1}, "heat: unknown setting 'mu'. Known here: nu."),
        ("convection", {"betta": 1}, "convection: unknown setting 'betta'. Did you mean 'beta'? Known here: beta."),
        ("poisson-1d", {"eps": 1}, "poisson-1d: unknown setting 'eps'. Known here: nothing."),
        ("heat", {"nu": "warm"}, "heat: nu='warm': expected a finite number, such as nu=0.1."),
        ("heat", {"nu": math.inf}, "heat: nu=inf: expected a finite number"),
        ("poisson-nd", {"dim": 2.5}, "poisson-nd: dim=2.5: expected a whole number, such as dim=5."),
        ("poisson-nd", {"dim": 0}, "dim=0: expected dim to be 1 or more."),
        ("boundary-layer", {"eps": 0}, "eps=0: expected eps to be above 0."),
    ],
)
def test_wrong_names_and_settings_are_explained(name, settings, text):
    with pytest.raises(StiffaxError) as raised:
        zoo.problem(name, **settings)
    assert str(raised.value).startswith(text)


@pytest.mark.parametrize("path", sorted(Path(zoo.__file__).parent.glob("*.py")), ids=lambda path: path.stem)
def test_an_entry_states_mathematics_only(path):
    """Of this package a file of the zoo sees the language and nothing that says how to solve."""
    nodes = ast.walk(ast.parse(path.read_text()))
    modules = {n.module for n in nodes if isinstance(n, ast.ImportFrom) and n.module and n.module.startswith("stiffax")}
    assert modules and all(m.startswith(("stiffax.errors", "stiffax.problem.", "stiffax.zoo")) for m in modules)


def test_two_entries_cannot_share_a_name():
    with pytest.raises(StiffaxError, match="two entries with the name 'heat'"):
        base.entry("heat")(lambda: zoo.problem("heat"))

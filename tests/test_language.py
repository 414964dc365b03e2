"""The language: what equations read at a point, against closed forms, and what becomes of it in a system."""

import itertools
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import stiffax as sx
from stiffax import jets
from stiffax.errors import StiffaxError
from stiffax.jets import Basis
from stiffax.problem.fields import Evaluator, Here, Names, Place
from stiffax.problem.physics import PointSystem, TermPoints, assemble
from stiffax.problem.reads import plan, read

NAMES = Names(("u", "v"), ("x", "y", "t"), (0, 1), ("nu",))
POINT = np.array([0.37, -0.61, 0.83])
NORMAL = np.array([0.6, 0.8, 0.0])
NU = 0.3


def functions(point):
    """u = sin(2x + 0.3) exp(-y) cos(3t), v = x³ y² + t."""
    x, y, t = point
    return jnp.stack([jnp.sin(2 * x + 0.3) * jnp.exp(-y) * jnp.cos(3 * t), x**3 * y**2 + t])


def fields(point, basis):
    return jets.compose(jets.coordinates(point, basis), functions)


def closed_form(i, j, k, x=POINT[0], y=POINT[1], t=POINT[2]):
    """The derivative of u, i times in x, j in y, k in t."""
    in_x = 2**i * math.sin(2 * x + 0.3 + i * math.pi / 2)
    in_t = 3**k * math.cos(3 * t + k * math.pi / 2)
    return in_x * (-1) ** j * math.exp(-y) * in_t


def rows_of(*equations):
    return lambda here: [here.call(f, f"equation {i}") for i, f in enumerate(equations)]


def value(*equations, names=NAMES, fields=fields, places=None, point=POINT, coefficients=None):
    """The equations at a point; with `places`, from these streams rather than from those that the plan chose."""
    with jax.enable_x64(True):
        coefficients = {"nu": jnp.asarray(NU)} if coefficients is None else coefficients
        rows = rows_of(*equations)
        places = plan(rows, names, coefficients) if places is None else places
        here = Here(Evaluator(names, fields, places), jnp.asarray(point), coefficients, jnp.asarray(NORMAL))
        result = np.array([np.asarray(row) for row in rows(here)])
        return result[0] if len(equations) == 1 else result


def every_derivative_apart(*equations, names=NAMES):
    """The streams without any merging: each derivative by itself, a Laplacian as the second derivatives."""
    with jax.enable_x64(True):
        reads = read(rows_of(*equations), names, {"nu": jnp.asarray(NU)})
    keys = [[] for _ in range(1 + max((r.place for r in reads), default=0))]
    for r in reads:
        keys[r.place] += [(i, i) for i in names.space] if r.laplacian else [r.key]
    return [Place(Basis.of(k)) for k in keys]


def planned(*equations, names=NAMES):
    with jax.enable_x64(True):
        return plan(rows_of(*equations), names, {"nu": jnp.asarray(NU)})


SPELLINGS = [
    *("".join(s) for n in (1, 2, 3) for s in itertools.product("xyt", repeat=n)),
    *("".join(s) for s in itertools.combinations_with_replacement("xyt", 4)),
    "yxyx",
    "txyx",
]


def test_every_derivative_is_an_attribute():
    found = value(*(lambda u, name=name: getattr(u, name) for name in SPELLINGS))
    assert len(SPELLINGS) == 3 + 9 + 27 + 15 + 2
    expected = [closed_form(s.count("x"), s.count("y"), s.count("t")) for s in SPELLINGS]
    np.testing.assert_allclose(found, expected, rtol=1e-11)


@pytest.mark.parametrize("name", ["xxxx", "xxy", "yyt", "xxyy", "tt"])
def test_one_derivative_alone_is_the_same(name):
    expected = closed_form(name.count("x"), name.count("y"), name.count("t"))
    assert value(lambda u: getattr(u, name)) == pytest.approx(expected, rel=1e-12)


def test_diff_takes_coordinates_by_their_whole_names():
    names = Names(("u",), ("x1", "x2", "time"), (0, 1, 2))
    field = lambda point, basis: fields(point, basis)[:1]
    found = value(lambda u: u.diff("x1", "time", "x1"), names=names, fields=field)
    assert found == pytest.approx(closed_form(2, 0, 1), rel=1e-12)
    assert value(lambda u: u.x1x2x1, names=names, fields=field) == pytest.approx(closed_form(2, 1, 0), rel=1e-12)
    assert value(lambda u: u.diff(), names=names, fields=field) == pytest.approx(closed_form(0, 0, 0), rel=1e-12)


def test_laplacian_and_gradient_are_in_space_and_normal_is_along_the_normal():
    assert value(lambda u: u.laplacian) == pytest.approx(closed_form(2, 0, 0) + closed_form(0, 2, 0), rel=1e-12)
    assert value(lambda u: u.gradient[0]) == pytest.approx(closed_form(1, 0, 0), rel=1e-12)
    assert value(lambda u: jnp.sum(u.gradient)) == pytest.approx(closed_form(1, 0, 0) + closed_form(0, 1, 0), rel=1e-12)
    along = 0.6 * closed_form(1, 0, 0) + 0.8 * closed_form(0, 1, 0)
    assert value(lambda u: u.normal) == pytest.approx(along, rel=1e-12)


def test_the_laplacian_in_one_dimension_is_the_second_derivative():
    line = Names(("u", "v"), ("x", "y", "t"), (1,))
    assert value(lambda u: u.laplacian, names=line) == pytest.approx(closed_form(0, 2, 0), rel=1e-12)


def test_the_laplacian_needs_space():
    with pytest.raises(StiffaxError, match="equation 0: laplacian: the domain has no coordinate in space"):
        planned(lambda u: u.laplacian, names=Names(("u", "v"), ("x", "y", "t"), ()))


U, V = closed_form(0, 0, 0), POINT[0] ** 3 * POINT[1] ** 2 + POINT[2]
NUMBERS = {
    "power": (lambda u: u**3, U**3),
    "reversed": (lambda u: 1 / (2 - u) + 2**u, 1 / (2 - U) + 2**U),
    "signs": (lambda u: abs(-u) + +u, abs(U) + U),
    "rest": (lambda u: u % 0.1 + u // 0.1 + 1 // u, U % 0.1 + U // 0.1 + 1 // U),
    "two fields": (lambda u, v: u * v - v / u, U * V - V / U),
    "sin": (lambda u: jnp.sin(u), math.sin(U)),
    "where": (lambda u, x: jnp.where(u > 0, u, x), U if U > 0 else POINT[0]),
    "where not": (lambda u, x: jnp.where(u <= 0, u, x), U if U <= 0 else POINT[0]),
    "maximum": (lambda u, v: jnp.maximum(u, 0.1) + jnp.minimum(v, u), max(U, 0.1) + min(V, U)),
    "relu": (lambda u: jax.nn.relu(u) + jax.nn.relu(-u), abs(U)),
    "stack": (lambda u, v: jnp.stack([u, v])[1], V),
    "dot": (lambda u, v: jnp.dot(jnp.stack([u, v]), jnp.array([2.0, 3.0])), 2 * U + 3 * V),
    "comparison": (lambda u, v: (u < v) * 2.0 + (u >= v) * 5.0 + (u == u) + (u != v), (2 if U < V else 5) + 2),
    "numpy number": (lambda u: np.sqrt(2.0) * u + u * np.float64(3), (math.sqrt(2) + 3) * U),
    "numpy array": (lambda u: jnp.sum(np.array([1.0, 2.0]) * u), 3 * U),
    "the value": (lambda u: u, U),
    "a number": (lambda x: 2 * x, 2 * POINT[0]),
    "an integer": (lambda: 1, 1.0),
    "lax": (lambda u: jax.lax.cos(+u), math.cos(U)),
    "gradient in u": (lambda u: jax.grad(lambda s: s**3)(+u), 3 * U**2),
}


@pytest.mark.parametrize("case", NUMBERS)
def test_a_field_is_a_number(case):
    function, expected = NUMBERS[case]
    assert value(function) == pytest.approx(expected, rel=1e-12)


def test_a_field_at_another_point():
    away = closed_form(0, 0, 0, x=0.0)
    assert value(lambda u: u(x=0.0)) == pytest.approx(away, rel=1e-12)
    slopes = closed_form(1, 0, 1, x=0.0), closed_form(1, 0, 1)
    assert value(lambda u: u(x=0.0).xt - u.xt) == pytest.approx(slopes[0] - slopes[1], rel=1e-12)
    late = closed_form(0, 2, 0, y=POINT[0], t=POINT[2] - 0.5)
    assert value(lambda u, x, t: u(y=x, t=t - 0.5).yy) == pytest.approx(late, rel=1e-12)
    twice = closed_form(0, 0, 0, x=0.1, y=0.2)
    assert value(lambda u: u(x=0.1)(y=0.2) * 1.0) == pytest.approx(twice, rel=1e-12)


def test_each_place_computes_only_what_it_reads():
    here, there = planned(lambda u: u.xx + u(x=0.0))
    assert here.basis == Basis.of([(0, 0)]) and there.basis == Basis.of([()])


def test_a_system_shares_one_pass():
    found = value(lambda u, v: u.x + v.y, lambda u, v, nu: v.xxy - nu * u)
    assert found[0] == pytest.approx(closed_form(1, 0, 0) + 2 * POINT[0] ** 3 * POINT[1], rel=1e-12)
    assert found[1] == pytest.approx(12 * POINT[0] * POINT[1] - NU * U, rel=1e-12)


def test_parameters_with_defaults_keep_them_unless_they_are_known():
    equations = [lambda u, x, k=k: k * u + x for k in (1.0, 2.0, 3.0)]
    np.testing.assert_allclose(value(*equations), [k * U + POINT[0] for k in (1, 2, 3)], rtol=1e-12)
    assert value(lambda u, nu=7.0: nu * u) == pytest.approx(NU * U, rel=1e-12)
    assert value(lambda u, /, x: x * u) == pytest.approx(POINT[0] * U, rel=1e-12)
    assert value(lambda *, x: x) == POINT[0]


# ---- one stream in place of several ---------------------------------------------------------------------------------

MERGED = {
    "sum": lambda u: u.xx + u.yy,
    "minus": lambda u: -u.xx - u.yy,
    "with time": lambda u, nu: u.t - nu * (u.xx + u.yy),
    "coefficient": lambda u, nu: nu * u.xx + nu * u.yy,
    "number": lambda u: u.tt - 4 * u.xx - 4 * u.yy,
    "divided": lambda u, nu: u.xx / nu + u.yy / nu - 1 / nu,
    "function of the point": lambda u, x, y: jnp.exp(x * y) * u.xx + jnp.exp(x * y) * u.yy,
    "field as factor": lambda u, v: (u + v) * (u.xx + u.yy),
    "spelled both ways": lambda u: u.laplacian + 2 * (u.xx + u.yy),
    "of two fields": lambda u, v: u.xx + u.yy + 3 * (v.xx + v.yy),
}
APART = {
    "other factors": lambda u: u.xx + 2 * u.yy,
    "product": lambda u: u.xx * u.yy,
    "chosen": lambda u, x: jnp.where(x > 0, u.xx, u.yy),
    "other signs": lambda u: u.xx - u.yy,
    "function": lambda u: jnp.sin(u.xx) + u.xx + u.yy,
    "one alone, too": lambda u: (u.xx + u.yy) * u.xx,
    "factors of the point": lambda u, x, y: x * u.xx + y * u.yy,
    "two fields": lambda u, v: u.xx + v.yy,
}


@pytest.mark.parametrize("case", MERGED)
def test_second_derivatives_with_one_factor_travel_as_one_stream(case):
    (place,) = planned(MERGED[case])
    assert place.basis.laplacian == (0, 1)
    assert not {(0, 0), (1, 1)} & set(place.basis.keys)
    apart = value(MERGED[case], places=every_derivative_apart(MERGED[case]))
    assert value(MERGED[case]) == pytest.approx(apart, rel=1e-12)


@pytest.mark.parametrize("case", APART)
def test_second_derivatives_that_are_needed_one_by_one_stay_apart(case):
    (place,) = planned(APART[case])
    assert not place.lead and {(0, 0), (1, 1)} <= set(place.basis.keys)
    apart = value(APART[case], places=every_derivative_apart(APART[case]))
    assert value(APART[case]) == pytest.approx(apart, rel=1e-12)


def test_a_laplacian_costs_d_plus_two_streams():
    names = Names(("u",), tuple("abcde"), tuple(range(5)))
    (place,) = planned(lambda u: u.aa + u.bb + u.cc + u.dd + u.ee, names=names)
    assert place.basis.size == 5 + 2
    assert planned(lambda u: u.laplacian, names=names)[0].basis == place.basis


def test_one_equation_does_not_merge_what_another_reads_alone():
    """Equations share their points: a sum in the first must not change u.xx in the second."""
    xx, yy = closed_form(2, 0, 0), closed_form(0, 2, 0)
    mixed = value(lambda u: u.xx + u.yy, lambda u, v: u.xx - v)
    np.testing.assert_allclose(mixed, [xx + yy, xx - V], rtol=1e-12)
    both = [lambda u: u.xx + u.yy, lambda u: 3 * u.xx + 3 * u.yy]
    assert planned(*both)[0].basis.laplacian == (0, 1)
    np.testing.assert_allclose(value(*both), np.array([1, 3]) * value(both[0]), rtol=1e-12)


def arbitrary(point, basis):
    """Derivatives that are no function's: any numbers will do, as long as each has always the same."""
    number = lambda key: np.cos(np.arange(2.0) + sum(7.0**i for i in key))
    laplacian = [number((0, 0)) + number((1, 1))] if basis.laplacian == (0, 1) else []
    assert basis.laplacian in ((), (0, 1))
    return jets.Jet(tuple(jnp.asarray(z) for z in [*map(number, basis.keys), *laplacian]), basis)


def random_equation(rng):
    """A sum of terms, in which second derivatives often have the same factor, and sometimes enter otherwise."""
    factors = [lambda u, v, x, nu, c=c: c for c in (1.0, -1.0, 2.0, 0.1)]
    factors += [lambda u, v, x, nu: nu, lambda u, v, x, nu: 1 / nu, lambda u, v, x, nu: v * x]
    others = [
        lambda u, v, x, nu: u.laplacian,
        lambda u, v, x, nu: jnp.sin(v.x) + u.y,
        lambda u, v, x, nu: u.xx * u.yy,
        lambda u, v, x, nu: jnp.sin(v.xx),
        lambda u, v, x, nu: jnp.where(x > 0, u.xx, v.yy),
        lambda u, v, x, nu: u.xx,
    ]
    terms = [others[i] for i in rng.choice(6, rng.integers(0, 3), p=[0.3, 0.3, 0.1, 0.1, 0.1, 0.1])]
    for _ in range(rng.integers(1, 3)):
        f, c = rng.integers(2), factors[rng.integers(len(factors))]
        d = c if rng.random() < 0.8 else factors[rng.integers(len(factors))]
        terms.append(lambda *e, f=f, c=c: c(*e) * e[f].xx)
        terms.append(lambda *e, f=f, d=d: d(*e) * e[f].yy)
    terms = [terms[i] for i in rng.permutation(len(terms))]
    outer = factors[rng.integers(len(factors))]
    return lambda u, v, x, nu: outer(u, v, x, nu) * sum(term(u, v, x, nu) for term in terms)


def test_merging_never_changes_a_value():
    """Random equations, alone and in pairs on shared points, against the same with every derivative apart."""
    rng, merged = np.random.default_rng(0), 0
    for _ in range(90):
        equations = [random_equation(rng) for _ in range(rng.integers(1, 3))]
        merged += bool(planned(*equations)[0].lead)
        apart = value(*equations, fields=arbitrary, places=every_derivative_apart(*equations))
        np.testing.assert_allclose(value(*equations, fields=arbitrary), apart, rtol=1e-12, atol=1e-11)
    assert 20 < merged < 80


# ---- what is refused ------------------------------------------------------------------------------------------------

REFUSED = {
    "unknown argument": (lambda u, X: u, "equation 0: unknown argument 'X'. Known here: u, v, x, y, t, nu"),
    "nearest spelling": (lambda u, nuu: u, "unknown argument 'nuu'. Did you mean 'nu'?"),
    "star arguments": (lambda *fields: 0.0, r"\*args and \*\*kwargs cannot be matched by name; write the parameters"),
    "vector": (lambda u: u.gradient, r"equation 0: expected a scalar at one point, got an array of shape \(2,\)"),
    "tuple": (lambda u: (u.x, u.y, u), r"got an array of shape \(3,\)"),
    "nothing": (lambda u: None, "equation 0: expected a scalar, got NoneType"),
    "text": (lambda u: "u", "equation 0: expected a scalar, got str"),
    "no derivative": (lambda u: u.xz, "equation 0: u.xz is no derivative: expected letters of the coordinates"),
    "no coordinate": (lambda v: v.diff("z"), "equation 0: unknown coordinate 'z'. Known here: x, y, t"),
    "no such place": (lambda v: v(z=1.0), "equation 0: unknown coordinate 'z'"),
    "lax": (lambda u: jax.lax.cos(u), r"equation 0: a function of JAX takes numbers only .* Write \+u there"),
    "sigmoid": (lambda u: jax.nn.sigmoid(u), r"was given a field. Write \+u there"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_read_is_refused_by_name(case):
    function, message = REFUSED[case]
    with pytest.raises(StiffaxError, match=message):
        planned(function)


def test_something_that_is_no_function_is_refused():
    with pytest.raises(StiffaxError, match="equation 0: expected a function whose parameters are names, got 3.0"):
        planned(3.0)


def test_ambiguous_spellings_ask_for_diff():
    names = Names(("u",), ("ab", "ba", "a"), (0, 1, 2))
    with pytest.raises(StiffaxError, match=r"derivative 'aba' can be read in 2 ways; write diff\(...\) instead"):
        planned(lambda u: u.aba, names=names)


def test_a_field_has_no_truth_before_it_has_a_value():
    with pytest.raises(jax.errors.TracerBoolConversionError) as caught:
        planned(lambda u: 1.0 if u else 2.0)
    assert "This happened in equation 0." in caught.value.__notes__


def test_the_users_own_exception_keeps_its_kind_and_its_line():
    def broken(u):
        return u.x + {}["missing"]

    with pytest.raises(KeyError, match="missing") as caught:
        planned(broken)
    assert caught.traceback[-1].name == "broken"
    assert "This happened in equation 0." in caught.value.__notes__


# ---- conditions -----------------------------------------------------------------------------------------------------

SQUARE_IN_TIME = sx.Rectangle(x=(0, 1), y=(0, 1)) * sx.Interval(t=(0, 1))
WALLS = SQUARE_IN_TIME.boundary
UX, UN = closed_form(1, 0, 0), 0.6 * closed_form(1, 0, 0) + 0.8 * closed_form(0, 1, 0)
VALUES = {
    "Dirichlet": (sx.Dirichlet(WALLS, u=1.0, v=lambda x, nu: nu * x), [U - 1, V - NU * POINT[0]]),
    "Neumann": (sx.Neumann(WALLS, u=lambda y: y), [UN - POINT[1]]),
    "Robin": (sx.Robin(WALLS, a=lambda x: x, b=2.0, u=3.0), [POINT[0] * U + 2 * UN - 3]),
    "Initial": (
        sx.Initial(SQUARE_IN_TIME, u=lambda x: x, u_t=0.5, u_tt=0.25),
        [U - POINT[0], closed_form(0, 0, 1) - 0.5, closed_form(0, 0, 2) - 0.25],
    ),
    "Periodic": (
        sx.Periodic(SQUARE_IN_TIME, "x", order=2, fields=("u",)),
        [closed_form(k, 0, 0) - closed_form(k, 0, 0, x=1.0) for k in (0, 1, 2)],
    ),
    "Condition": (sx.Condition(WALLS, lambda u, v, x: u.x * x - v), [UX * POINT[0] - V]),
    "Integral": (sx.Integral(SQUARE_IN_TIME, lambda u: u**2), [U**2]),
}


@pytest.mark.parametrize("case", VALUES)
def test_conditions_give_what_must_vanish(case):
    condition, expected = VALUES[case]
    with jax.enable_x64(True):
        coefficients = {"nu": jnp.asarray(NU)}
        rows = lambda here: condition.rows(here, "condition")
        source = Evaluator(NAMES, fields, plan(rows, NAMES, coefficients))
        found = rows(Here(source, jnp.asarray(POINT), coefficients, jnp.asarray(NORMAL)))
    assert len(found) == len(condition.labels(NAMES))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_conditions_name_their_rows_and_what_they_prescribe():
    assert VALUES["Dirichlet"][0].labels(NAMES) == ("u", "v")
    assert VALUES["Initial"][0].labels(NAMES) == ("u", "u_t", "u_tt")
    assert VALUES["Initial"][0].pins().keys() == {("u", 0), ("u", 1), ("u", 2)}
    assert VALUES["Periodic"][0].labels(NAMES) == ("u", "u_x", "u_xx")
    end = sx.Initial(SQUARE_IN_TIME, t=1, u=0.0).region
    assert end is not None and end.bounds[2] == (1.0, 1.0)


def test_measurements_are_read_by_name_in_any_order():
    data = sx.Data({"t": [0.1, 0.2], "x": [1, 2], "y": np.array([3, 4], np.float32)}, v=[5.0, 6.0])
    np.testing.assert_array_equal(data.points(NAMES), [[1, 3, 0.1], [2, 4, 0.2]])
    np.testing.assert_array_equal(data.targets(), [[5.0], [6.0]])
    assert data.single == ["y"]


WRONG_CONDITIONS = {
    "no field": (lambda: sx.Dirichlet(WALLS).labels(NAMES), "Dirichlet: name at least one field, such as u=0.0"),
    "other field": (lambda: sx.Neumann(WALLS, w=0.0).labels(NAMES), "Neumann: unknown field 'w'"),
    "other time derivative": (lambda: sx.Initial(SQUARE_IN_TIME, w_t=0.0).labels(NAMES), "Initial: unknown field 'w'"),
    "no time": (lambda: sx.Initial(sx.Interval(x=(0, 1)), u=0.0), "the domain has no time. Its coordinates: x"),
    "in the middle": (lambda: sx.Initial(SQUARE_IN_TIME, t=0.5, u=0.0), "t=0.5 is no end of the time interval"),
    "order": (lambda: sx.Periodic(SQUARE_IN_TIME, "x", order=-1), "order must be 0"),
    "other coordinate": (lambda: sx.Periodic(SQUARE_IN_TIME, "z"), "no coordinate 'z'"),
    "lengths": (lambda: sx.Data({"x": [1, 2]}, u=[1]), "same length, at least 1; got {'x': 2, 'u': 1}"),
    "not finite": (lambda: sx.Data({"x": [1, 2]}, u=[1, math.nan]), r"u\[1\] = nan is not finite"),
    "columns": (lambda: sx.Data({"x": [1], "z": [2]}, u=[1]).labels(NAMES), "missing: y, t; unknown: z"),
    "unknown start": (lambda: sx.Unknown(-1.0, positive=True), "expected a start above 0"),
    "range": (lambda: sx.Range(2, 1), "expected the lower end first"),
}


@pytest.mark.parametrize("case", WRONG_CONDITIONS)
def test_conditions_and_coefficients_refuse_what_is_wrong(case):
    build, message = WRONG_CONDITIONS[case]
    with pytest.raises(StiffaxError, match=message):
        build()


# ---- the system of rows ---------------------------------------------------------------------------------------------


class Waves(eqx.Module):
    """Two fields, each a sum of three plane waves: small enough that everything can be computed another way."""

    frequency: jax.Array
    phase: jax.Array
    amplitude: jax.Array

    def __call__(self, point, basis, coefficients):
        waves = jets.apply(jets.linear(jets.coordinates(point, basis), self.frequency, self.phase), jnp.sin)
        return jets.linear(waves, self.amplitude, jnp.zeros(2))


SQUARE = sx.Rectangle(x=(0, 1), y=(0, 2))
NODES, GAUSS = np.polynomial.legendre.leggauss(12)
MEASURED = sx.Data({"x": [0.2, 0.4, 0.9], "y": [0.1, 1.5, 0.7]}, v=[1.0, -1.0, 0.5])
PROBLEM = sx.Problem(
    SQUARE,
    ("u", "v"),
    {"first": lambda u, v, k: k * (u.xx + u.yy) + v**2, "second": lambda u, v, c: v.xy - c * u},
    {
        "walls": sx.Robin(SQUARE.boundary, a=2.0, b=3.0, u=lambda x: x),
        "data": MEASURED,
        "total": sx.Integral(SQUARE, lambda u: u, value=0.7),
    },
    {"k": sx.Unknown(1.5, positive=True), "c": 0.5},
)
WEIGHTS = ([1.0, 4.0], [9.0], [0.25], [16.0])


def term_points(points, normals=None, targets=None, share=None):
    n = len(points)
    empty = np.zeros((n, 0))
    share = np.full(n, 1 / n) if share is None else share
    arrays = points, empty if normals is None else normals, empty if targets is None else targets, share
    return TermPoints(*map(jnp.asarray, arrays))


def drawn():
    """Points of every term; those of the integral are Gauss nodes with their weights."""
    rng = np.random.default_rng(3)
    walls = sx.Sobol().draw(SQUARE.boundary, 8, 0)
    grid = np.stack(np.meshgrid((NODES + 1) / 2, NODES + 1, indexing="ij"), -1).reshape(-1, 2)
    return (
        term_points(rng.uniform(size=(12, 2)), share=rng.uniform(size=12)),
        term_points(walls.points, walls.normals),
        term_points(MEASURED.points(PROBLEM.names), targets=MEASURED.targets()),
        term_points(grid, share=np.outer(GAUSS, GAUSS).ravel() / 4),
    )


def built(most=1000):
    """The system and a θ for it; call it in float64."""
    rng = np.random.default_rng(5)
    model = Waves(*(jnp.asarray(rng.normal(size=s)) for s in ((2, 3), (3,), (3, 2))))
    assembled = assemble(PROBLEM, PROBLEM.terms(), model, most)
    weights = tuple(map(jnp.asarray, WEIGHTS))
    return PointSystem(drawn(), weights, {"c": jnp.asarray(0.5)}, assembled.layout), assembled.θ


@eqx.filter_jit
def compiled(method, *arguments):
    return method(*arguments)


def direct_rows(θ, layout):
    """The same residuals with nothing but jax.grad."""
    trained = layout.trained(θ)
    k = jnp.exp(trained.free["k"])
    u, v = (lambda p, i=i: trained.model(p, jets.VALUE, {}).value[i] for i in (0, 1))
    inside, walls, data, total = drawn()
    first = jax.vmap(lambda p: k * jnp.trace(jax.hessian(u)(p)) + v(p) ** 2)(inside.points)
    second = jax.vmap(lambda p: jax.hessian(v)(p)[0, 1] - 0.5 * u(p))(inside.points)
    robin = jax.vmap(lambda p, n: 2 * u(p) + 3 * n @ jax.grad(u)(p) - p[0])(walls.points, walls.normals)
    measured = jax.vmap(v)(data.points) - data.targets[:, 0]
    integral = 2 * jnp.dot(total.share, jax.vmap(u)(total.points)) - 0.7
    pairs = jnp.stack([jnp.sqrt(inside.share) * first, jnp.sqrt(4 * inside.share) * second], axis=1)
    rows = [
        pairs.ravel(),
        3 * jnp.sqrt(walls.share) * robin,
        0.5 * jnp.sqrt(data.share) * measured,
        4 * integral[None],
    ]
    return jnp.concatenate(rows)


def test_the_rows_of_a_system_against_a_direct_formula():
    with jax.enable_x64(True):
        system, θ = built()
        r = compiled(system.residuals, θ)
        direct = jax.jit(lambda θ: direct_rows(θ, system.layout))(θ)
        np.testing.assert_allclose(r, direct, rtol=1e-10, atol=1e-12)
        assert r.shape == (system.count,) == (12 * 2 + 8 + 3 + 1,)
        np.testing.assert_allclose(compiled(system.value, θ), np.sum(np.square(r)), rtol=1e-13)
        unweighted = np.square(r) / np.repeat(np.concatenate(WEIGHTS), [12, 12, 8, 3, 1])[interleaved()]
        expected = [unweighted[0:24:2].sum(), unweighted[1:24:2].sum(), unweighted[24:32].sum()]
        np.testing.assert_allclose(compiled(system.parts, θ)[:3], expected, rtol=1e-12)


def interleaved():
    """The two equations take turns, point by point."""
    return np.concatenate([np.arange(24).reshape(2, 12).T.ravel(), np.arange(24, 36)])


def test_the_jacobian_of_a_system_row_by_row():
    with jax.enable_x64(True):
        system, θ = built()
        linear = compiled(system.linearise, θ)
        jacobian = jax.jit(jax.jacfwd(system.residuals))(θ)
        np.testing.assert_allclose(linear.rows(), jacobian, rtol=1e-10, atol=1e-11)
        np.testing.assert_allclose(linear.residual(), compiled(system.residuals, θ), rtol=1e-13)
        gradient = compiled(system.value_and_gradient, θ).gradient
        np.testing.assert_allclose(gradient, 2 * linear.vm(linear.residual()), rtol=1e-9, atol=1e-10)


def test_curvature_and_hessian_products_against_nested_jacobians():
    with jax.enable_x64(True):
        system, θ = built()
        v = jnp.asarray(np.random.default_rng(7).normal(size=θ.size))
        second = jax.jit(jax.jacfwd(jax.jacfwd(system.residuals)))(θ)
        np.testing.assert_allclose(compiled(system.curvature, θ, v), second @ v @ v, rtol=1e-9, atol=1e-10)
        r, J = compiled(system.residuals, θ), compiled(system.linearise, θ).rows()
        expected = 2 * (J.T @ (J @ v) + jnp.einsum("r,rij,j->i", r, second, v))
        np.testing.assert_allclose(compiled(system.hvp, θ, v), expected, rtol=1e-9, atol=1e-9)


def test_an_integral_against_its_closed_form():
    with jax.enable_x64(True):
        system, θ = built()
        model = system.layout.trained(θ).model
        antiderivative = lambda x, y: -jnp.sin(model.frequency.T @ jnp.array([x, y]) + model.phase)
        corners = antiderivative(1, 2) - antiderivative(1, 0) - antiderivative(0, 2) + antiderivative(0, 0)
        integral = (corners / model.frequency.prod(axis=0)) @ model.amplitude[:, 0]
        assert compiled(system.residuals, θ)[-1] == pytest.approx(4 * (float(integral) - 0.7), rel=1e-10)


def test_a_mean_is_the_integral_over_the_measure():
    total, mean = sx.Integral(SQUARE, lambda u: u).group(), sx.Integral(SQUARE, lambda u: u, mean=True).group()
    assert total is not None and mean is not None
    assert (total.factor, mean.factor) == (2.0, 1.0)


def test_blocks_of_points_change_nothing():
    with jax.enable_x64(True):
        whole, θ = built()
        blocks, _ = built(most=4)
        np.testing.assert_allclose(compiled(blocks.residuals, θ), compiled(whole.residuals, θ), rtol=1e-12, atol=1e-13)
        J = compiled(whole.linearise, θ).rows()
        np.testing.assert_allclose(compiled(blocks.linearise, θ).rows(), J, rtol=1e-11, atol=1e-12)


def test_an_empty_place_has_no_weight():
    """A capacity larger than the number of points is filled with places of share zero."""
    with jax.enable_x64(True):
        system, θ = built()
        first = system.points[0]
        masked = eqx.tree_at(lambda s: s.points[0].share, system, first.share.at[3].set(0.0))
        rows, others = compiled(masked.linearise, θ).rows(), np.delete(compiled(system.linearise, θ).rows(), [6, 7], 0)
        assert not np.any(rows[6:8]) and not np.any(compiled(masked.residuals, θ)[6:8])
        np.testing.assert_array_equal(np.delete(rows, [6, 7], 0), others)


def test_a_vector_becomes_the_tree_that_it_stands_for_and_back():
    with jax.enable_x64(True):
        system, θ = built()
        np.testing.assert_array_equal(system.flat(system.tree(θ)), θ)
        assert float(system.layout.trained(θ).unknowns["k"]) == pytest.approx(1.5, rel=1e-14)

"""What is said before training: every error and every warning by its text, and silence about sound problems."""

import json
from typing import Any
from warnings import catch_warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import stiffax as sx
from stiffax import cli
from stiffax.errors import StiffaxError
from stiffax.problem.check import check
from stiffax.problem.domains import AbstractDomain

SQUARE = sx.Rectangle(x=(0, 1), y=(0, 1))
STRIP = sx.Interval(x=(-1, 1)) * sx.Interval(t=(0, 1))
DISK = sx.Disk(x=0, y=0, radius=1)
PIPE = DISK * sx.Interval(z=(0, 1))
DRUM = DISK * sx.Interval(t=(0, 1))
ROOM = sx.Box(x=(0, 1), y=(0, 1), z=(0, 1))
TIME = sx.Interval(t=(0, 10))
POISSON = {"poisson": lambda u: u.laplacian - 1}
HEAT = {"heat": lambda u: u.t - u.laplacian}
TEXT: Any = "text"
ZERO = {"walls": sx.Dirichlet(SQUARE.boundary, u=0.0)}
COLD = {"walls": sx.Dirichlet(STRIP.boundary, u=0.0)}


def problem(domain: AbstractDomain = SQUARE, fields=("u",), equations=None, conditions=None, **more):
    given = POISSON if equations is None else equations
    return sx.Problem(domain, fields, given, ZERO if conditions is None else conditions, **more)


def warnings(*arguments, **more):
    return check(problem(*arguments, **more)).warnings


def refused(message, *arguments, **more):
    with pytest.raises(StiffaxError, match=message):
        check(problem(*arguments, **more))


# ---- silence --------------------------------------------------------------------------------------------------------


def sine(x):
    return jnp.sin(jnp.pi * x)


def cavity(**more):
    equations = {
        "momentum-x": lambda u, v, p, Re: u * u.x + v * u.y + p.x - u.laplacian / Re,
        "momentum-y": lambda u, v, p, Re: u * v.x + v * v.y + p.y - v.laplacian / Re,
        "continuity": lambda u, v: u.x + v.y,
    }
    conditions = {
        "lid": sx.Dirichlet(SQUARE.face("y", 1), u=1.0, v=0.0),
        "walls": sx.Dirichlet(SQUARE.boundary.where(lambda y: y < 1), u=0.0, v=0.0),
        **more,
    }
    return problem(SQUARE, ("u", "v", "p"), equations, conditions, coefficients={"Re": 100})


def measurements(dtype: type = float, **columns):
    x = np.linspace(-0.9, 0.9, 20)
    points = {"x": x, "t": np.linspace(0, 1, 20) ** 2} | columns
    return sx.Data(points, u=np.sin(np.pi * x).astype(dtype))


ANNULUS = DISK - sx.Disk(x=0, y=0, radius=0.98)
SOUND = {
    "poisson": problem(equations={"poisson": lambda u, x: u.xx + u.yy - jnp.sin(50 * x)}),
    "neumann": problem(conditions={"n": sx.Neumann(SQUARE.boundary, u=0.0), "mean": sx.Integral(SQUARE, lambda u: u)}),
    "robin": problem(conditions={"r": sx.Robin(SQUARE.boundary, a=1.0, b=2.0, u=lambda x: x)}),
    "plate": problem(
        equations={"plate": lambda u: u.xxxx + 2 * u.xxyy + u.yyyy - 1},
        conditions=ZERO | {"bending": sx.Condition(SQUARE.boundary, lambda u: u.laplacian)},
    ),
    "faces that agree": problem(
        conditions={
            "left": sx.Dirichlet(SQUARE.face("x", 0), u=lambda y: y),
            "right": sx.Dirichlet(SQUARE.face("x", 1), u=lambda y: y + 1),
            "bottom": sx.Dirichlet(SQUARE.face("y", 0), u=lambda x: x**2),
        }
    ),
    "heat": problem(STRIP, "u", HEAT, COLD | {"start": sx.Initial(STRIP, u=sine)}),
    "wave": problem(
        STRIP,
        "u",
        {"wave": lambda u: u.tt - 4 * u.xx},
        COLD | {"start": sx.Initial(STRIP, u=sine, u_t=0.0)},
    ),
    "convection": problem(
        STRIP,
        "u",
        {"convection": lambda u: u.t + 30 * u.x},
        {"start": sx.Initial(STRIP, u=sine), "ends": sx.Periodic(STRIP, "x")},
    ),
    "a period in time": problem(STRIP, "u", HEAT, COLD | {"period": sx.Periodic(STRIP, "t", order=0)}),
    "ends in time": problem(
        TIME,
        "u",
        {"ballistic": lambda u: u.tt + 9.81},
        {"start": sx.Initial(TIME, u=0.0), "end": sx.Initial(TIME, t=10, u=5.0)},
    ),
    "oscillator": problem(
        TIME,
        ("q", "w"),
        {"position": lambda q, w: q.t - w, "velocity": lambda q, w, mu: w.t - mu * (1 - q**2) * w + q},
        {"start": sx.Initial(TIME, q=2.0, w=0.0)},
        coefficients={"mu": 1.0},
    ),
    "mixed form": problem(
        SQUARE, ("u", "q"), {"flux": lambda u, q: q - u.x, "balance": lambda u, q: q.x + u.yy}, ZERO
    ),
    "cavity with a regular lid": problem(
        conditions={
            "lid": sx.Dirichlet(SQUARE.face("y", 1), u=lambda x: 16 * x**2 * (1 - x) ** 2),
            "walls": sx.Dirichlet(SQUARE.boundary.where(lambda y: y < 1), u=0.0),
        }
    ),
    "inverse, from data only": problem(
        STRIP,
        "u",
        {"heat": lambda u, kappa: u.t - kappa * u.xx},
        {"data": measurements()},
        coefficients={"kappa": sx.Unknown(1.0, positive=True)},
    ),
    "unknown value at a wall": problem(
        conditions={"w": sx.Dirichlet(SQUARE.boundary, u=lambda a, x: a * x)}, coefficients={"a": sx.Unknown()}
    ),
    "hot disk in time": problem(
        DRUM,
        "u",
        HEAT,
        {"start": sx.Initial(DRUM, u=lambda x, y: 1 - x**2 - y**2), "w": sx.Dirichlet(DRUM.boundary, u=0.0)},
    ),
    "thin annulus": problem(
        ANNULUS,
        conditions={
            "inner": sx.Dirichlet(ANNULUS.boundary.where(lambda x, y: x**2 + y**2 < 0.98), u=0.0),
            "outer": sx.Dirichlet(ANNULUS.boundary.where(lambda x, y: x**2 + y**2 > 0.98), u=1.0),
        },
    ),
    "two arcs": problem(
        DISK,
        conditions={
            "left": sx.Dirichlet(DISK.boundary.where(lambda x: x < 0), u=lambda x: x**2),
            "right": sx.Dirichlet(DISK.boundary.where(lambda x: x >= 0), u=lambda x: jnp.sin(9 * x)),
        },
    ),
    "a family": problem(
        STRIP,
        "u",
        {"heat": lambda u, nu: u.t - nu * u.xx},
        COLD | {"start": sx.Initial(STRIP, u=lambda x, nu: nu * sine(x))},
        coefficients={"nu": sx.Range(0.1, 1.0)},
    ),
    "four dimensions": problem(
        ROOM * sx.Interval(t=(0, 1)),
        "u",
        HEAT,
        {
            "start": sx.Initial(ROOM * sx.Interval(t=(0, 1)), u=lambda x, y, z: sine(x) * sine(y) * sine(z)),
            "walls": sx.Dirichlet((ROOM * sx.Interval(t=(0, 1))).boundary, u=0.0),
        },
    ),
    "temperatures": problem(
        equations={"heat": lambda T: T.laplacian},
        fields="T",
        conditions={"w": sx.Dirichlet(SQUARE.boundary, T=lambda x: 300.0 + 50 * x)},
    ),
    "singular outside the domain": problem(
        sx.Interval(r=(0, 1)), equations={"radial": lambda u, r: u.rr + u.r / r + jnp.sqrt(r)}, conditions={
            "centre": sx.Neumann(sx.Interval(r=(0, 1)).face("r", 0), u=0.0),
            "rim": sx.Dirichlet(sx.Interval(r=(0, 1)).face("r", 1), u=0.0),
        }
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SOUND)
def test_nothing_is_said_about_a_sound_problem(case):
    assert check(SOUND[case]).warnings == ()


def test_a_check_enters_float64_for_itself_alone():
    seen = []
    equations = {"e": lambda u, x: (seen.append(u.xx.dtype), u.xx - x)[1]}
    check(problem(equations=equations))
    assert set(map(str, seen)) == {"float64"}
    assert jnp.zeros(()).dtype == jnp.float32


# ---- errors ---------------------------------------------------------------------------------------------------------


def test_unknown_arguments_are_named_with_the_nearest_known_one():
    refused("equation 'poisson': unknown argument 'X'. Known here: u, x, y", equations={"poisson": lambda u, X: u.xx})
    wrong = {"walls": sx.Dirichlet(SQUARE.boundary, u=lambda alpah: alpah)}
    message = "condition 'walls': u: unknown argument 'alpah'. Did you mean 'alpha'. Known here: x, y, alpha"
    refused(message, conditions=wrong, coefficients={"alpha": 1.0})
    refused("exact 'u': unknown argument 'u'. Known here: x, y", exact={"u": lambda u: u})
    refused("condition 'c': unknown argument 'w'", conditions={"c": sx.Condition(SQUARE, lambda w: w)})


def test_functions_that_return_no_scalar_are_named_with_the_shape():
    refused(r"equation 'poisson': .* array of shape \(2,\)", equations={"poisson": lambda u: u.gradient})
    refused(
        r"condition 'w': u: .* array of shape \(3,\)", conditions={"w": sx.Dirichlet(SQUARE, u=lambda x: np.ones(3))}
    )
    refused(r"exact 'u': .* array of shape \(1,\)", exact={"u": lambda x: np.ones(1)})
    refused(
        "condition 'w': u: expected a number, or a function .* got 'text'",
        conditions={"w": sx.Dirichlet(SQUARE, u=TEXT)},
    )


def test_the_users_own_exception_comes_through():
    def broken(u):
        return u.x + [][2]

    with pytest.raises(IndexError) as caught:
        check(problem(equations={"mine": broken}))
    assert caught.traceback[-1].name == "broken"
    assert "This happened in equation 'mine'." in caught.value.__notes__


def test_values_that_are_not_finite_are_named_with_the_point():
    with pytest.raises(StiffaxError, match="equation 'p' is nan at x=.*, y=.*root or logarithm of a number") as caught:
        check(problem(equations={"p": lambda u, x: u.xx - jnp.log(x - 0.5)}))
    x = float(str(caught.value).split("x=")[1].split(",")[0])
    assert 0 < x < 0.5
    refused(
        "condition 'walls' is inf at x=0, y=0.",
        conditions={"walls": sx.Dirichlet(SQUARE.face("x", 0), u=lambda x: -1 / x)},
    )
    pair = {"walls": sx.Dirichlet(SQUARE.boundary, u=0.0, v=np.nan)}
    refused("condition 'walls', v is nan at x=", SQUARE, ("u", "v"), {"e": lambda u, v: u.xx + v}, pair)
    built_in = {"walls": sx.Dirichlet(SQUARE.boundary, hard=True, u=lambda x: 0 * x / 0)}
    refused("condition 'walls' is nan at x=", conditions=built_in)
    refused("exact 'u' is inf at x=.* expected a finite number", exact={"u": lambda x: np.inf})


def test_an_empty_piece_is_named():
    empty = {"inlet": sx.Dirichlet(SQUARE.boundary.where(lambda x: x > 2), u=0.0)}
    refused(r"condition 'inlet': this piece is empty.*where\(...\): the region spans x from 0 to 1", conditions=empty)
    apart = SQUARE & sx.Rectangle(x=(2, 3), y=(0, 1))
    refused("the domain: this piece is empty", apart, conditions={"w": sx.Dirichlet(SQUARE, u=0.0)})


def test_a_condition_stands_in_the_problems_coordinates():
    refused("condition 'w': expected a domain or a piece of one.* got str", conditions={"w": sx.Dirichlet(TEXT, u=0.0)})
    other = sx.Rectangle(a=(0, 1), b=(0, 1))
    refused("condition 'w' stands in the coordinates a, b; .* has x, y", conditions={"w": sx.Dirichlet(other, u=0.0)})


def test_normals_exist_on_boundaries_only():
    refused("condition 'n': these points have no outward normal", conditions={"n": sx.Neumann(SQUARE, u=0.0)})
    refused("condition 'r': these points have no outward normal", conditions={"r": sx.Robin(SQUARE, u=0.0)})
    refused("equation 'e': u.normal exists on a boundary only", equations={"e": lambda u: u.normal})
    point = {"c": sx.Condition(SQUARE, lambda u: u.normal)}
    refused("condition 'c': u.normal exists on a boundary only", conditions=point)


def test_a_problem_needs_something_to_train_on():
    refused("nothing to train on: no equation, no condition, no data", equations={}, conditions={})
    refused("nothing to train on", equations={}, conditions={"w": sx.Dirichlet(SQUARE.boundary, hard=True, u=0.0)})


NAMES = {
    "twice": (lambda: problem(fields=("x",)), "the name 'x' is used twice among fields, coordinates and coefficients"),
    "reserved": (lambda: problem(fields=("normal",)), "'normal' cannot be a name here"),
    "reserved coordinate": (lambda: problem(sx.Interval(diff=(0, 1))), "'diff' cannot be a name here"),
    "no identifier": (lambda: problem(fields=("u-v",)), "'u-v' cannot be a name here: names are letters"),
    "underscore": (lambda: problem(fields=("_u",)), "'_u' cannot be a name here: names .* begin with a letter"),
    "value": (lambda: problem(coefficients={"value": 1}), "'value' cannot be a name here: a field has .* value"),
    "python's": (lambda: problem(coefficients={"lambda": 1}), "'lambda' cannot be a name here: it is a word of Python"),
    "no name": (lambda: problem(fields=(TEXT, 1)), "1 cannot be a name here"),
    "text": (lambda: problem(coefficients={"nu": TEXT}), "number for the coefficient 'nu', got 'text'. Give a number"),
    "array": (lambda: problem(coefficients={"nu": np.ones(2)}), "Expected a number for the coefficient 'nu'"),
    "infinite": (lambda: problem(coefficients={"nu": np.inf}), "Expected a finite number for the coefficient 'nu'"),
    "no domain": (lambda: problem(TEXT), "domain: expected a domain such as .*, got str"),
    "ambiguous": (lambda: problem(sx.Rectangle(x=(0, 1), xx=(0, 1))), "'xx' is also spelled by other coordinates"),
    "ambiguous pair": (
        lambda: problem(sx.Box(a=(0, 1), b=(0, 1), ab=(0, 1))),
        "ambiguous coordinates: 'ab' is also spelled by other coordinates; rename it",
    ),
    "no field": (lambda: problem(fields=()), "name at least one unknown function"),
    "one name for two": (lambda: problem(equations={"walls": lambda u: u}), "'walls' cannot name this"),
    "exact": (lambda: problem(exact={"w": lambda x: x}), "exact: unknown field 'w'"),
    "no condition": (lambda: problem(conditions={"w": 0.0}), "condition 'w': expected Dirichlet, .* got float"),
    "coefficient": (lambda: problem(coefficients={"u": 1.0}), "the name 'u' is used twice"),
}


@pytest.mark.parametrize("case", NAMES)
def test_names_that_could_be_confused_are_refused_when_the_problem_is_built(case):
    build, message = NAMES[case]
    with pytest.raises(StiffaxError, match=message):
        build()


HARD = {
    "boundary": (SQUARE, sx.Dirichlet(SQUARE.boundary, hard=True, u=0.0)),
    "face": (SQUARE, sx.Dirichlet(SQUARE.face("x", 1), hard=True, u=lambda y: y)),
    "interval in time": (STRIP, sx.Dirichlet(STRIP.boundary, hard=True, u=0.0)),
    "start": (STRIP, sx.Initial(STRIP, hard=True, u=sine)),
    "period": (SQUARE, sx.Periodic(SQUARE, "x", hard=True)),
}
BESIDE_A_DISK = {
    "start on a disk": (DRUM, sx.Initial(DRUM, hard=True, u=0.0)),
    "end of a pipe": (PIPE, sx.Dirichlet(PIPE.face("z", 0), hard=True, u=0.0)),
}
ELLE = SQUARE | sx.Rectangle(x=(0, 2), y=(0, 0.5))
SOFT = {
    "disk": (DISK, sx.Dirichlet(DISK.boundary, hard=True, u=0.0)),
    "disk in time": (DRUM, sx.Dirichlet(DRUM.boundary, hard=True, u=0.0)),
    "polygon": (
        sx.Polygon([(0, 0), (1, 0), (0, 1)], names=("x", "y")),
        sx.Dirichlet(sx.Polygon([(0, 0), (1, 0), (0, 1)], names=("x", "y")).boundary, hard=True, u=0.0),
    ),
    "combined": (ELLE, sx.Dirichlet(ELLE.boundary, hard=True, u=0.0)),
    "where": (SQUARE, sx.Dirichlet(SQUARE.boundary.where(lambda x: x < 0.5), hard=True, u=0.0)),
    "inside": (SQUARE, sx.Dirichlet(SQUARE, hard=True, u=0.0)),
    "another box": (SQUARE, sx.Dirichlet(sx.Rectangle(x=(0, 0.5), y=(0, 1)).boundary, hard=True, u=0.0)),
}


@pytest.mark.parametrize("case", HARD)
def test_hard_conditions_stand_on_flat_ends(case):
    domain, condition = HARD[case]
    check(problem(domain, conditions={"hard": condition}))


@pytest.mark.parametrize("case", BESIDE_A_DISK)
def test_hard_conditions_stand_on_the_flat_ends_of_any_product(case):
    domain, condition = BESIDE_A_DISK[case]
    check(problem(domain, conditions={"hard": condition}))


@pytest.mark.parametrize("case", SOFT)
def test_hard_conditions_elsewhere_are_refused(case):
    domain, condition = SOFT[case]
    message = "condition 'hard': hard=True is possible on whole flat ends of coordinates only.*leave hard=True out"
    refused(message, domain, conditions={"hard": condition})


def test_a_problem_checks_itself():
    record = problem(sx.Rectangle(x=(0, 1), y=(0, 1)), conditions={}).check()
    assert len(record.warnings) == 1 and "field 'u' has no condition" in record.warnings[0]
    assert problem().check().warnings == ()
    with pytest.raises(StiffaxError, match="unknown argument 'w'"):
        problem(equations={"poisson": lambda w: w}).check()


# ---- warnings -------------------------------------------------------------------------------------------------------


def only(found, *parts):
    """There is one warning, and it says all of this."""
    assert len(found) == 1, found
    assert all(part in found[0] for part in parts), found[0]


def test_a_field_without_a_condition():
    only(warnings(conditions={}), "field 'u' has no condition", "add sx.Dirichlet(domain.boundary, u=...)")
    pair = {"e": lambda u, v: u.laplacian + v * v.laplacian}
    only(warnings(SQUARE, ("u", "v"), pair), "field 'v' has no condition")
    only(warnings(SQUARE, ("u", "v")), "field 'v' is read by no equation and no condition")


def test_a_field_that_is_fixed_up_to_a_constant():
    found = warnings(conditions={"n": sx.Neumann(SQUARE.boundary, u=0.0)})
    only(found, "field 'u' is fixed only up to a constant", "add sx.Integral(domain, lambda u: u)")


def test_a_lid_driven_cavity_passes():
    pressure, corners = check(cavity()).warnings
    assert "field 'p' is fixed only up to a constant" in pressure and "sx.Integral(domain, lambda p: p)" in pressure
    assert "condition 'lid' and condition 'walls' disagree where they meet: near x=" in corners
    assert ", y=1 the field u is 1 by the one and 0 by the other" in corners
    only(check(cavity(mean=sx.Integral(SQUARE, lambda p: p))).warnings, "disagree")


def test_fewer_initial_values_than_the_order_in_time():
    wave = {"wave": lambda u: u.tt - u.xx}
    found = warnings(STRIP, "u", wave, COLD | {"start": sx.Initial(STRIP, u=sine)})
    only(found, "field 'u': the equations read u.tt, which needs 2 initial values, and 1 given", "u=..., u_t=...")
    only(warnings(STRIP, "u", HEAT, COLD), "read u.t, which needs 1 initial value, and 0 given: write sx.Initial")
    assert warnings(STRIP, "u", {"steady": lambda u: u.xx - 1}, COLD) == ()
    hard = COLD | {"start": sx.Initial(STRIP, hard=True, u=sine, u_t=0.0)}
    assert warnings(STRIP, "u", wave, hard) == ()


def test_initial_and_boundary_values_that_disagree():
    shifted = lambda x: sine(x) + 0.01
    found = warnings(STRIP, "u", HEAT, COLD | {"start": sx.Initial(STRIP, u=shifted)})
    only(
        found,
        "condition 'walls' and condition 'start' disagree",
        "t=0 the field u is 0 by the one and 0.01 by the other",
    )
    hard = {"walls": sx.Dirichlet(STRIP.boundary, hard=True, u=0.1), "start": sx.Initial(STRIP, hard=True, u=sine)}
    only(warnings(STRIP, "u", HEAT, hard), "disagree where they meet")
    drum = {"start": sx.Initial(DRUM, u=lambda x, y: 1 - x**2 - y**2), "w": sx.Dirichlet(DRUM.boundary, u=0.001)}
    only(warnings(DRUM, "u", HEAT, drum), "t=0 the field u is 0 by the one and 0.001 by the other")


def test_boundary_values_that_disagree():
    arcs = {
        "left": sx.Dirichlet(DISK.boundary.where(lambda x: x < 0), u=lambda x: x**2 + 0.05),
        "right": sx.Dirichlet(DISK.boundary.where(lambda x: x >= 0), u=lambda x: x),
    }
    only(warnings(DISK, conditions=arcs), "condition 'left' and condition 'right' disagree", "the field u is 0.05 by")
    corner = sx.Polygon([(0, 0), (1, 0), (0, 1)], names=("x", "y"))
    sides = {
        "slope": sx.Dirichlet(corner.boundary.where(lambda x, y: x + y > 1 - 1e-9), u=lambda x: x),
        "bottom": sx.Dirichlet(corner.boundary.where(lambda x, y: (y < 1e-9) & (x + y < 1)), u=0.0),
    }
    only(warnings(corner, conditions=sides), "disagree where they meet: near x=1, y=", "is 1 by the one and 0 by")
    edges = {"x": sx.Dirichlet(ROOM.face("x", 0), u=lambda y: y), "z": sx.Dirichlet(ROOM.face("z", 1), u=2.0)}
    only(warnings(ROOM, conditions=edges), "near x=0, y=", ", z=1 the field u is")
    doubled = {"all": sx.Dirichlet(SQUARE.boundary, u=0.0), "lid": sx.Dirichlet(SQUARE.face("y", 1), u=1.0)}
    only(warnings(conditions=doubled), "is 0 by the one and 1 by the other")


def test_terms_of_very_different_sizes():
    found = warnings(equations={"heat": lambda u: 1e9 * u.laplacian - 1})
    only(
        found, "differ in size by more than a million", "equation 'heat' is about", "and condition 'walls' about 1e+00"
    )
    large = 1e7 / (2 * np.pi**2)  # the smooth field that is looked at has u.xx + u.yy of about √2 π²
    assert warnings(equations={"heat": lambda u: large / 100 * u.laplacian}) == ()
    pascal = {"p": sx.Dirichlet(SQUARE.boundary, u=lambda x: 1e5 + 1e4 * x)}
    assert warnings(conditions=pascal) == ()


def test_rows_without_fields_and_unknowns_that_nothing_reads():
    found = warnings(equations=POISSON | {"mistake": lambda u, x: x**2})
    only(found, "equation 'mistake' reads no field: training cannot change it")
    found = warnings(coefficients={"kappa": sx.Unknown(2.0), "c": 1.0})
    only(found, "the unknown coefficient 'kappa' is read by no equation and no condition: it will keep its start")


def test_an_equation_that_is_finite_for_one_sign_only():
    found = warnings(equations={"root": lambda u: u.laplacian - jnp.sqrt(u)})
    only(found, "equation 'root' is not finite for some values of the fields", "Better make it finite")
    positive = {"w": sx.Dirichlet(SQUARE.boundary, u=lambda x: 300.0 + x)}
    assert warnings(equations={"root": lambda u: u.laplacian - jnp.sqrt(u)}, conditions=positive) == ()


def test_points_outside_the_domain_and_data_in_single_precision():
    larger = sx.Rectangle(x=(0, 2), y=(0, 1))
    found = warnings(conditions={"walls": sx.Dirichlet(larger.face("x", 1), u=0.0)})
    only(found, "condition 'walls': 256 of 256 points lie outside the domain, such as x=2, y=")
    heat = {"heat": lambda u, kappa: u.t - kappa * u.xx}
    more = {"coefficients": {"kappa": sx.Unknown()}}
    far = {"data": measurements(x=np.r_[5.0, np.linspace(-1, 1, 19)])}
    only(warnings(STRIP, "u", heat, far, **more), "condition 'data': 1 of 20 points lie outside", "x=5, t=0")
    single = {"data": measurements(np.float32)}
    only(warnings(STRIP, "u", heat, single, **more), "condition 'data': u came as float32, which holds about 7 digits")


def test_the_same_problem_gets_the_same_words():
    with jax.enable_x64(False):
        assert check(cavity()).warnings == check(cavity()).warnings


@pytest.mark.parametrize("name", sx.zoo.names())
def test_nothing_is_said_about_the_zoo(name):
    assert check(sx.zoo.problem(name)).warnings == ()


def test_a_warning_is_kept_in_the_solution_and_printed_once_by_solve():
    loose = problem(sx.Interval(x=(0, 1)), conditions={}, equations={"e": lambda u: u.xx - u})
    with pytest.warns(sx.StiffaxWarning, match="field 'u' has no condition") as told:
        solution = sx.solve(loose, network=sx.MLP(3, 1), points={"e": 10}, steps=1)
    assert [str(w.message) for w in told if w.category is sx.StiffaxWarning] == list(solution.warnings)
    assert len(solution.warnings) == 1 and told[0].filename == __file__


def test_the_command_line_prints_a_warning_once(tmp_path, monkeypatch, capsys):
    file = tmp_path / "loose.py"
    posed = "sx.Problem(sx.Interval(x=(0, 1)), 'u', {'e': lambda u: u.xx - u})"
    file.write_text(f"import stiffax as sx\nproblem = {posed}\n")
    words = f"stiffax solve {file} --steps 1 --width 3 --depth 1 --points e=10 --json".split()
    monkeypatch.setattr("sys.argv", words)
    with pytest.raises(SystemExit), catch_warnings(record=True) as leaked:
        cli.main()
    told = capsys.readouterr()
    assert told.err.count("field 'u' has no condition") == 1
    assert [w[:26] for w in json.loads(told.out)["warnings"]] == ["field 'u' has no condition"]
    assert not [w for w in leaked if w.category is sx.StiffaxWarning]

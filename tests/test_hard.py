"""Conditions that are built into the network: they hold for every network, and leave the rest of the domain free."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import stiffax as sx
from stiffax.errors import StiffaxError
from stiffax.jets import Basis
from stiffax.network.composition import compose

SQUARE = sx.Rectangle(x=(-1, 1), y=(0, 3))
ROOM = sx.Box(x=(0, 1), y=(0, 2), z=(-1, 0))
STRIP = sx.Interval(x=(0, 2)) * sx.Interval(t=(1, 3))
DISK = sx.Disk(x=0, y=0, radius=1)
DRUM = DISK * sx.Interval(t=(0, 1))
PIPE = DISK * sx.Interval(z=(0, 2))
KEYS = {"": (), "x": (0,), "t": (1,), "tt": (1, 1), "xx": (0, 0), "xxx": (0, 0, 0), "xt": (0, 1)}
SEEDS = (0, 1)


def posed(domain, fields: tuple[str, ...] = ("u",), /, **conditions: Any):
    return sx.Problem(domain, fields, {"e": lambda u: u.laplacian}, conditions)


def fields(problem, points, seed=0, keys=((),), network=None, **more):
    """The derivatives with these keys, of all fields, at points: (keys, points, fields), for random weights."""
    with jax.enable_x64(True):
        seen = sx.Uniform().draw(problem.region(problem.domain), 50, 0).points
        model = compose(problem, network or sx.MLP(8, 2, start=sx.Glorot()), seen, seed, **more)
        basis = Basis.of(keys)
        jet = jax.vmap(lambda point: model(point, basis, problem.starting))(jnp.asarray(points))
        return np.stack([np.asarray(jet.derivative(key)) for key in keys])


def drawn(region, count=40):
    return sx.Sobol().draw(region, count if region.unit_dim else 1, 7).points


def smooth(x, y, z=0.0):
    return jnp.sin(x + 2 * y) * jnp.exp(z) + x * y


def values(function, points):
    with jax.enable_x64(True):
        return np.asarray(function(*jnp.asarray(points).T))


def differ_inside(problem):
    """Two networks agree on what is built in only."""
    inside = drawn(problem.domain)
    one, other = (fields(problem, inside, seed)[0] for seed in SEEDS)
    assert np.mean(np.abs(one - other) > 1e-6) > 0.9


# ---- values on faces ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_functions_on_the_whole_boundary_of_a_rectangle(seed):
    problem = posed(SQUARE, walls=sx.Dirichlet(SQUARE.boundary, u=lambda x, y: smooth(x, y), hard=True))
    points = drawn(SQUARE.boundary)
    assert fields(problem, points, seed)[0, :, 0] == pytest.approx(values(smooth, points), abs=1e-12)
    differ_inside(problem)


def test_functions_on_the_whole_boundary_of_a_box():
    problem = posed(ROOM, walls=sx.Dirichlet(ROOM.boundary, u=smooth, hard=True))
    points = drawn(ROOM.boundary, 120)
    assert fields(problem, points)[0, :, 0] == pytest.approx(values(smooth, points), abs=1e-12)
    differ_inside(problem)


def test_faces_one_by_one_each_with_its_own_function():
    """They agree at the corners, where two of them hold."""
    sides = {
        "west": (SQUARE.face("x", 0), lambda y: smooth(-1.0, y)),
        "east": (SQUARE.face("x", 1), lambda y: smooth(1.0, y)),
        "south": (SQUARE.face("y", 0), lambda x: smooth(x, 0.0)),
        "north": (SQUARE.face("y", 1), lambda x: smooth(x, 3.0)),
    }
    for chosen in (["west"], ["north"], ["east", "south"], ["south", "north"], list(sides)):
        problem = posed(SQUARE, **{n: sx.Dirichlet(sides[n][0], u=sides[n][1], hard=True) for n in chosen})
        for name in sides:
            points = drawn(sides[name][0])
            off = np.abs(fields(problem, points)[0, :, 0] - values(smooth, points))
            assert off.max() < 1e-12 if name in chosen else np.median(off) > 1e-3
    differ_inside(problem)


def test_each_field_has_its_own_and_the_others_are_left_alone():
    conditions = {
        "v": sx.Dirichlet(SQUARE.boundary, v=lambda x: 3 * x, hard=True),
        "w": sx.Dirichlet(SQUARE.face("x", 1), w=2.0, hard=True),
    }
    problem = posed(SQUARE, ("u", "v", "w"), **conditions)
    bare = posed(SQUARE, ("u", "v", "w"))
    points = drawn(SQUARE.face("x", 1))
    u, v, w = fields(problem, points)[0].T
    assert v == pytest.approx(3.0, abs=1e-12) and w == pytest.approx(2.0, abs=1e-12)
    assert u == pytest.approx(fields(bare, points)[0, :, 0], rel=1e-13)


def test_values_may_depend_on_coefficients_and_on_a_range():
    line = sx.Interval(x=(0, 1))
    problem = sx.Problem(
        line,
        "u",
        {"e": lambda u: u.xx},
        {"ends": sx.Dirichlet(line.boundary, u=lambda x, k, c: c * k + x, hard=True)},
        coefficients={"k": sx.Range(1, 2), "c": 5.0},
    )
    points = drawn(problem.region(line.boundary))
    assert fields(problem, points)[0, :, 0] == pytest.approx(5 * points[:, 1] + points[:, 0], abs=1e-12)


@pytest.mark.parametrize("domain", [DRUM, sx.Interval(t=(0, 1)) * DISK], ids=["disk in time", "time first"])
def test_the_start_in_time_on_a_disk(domain):
    start = sx.Initial(domain, u=lambda x, y: smooth(x, y), u_t=lambda x: x, hard=True)
    problem = posed(domain, start=start)
    t, x, y = (domain.names.index(n) for n in "txy")
    points = drawn(domain.face("t", 0))
    value, speed = fields(problem, points, keys=((), (t,)))[:, :, 0]
    assert value == pytest.approx(values(smooth, points[:, [x, y]]), abs=1e-12)
    assert speed == pytest.approx(points[:, x], abs=1e-12)
    differ_inside(problem)


def test_the_ends_of_a_pipe():
    ends = {
        "in": sx.Dirichlet(PIPE.face("z", 0), u=lambda x, y: smooth(x, y), hard=True),
        "out": sx.Dirichlet(PIPE.face("z", 1), u=1.0, hard=True),
    }
    problem = posed(PIPE, **ends)
    inflow, outflow = drawn(PIPE.face("z", 0)), drawn(PIPE.face("z", 1))
    assert fields(problem, inflow)[0, :, 0] == pytest.approx(values(smooth, inflow[:, :2]), abs=1e-12)
    assert fields(problem, outflow)[0, :, 0] == pytest.approx(1.0, abs=1e-12)
    differ_inside(problem)


# ---- time derivatives -----------------------------------------------------------------------------------------------


def moving(x, t):
    return jnp.cos(x - 2 * t) + t * x**2


def rates(points, order):
    """Time derivatives of `moving`, by JAX."""
    function = moving
    for _ in range(order):
        function = jax.grad(function, 1)
    with jax.enable_x64(True):
        return np.asarray(jax.vmap(function)(*jnp.asarray(points).T))


def prescribed(order, t) -> dict[str, Any]:
    at = {0: moving, 1: jax.grad(moving, 1), 2: jax.grad(jax.grad(moving, 1), 1)}
    return {"u" + "_" * (k > 0) + "t" * k: lambda x, f=at[k]: f(x, jnp.asarray(t, x.dtype)) for k in range(order + 1)}


@pytest.mark.parametrize("order", [0, 1, 2])
def test_initial_values_and_rates_together_with_walls_that_move(order):
    problem = posed(
        STRIP,
        start=sx.Initial(STRIP, hard=True, **prescribed(order, 1.0)),
        walls=sx.Dirichlet(STRIP.boundary, u=moving, hard=True),
    )
    start, walls = drawn(STRIP.face("t", 0)), drawn(STRIP.boundary)
    found = fields(problem, start, keys=tuple((1,) * k for k in range(3)))[:, :, 0]
    for k in range(order + 1):
        assert found[k] == pytest.approx(rates(start, k), abs=1e-11)
    if order < 2:  # the next rate is the network's to find
        assert np.median(np.abs(found[order + 1] - rates(start, order + 1))) > 1e-3
    assert fields(problem, walls)[0, :, 0] == pytest.approx(rates(walls, 0), abs=1e-12)
    differ_inside(problem)


@pytest.mark.parametrize(("first", "last"), [(0, 0), (1, 0), (0, 1), (2, 1)])
def test_values_and_rates_at_both_ends_of_time(first, last):
    problem = posed(
        STRIP,
        start=sx.Initial(STRIP, hard=True, **prescribed(first, 1.0)),
        end=sx.Initial(STRIP, t=3, hard=True, **prescribed(last, 3.0)),
    )
    for end, order in enumerate((first, last)):
        points = drawn(STRIP.face("t", end))
        found = fields(problem, points, keys=tuple((1,) * k for k in range(order + 1)))[:, :, 0]
        for k in range(order + 1):
            assert found[k] == pytest.approx(rates(points, k), abs=1e-11)
    differ_inside(problem)


# ---- periods --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1.0, 1.5])
@pytest.mark.parametrize("names", [("x",), ("x", "y")])
def test_periodic_fields_agree_at_both_ends_with_all_their_derivatives(names, scale):
    problem = posed(SQUARE, ("u", "v"), **{n: sx.Periodic(SQUARE, n, hard=True) for n in names})
    keys = ((), (0,), (1,), (0, 0), (0, 1), (0, 0, 0), (1, 1, 1))
    for name in names:
        lower = drawn(SQUARE.face(name, 0))
        upper = lower.copy()
        upper[:, SQUARE.names.index(name)] = SQUARE.bounds[SQUARE.names.index(name)][1]
        at, there = (fields(problem, p, keys=keys, input_scale=scale) for p in (lower, upper))
        assert at == pytest.approx(there, rel=1e-11, abs=1e-10)
        other = lower.copy()
        other[:, SQUARE.names.index(name)] += 0.4
        assert np.abs(at[0] - fields(problem, other, input_scale=scale)[0]).max() > 1e-2
    differ_inside(problem)


def test_a_period_beside_an_embedding_of_the_users():
    """The embedding names a coordinate that is left; one that the period has taken is unknown to it."""
    problem = posed(SQUARE, period=sx.Periodic(SQUARE, "x", hard=True))
    network = sx.MLP(8, 2, inputs=sx.PeriodicInput("y", period=1.5), start=sx.Glorot())
    points = drawn(sx.Rectangle(x=(-1, 1), y=(0, 1.5)))
    for step in ([0.0, 1.5], [2.0, 0.0]):
        for scale in (1.0, 2.0):
            here, there = (fields(problem, p, network=network, input_scale=scale) for p in (points, points + step))
            assert here == pytest.approx(there, abs=1e-12)
    with pytest.raises(StiffaxError, match="PeriodicInput: unknown coordinate 'x'. Known here: y"):
        fields(problem, points, network=sx.MLP(8, 2, inputs=sx.PeriodicInput("x")))


def test_a_period_together_with_a_start():
    start = sx.Initial(STRIP, u=lambda x: jnp.sin(jnp.pi * x), hard=True)
    problem = posed(STRIP, start=start, period=sx.Periodic(STRIP, "x", hard=True))
    points = drawn(STRIP.face("t", 0))
    assert fields(problem, points)[0, :, 0] == pytest.approx(np.sin(np.pi * points[:, 0]), abs=1e-12)
    lower = drawn(STRIP.face("x", 0))
    at, there = (fields(problem, p, keys=((), (0,), (0, 1))) for p in (lower, lower + [2.0, 0.0]))
    assert at == pytest.approx(there, abs=1e-12)


# ---- training with them ---------------------------------------------------------------------------------------------


def test_poisson_with_hard_walls_is_solved():
    unit = sx.Rectangle(x=(0, 1), y=(0, 1))
    source = lambda x, y: 2 * jnp.pi**2 * jnp.sin(jnp.pi * x) * jnp.sin(jnp.pi * y)
    problem = sx.Problem(
        unit,
        "u",
        {"poisson": lambda u, x, y: u.xx + u.yy + source(x, y)},
        {"walls": sx.Dirichlet(unit.boundary, u=lambda x: x, hard=True)},
        exact={"u": lambda x, y: jnp.sin(jnp.pi * x) * jnp.sin(jnp.pi * y) + x},
    )
    solution = sx.solve(problem, network=sx.MLP(12, 1), points={"poisson": 150}, steps=40)
    assert solution.error()["u"].rel_l2 < 1e-3
    edge = np.linspace(0, 1, 11)
    assert solution.u(edge, 0 * edge) == pytest.approx(edge, abs=1e-14)
    assert set(solution.residual()) == {"poisson"}


def test_a_wave_with_hard_start_and_walls_is_solved():
    string = sx.Interval(x=(0, 1)) * sx.Interval(t=(0, 1))
    problem = sx.Problem(
        string,
        "u",
        {"wave": lambda u: u.tt - u.xx},
        {
            "start": sx.Initial(string, u=lambda x: jnp.sin(jnp.pi * x), u_t=0.0, hard=True),
            "walls": sx.Dirichlet(string.boundary, u=0.0, hard=True),
        },
        exact={"u": lambda x, t: jnp.sin(jnp.pi * x) * jnp.cos(jnp.pi * t)},
    )
    solution = sx.solve(problem, network=sx.MLP(12, 1), points={"wave": 150}, steps=40)
    assert solution.error()["u"].rel_l2 < 1e-3
    x = np.linspace(0, 1, 11)
    assert solution.u(x, 0 * x) == pytest.approx(np.sin(np.pi * x), abs=1e-13)
    assert solution.u.t(x, 0 * x) == pytest.approx(0.0, abs=1e-12)


# ---- what is refused ------------------------------------------------------------------------------------------------

ZERO = {"u": 0.0, "hard": True}
REFUSED = {
    "on a piece": (
        lambda: posed(SQUARE, c=sx.Dirichlet(SQUARE.boundary.where(lambda y: y < 1), **ZERO)),
        "condition 'c': hard=True is possible on whole flat ends .* leave hard=True out",
    ),
    "on half a side": (
        lambda: posed(SQUARE, c=sx.Dirichlet(sx.Rectangle(x=(-1, 1), y=(0, 1)).face("x", 0), **ZERO)),
        "on whole flat ends of coordinates only",
    ),
    "a flux": (
        lambda: posed(SQUARE, c=sx.Neumann(SQUARE.boundary, **ZERO)),
        "Neumann cannot be built into the network: leave hard=... out",
    ),
    "a rate alone": (lambda: posed(STRIP, c=sx.Initial(STRIP, u_t=0.0, hard=True)), "needs u itself"),
    "a gap in the rates": (lambda: posed(STRIP, c=sx.Initial(STRIP, u=0.0, u_tt=0.0, hard=True)), "needs u itself"),
    "twice": (
        lambda: posed(SQUARE, a=sx.Dirichlet(SQUARE.boundary, **ZERO), b=sx.Dirichlet(SQUARE.face("y", 1), **ZERO)),
        "condition 'b': condition 'a' builds in u at the upper end of y already",
    ),
    "one periodic field of two": (
        lambda: posed(SQUARE, ("u", "v"), c=sx.Periodic(SQUARE, "x", fields=("u",), hard=True)),
        "condition 'c': hard=True makes all fields periodic together",
    ),
    "an array": (
        lambda: posed(SQUARE, c=sx.Dirichlet(SQUARE.boundary, u=lambda x: jnp.stack([x, x]), hard=True)),
        r"condition 'c': u: expected a scalar at one point, got an array of shape \(2,\)",
    ),
    "text": (
        lambda: posed(SQUARE, c=sx.Dirichlet(SQUARE.boundary, u="x", hard=True)),  # pyright: ignore
        "condition 'c': u: expected a number, or a function",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_built_in_is_refused(case):
    build, message = REFUSED[case]
    with pytest.raises(StiffaxError, match=message):
        build().check()

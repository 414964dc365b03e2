"""Solving, end to end, at small sizes: what comes back, how runs end, and what survives a kill."""

import dataclasses
import json
import math
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import stiffax as sx

SMALL = sx.MLP(width=12, depth=1)


def line(exact=True, hard=False, **more):
    """-u'' = π² sin πx on (0, 1)."""
    domain = sx.Interval(x=(0, 1))
    return sx.Problem(
        domain,
        "u",
        {"poisson": lambda u, x: u.xx + jnp.pi**2 * jnp.sin(jnp.pi * x)},
        {"ends": sx.Dirichlet(domain.boundary, u=0.0, hard=hard)},
        exact={"u": lambda x: jnp.sin(jnp.pi * x)} if exact else None,
        **more,
    )


@pytest.fixture(scope="module")
def solved():
    return sx.solve(line(), network=SMALL, points={"poisson": 100}, steps=60)


def test_small_problem_is_solved_and_measured(solved):
    x = np.linspace(0, 1, 101)
    truth = np.sin(np.pi * x)
    off = np.abs(solved.u(x) - truth)
    assert off.max() < 1e-4
    error = solved.error()["u"]
    assert error.linf == pytest.approx(off.max(), rel=0.5)
    assert error.rel_l2 == pytest.approx(np.linalg.norm(off) / np.linalg.norm(truth), rel=0.5)
    assert solved.residual()["poisson"] < 1e-2 and solved.residual()["ends"] < 1e-4
    assert solved.result.name == "steps" and solved.result.ok
    assert solved.summary()["steps"] == 60


def test_derivatives_of_a_solution_agree_with_differences(solved):
    x, h = np.linspace(0.1, 0.9, 9), 1e-4
    assert solved.u.x(x) == pytest.approx((solved.u(x + h) - solved.u(x - h)) / (2 * h), rel=1e-6, abs=1e-7)
    assert solved.u.xx(x) == pytest.approx((solved.u.x(x + h) - solved.u.x(x - h)) / (2 * h), rel=1e-6, abs=1e-7)
    assert solved.u.laplacian(x) == pytest.approx(solved.u.xx(x), rel=1e-12)
    assert solved.u.diff("x", "x")(x=x) == pytest.approx(solved.u.xx(x), rel=1e-12)


def test_values_are_float64_of_the_shape_asked_for(solved):
    assert solved.u(0.3).shape == () and solved.u(0.3).dtype == np.float64
    assert solved.u(np.zeros((2, 3))).shape == (2, 3)
    assert solved.u([0.1, 0.2]) == pytest.approx([float(solved.u(0.1)), float(solved.u(0.2))], rel=1e-14)
    with pytest.raises(sx.StiffaxError, match="unknown coordinate 'y'.*Known here: x"):
        solved.u(y=1.0)
    with pytest.raises(sx.StiffaxError, match="expected the coordinates x"):
        solved.u(1.0, 2.0)
    with pytest.raises(AttributeError, match="no field or attribute 'v'"):
        _ = solved.v


def parameters(solution):
    return np.concatenate([np.ravel(a) for a in jax.tree.leaves(eqx.filter(solution._source.trained, eqx.is_array))])


def test_same_seed_same_bits_and_exact_changes_none(solved):
    again = sx.solve(line(exact=False), network=SMALL, points={"poisson": 100}, steps=60)
    assert np.array_equal(parameters(again), parameters(solved))
    assert again.error() == {} and again.summary()["rel_l2"] is None
    other = sx.solve(line(), network=SMALL, points={"poisson": 100}, steps=60, seed=1)
    assert not np.array_equal(parameters(other), parameters(solved))


def test_a_zoo_problem_typed_by_hand_gives_the_same_bits():
    domain = sx.Interval(x=(0, 1)) * sx.Interval(t=(0, 1))
    by_hand = sx.Problem(
        domain=domain,
        fields=("u",),
        equations={"heat": lambda u, nu: u.t - nu * u.xx},
        conditions={
            "start": sx.Initial(domain, t=0, u=lambda x: jnp.sin(jnp.pi * x)),
            "walls": sx.Dirichlet(domain.boundary, u=0.0),
        },
        coefficients={"nu": 0.1},
    )
    one, other = (sx.solve(p, network=SMALL, steps=12) for p in (sx.zoo.problem("heat"), by_hand))
    assert np.array_equal(parameters(one), parameters(other))


def test_bits_do_not_depend_on_where_chunks_are_cut(solved, monkeypatch):
    monkeypatch.setattr("stiffax.train.CHUNK_SECONDS", 0.0)  # a chunk for every attempt
    again = sx.solve(line(), network=SMALL, points={"poisson": 100}, steps=60)
    assert np.array_equal(parameters(again), parameters(solved))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"steps": 0}, "steps=0; expected a positive number"),
        ({"points": {"wall": 3}}, "points: unknown name 'wall'.*Known here: poisson, ends"),
        ({"points": {"ends": 0}}, "points of 'ends': expected a count"),
        ({"weights": {"end": 3.0}}, "weights: unknown name 'end'. Did you mean 'ends'"),
        ({"weights": "heavy"}, "weights: expected"),
        ({"precision": "float16"}, "precision='float16'; expected one of float64, float32"),
        ({"optimizer": "adam"}, "optimizer: expected"),
        ({"network": {"v": SMALL}}, "network: unknown field 'v'"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    with pytest.raises(sx.StiffaxError, match=message):
        sx.solve(line(), **{"network": SMALL, "steps": 1} | arguments)


def test_endings(solved):
    reached = sx.solve(line(), network=SMALL, points={"poisson": 100}, target=1e-2, time_limit=60)
    assert reached.result.name == "target" and reached.summary()["steps"] < 60
    assert reached.error()["u"].rel_l2 <= 1e-2
    late = sx.solve(line(), network=SMALL, points={"poisson": 100}, time_limit=1e-3)
    assert late.result.name == "time" and late.result.ok
    assert np.isfinite(parameters(late)).all()


def test_nan_is_refused_and_explained():
    problem = line()
    problem.equations["poisson"] = lambda u, x: u.xx + jnp.log(u - 100.0) * jnp.where(u < 50, jnp.nan, 1.0)
    with pytest.raises(sx.StiffaxError, match="poisson"):
        sx.solve(problem, network=SMALL, steps=5)


def test_giving_up_names_the_term_the_point_and_the_quantity():
    """A root that is fine for some fields and not for the one that the network begins with."""
    domain = sx.Interval(x=(0, 1))
    problem = sx.Problem(
        domain,
        "u",
        {"flow": lambda u, x: u.x - jnp.sqrt(u - 1.4)},
        {"ends": sx.Dirichlet(domain.boundary, u=lambda x: 1.0 + x)},
    )
    failed = sx.solve(problem, network=SMALL, steps=50)
    assert failed.result.name == "gave up" and not failed.result.ok
    assert "'flow' is not finite at x=0." in failed.result.text


def test_explicit_optimizer_that_explodes_gives_up_with_finite_parameters():
    blown = sx.solve(line(), network=SMALL, optimizer=sx.ExplicitEuler(optax.sgd(1e6)), steps=2000)
    assert blown.result.name == "gave up" and not blown.result.ok
    assert "learning rate" in blown.result.text
    assert np.isfinite(parameters(blown)).all()


def test_optax_and_lbfgs_train_behind_the_same_call():
    plain = {"network": sx.MLP(12, 1, start=sx.Glorot()), "weights": {"ends": 100.0}}  # what Adam can train
    adam = sx.solve(line(), optimizer=sx.ExplicitEuler(optax.adam(1e-2)), steps=2000, **plain)
    assert adam.error()["u"].rel_l2 < 0.05
    lbfgs = sx.solve(line(), optimizer=sx.ExplicitEuler(optax.lbfgs()), refresh=sx.Keep(), steps=300, **plain)
    assert lbfgs.error()["u"].rel_l2 < 1e-3


def test_phases_run_one_after_the_other():
    plan = [sx.Phase(sx.ExplicitEuler(optax.adam(1e-2)), steps=50), sx.Phase(sx.ImplicitEuler(), steps=40)]
    both = sx.solve(line(), network=SMALL, optimizer=plan)
    assert both.summary()["steps"] == 90 and both.error()["u"].rel_l2 < 1e-4


def test_unknown_coefficient_is_found():
    x = np.linspace(0.05, 0.95, 15)
    domain = sx.Interval(x=(0, 1))
    problem = sx.Problem(
        domain,
        "u",
        {"poisson": lambda u, x, k: k * u.xx + jnp.pi**2 * jnp.sin(jnp.pi * x)},
        {"ends": sx.Dirichlet(domain.boundary, u=0.0), "data": sx.Data({"x": x}, u=np.sin(np.pi * x) / 2.5)},
        {"k": sx.Unknown(1.0, positive=True)},
    )
    solution = sx.solve(problem, network=SMALL, steps=120)
    assert solution.coefficients["k"] == pytest.approx(2.5, rel=1e-4)


def test_range_gives_a_family_of_solutions():
    domain = sx.Interval(x=(0, 1))
    problem = sx.Problem(
        domain,
        "u",
        {"poisson": lambda u, x, k: u.xx + k * jnp.pi**2 * jnp.sin(jnp.pi * x)},
        {"ends": sx.Dirichlet(domain.boundary, u=0.0)},
        {"k": sx.Range(1, 3)},
        exact={"u": lambda x, k: k * jnp.sin(jnp.pi * x)},
    )
    solution = sx.solve(problem, network=sx.MLP(16, 1), points={"poisson": 300}, steps=80)
    assert solution.error()["u"].rel_l2 < 1e-3
    assert solution.u(0.5, k=2.0) == pytest.approx(2.0, abs=1e-2)


def test_outputs_of_any_size_train_like_those_of_order_one():
    domain = sx.Interval(x=(0, 1))

    def rod(scale):
        return sx.Problem(
            domain,
            "T",
            {"heat": lambda T, x: T.xx + scale * jnp.sin(3 * x)},
            {"ends": sx.Dirichlet(domain.boundary, T=lambda x: scale * (3 + x))},
            exact={"T": lambda x: scale * (3 + x + (jnp.sin(3 * x) - x * jnp.sin(3.0)) / 9)},
        )

    small, large = (sx.solve(rod(s), network=SMALL, steps=60).error()["T"].rel_l2 for s in (1.0, 2.0**17))
    assert small < 1e-5 and large == pytest.approx(small, rel=1e-3)


def test_fields_have_one_network_or_their_own():
    domain = sx.Interval(x=(0, 1))
    problem = sx.Problem(
        domain,
        ("u", "v"),
        {"first": lambda u, v: u.x - v, "second": lambda u, v: v.x + 4 * u},
        {"left": sx.Dirichlet(domain.face("x", 0), u=0.0, v=2.0)},
        exact={"u": lambda x: jnp.sin(2 * x), "v": lambda x: 2 * jnp.cos(2 * x)},
    )
    for network in (SMALL, {"u": SMALL, "v": sx.MLP(8, 1)}, eqx.nn.MLP(1, 2, 10, 1, jnp.tanh, key=jax.random.key(0))):
        solution = sx.solve(problem, network=network, steps=80)
        assert max(e.rel_l2 for e in solution.error().values()) < 1e-3


def test_float32_holds_everywhere():
    with pytest.warns(sx.StiffaxWarning, match="expect relative errors between"):
        solution = sx.solve(line(), network=SMALL, precision="float32", steps=40)
    assert parameters(solution).dtype == np.float32
    assert solution.u(0.5).dtype == np.float64
    assert solution.error()["u"].rel_l2 < 1e-2


STRANGER = """
import numpy as np, jax, sys
import stiffax as sx
assert not jax.config.jax_enable_x64
s = sx.Solution.load(sys.argv[1])
x = np.linspace(0, 1, 7)
print(repr([s.u(x).tolist(), s.u.xx(x).tolist(), s.error()["u"].rel_l2, s.result.name, s.plot(sys.argv[2]).name]))
try:
    s.u.xxx(x)
except sx.StiffaxError as error:
    print(error)
assert not jax.config.jax_enable_x64
"""


def test_a_stranger_evaluates_a_saved_solution(solved, tmp_path):
    solved.save(tmp_path / "saved")
    command = [sys.executable, "-c", STRANGER, str(tmp_path / "saved"), str(tmp_path / "u.png")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    values, message = done.stdout.strip().split("\n")
    u, uxx, error, result, plot = eval(values)
    x = np.linspace(0, 1, 7)
    assert u == pytest.approx(solved.u(x).tolist(), abs=1e-14)
    assert uxx == pytest.approx(solved.u.xx(x).tolist(), abs=1e-12)
    assert (error, result, plot) == (solved.error()["u"].rel_l2, "steps", "u.png")
    assert "no derivative 'xxx'" in message and "it holds x, xx" in message


def test_minimise_finds_rosenbrocks_minimum():
    start = {"x": -1.2, "y": 1.0}
    squares = sx.minimise(
        residuals=lambda p: {"a": 10 * (p["y"] - p["x"] ** 2), "b": 1 - p["x"]}, params=start, steps=40
    )
    assert squares.params["x"] == pytest.approx(1.0, abs=1e-12) and squares.params["x"].dtype == np.float64
    loss = sx.minimise(
        loss=lambda p: 100 * (p["y"] - p["x"] ** 2) ** 2 + (1 - p["x"]) ** 2, params=start, steps=200, target=1e-6
    )
    assert loss.params["y"] == pytest.approx(1.0, abs=1e-5) and loss.result.name == "target"
    with pytest.raises(sx.StiffaxError, match="exactly one of loss"):
        sx.minimise(params=start)
    with pytest.raises(sx.StiffaxError, match="must return a scalar"):
        sx.minimise(params=start, loss=lambda p: jnp.stack([p["x"], p["y"]]))


# resume

KILLED = """
import sys, stiffax as sx, jax.numpy as jnp
sys.path.insert(0, sys.argv[2])
from line import problem, arguments
mode = sys.argv[3]
if mode == "resume":
    sx.resume(sys.argv[1], problem, **arguments)
else:
    sx.solve(problem, out=sys.argv[1], **arguments)
"""

LINE = textwrap.dedent("""
    import jax.numpy as jnp, stiffax as sx, stiffax.train
    stiffax.train.SAVE_SECONDS = 0.0
    domain = sx.Interval(x=(0, 1))
    problem = sx.Problem(
        domain,
        "u",
        {"poisson": lambda u, x, k: k * u.xx + jnp.pi**2 * jnp.sin(jnp.pi * x)},
        {"ends": sx.Dirichlet(domain.boundary, u=0.0), "mean": sx.Integral(domain, lambda u: u, value=2 / jnp.pi)},
        {"k": sx.Unknown(2.0)},
    )
    arguments = dict(network=sx.MLP(40, 2), refresh=sx.Adaptive(every=10), steps=120)
""")


def run_line(folder: Path, mode: str, kill_after: float | None = None) -> int:
    (folder.parent / "line.py").write_text(LINE)
    command = [sys.executable, "-c", KILLED, str(folder), str(folder.parent), mode]
    process = subprocess.Popen(command, cwd=folder.parent, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if kill_after is not None:
        limit = time.monotonic() + 120
        while time.monotonic() < limit and process.poll() is None:
            rows = steps_in(folder / "checkpoint.npz")
            if rows >= kill_after:
                os.kill(process.pid, signal.SIGKILL)
            time.sleep(0.02)
    _, errors = process.communicate(timeout=180)
    assert process.returncode in (0, -signal.SIGKILL), errors.decode()
    return process.returncode


def steps_in(checkpoint: Path) -> int:
    if not checkpoint.exists():
        return -1
    with np.load(checkpoint) as file:
        history = json.loads(bytes(file["facts"]).decode())["history"]
    return history[-1]["steps"] if history else 0


def final(folder: Path) -> dict:
    with np.load(folder / "checkpoint.npz") as file:
        return {name: file[name] for name in file.files if name != "facts"}


def test_a_killed_run_goes_on_in_the_same_bits(tmp_path):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    assert run_line(whole, "solve") == 0
    assert run_line(broken, "solve", kill_after=20) == -signal.SIGKILL
    assert run_line(broken, "resume", kill_after=50) == -signal.SIGKILL
    assert run_line(broken, "resume", kill_after=90) == -signal.SIGKILL
    assert run_line(broken, "resume") == 0
    one, other = final(whole), final(broken)
    assert one.keys() == other.keys() and all(np.array_equal(one[n], other[n], equal_nan=True) for n in one)
    a, b = sx.Solution.load(whole / "solution"), sx.Solution.load(broken / "solution")
    assert a.coefficients == b.coefficients and len(a.history) == len(b.history)
    again = sx.resume(broken, line())  # a finished run is not run again
    assert again.coefficients == b.coefficients


def test_folders_of_runs_are_guarded(tmp_path):
    folder = tmp_path / "run"
    with pytest.raises(sx.StiffaxError, match="no run in"):
        sx.resume(folder, line())
    sx.solve(line(), network=SMALL, steps=3, out=folder)
    with pytest.raises(sx.StiffaxError, match="holds a run already"):
        sx.solve(line(), network=SMALL, steps=3, out=folder)
    unfinished = tmp_path / "unfinished"
    unfinished.mkdir()
    (unfinished / "run.json").write_text((folder / "run.json").read_text())
    with pytest.raises(sx.StiffaxError, match="a run with another seed: 0 there, 5 now"):
        sx.resume(unfinished, line(), network=SMALL, steps=3, seed=5)
    restarted = sx.resume(unfinished, line(), network=SMALL, steps=3)  # killed before its first checkpoint
    assert restarted.summary()["steps"] == 3


def test_hard_conditions_hold_exactly():
    solution = sx.solve(line(hard=True), network=SMALL, steps=40)
    assert solution.u([0.0, 1.0]).tolist() == [0.0, 0.0]
    assert solution.error()["u"].rel_l2 < 1e-4
    assert "ends" not in solution.residual()


def test_summary_is_json(solved):
    text = json.dumps(solved.summary(), allow_nan=False)
    keys = "problem loss rel_l2 linf residual seconds compile_seconds steps refused result parameters points network"
    assert set(keys.split()) | {"precision", "device", "seed"} <= set(json.loads(text))
    assert math.isfinite(solved.summary()["loss"])
    assert dataclasses.is_dataclass(solved.history[-1]) and solved.history[-1].steps == 60

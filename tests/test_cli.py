"""The command line says what it does: exit codes, one object with --json, one message for every wrong use."""

import json
import sys
from pathlib import Path

import optax
import pytest
from rich.console import Console

import stiffax as sx
from stiffax import cli, zoo
from stiffax.callbacks.live import LiveLine, line, seconds_left
from stiffax.problem.script import from_file
from stiffax.records import Progress

FILE = """
import jax.numpy as jnp
import stiffax as sx

print("from the file")
line = sx.Interval(x=(0, 1))


def source(x):
    return FACTOR * jnp.sin(jnp.pi * x)


FACTOR = jnp.pi**2
problem = sx.Problem(
    name="sine",
    domain=line,
    fields=("u",),
    equations={"poisson": lambda u, x: u.xx + source(x)},
    conditions={"ends": sx.Dirichlet(line.boundary, u=0.0)},
    exact={"u": lambda x: jnp.sin(jnp.pi * x)},
)
"""
SMALL = ("--width", "4", "--depth", "1", "--points", "poisson=20")
KEYS = """problem loss rel_l2 linf residual seconds compile_seconds steps refused result parameters points network
precision device seed""".split()


@pytest.fixture
def stiffax(monkeypatch, capsys):
    """Run a command line here; its exit code, standard output and standard error."""

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["stiffax", *map(str, words)])
        with pytest.raises(SystemExit) as left:
            cli.main()
        return left.value.code, *capsys.readouterr()

    return run


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sine.py").write_text(FILE)
    return tmp_path


def test_list_names_every_problem_of_the_zoo(stiffax):
    code, out, err = stiffax("list")
    assert (code, err) == (0, "")
    assert [row.split()[0] for row in out.splitlines()] == list(zoo.names())


@pytest.mark.parametrize("name", ["kovasznay", "inverse-heat"])
def test_show_prints_the_equations_and_the_names(stiffax, name):
    code, out, _ = stiffax("show", name)
    problem = zoo.problem(name)
    assert code == 0 and zoo.get(name).text in out
    for word in (*problem.fields, *problem.equations, *problem.conditions, *problem.coordinates, *problem.unknowns):
        assert word in out.removeprefix(zoo.get(name).text)


def test_version_and_help(stiffax):
    assert stiffax("--version")[:2] == (0, f"stiffax {sx.__version__}\n")
    code, out, _ = stiffax()
    assert code == 0 and all(name in out for name in ("list", "show", "solve", "resume"))


def test_json_is_all_that_stands_on_standard_output(stiffax, folder):
    code, out, err = stiffax("solve", "sine.py", "--steps", "3", "--seed", "5", "--json", *SMALL)
    told = json.loads(out)
    assert code == 0 and "from the file" in err and "compiling" in err
    assert set(KEYS) <= set(told)
    assert (told["problem"], told["steps"], told["seed"], told["parameters"]) == ("sine", 3, 5, 13)
    assert isinstance(told["rel_l2"], float) and set(told["residual"]) == {"poisson", "ends"}


def test_a_target_not_reached_fails_and_the_run_is_kept(stiffax, folder):
    arguments = ("--steps", "3", "--target", "1e-12", "--out", "run", "--plot", "u.png")
    code, out, _ = stiffax("solve", "sine.py", *arguments, *SMALL)
    assert code == 1 and "error of u" in out and "residual of ends" in out and "3 accepted" in out
    assert (folder / "u.png").read_bytes().startswith(b"\x89PNG")
    loaded = sx.Solution.load(folder / "run" / "solution")
    code, out, _ = stiffax("resume", "run", "--json")
    assert code == 1 and json.loads(out)["rel_l2"] == loaded.error()["u"].rel_l2
    code, _, err = stiffax("solve", "sine.py", "--steps", "4", "--out", "run", *SMALL)
    assert code == 2 and "run holds a run" in err


def test_baselines_and_their_rate(stiffax, folder):
    code, out, _ = stiffax(
        "solve", "sine.py", "--steps", "2", "--optimizer", "adam", "--rate", "0.01", "--json", *SMALL
    )
    assert code == 0 and json.loads(out)["steps"] == 2


def test_the_method_of_the_paper(stiffax, folder):
    """K0 = 3 implicit steps of K1 = 5, then K2 = 4 of Adam: (K0·K1 + K2) iterations."""
    words = (
        "--optimizer isgd-adam --alpha 0.5 --inner-steps 5 --inner-rate 0.002 --steps 3 --after-steps 4 --rate 0.001"
    )
    code, out, _ = stiffax("solve", "sine.py", *words.split(), "--out", "run", "--json", *SMALL)
    assert code == 0 and json.loads(out)["steps"] == 7
    facts = sx.Solution.load(folder / "run" / "solution").facts
    assert facts.work["iterations"] == 3 * 5 + 4
    # the same in Python
    plan = [
        sx.Phase(sx.ImplicitEuler(sx.Adam(rate=0.002, steps=5), controller=sx.Constant(0.5)), steps=3),
        sx.Phase(sx.ExplicitEuler(optax.adam(0.001)), steps=4),
    ]
    network, points = sx.MLP(width=4, depth=1), {"poisson": 20}
    own = sx.solve(from_file(folder / "sine.py"), optimizer=plan, steps=7, network=network, points=points)
    assert own.facts.loss == facts.loss


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("solve boundary-layer --optimizer isgd-lbfgs --inner-rate 1", "--inner-rate belongs to --optimizer isgd-adam"),
        ("solve boundary-layer --optimizer isgd-lbfgs --after-steps 1", "--after-steps needs --steps"),
        ("solve absent.py", "no such file: absent.py"),
        ("solve .", "no such file: ."),
        ("solve helmholz-2d", "Did you mean 'helmholtz-2d'?"),
        ("solve boundary-layer --set epz=1", "unknown setting 'epz'. Did you mean 'eps'?"),
        ("solve boundary-layer --set eps=small", "expected a finite number, such as eps=0.01"),
        ("solve boundary-layer --set eps", "'--set': expected a name, = and a number, got eps."),
        ("solve boundary-layer --points walls=3", "unknown name 'walls'. Known here: layer, ends."),
        ("solve boundary-layer --points layer=2.5", "'--points': expected a whole number, 1 or more, got 2.5."),
        ("solve boundary-layer --steps -3", "'--steps': expected a whole number, 1 or more, got -3."),
        ("solve boundary-layer --seed x", "'--seed': expected a whole number, 0 or more, got x."),
        ("solve boundary-layer --time-limit inf", "'--time-limit': expected a number above 0, got inf."),
        ("solve boundary-layer --target 0", "'--target': expected a number above 0, got 0."),
        (
            "solve boundary-layer --optimizer adm",
            "lbfgs, isgd-adam or isgd-lbfgs, got adm.",
        ),
        ("solve boundary-layer --precision double", "expected float64 or float32, got double."),
        ("solve boundary-layer --rate 0.1", "--rate belongs to --optimizer sgd or adam"),
        (
            "solve boundary-layer --optimizer sgd --alpha 1",
            "--alpha belongs to --optimizer default or isgd-adam or isgd-lbfgs, not to sgd.",
        ),
        ("solve boundary-layer --plot u.txt", "'u.txt' does not end in .png, .pdf or .svg."),
        ("solve boundary-layer --plot absent/u.png", "no such folder: absent"),
        ("solve sine.py --set eps=1", "--set belongs to the problems of the zoo"),
        ("solve boundary-layer --wide 3", "No such option: --wide"),
        ("solve", "Missing argument 'NAME|FILE.py'."),
        ("show heet", "Did you mean 'heat'?"),
        ("resume absent", "no such folder: absent"),
        ("resume .", "run.json is missing"),
        ("sole heat", "Known here: list, show, solve, resume."),
    ],
)
def test_wrong_use_is_one_message(stiffax, folder, words, message):
    code, out, err = stiffax(*words.split())
    assert (code, out) == (2, "")
    assert message in err and "Traceback" not in err and len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("FACTOR =", "FACTOUR =", ('sine.py", line 10, in source', "NameError: name 'FACTOR' is not defined")),
        ("x=(0, 1)", "x=(1, 0)", ("the lower end must come first", "(sine.py, line 6)")),
        ("jnp.pi**2", "1 / 0", ('sine.py", line 13', "ZeroDivisionError")),
        ("FACTOR = ", "FACTOR == = ", ('sine.py", line 13', "SyntaxError")),
        ("problem =", "heat =", ("sine.py has no `problem`; expected problem = sx.Problem(...).",)),
        ("lambda u, x:", "lambda u, z:", ("unknown argument 'z'", "u, x")),
    ],
)
def test_mistakes_in_a_file_are_told_with_its_lines(stiffax, folder, before, after, told):
    (folder / "sine.py").write_text(FILE.replace(before, after))
    code, _, err = stiffax("solve", "sine.py", "--steps", "1", *SMALL)
    assert code == 2 and all(text in err for text in told)
    assert "src/stiffax" not in err and "site-packages" not in err


def test_time_left_is_until_the_first_limit():
    assert seconds_left(Progress("training", steps=10), 5.0) is None
    assert seconds_left(Progress("training", steps=10, time_limit=20.0), 5.0) == 15.0
    assert seconds_left(Progress("training", steps=10, time_limit=20.0, steps_limit=30), 5.0) == 10.0
    assert seconds_left(Progress("training", time_limit=20.0), 25.0) == 0.0


def test_the_line_shows_the_run():
    progress = Progress("training", 12, 3, 1.5e-3, 40.0, 1e-8, None, 9.0, 30.0, None)
    assert line(progress, 10.0) == "10 s, 20 s left  residual 1.0e-04  loss 1.5e-03  α 4e+01  12 steps, 3 refused"
    assert line(Progress("compiling"), 2.0) == "compiling 2 s"


def test_without_a_terminal_few_lines_are_written(capsys):
    with LiveLine(Console(stderr=True)) as live:
        live(Progress("compiling"))
        for second in range(1, 101):
            live(Progress("training", steps=second, seconds=float(second)))
    err = capsys.readouterr().err.splitlines()
    assert err[0].startswith("compiling") and [text.split()[0] for text in err[1:]] == ["5", "10", "20", "40", "80"]

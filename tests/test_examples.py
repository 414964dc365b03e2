"""Every example is a script that can be run: loaded and solved at a small size, its error shows that it learns."""

import json
import runpy
import sys
from pathlib import Path

import pytest

import stiffax as sx
from stiffax import cli
from stiffax.problem.script import from_file

FOLDER = Path(__file__).parents[1] / "examples"
LOOPS = ("own_loop",)  # scripts that train by themselves
EXAMPLES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in LOOPS)
SMALL = sx.MLP(width=10, depth=2)
POINTS = {
    "annulus": {"conduction": 150, "inside": 40, "outside": 60},
    "five_dimensions": {"screened": 300, "walls": 200},
    "plate": {"bending": 100, "edges": 40, "moments": 40},
    "taylor_green": {"momentum-x": 150, "momentum-y": 150, "continuity": 150, "start": 60, "walls": 60, "level": 20},
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_learns(name):
    problem = from_file(FOLDER / f"{name}.py")
    assert problem.check().warnings == () and problem.exact
    solution = sx.solve(problem, network=SMALL, points=POINTS.get(name), steps=70)
    assert solution.result.ok
    for field, error in solution.error().items():
        assert error.rel_l2 < 5e-2, field


@pytest.mark.parametrize("name", LOOPS)
def test_every_loop_learns(name):
    """In float32, the precision that the loop was written for."""
    assert runpy.run_path(str(FOLDER / f"{name}.py"))["error"] < 2e-2


def test_an_example_runs_from_the_command_line(monkeypatch, capsys):
    file = str(FOLDER / "annulus.py")
    monkeypatch.setattr(sys, "argv", ["stiffax", "solve", file, "--steps", "3", "--width", "6", "--json"])
    with pytest.raises(SystemExit) as left:
        cli.main()
    told = json.loads(capsys.readouterr().out)
    assert left.value.code == 0
    assert (told["problem"], told["steps"], told["result"]["name"]) == ("annulus", 3, "steps")
    assert 0 < told["rel_l2"] < 1

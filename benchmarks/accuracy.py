"""How accurate the defaults are, and how soon: the tables of docs/accuracy.md.

    python benchmarks/accuracy.py run [--seeds 0 1 2 3 4] [PROBLEM ...]
    python benchmarks/accuracy.py table

Rows are appended one by one to a file for each kind of device, and those that it holds are not run again, so that many
sittings add up. A run ends when it reaches its level or its time, compiling included, with an empty cache of compiled
programs and on its own machine. Final values count, not the best along the way; failures stand in the table.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "accuracy"
LEVELS = (1e-3, 1e-5, 1e-7)


@dataclass(frozen=True)
class Goal:
    """A zoo problem with its settings, the error it should reach, and the seconds it has."""

    problem: str
    level: float
    seconds: float
    settings: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        return " ".join((self.problem, *self.settings))


CPU = (
    Goal("boundary-layer", 1e-9, 20, ("eps=2",)),
    Goal("boundary-layer", 1e-8, 30, ("eps=0.01",)),
    Goal("helmholtz-2d", 1e-7, 90),
    Goal("poisson-2d", 1e-5, 120),
    Goal("poisson-1d-multiscale", 1e-6, 90),
    Goal("convection", 1e-6, 90, ("beta=30",)),
    Goal("reaction", 1e-6, 90, ("rho=5",)),
    Goal("burgers", 1e-5, 180),
    Goal("wave", 1e-5, 90, ("m=3",)),
    Goal("poisson-nd", 2e-8, 90, ("dim=5",)),
)
GPU = (
    Goal("convection", 5e-9, 60, ("beta=30",)),
    Goal("convection", 2e-8, 60, ("beta=50",)),
    Goal("reaction", 2e-8, 60),
    Goal("burgers", 1e-8, 120),
    Goal("poisson-nd", 3e-9, 60, ("dim=5",)),
    Goal("poisson-nd", 1e-6, 200, ("dim=10",)),
    Goal("helmholtz-2d", 1e-9, 60),
    Goal("helmholtz-2d-wide", 2e-9, 60),
    Goal("wave", 3e-7, 90, ("m=4",)),
    Goal("poisson-2d", 1e-8, 60),
    Goal("poisson-1d-multiscale", 1e-9, 60),
)
GOALS = {"cpu": CPU, "gpu": GPU}

SOLVE = """
import json, sys, stiffax as sx
problem, settings, level, seconds, seed, levels = json.loads(sys.argv[1])
solution = sx.solve(sx.zoo.problem(problem, **settings), target=level, time_limit=seconds, seed=seed)
summary = solution.summary()
reached = {}
for row in solution.history:
    for l in levels:
        if row.error is not None and row.error <= l and str(l) not in reached:
            reached[str(l)] = [round(row.seconds, 1), row.steps + row.refused]
kept = "seconds compile_seconds steps refused parameters points network device work"
print(json.dumps({"rel_l2": max(e.rel_l2 for e in solution.error().values()), "result": summary["result"]["name"],
                  "reached": reached, **{k: summary[k] for k in kept.split()}}))
"""


def rows(device: str) -> list[dict]:
    path = FOLDER / f"{device}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def measure(goal: Goal, seed: int) -> dict:
    """One run in a process of its own; a run that fails is a row too."""
    settings = dict(s.split("=") for s in goal.settings)
    asked = json.dumps([goal.problem, settings, goal.level, goal.seconds, seed, LEVELS])
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", SOLVE, asked],
            env={**os.environ, "STIFFAX_CACHE": cache},
            capture_output=True,
            text=True,
        )
    if done.returncode:
        return {"rel_l2": None, "result": "failed", "text": done.stderr.strip().splitlines()[-1:]}
    return json.loads(done.stdout)


def run(device: str, problems: list[str], seeds: list[int]) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    have = {(r["title"], r["seed"], r["level"], r["limit"]) for r in rows(device)}
    for goal in GOALS[device]:
        for seed in seeds:
            key = (goal.title, seed, goal.level, goal.seconds)
            if key in have or (problems and goal.problem not in problems):
                continue
            row = {"title": goal.title, "seed": seed, "level": goal.level, "limit": goal.seconds, **measure(goal, seed)}
            with open(FOLDER / f"{device}.jsonl", "a") as file:
                file.write(json.dumps(row) + "\n")
            print(goal.title, seed, row["rel_l2"], row.get("seconds"), row["result"], flush=True)


def table(device: str) -> str:
    """Median and worst over seeds of what every goal ended at."""
    lines = [
        "| problem | goal | seconds | median | worst | seeds | reached | median seconds to 1e-3 · 1e-5 · 1e-7 |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for goal in GOALS[device]:
        own = [
            r for r in rows(device) if (r["title"], r["level"], r["limit"]) == (goal.title, goal.level, goal.seconds)
        ]
        if not own:
            continue
        errors = [r["rel_l2"] if r["rel_l2"] is not None else float("inf") for r in own]
        reached = sum(e <= goal.level for e in errors)
        times = " · ".join(_median_time(own, level) for level in LEVELS)
        lines.append(
            f"| {goal.title} | {goal.level:.0e} | {goal.seconds:g} | {statistics.median(errors):.1e} | "
            f"{max(errors):.1e} | {len(own)} | {reached} | {times} |"
        )
    return "\n".join(lines)


def _median_time(own: list[dict], level: float) -> str:
    times = [r["reached"][str(level)][0] for r in own if str(level) in r.get("reached", {})]
    return f"{statistics.median(times):.0f}" if 2 * len(times) > len(own) else "-"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "table"))
    parser.add_argument("problems", nargs="*")
    parser.add_argument("--device", choices=tuple(GOALS), default="cpu")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    asked = parser.parse_args()
    if asked.what == "run":
        run(asked.device, asked.problems, asked.seeds)
    print(table(asked.device))


if __name__ == "__main__":
    main()

"""What we claim, and how each claim is measured."""

import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import stiffax as sx
from claims.claim import Claim, Row
from stiffax.zoo.inverse_heat import KAPPA, standard_error

STIFFAX = Path(sys.executable).with_name("stiffax")
SEEDS = (0, 1, 2)


def stiffax(*arguments: str, timeout: float) -> Row:
    """Run the command with an empty cache of compiled programs; its JSON answer, exit code and seconds on the clock."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "STIFFAX_CACHE": cache}
        began = time.perf_counter()
        done = subprocess.run(
            [STIFFAX, *arguments], cwd=cache, env=environment, capture_output=True, text=True, timeout=timeout
        )
        clock = time.perf_counter() - began
    if not done.stdout.strip():
        raise RuntimeError(f"stiffax {' '.join(arguments)} ended with code {done.returncode}: {done.stderr.strip()}")
    return {**json.loads(done.stdout), "exit": done.returncode, "clock_seconds": round(clock, 2)}


def largest(error: float | dict[str, float] | None) -> float:
    """The largest error over the fields; a run without a finite one has not shown anything."""
    values = list(error.values()) if isinstance(error, dict) else [error]
    return float("inf") if None in values else max(value for value in values if value is not None)


ACCURACY: Row = {
    "command": "stiffax solve PROBLEM --json --seed SEED --time-limit 55",
    "cache": "empty",
    "seconds": 60,
    "rel_l2": 1e-3,
}


def solve_with_defaults(case: Row) -> Row:
    places = {"PROBLEM": str(case["problem"]), "SEED": str(case["seed"])}
    words = [places.get(word, word) for word in str(ACCURACY["command"]).split()[1:]]
    return stiffax(*words, timeout=2 * ACCURACY["seconds"] + 60)


def accurate_in_time(rows: Sequence[Row]) -> bool:
    return all(
        row["exit"] == 0 and largest(row["rel_l2"]) < ACCURACY["rel_l2"] and row["seconds"] <= ACCURACY["seconds"]
        for row in rows
    )


INVERSE_HEAT: Row = {"problem": "inverse-heat", "noise": 0.01, "standard_errors": 3, "time_limit": 30}


def recover_kappa(case: Row) -> Row:
    problem = sx.zoo.problem(INVERSE_HEAT["problem"], noise=INVERSE_HEAT["noise"])
    solution = sx.solve(problem, seed=case["seed"], time_limit=INVERSE_HEAT["time_limit"])
    return {
        "kappa": solution.coefficients["kappa"],
        "exact": KAPPA,
        "standard_error": standard_error(INVERSE_HEAT["noise"]),
        "rel_l2": solution.error()["u"].rel_l2,
        "seconds": solution.summary()["seconds"],
        "steps": solution.summary()["steps"],
    }


def kappa_is_within_the_noise(rows: Sequence[Row]) -> bool:
    allowed = INVERSE_HEAT["standard_errors"]
    return all(abs(row["kappa"] - row["exact"]) <= allowed * row["standard_error"] for row in rows)


KILLS: Row = {"command": "stiffax solve helmholtz-2d --steps 150 --out DIR", "signal": "SIGKILL"}


def started(words: Sequence[str], folder: Path) -> subprocess.Popen:
    return subprocess.Popen([STIFFAX, *words], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def saved(run: Path) -> dict[str, np.ndarray]:
    """The arrays of a run's last checkpoint; none before the first."""
    if not (run / "checkpoint.npz").exists():
        return {}
    with np.load(run / "checkpoint.npz") as file:
        return {name: file[name] for name in file.files if name != "facts"}


@functools.cache
def unbroken() -> tuple[Path, float]:
    """A run that nobody kills, and how long it takes once its programs are compiled."""
    folder = Path(tempfile.mkdtemp())
    words = str(KILLS["command"]).split()[1:-1]
    for name in ("warm", "whole"):
        began = time.perf_counter()
        started([*words, str(folder / name)], folder).wait()
    return folder / "whole", time.perf_counter() - began


def kill_and_resume(case: Row) -> Row:
    whole, seconds = unbroken()
    with tempfile.TemporaryDirectory() as name:
        run = Path(name) / "run"
        process = started([*str(KILLS["command"]).split()[1:-1], str(run)], Path(name))
        time.sleep(case["moment"] * seconds)
        process.kill()
        killed = process.wait() < 0
        had_checkpoint, had_folder = bool(saved(run)), run.exists()
        again = started(
            ["resume", str(run)] if had_folder else [*str(KILLS["command"]).split()[1:-1], str(run)], Path(name)
        )
        code, one, other = again.wait(), saved(whole), saved(run)
        same = one.keys() == other.keys() and all(np.array_equal(one[n], other[n], equal_nan=True) for n in one)
    return {
        "seconds": round(case["moment"] * seconds, 2),
        "killed": killed,
        "had_folder": had_folder,
        "had_checkpoint": had_checkpoint,
        "exit": code,
        "same_bits": bool(one) and same,
    }


CLAIMS = (
    Claim(
        name="accuracy-defaults",
        statement="Defaults bring seven problems below 1e-3 within 60 s, compile time inside, for each of three seeds.",
        settings=ACCURACY,
        cases=[
            {"problem": problem, "seed": seed}
            for problem in (
                "helmholtz-2d",
                "boundary-layer",
                "heat",
                "poisson-2d",
                "convection",
                "reaction",
                "kovasznay",
            )
            for seed in SEEDS
        ],
        measure=solve_with_defaults,
        holds=accurate_in_time,
    ),
    Claim(
        name="inverse-heat",
        statement="The unknown conductivity is recovered within three standard errors of what the noise allows.",
        settings=INVERSE_HEAT,
        cases=[{"seed": seed} for seed in SEEDS],
        measure=recover_kappa,
        holds=kappa_is_within_the_noise,
    ),
    Claim(
        name="resume-thirty-kills",
        statement="A run killed at any of thirty moments and resumed ends in the same bits as one left alone.",
        settings=KILLS,
        cases=[{"moment": round((kill + 0.5) / 30, 4)} for kill in range(30)],
        measure=kill_and_resume,
        holds=lambda rows: all(row["same_bits"] and row["exit"] == 0 for row in rows),
    ),
)

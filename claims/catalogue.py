"""What we claim, and how each claim is measured."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from claims.claim import Claim, Row

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
    "command": "stiffax solve PROBLEM --json --seed SEED --time-limit 60",
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


INVERSE_HEAT: Row = {"problem": "inverse-heat", "noise": 0.01, "standard_errors": 3}


def recover_kappa(case: Row) -> Row:
    raise NotImplementedError("solve inverse-heat; give kappa, its exact value, and the standard error from the noise")


def kappa_is_within_the_noise(rows: Sequence[Row]) -> bool:
    allowed = INVERSE_HEAT["standard_errors"]
    return all(abs(row["kappa"] - row["exact"]) <= allowed * row["standard_error"] for row in rows)


KILLS: Row = {"problem": "helmholtz-2d", "steps": 60, "signal": "SIGKILL"}


def kill_and_resume(case: Row) -> Row:
    raise NotImplementedError("kill a run at this moment, resume it, and compare its parameters with an unbroken run")


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
        holds=lambda rows: all(row["same_bits"] for row in rows),
    ),
)

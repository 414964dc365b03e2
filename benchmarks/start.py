"""How the first layer begins: seconds and attempts to reach each level of error, fronts against Glorot.

    python benchmarks/start.py [--seconds 40] [--seeds 0 1] [--json FILE] [PROBLEM ...]

Everything else is equal: network, points, weights, optimizer. One run at a time, on whatever the machine has; rows are
appended to the file one by one, and those that it holds already are not run again.
"""

import argparse
import json
import platform
from pathlib import Path

import stiffax as sx

PROBLEMS = ("helmholtz-2d", "convection", "reaction", "poisson-nd", "wave", "poisson-1d-multiscale", "boundary-layer")
STARTS = {"fronts": sx.Fronts(), "glorot": sx.Glorot()}
LEVELS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)


def measure(problem: str, start: str, seed: int, seconds: float) -> dict:
    network = sx.MLP(width=30, depth=2, start=STARTS[start])
    solution = sx.solve(sx.zoo.problem(problem), network=network, seed=seed, time_limit=seconds)
    summary = solution.summary()
    reached = {}
    for row in solution.history:
        for level in LEVELS:
            if row.error is not None and row.error <= level and level not in reached:
                reached[level] = {"seconds": round(row.seconds, 1), "attempts": row.steps + row.refused}
    return {
        "problem": problem,
        "start": start,
        "seed": seed,
        "limit": seconds,
        "rel_l2": summary["rel_l2"],
        "steps": summary["steps"],
        "refused": summary["refused"],
        "reached": {f"{level:.0e}": at for level, at in reached.items()},
        "machine": platform.processor() or platform.machine(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", nargs="*", default=PROBLEMS)
    parser.add_argument("--seconds", type=float, default=40.0)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    rows = json.loads(asked.json.read_text()) if asked.json and asked.json.exists() else []
    done = {(r["problem"], r["start"], r["seed"], r["limit"]) for r in rows}
    print(f"{'problem':24s}{'start':8s}seed  final    seconds to " + "  ".join(f"{level:.0e}" for level in LEVELS))
    for problem in asked.problems or PROBLEMS:
        for seed in asked.seeds:
            for start in STARTS:
                if (problem, start, seed, asked.seconds) in done:
                    continue
                row = measure(problem, start, seed, asked.seconds)
                rows.append(row)
                times = "  ".join(str(row["reached"].get(f"{level:.0e}", {}).get("seconds", "-")) for level in LEVELS)
                print(f"{problem:24s}{start:8s}{seed:4d}  {row['rel_l2']:.1e}            {times}", flush=True)
                if asked.json:
                    asked.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()

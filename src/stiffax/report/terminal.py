"""What a person reads in a terminal: tables without lines, and the answer of a run."""

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from stiffax.problem.problem import Problem
from stiffax.solution import Solution

PIPED = 200  # columns of a table that no terminal limits


def table(rows: Iterable[tuple[str, ...]]) -> None:
    """Print rows, the first column bold."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=PIPED)
    grid = Table.grid(padding=(0, 2), pad_edge=False)
    for first, *others in rows:
        grid.add_row(Text(first, style="bold", no_wrap=True), *map(Text, others))
    console.print(grid)


def answer(problem: Problem, solution: Solution, plot: Path | None, out: Path | None) -> list[tuple[str, ...]]:
    """What a person wants to know of a run, in two columns."""
    facts = solution.summary()
    rows = [(problem.name, solution.result.text)]
    errors = solution.error()
    for field in [field for field in solution.fields if field in errors]:
        told = f"{errors[field].rel_l2:.2e} relative L2, {errors[field].linf:.2e} at most"
        rows.append((f"error of {field}", told))
    rows += [(f"residual of {name}", f"{value:.2e} held out") for name, value in solution.residual().items()]
    rows += [(f"{name} found", f"{solution.coefficients[name]:.6g}") for name in problem.unknowns]
    taken = f"{facts['steps']} accepted, {facts['refused']} refused"
    rows.append(("steps", f"{taken}, {facts['seconds']:.1f} s ({facts['compile_seconds']:.1f} s compiling)"))
    rows += [(what, str(path)) for what, path in (("picture", plot), ("folder", out)) if path is not None]
    return rows


def as_object(solution: Solution) -> str:
    """The summary of a solution as one JSON object; numbers that are not finite, which JSON cannot say, are null."""

    def sayable(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: sayable(item) for name, item in value.items()}
        if isinstance(value, list | tuple):
            return [sayable(item) for item in value]
        return None if isinstance(value, float) and not math.isfinite(value) else value

    return json.dumps(sayable(solution.summary()), indent=2)


def spelled(settings: dict[str, float]) -> str:
    return ", ".join(f"{name}={value:.6g}" for name, value in settings.items())


def reference(problem: Problem, error: float) -> str:
    """Where the exact solution comes from; `error` is the largest that it has, 0 for a closed form."""
    if not problem.exact:
        return "none"
    kind = f"computed, error below {error:.0e}" if error else "closed form"
    return kind if set(problem.exact) == set(problem.fields) else f"{kind}, of {', '.join(problem.exact)}"

"""The command line: it parses, calls one public function, prints, and exits honestly.

Exit code 0: ended as asked; 1: failed; 2: wrong use, told in one message.
"""

import contextlib
import dataclasses
import json
import math
import sys
import warnings
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import optax
import typer
import typer.main
from rich.console import Console

import stiffax as sx
from stiffax import checkpoint, zoo
from stiffax.callbacks.live import LiveLine
from stiffax.errors import StiffaxError
from stiffax.problem.script import errors_of, from_file
from stiffax.report.images import image_path
from stiffax.report.terminal import answer, reference, spelled, table

EXPLICIT = {"sgd": optax.sgd, "adam": optax.adam}  # those that take a rate
RATE = 1e-3
WIDTH, DEPTH = 30, 2  # where only one of the two is given

app = typer.Typer(add_completion=False, rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]})


class Optimizer(StrEnum):
    default = "default"
    sgd = "sgd"
    adam = "adam"
    lbfgs = "lbfgs"


class Precision(StrEnum):
    float64 = "float64"
    float32 = "float32"


@dataclasses.dataclass(frozen=True)
class Request:
    """What was asked for, in words: a run keeps it, and is resumed from it."""

    problem: str
    settings: dict[str, str]
    points: dict[str, int]
    optimizer: str
    rate: float | None
    alpha: float | None
    width: int | None
    depth: int | None
    steps: int | None
    time_limit: float | None
    target: float | None
    seed: int
    precision: str

    @property
    def file(self) -> Path | None:
        return Path(self.problem) if is_file(self.problem) else None

    def posed(self) -> sx.Problem:
        if self.file is None:
            return zoo.problem(self.problem, **self.settings)
        if self.settings:
            raise StiffaxError(f"--set belongs to the problems of the zoo; change {self.problem} itself.")
        return from_file(self.file)

    def arguments(self) -> dict[str, Any]:
        """The arguments of `solve`."""
        shaped = self.width is not None or self.depth is not None
        return {
            "network": sx.MLP(width=self.width or WIDTH, depth=self.depth or DEPTH) if shaped else None,
            "optimizer": self.stepping(),
            "points": self.points or None,
            "steps": self.steps,
            "time_limit": self.time_limit,
            "target": self.target,
            "seed": self.seed,
            "precision": self.precision,
            "source": dataclasses.asdict(self),
        }

    def stepping(self):
        if self.alpha is not None and self.optimizer != Optimizer.default:
            raise StiffaxError(f"--alpha belongs to --optimizer default, not to {self.optimizer}.")
        if self.rate is not None and self.optimizer not in EXPLICIT:
            raise StiffaxError(
                f"--rate belongs to --optimizer {' or '.join(EXPLICIT)}; {self.optimizer} finds its steps itself."
            )
        if self.optimizer in EXPLICIT:
            return sx.ExplicitEuler(transform=EXPLICIT[self.optimizer](RATE if self.rate is None else self.rate))
        if self.optimizer == Optimizer.lbfgs:
            return sx.ExplicitEuler(transform=optax.lbfgs())
        return None if self.alpha is None else sx.ImplicitEuler(controller=sx.GainRatio(start=self.alpha))


def positive(value: float | None) -> float | None:
    if value is not None and not (math.isfinite(value) and value > 0):
        raise typer.BadParameter(f"expected a number above 0, got {value:g}.")
    return value


def option(name: str, text: str, **settings: Any) -> Any:
    return typer.Option(name, help=text, show_default=False, **settings)


Whole = {"min": 1, "metavar": "N"}
Number = {"callback": positive, "metavar": "X"}
PlotFile = Annotated[Path | None, option("--plot", "Draw the solution into a PNG, PDF or SVG file.", metavar="FILE")]
AsJson = Annotated[bool, option("--json", "Print one JSON object on standard output, and nothing else there.")]


@app.callback(invoke_without_command=True)
def stiffax(
    context: typer.Context, version: Annotated[bool, option("--version", "Print the version.")] = False
) -> None:
    """Train physics-informed networks with implicit optimizers.

    Example: stiffax solve helmholtz-2d --plot helmholtz-2d.png
    """
    if version:
        typer.echo(f"stiffax {sx.__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command("list")
def list_problems() -> None:
    """List the problems of the zoo.

    Example: stiffax list
    """
    entries = [zoo.get(name) for name in zoo.names()]
    table([(e.name, spelled(e.settings), e.summary) for e in entries])


@app.command()
def show(name: Annotated[str, typer.Argument(metavar="NAME", help="A problem that `stiffax list` names.")]) -> None:
    """Show what a problem of the zoo states.

    Example: stiffax show boundary-layer
    """
    entry = zoo.get(name)
    problem = entry.problem()
    typer.echo(entry.text + "\n")
    rows = [
        ("settings", spelled(entry.settings) or "none"),
        ("coordinates", ", ".join(problem.coordinates)),
        ("fields", ", ".join(problem.fields)),
        ("equations", ", ".join(problem.equations)),
        ("conditions", ", ".join(problem.conditions)),
        ("to be found", ", ".join(problem.unknowns)),
        ("reference", reference(problem, entry.reference_error)),
        ("solve it", " ".join(["stiffax solve", name, *(f"--set {k}={v:.6g}" for k, v in entry.settings.items())])),
    ]
    table([row for row in rows if row[1]])


@app.command()
def solve(
    problem: Annotated[str, typer.Argument(metavar="NAME|FILE.py", help="Of the zoo, or a file with `problem = ...`.")],
    seed: Annotated[int, option("--seed", "Of everything random; 0 by default.", min=0, metavar="N")] = 0,
    steps: Annotated[int | None, option("--steps", "End after so many accepted steps.", **Whole)] = None,
    time_limit: Annotated[float | None, option("--time-limit", "End after so many seconds.", **Number)] = None,
    target: Annotated[float | None, option("--target", "End at this error (or held-out residual).", **Number)] = None,
    settings: Annotated[
        list[str] | None, option("--set", "A setting of the problem: eps=0.001.", metavar="NAME=X")
    ] = None,
    optimizer: Annotated[Optimizer, option("--optimizer", "The implicit default, or a baseline.")] = Optimizer.default,
    rate: Annotated[float | None, option("--rate", "The learning rate of sgd and adam.", **Number)] = None,
    alpha: Annotated[float | None, option("--alpha", "Where the step size of the default starts.", **Number)] = None,
    width: Annotated[int | None, option("--width", "Neurons in a layer.", **Whole)] = None,
    depth: Annotated[int | None, option("--depth", "Hidden layers.", **Whole)] = None,
    points: Annotated[list[str] | None, option("--points", "How many: poisson=4000.", metavar="NAME=N")] = None,
    precision: Annotated[Precision, option("--precision", "Of all numbers.")] = Precision.float64,
    out: Annotated[Path | None, option("--out", "A folder for checkpoints and the solution.", metavar="DIR")] = None,
    plot: PlotFile = None,
    as_json: AsJson = False,
) -> None:
    """Solve a problem of the zoo, or the one that a Python file calls `problem`.

    Example: stiffax solve boundary-layer --set eps=0.001 --time-limit 30 --plot layer.png
    """
    if is_file(problem) and not Path(problem).is_file():
        raise StiffaxError(f"no such file: {problem}")
    request = Request(
        problem=str(Path(problem).resolve()) if is_file(problem) else problem,
        settings=pairs("--set", settings, "eps=0.001"),
        points={name: count(name, text) for name, text in pairs("--points", points, "poisson=4000").items()},
        optimizer=str(optimizer),
        rate=rate,
        alpha=alpha,
        width=width,
        depth=depth,
        steps=steps,
        time_limit=time_limit,
        target=target,
        seed=seed,
        precision=str(precision),
    )
    carry_out(request, out, plot, as_json, lambda problem, **arguments: sx.solve(problem, out=out, **arguments))


@app.command()
def resume(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder that --out named.")],
    plot: PlotFile = None,
    as_json: AsJson = False,
) -> None:
    """Go on with a run that was stopped, in the same bits; a finished one prints its answer.

    Example: stiffax resume runs/layer
    """
    if not folder.is_dir():
        raise StiffaxError(f"no such folder: {folder}")
    source = checkpoint.read_settings(folder).get("source")
    if not source:
        raise StiffaxError(f"{folder} was begun in Python: go on there with sx.resume({str(folder)!r}, problem, ...).")
    request = Request(**source)
    carry_out(request, folder, plot, as_json, lambda problem, **arguments: sx.resume(folder, problem, **arguments))


def carry_out(request: Request, out: Path | None, plot: Path | None, as_json: bool, run: Callable) -> None:
    """Pose the problem, run it under a live line, draw, print, and leave with the code that it deserves."""
    if plot is not None:
        image_path(plot)
    aside = contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext()
    with aside, errors_of(request.file), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # those of a solution are printed below
        problem = request.posed()
        with LiveLine(Console(stderr=True, highlight=False)) as line:
            solution = run(problem, callback=line, **request.arguments())
        if plot is not None:
            solution.plot(plot)
    for warning in solution.warnings:
        typer.echo(f"warning: {warning}", err=True)
    if as_json:
        typer.echo(json.dumps(finite(solution.summary()), indent=2))
    else:
        table(answer(problem, solution, plot, out))
    met = request.target is None or solution.result.name == "target"
    asked = solution.result.ok and met and solution.result.name != "interrupted"
    raise typer.Exit(0 if asked else 1)


def finite(value: Any) -> Any:
    """The same without what JSON cannot say: numbers that are not finite become null."""
    if isinstance(value, dict):
        return {name: finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def pairs(name: str, given: list[str] | None, example: str) -> dict[str, str]:
    split = [[part.strip() for part in text.partition("=")] for text in given or []]
    for text, (key, _, value) in zip(given or [], split, strict=True):
        if not (key and value):
            raise StiffaxError(f"{name} {text!r}: expected a name and a number, such as {example}.")
    return {key: value for key, _, value in split}


def count(name: str, text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise StiffaxError(f"--points {name}={text}: expected a whole number above 0, such as {name}=4000.")
    return int(text)


def is_file(problem: str) -> bool:
    return problem.endswith(".py") or Path(problem).name != problem


def main() -> None:
    """The command `stiffax`."""
    try:
        code = typer.main.get_command(app).main(prog_name="stiffax", standalone_mode=False) or 0
    except typer.TyperException as error:
        code = 2
        typer.echo(error.format_message() if hasattr(error, "format_message") else str(error), err=True)
    except StiffaxError as error:
        code = 2
        typer.echo(str(error), err=True)
    sys.exit(code)

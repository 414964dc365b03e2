"""The command line: it parses, calls one public function, prints, and exits honestly.

Exit code 0: ended as asked; 1: failed; 2: wrong use, told in one message.
"""

import contextlib
import math
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.main
from rich.console import Console

import stiffax as sx
from stiffax import checkpoint, zoo
from stiffax.callbacks.live import LiveLine
from stiffax.errors import StiffaxError, StiffaxWarning
from stiffax.precision import PRECISIONS
from stiffax.problem.script import errors_of
from stiffax.report.images import image_path
from stiffax.report.terminal import answer, as_object, reference, spelled, table
from stiffax.request import OPTIMIZERS, Request, is_file

app = typer.Typer(add_completion=False, rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]})


def number(text: str) -> float:
    with contextlib.suppress(ValueError):
        if 0 < float(text) < math.inf:
            return float(text)
    raise typer.BadParameter(f"expected a number above 0, got {text}.")


def whole(lowest: int) -> Callable[[str], int]:
    def parsed(text: str | int) -> int:  # typer sends defaults through here as well
        if str(text).isdecimal() and int(text) >= lowest:
            return int(text)
        raise typer.BadParameter(f"expected a whole number, {lowest} or more, got {text}.")

    return parsed


def pair(text: str) -> tuple[str, str]:
    name, _, value = (part.strip() for part in text.partition("="))
    if not (name and value):
        raise typer.BadParameter(f"expected a name, = and a number, got {text}.")
    return name, value


def counted(text: str) -> tuple[str, int]:
    name, value = pair(text)
    return name, whole(1)(value)


def one_of(known: tuple[str, ...]) -> Callable[[str], str]:
    def chosen(text: str) -> str:
        if text in known:
            return text
        raise typer.BadParameter(f"expected {', '.join(known[:-1])} or {known[-1]}, got {text}.")

    return chosen


def option(name: str, text: str, **settings: Any) -> Any:
    return typer.Option(name, help=text, show_default=False, **settings)


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
    rows = [("settings", spelled(entry.settings))]
    rows += [(what, ", ".join(getattr(problem, what))) for what in ("coordinates", "fields", "equations", "conditions")]
    rows += [
        ("to be found", ", ".join(problem.unknowns)),
        ("reference", reference(problem, entry.reference_error)),
        ("solve it", " ".join(["stiffax solve", name, *(f"--set {k}={v:.6g}" for k, v in entry.settings.items())])),
    ]
    table([row for row in rows if row[1]])


@app.command()
def solve(
    problem: Annotated[str, typer.Argument(metavar="NAME|FILE.py", help="Of the zoo, or a file with `problem = ...`.")],
    seed: Annotated[int, option("--seed", "Of everything random; 0 by default.", parser=whole(0), metavar="N")] = 0,
    steps: Annotated[
        int | None, option("--steps", "End after so many accepted steps.", parser=whole(1), metavar="N")
    ] = None,
    time_limit: Annotated[
        float | None, option("--time-limit", "End after so many seconds.", parser=number, metavar="X")
    ] = None,
    target: Annotated[
        float | None, option("--target", "End at this error (or held-out residual).", parser=number, metavar="X")
    ] = None,
    settings: Annotated[list[Any] | None, option("--set", "As eps=0.001.", parser=pair, metavar="NAME=X")] = None,
    optimizer: Annotated[str, option("--optimizer", "|".join(OPTIMIZERS), parser=one_of(OPTIMIZERS))] = "default",
    rate: Annotated[
        float | None, option("--rate", "Of sgd and adam, alone or after isgd.", parser=number, metavar="X")
    ] = None,
    alpha: Annotated[
        float | None, option("--alpha", "Of isgd; of the default, where it starts.", parser=number, metavar="X")
    ] = None,
    inner_steps: Annotated[
        int | None, option("--inner-steps", "Of isgd, in each implicit step.", parser=whole(1), metavar="N")
    ] = None,
    inner_rate: Annotated[
        float | None, option("--inner-rate", "Of isgd-adam, inside.", parser=number, metavar="X")
    ] = None,
    after_steps: Annotated[
        int | None, option("--after-steps", "Of isgd: plain steps after --steps.", parser=whole(1), metavar="N")
    ] = None,
    width: Annotated[int | None, option("--width", "Neurons in a layer.", parser=whole(1), metavar="N")] = None,
    depth: Annotated[int | None, option("--depth", "Hidden layers.", parser=whole(1), metavar="N")] = None,
    points: Annotated[
        list[Any] | None, option("--points", "As poisson=4000.", parser=counted, metavar="NAME=N")
    ] = None,
    precision: Annotated[str, option("--precision", "float64|float32", parser=one_of(PRECISIONS))] = "float64",
    out: Annotated[Path | None, option("--out", "A folder for checkpoints and the solution.", metavar="DIR")] = None,
    plot: PlotFile = None,
    as_json: AsJson = False,
) -> None:
    """Solve a problem of the zoo, or that of a file.

    Example: stiffax solve boundary-layer --set eps=0.001 --time-limit 30 --plot layer.png
    """
    if is_file(problem) and not Path(problem).is_file():
        raise StiffaxError(f"no such file: {problem}")
    request = Request(
        problem=str(Path(problem).resolve()) if is_file(problem) else problem,
        settings=dict(settings or []),
        points=dict(points or []),
        optimizer=optimizer,
        rate=rate,
        alpha=alpha,
        inner_steps=inner_steps,
        inner_rate=inner_rate,
        after_steps=after_steps,
        width=width,
        depth=depth,
        steps=steps,
        time_limit=time_limit,
        target=target,
        seed=seed,
        precision=precision,
    )
    carry_out(request, out, plot, as_json, lambda problem, **arguments: sx.solve(problem, out=out, **arguments))


@app.command()
def resume(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder that --out named.")],
    plot: PlotFile = None,
    as_json: AsJson = False,
) -> None:
    """Go on with a run that was stopped.

    It ends in the same bits as if it had not been stopped; a finished run prints its answer.

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
    with aside, errors_of(request.file):
        problem = request.posed()
        with LiveLine(Console(stderr=True, highlight=False)) as line, warnings.catch_warnings():
            warnings.simplefilter("ignore", StiffaxWarning)  # they stand in the solution, and are told below
            solution = run(problem, callback=line, **request.arguments())
        if plot is not None:
            solution.plot(plot)
    for warning in solution.warnings:
        typer.echo(f"warning: {warning}", err=True)
    if as_json:
        typer.echo(as_object(solution))
    else:
        table(answer(problem, solution, plot, out))
    met = request.target is None or solution.result.name == "target"
    asked = solution.result.ok and met and solution.result.name != "interrupted"
    raise typer.Exit(0 if asked else 1)


def misused(error: Any) -> str:
    """What was wrong with the command line, and where the right words are."""
    told = error.format_message()
    told += "" if told.endswith((".", "?")) else "."
    known = getattr(error.ctx.command, "commands", None) if error.ctx else None
    if known:
        return f"{told} Known here: {', '.join(known)}."
    return f"{told} See {error.ctx.command_path} --help." if error.ctx else told


def main() -> None:
    """The command `stiffax`."""
    try:
        code = typer.main.get_command(app).main(prog_name="stiffax", standalone_mode=False) or 0
    except typer.TyperException as error:
        code = 2
        typer.echo(misused(error), err=True)
    except StiffaxError as error:
        code = 2
        typer.echo(str(error), err=True)
    sys.exit(code)

"""A problem stated in a user's Python file, and that user's own mistakes told with the lines of that file."""

import contextlib
import runpy
import sys
import sysconfig
import traceback
from collections.abc import Iterator
from pathlib import Path

from stiffax.errors import StiffaxError
from stiffax.problem.problem import Problem

NOT_THEIRS = (str(Path(__file__).parents[1]), sysconfig.get_paths()["purelib"])


def from_file(file: Path) -> Problem:
    """What the file calls `problem`."""
    if not file.is_file():
        raise StiffaxError(f"no such file: {file}")
    if str(file.parent) not in sys.path:
        sys.path.insert(0, str(file.parent))  # as for any script: it may import its neighbours
    problem = runpy.run_path(str(file), run_name="problem").get("problem")
    if not isinstance(problem, Problem):
        got = "no `problem`" if problem is None else f"a `problem` that is of type {type(problem).__name__}"
        raise StiffaxError(f"{file.name} has {got}; expected problem = sx.Problem(...).")
    return problem


@contextlib.contextmanager
def errors_of(file: Path | None) -> Iterator[None]:
    """What a user's file raises inside becomes a StiffaxError that shows the lines of that file and none of ours."""
    try:
        yield
    except Exception as error:
        if file is None:
            raise
        frames = traceback.extract_tb(error.__traceback__)
        start = next((i for i, frame in enumerate(frames) if frame.filename == str(file)), len(frames))
        written = [frame for frame in frames[start:] if not frame.filename.startswith(NOT_THEIRS)]
        if isinstance(error, StiffaxError):
            line = f" ({file.name}, line {written[0].lineno})" if written else ""
            raise StiffaxError(f"{error}{line}") from error
        if not written and getattr(error, "filename", None) != str(file):  # a SyntaxError has no frame but a name
            raise
        told = traceback.format_list(written) + traceback.format_exception_only(error)
        raise StiffaxError("".join(text for text in told if not about_jax(text)).rstrip()) from error


def about_jax(note: str) -> bool:
    """Whether this is JAX's remark on how it shortens tracebacks, which are not shown here at all."""
    return note.startswith("-----") or "JAX has removed its internal frames" in note

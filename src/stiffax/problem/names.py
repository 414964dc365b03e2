"""User functions are called by the names of their parameters."""

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from stiffax.errors import StiffaxError

Values = Mapping[str, Any]


def nearest(name: str, known: Iterable[str]) -> str:
    """A sentence that helps with an unknown name: the nearest spelling and everything that is known."""
    known = list(known)
    close = difflib.get_close_matches(name, known, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return f"{hint} Known here: {', '.join(known) if known else 'nothing'}."


def wanted(function: Callable, known: Iterable[str], where: str) -> tuple[str, ...]:
    """The names of the parameters that `function` asks for, all of them known.

    A parameter with a default that is no known name keeps its default (the loop-variable idiom).
    """
    known = list(known)
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError) as error:
        raise StiffaxError(f"{where}: expected a function whose parameters are names, got {function!r}.") from error
    names = []
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise StiffaxError(f"{where}: *args and **kwargs cannot be matched by name; write the parameters out.")
        if parameter.name in known:
            names.append(parameter.name)
        elif parameter.default is parameter.empty:
            raise StiffaxError(f"{where}: unknown argument {parameter.name!r}.{nearest(parameter.name, known)}")
    return tuple(names)


def call(function: Callable, values: Values, where: str) -> Any:
    """Call `function` with the values its parameters name."""
    names = wanted(function, values, where)
    parameters = inspect.signature(function).parameters
    by_place = [name for name in names if parameters[name].kind is inspect.Parameter.POSITIONAL_ONLY]
    positional = [values[name] for name in by_place]
    keywords = {name: values[name] for name in names if name not in by_place}
    try:
        return function(*positional, **keywords)
    except StiffaxError as error:
        raise StiffaxError(f"{where}: {error}") from error
    except Exception as error:  # the user's own: it keeps its kind, its text and its line
        error.add_note(f"This happened in {where}.")
        raise

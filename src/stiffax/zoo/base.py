"""What an entry of the zoo is: a name, a function that states the problem, and how good its reference is."""

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass

from stiffax.errors import StiffaxError
from stiffax.problem.names import nearest
from stiffax.problem.problem import Problem

Setting = float | int


@dataclass(frozen=True)
class Entry:
    """A ready problem: mathematics only.

    `build` states the problem; its parameters are the settings, each with a default that also says whether it is a
    whole number. `reference_error`: the largest error of `exact` with the default settings, 0 for a closed form.
    """

    name: str
    build: Callable[..., Problem]
    reference_error: float = 0.0

    @property
    def text(self) -> str:
        """The equations, the conditions and the sources, in words: the docstring of the entry's file."""
        return inspect.getdoc(inspect.getmodule(self.build)) or ""

    @property
    def summary(self) -> str:
        return self.text.partition("\n")[0]

    @property
    def settings(self) -> dict[str, Setting]:
        """The settings that the entry has, with their defaults."""
        return {name: p.default for name, p in inspect.signature(self.build).parameters.items()}

    def problem(self, **settings: Setting | str) -> Problem:
        """The problem at these settings, numbers or text that spells one."""
        return self.build(**{name: self._number(name, value) for name, value in settings.items()})

    def _number(self, name: str, value: Setting | str) -> Setting:
        known = self.settings
        if name not in known:
            raise StiffaxError(f"{self.name}: unknown setting {name!r}.{nearest(name, known)}")
        whole = isinstance(known[name], int)
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number) or (whole and number != int(number)):
            expected = "a whole number" if whole else "a finite number"
            raise StiffaxError(f"{self.name}: {name}={value!r}: expected {expected}, such as {name}={known[name]:g}.")
        return int(number) if whole else number


ENTRIES: dict[str, Entry] = {}


def entry(name: str, reference_error: float = 0.0) -> Callable[[Callable[..., Problem]], Callable[..., Problem]]:
    """Enter the decorated function into the zoo."""

    def enter(build: Callable[..., Problem]) -> Callable[..., Problem]:
        if name in ENTRIES:
            raise StiffaxError(f"the zoo has two entries with the name {name!r}; rename one.")
        ENTRIES[name] = Entry(name, build, reference_error)
        return build

    return enter


def at_least(name: str, value: Setting, lowest: Setting) -> None:
    if value < lowest:
        raise StiffaxError(f"{name}={value:g}: expected {name} to be {lowest:g} or more.")


def positive(name: str, value: Setting) -> None:
    if value <= 0:
        raise StiffaxError(f"{name}={value:g}: expected {name} to be above 0.")

"""Numbers that an equation names: fixed ones are plain numbers, the others say what shall become of them."""

import dataclasses

from stiffax.errors import StiffaxError
from stiffax.problem.number import number


@dataclasses.dataclass(frozen=True)
class Unknown:
    """A coefficient that is found together with the solution, from `start`; `positive` keeps it above zero."""

    start: float = 1.0
    positive: bool = False

    def __post_init__(self):
        if number("the start of sx.Unknown", self.start) <= 0 and self.positive:
            raise StiffaxError(f"Unknown({self.start}, positive=True): expected a start above 0.")


@dataclasses.dataclass(frozen=True)
class Range:
    """A coefficient that becomes one more input of the network: a family of solutions in one run."""

    lower: float
    upper: float

    def __post_init__(self):
        if not number("the lower end of sx.Range", self.lower) < number("the upper end of sx.Range", self.upper):
            raise StiffaxError(f"Range({self.lower}, {self.upper}): expected the lower end first.")

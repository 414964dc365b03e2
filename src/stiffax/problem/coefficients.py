"""Numbers that an equation names: fixed ones are plain numbers, the others say what shall become of them."""

import dataclasses
import math

from stiffax.errors import StiffaxError


@dataclasses.dataclass(frozen=True)
class Unknown:
    """A coefficient that is found together with the solution, from `start`; `positive` keeps it above zero."""

    start: float = 1.0
    positive: bool = False

    def __post_init__(self):
        if not math.isfinite(self.start) or (self.positive and self.start <= 0):
            raise StiffaxError(f"Unknown({self.start}): expected a finite start{', above 0' if self.positive else ''}.")


@dataclasses.dataclass(frozen=True)
class Range:
    """A coefficient that becomes one more input of the network: a family of solutions in one run."""

    lower: float
    upper: float

    def __post_init__(self):
        if not (math.isfinite(self.lower) and math.isfinite(self.upper) and self.lower < self.upper):
            raise StiffaxError(f"Range({self.lower}, {self.upper}): expected two finite numbers, the lower one first.")

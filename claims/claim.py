"""A claim: something measurable that we say, and what would show it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# What JSON can hold: a case, its figures, or both together.
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Claim:
    """What is said (`statement`), how it is measured, and whether the figures bear it out.

    `measure` takes one case, runs it with `settings` and returns its figures; a run that fails is a figure too.
    `holds` judges the rows, one for each case in order, a row being the case and its figures together.
    """

    name: str
    statement: str
    settings: Row
    cases: Sequence[Row]
    measure: Callable[[Row], Row]
    holds: Callable[[Sequence[Row]], bool]

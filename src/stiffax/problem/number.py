"""Numbers that a user gives."""

from math import isfinite

from stiffax.errors import StiffaxError


def number(what: str, value) -> float:
    """`value` as a finite float; text that spells a number is none."""
    try:
        result = float("" if isinstance(value, str | bytes | bool) else value)
    except (TypeError, ValueError) as error:
        raise StiffaxError(f"Expected a number for {what}, got {value!r}.") from error
    if not isfinite(result):
        raise StiffaxError(f"Expected a finite number for {what}, got {value!r}.")
    return result

"""The precision of one call, never of the process."""

import contextlib
from collections.abc import Iterator

import jax

from stiffax.errors import StiffaxError

PRECISIONS = ("float64", "float32")


@contextlib.contextmanager
def computing(precision: str = "float64") -> Iterator[None]:
    """Everything inside is computed in this precision, with full-precision products on every device."""
    if precision not in PRECISIONS:
        raise StiffaxError(f"precision={precision!r}; expected one of {', '.join(PRECISIONS)}.")
    with jax.enable_x64(precision == "float64"), jax.default_matmul_precision("highest"):
        yield

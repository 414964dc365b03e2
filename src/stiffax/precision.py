"""The precision of one call, never of the process."""

import contextlib
from collections.abc import Iterator

import jax
from threadpoolctl import threadpool_limits

from stiffax.errors import StiffaxError

PRECISIONS = ("float64", "float32")
WHAT_TO_EXPECT = {
    "float32": (
        "precision='float32': derivatives and Gram matrices keep about four digits; expect relative errors between "
        "1e-3 and 1e-5 where float64 reaches 1e-6 and better."
    )
}


@contextlib.contextmanager
def computing(precision: str = "float64") -> Iterator[None]:
    """Everything inside is computed in this precision, with full-precision products on every device."""
    if precision not in PRECISIONS:
        raise StiffaxError(f"precision={precision!r}; expected one of {', '.join(PRECISIONS)}.")
    # One thread for LAPACK: with more, its workers wait for each other by spinning, and on a machine that is busy with
    # anything else a factorisation took fifty times as long. XLA's own products keep all cores.
    with jax.enable_x64(precision == "float64"), jax.default_matmul_precision("highest"), threadpool_limits(1, "blas"):
        yield

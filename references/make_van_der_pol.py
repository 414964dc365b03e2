"""Make src/stiffax/zoo/references/van_der_pol.npz: `python references/make_van_der_pol.py` from anywhere.

Van der Pol's oscillator from (2, 0) with mu = 1 by Taylor series in 50-digit arithmetic, then Chebyshev coefficients on
(0, 10). The error is estimated twice: another order and step of the series, and the coefficients against the series
between the nodes. Both are printed; the larger one is what `REFERENCE_ERROR` in zoo/van_der_pol.py must cover.
"""

from decimal import Decimal, getcontext
from pathlib import Path

import numpy as np
from numpy.polynomial import chebyshev

OUTPUT = Path(__file__).parents[1] / "src" / "stiffax" / "zoo" / "references" / "van_der_pol.npz"
MU, END, START = 1, 10, (2, 0)
DEGREE = 255

Series = list[Decimal]


def taylor(u0: Decimal, v0: Decimal, order: int) -> tuple[Series, Series]:
    """The coefficients of u and v about a point: u' = v, v' = MU (1 - u²) v - u, order by order."""
    u, v, free = [u0], [v0], []  # free = 1 - u²
    for k in range(order):
        square = sum((u[i] * u[k - i] for i in range(k + 1)), Decimal(0))
        free.append((1 if k == 0 else 0) - square)
        product = sum((free[i] * v[k - i] for i in range(k + 1)), Decimal(0))
        u.append(v[k] / (k + 1))
        v.append((MU * product - u[k]) / (k + 1))
    return u, v


def horner(series: Series, h: Decimal) -> Decimal:
    total = Decimal(0)
    for c in reversed(series):
        total = total * h + c
    return total


def solve(times: np.ndarray, order: int, step: Decimal) -> np.ndarray:
    """u and v at increasing times, in columns."""
    now, (u, v) = Decimal(0), taylor(*map(Decimal, START), order)
    rows = []
    for t in map(Decimal, times.tolist()):
        while t - now > step:
            u, v = taylor(horner(u, step), horner(v, step), order)
            now += step
        rows.append([float(horner(u, t - now)), float(horner(v, t - now))])
    return np.array(rows)


def main() -> None:
    getcontext().prec = 50
    angles = np.pi * (np.arange(DEGREE, -1, -1) + 0.5) / (DEGREE + 1)
    values = solve(END * (np.cos(angles) + 1) / 2, 40, Decimal("0.05"))
    # Cosines of angles, not chebvander: its recurrence loses two digits near the ends.
    coefficients = np.cos(np.outer(np.arange(DEGREE + 1), angles)) @ values * 2 / (DEGREE + 1)
    coefficients[0] /= 2
    between = np.linspace(0, END, 1001)
    series = solve(between, 40, Decimal("0.05"))
    other = solve(between, 30, Decimal("0.04"))
    print("series against another order and step:", np.abs(series - other).max())
    interpolated = chebyshev.chebval(2 * between / END - 1, coefficients).T
    print("coefficients against the series:", np.abs(interpolated - series).max())
    print("last coefficients:", np.abs(coefficients[-8:]).max())
    np.savez(OUTPUT, u=coefficients[:, 0], v=coefficients[:, 1])


if __name__ == "__main__":
    main()

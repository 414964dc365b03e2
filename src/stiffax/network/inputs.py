"""Embeddings of the coordinates, written in jets."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from stiffax import jets
from stiffax.errors import StiffaxError
from stiffax.jets import Jet
from stiffax.network.base import AbstractInput, Bounds


class Raw(AbstractInput):
    """The scaled coordinates as they are."""

    def on(self, names: tuple[str, ...], bounds: Bounds, stretch: float = 1.0) -> "Raw":
        return self

    def width(self, inputs: int) -> int:
        return inputs

    def __call__(self, jet: Jet) -> Jet:
        return jet


class FourierInput(AbstractInput):
    """The coordinates and `count` cosines and sines of random plane waves (Tancik et al., 2020).

    A wave is cos(π b·s) with s in [-1, 1] and b normal of standard deviation `scale`: `scale` full waves across the
    domain along each axis, typically.
    """

    count: int = eqx.field(static=True, default=16)
    scale: float = eqx.field(static=True, default=1.0)
    seed: int = eqx.field(static=True, default=0)

    def __check_init__(self):
        if self.count < 1 or not self.scale > 0:
            given = f"count={self.count!r}, scale={self.scale!r}"
            raise StiffaxError(f"FourierInput: {given}; expected a count of at least 1 and a positive scale.")

    def on(self, names: tuple[str, ...], bounds: Bounds, stretch: float = 1.0) -> "FourierInput":
        return self

    def width(self, inputs: int) -> int:
        return inputs + 2 * self.count

    def __call__(self, jet: Jet) -> Jet:
        draws = np.random.default_rng(self.seed).normal(size=(jet.value.shape[0], self.count))
        return jets.concatenate([jet, _waves(jet, np.pi * self.scale * draws)])


class PeriodicInput(AbstractInput):
    """Makes every network behind it periodic in one coordinate (or several): waves take the coordinate's place.

    `period` is in the units of the coordinate; without it the period is the whole width of the domain. Names get
    their meaning from a problem, through `on`.
    """

    name: str | tuple[str, ...] = eqx.field(static=True)
    harmonics: int = eqx.field(static=True, default=1)
    period: float | None = eqx.field(static=True, default=None)

    def __check_init__(self):
        if self.harmonics < 1 or (self.period is not None and not self.period > 0):
            given = f"harmonics={self.harmonics!r}, period={self.period!r}"
            raise StiffaxError(f"PeriodicInput: {given}; expected at least one harmonic and a positive period.")

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,) if isinstance(self.name, str) else tuple(self.name)

    def on(self, names: tuple[str, ...], bounds: Bounds, stretch: float = 1.0) -> "Harmonics":
        for name in self.names:
            if name not in names:
                raise StiffaxError(f"PeriodicInput: unknown coordinate {name!r}. Known here: {', '.join(names)}.")
        axes = tuple(names.index(name) for name in self.names)
        widths = [float(bounds[i][1]) - float(bounds[i][0]) for i in axes]
        turns = tuple((1.0 if self.period is None else width / self.period) / stretch for width in widths)
        return Harmonics(axes, turns, self.harmonics)

    def width(self, inputs: int) -> int:
        return inputs + len(self.names) * (2 * self.harmonics - 1)

    def __call__(self, jet: Jet) -> Jet:
        raise StiffaxError(f"{self}: the names mean nothing yet; use what .on(names, bounds) returns.")


class Harmonics(AbstractInput):
    """`PeriodicInput` for known axes: the other coordinates, then cosines and sines of each axis in turn.

    `turns` are the periods that fit between -1 and 1, one number for each axis.
    """

    axes: tuple[int, ...] = eqx.field(static=True)
    turns: tuple[float, ...] = eqx.field(static=True)
    harmonics: int = eqx.field(static=True, default=1)

    def on(self, names: tuple[str, ...], bounds: Bounds, stretch: float = 1.0) -> "Harmonics":
        return self

    def width(self, inputs: int) -> int:
        return inputs + len(self.axes) * (2 * self.harmonics - 1)

    def __call__(self, jet: Jet) -> Jet:
        inputs = jet.value.shape[0]
        frequencies = np.zeros((inputs, len(self.axes) * self.harmonics))
        for i, (axis, turns) in enumerate(zip(self.axes, self.turns, strict=True)):
            frequencies[axis, i * self.harmonics : (i + 1) * self.harmonics] = turns * np.arange(1, self.harmonics + 1)
        others = np.array([axis for axis in range(inputs) if axis not in self.axes], int)
        return jets.concatenate([jet[others], _waves(jet, np.pi * frequencies)])


def _waves(jet, frequencies):
    angles = jets.linear(jet, jnp.asarray(frequencies, jet.value.dtype), 0.0)
    return jets.concatenate([jets.apply(angles, jnp.cos), jets.apply(angles, jnp.sin)])

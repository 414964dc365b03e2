"""How weights begin. On a CPU the first layer decides most of the time to a given accuracy."""

from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from scipy.spatial import KDTree

from stiffax.errors import StiffaxError
from stiffax.network.base import AbstractStart, Layer, Points


class Glorot(AbstractStart):
    """Normal weights of variance 2 / (inputs + outputs) and zero biases (Glorot and Bengio, 2010)."""

    def first(self, points: Points, outputs: int, rng: np.random.Generator, order: int = 2) -> Layer:
        return _glorot(points.shape[1], outputs, rng)

    def deeper(self, inputs: int, outputs: int, rng: np.random.Generator) -> Layer:
        return _glorot(inputs, outputs, rng)


class Fronts(AbstractStart):
    """Each neuron of the first layer begins as a front somewhere among the points: no finer than they can see.

    The front (where the argument is zero) passes through a point drawn from the set, in a direction drawn from the
    sphere, with a steepness log-uniform between 1 (one front across the scaled domain) and one over the distance to
    the `neighbour`-th nearest point. The k-th derivative of a front of steepness s is of size s^k: where more than two
    derivatives are read, the steepest front is flattened until its highest is no larger than s². Deeper layers begin
    as with `Glorot`.
    """

    neighbour: int = eqx.field(static=True, default=8)

    def __check_init__(self):
        if isinstance(self.neighbour, bool) or not isinstance(self.neighbour, int) or self.neighbour < 1:
            raise StiffaxError(f"Fronts: neighbour is {self.neighbour!r}; expected a whole number of at least 1.")

    def first(self, points: Points, outputs: int, rng: np.random.Generator, order: int = 2) -> Layer:
        points = np.unique(points, axis=0)  # a repeated point is no nearer neighbour, it would allow any steepness
        centres = points[rng.integers(0, len(points), outputs)]
        directions = rng.normal(size=centres.shape)
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        steepest = self._steepest(points, centres) ** (2 / max(2, order))
        steepness = steepest ** rng.uniform(0, 1, outputs)
        weight = directions * steepness[:, None]
        return Layer.of(weight.T, -np.sum(weight * centres, axis=1))

    def deeper(self, inputs: int, outputs: int, rng: np.random.Generator) -> Layer:
        return _glorot(inputs, outputs, rng)

    def _steepest(self, points, centres):
        nth = min(self.neighbour, len(points) - 1)
        distances, _ = KDTree(points).query(centres, k=nth + 1)  # the nearest of all is the point itself
        nearest = distances.reshape(len(centres), -1)[:, -1] if nth else np.ones(len(centres))
        return 1 / np.clip(nearest, np.finfo(float).eps, 1.0)


class Siren(AbstractStart):
    """For the sine: first weights uniform in ±omega / inputs, deeper ones in ±sqrt(6 / inputs) (Sitzmann et al., 2020).

    The factor omega that the paper keeps in front of every layer is inside the weights here. First biases are phases,
    uniform over a full turn, so that a network with few neurons is not an odd function; the others are zero.
    """

    omega: float = eqx.field(static=True, default=30.0)

    def __check_init__(self):
        if not self.omega > 0:
            raise StiffaxError(f"Siren: omega is {self.omega!r}; expected a positive number.")

    def first(self, points: Points, outputs: int, rng: np.random.Generator, order: int = 2) -> Layer:
        bound = self.omega / points.shape[1]
        weight = rng.uniform(-bound, bound, (points.shape[1], outputs))
        return Layer.of(weight, rng.uniform(-np.pi, np.pi, outputs))

    def deeper(self, inputs: int, outputs: int, rng: np.random.Generator) -> Layer:
        bound = np.sqrt(6 / inputs)
        return Layer.of(rng.uniform(-bound, bound, (inputs, outputs)), np.zeros(outputs))


def suited(activation: Callable) -> AbstractStart:
    """The start for a network whose user named none: `Siren` for the sine, else `Fronts`."""
    return Siren() if activation is jnp.sin else Fronts()


def _glorot(inputs, outputs, rng):
    return Layer.of(rng.normal(size=(inputs, outputs)) * np.sqrt(2 / (inputs + outputs)), np.zeros(outputs))

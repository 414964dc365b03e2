"""The abstract classes of this family: what a user writes, what is trained, what stands in front, how it begins."""

import abc
import dataclasses
from collections.abc import Callable, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from stiffax import jets
from stiffax.errors import StiffaxError
from stiffax.jets import Jet

Bounds = Sequence[tuple[float, float]]  # for each coordinate its lower and upper end
Points = Float[np.ndarray, "points width"]


class Layer(eqx.Module):
    """A dense layer. Made from NumPy float64, it is held in the precision of the caller."""

    weight: Float[Array, "width out"]
    bias: Float[Array, " out"]

    @staticmethod
    def of(weight: np.ndarray, bias: np.ndarray) -> "Layer":
        return Layer(jnp.asarray(weight), jnp.asarray(bias))

    def __call__(self, jet: Jet) -> Jet:
        return jets.linear(jet, self.weight, self.bias)


class AbstractNetwork(eqx.Module):
    """A network that is built: its inexact arrays are what is trained."""

    @abc.abstractmethod
    def __call__(self, jet: Jet) -> Jet:
        """The scaled inputs of one point, with their derivatives, to the outputs with theirs."""


class AbstractInput(eqx.Module):
    """An embedding in front of a network. It holds nothing that is trained."""

    @abc.abstractmethod
    def on(self, names: tuple[str, ...], bounds: Bounds, stretch: float = 1.0) -> "AbstractInput":
        """This embedding for the coordinates of a problem: what was written with names and units is resolved.

        The coordinates, which lie in `bounds`, come scaled to [-stretch, stretch].
        """

    @abc.abstractmethod
    def width(self, inputs: int) -> int:
        """How many numbers come out when `inputs` go in."""

    @abc.abstractmethod
    def __call__(self, jet: Jet) -> Jet:
        """Embed one point whose coordinates are scaled (see `on`)."""


class AbstractStart(eqx.Module):
    """How the weights of a network begin."""

    @abc.abstractmethod
    def first(self, points: Points, outputs: int, rng: np.random.Generator, order: int = 2) -> Layer:
        """The first layer, from the points of training as it will see them, for derivatives up to an order."""

    @abc.abstractmethod
    def deeper(self, inputs: int, outputs: int, rng: np.random.Generator) -> Layer:
        """Any later layer, the output layer included."""


class AbstractArchitecture(eqx.Module):
    """What a user writes for `network=`: sizes and choices, no weights yet."""

    @abc.abstractmethod
    def on(self, names: tuple[str, ...], bounds: Bounds, stretch: float = 1.0) -> "AbstractArchitecture":
        """This architecture for the coordinates of a problem (see `AbstractInput.on`)."""

    @abc.abstractmethod
    def build(self, inputs: int, outputs: int, points: Points, seed: int, order: int = 2) -> AbstractNetwork:
        """A network with its first weights, in the precision of the caller.

        `points` are those of training, scaled by the bounding box as they will come, one row for each; `order` is the
        highest derivative that is read.
        """

    @abc.abstractmethod
    def describe(self) -> dict:
        """What was chosen, in words and numbers that JSON can hold."""


def embed(inputs: AbstractInput, points: Points) -> Points:
    """The points as the first layer behind `inputs` sees them: in float64, so that every precision begins alike."""
    value = jax.vmap(lambda point: inputs(jets.coordinates(point, jets.VALUE)).value)
    with jax.enable_x64(True):
        return np.asarray(value(jnp.asarray(points, float)))


def check_sizes(kind: str, width: int, depth: int) -> None:
    for name, size in (("width", width), ("depth", depth)):
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise StiffaxError(f"{kind}: {name} is {size!r}; expected a whole number of at least 1.")


def check_activation(kind: str, activation: Callable) -> None:
    """Refuse what is not a function of one number, so that it means the same in every layer."""
    what = f"{kind}: activation {function_name(activation)} is not a function of one number"
    cure = "Give a function such as jnp.tanh, jnp.sin or jax.nn.gelu."
    try:
        result = jax.eval_shape(activation, jax.ShapeDtypeStruct((), jnp.result_type(float)))
    except Exception as error:
        raise StiffaxError(f"{what}: {error} {cure}") from error
    if getattr(result, "shape", None) != ():
        raise StiffaxError(f"{what}: it returns {result}. {cure}")


def spelled(choice: AbstractInput | AbstractStart) -> str:
    """A choice as it would be written, defaults included: they may change from one version to the next."""
    arguments = (f"{f.name}={getattr(choice, f.name)!r}" for f in dataclasses.fields(choice))
    return f"{type(choice).__name__}({', '.join(arguments)})"


def function_name(function: Callable) -> str:
    return getattr(function, "__name__", repr(function))

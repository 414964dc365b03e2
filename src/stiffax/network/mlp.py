"""The plain network: dense layers with one activation."""

import dataclasses
from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from stiffax import jets
from stiffax.jets import Jet
from stiffax.network.base import (
    AbstractArchitecture,
    AbstractInput,
    AbstractNetwork,
    AbstractStart,
    Bounds,
    Layer,
    Points,
    check_activation,
    check_sizes,
    embed,
    function_name,
    spelled,
)
from stiffax.network.inputs import Raw
from stiffax.network.starts import suited


class MLP(AbstractArchitecture):
    """`depth` hidden layers of `width` neurons.

    `activation` is any function of one number; `jnp.tanh`, `jnp.sin` and `jnp.cos` have derivatives in closed form.
    `inputs` stands in front (`sx.FourierInput`, `sx.PeriodicInput`). Without `start` the sine begins as SIREN does
    (`sx.Siren`) and everything else with `sx.Fronts`.
    """

    width: int = eqx.field(static=True)
    depth: int = eqx.field(static=True)
    activation: Callable = eqx.field(static=True, default=jnp.tanh)
    inputs: AbstractInput = Raw()
    start: AbstractStart | None = None

    def __check_init__(self):
        check_sizes("MLP", self.width, self.depth)
        check_activation("MLP", self.activation)

    def on(self, names: tuple[str, ...], bounds: Bounds, stretch: float = 1.0) -> "MLP":
        return dataclasses.replace(self, inputs=self.inputs.on(names, bounds, stretch))

    def build(self, inputs: int, outputs: int, points: Points, seed: int, order: int = 2) -> "DenseNetwork":
        rng, start = np.random.default_rng(seed), self.start or suited(self.activation)
        layers = [start.first(embed(self.inputs, points), self.width, rng, order)]
        layers += [start.deeper(self.width, self.width, rng) for _ in range(self.depth - 1)]
        layers += [start.deeper(self.width, outputs, rng)]
        return DenseNetwork(tuple(layers), self.inputs, self.activation)

    def describe(self) -> dict:
        return {
            "kind": "MLP",
            "width": self.width,
            "depth": self.depth,
            "activation": function_name(self.activation),
            "inputs": spelled(self.inputs),
            "start": spelled(self.start or suited(self.activation)),
        }


class DenseNetwork(AbstractNetwork):
    layers: tuple[Layer, ...]
    inputs: AbstractInput
    activation: Callable = eqx.field(static=True)

    def __call__(self, jet: Jet) -> Jet:
        jet = self.inputs(jet)
        for layer in self.layers[:-1]:
            jet = jets.apply(layer(jet), self.activation)
        return self.layers[-1](jet)

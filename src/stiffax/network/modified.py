"""The modified network of Wang, Teng and Perdikaris (2021)."""

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


class ModifiedMLP(AbstractArchitecture):
    """Two encoders of the input, between which every hidden layer chooses neuron by neuron.

    Wang, Teng, Perdikaris, "Understanding and mitigating gradient flow pathologies in physics-informed neural
    networks", 2021. Arguments as `sx.MLP`; both encoders begin as first layers do.
    """

    width: int = eqx.field(static=True)
    depth: int = eqx.field(static=True)
    activation: Callable = eqx.field(static=True, default=jnp.tanh)
    inputs: AbstractInput = Raw()
    start: AbstractStart | None = None

    def __check_init__(self):
        check_sizes("ModifiedMLP", self.width, self.depth)
        check_activation("ModifiedMLP", self.activation)

    def on(self, names: tuple[str, ...], bounds: Bounds, stretch: float = 1.0) -> "ModifiedMLP":
        return dataclasses.replace(self, inputs=self.inputs.on(names, bounds, stretch))

    def build(self, inputs: int, outputs: int, points: Points, seed: int, order: int = 2) -> "GatedNetwork":
        rng, start = np.random.default_rng(seed), self.start or suited(self.activation)
        seen = embed(self.inputs, points)
        one, other, first = (start.first(seen, self.width, rng, order) for _ in range(3))
        hidden = [start.deeper(self.width, self.width, rng) for _ in range(self.depth - 1)]
        last = start.deeper(self.width, outputs, rng)
        return GatedNetwork(one, other, (first, *hidden), last, self.inputs, self.activation)

    def describe(self) -> dict:
        return {
            "kind": "ModifiedMLP",
            "width": self.width,
            "depth": self.depth,
            "activation": function_name(self.activation),
            "inputs": spelled(self.inputs),
            "start": spelled(self.start or suited(self.activation)),
        }


class GatedNetwork(AbstractNetwork):
    one: Layer
    other: Layer
    hidden: tuple[Layer, ...]
    last: Layer
    inputs: AbstractInput
    activation: Callable = eqx.field(static=True)

    def __call__(self, jet: Jet) -> Jet:
        jet = self.inputs(jet)
        one, other = (jets.apply(encoder(jet), self.activation) for encoder in (self.one, self.other))
        difference = other + jets.scale(one, -1.0)
        for layer in self.hidden:
            gate = jets.apply(layer(jet), self.activation)
            jet = one + gate * difference
        return self.last(jet)

"""Networks that are not written in jets."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp

from stiffax import jets
from stiffax.errors import StiffaxError
from stiffax.jets import Jet
from stiffax.network.base import AbstractArchitecture, AbstractNetwork, Bounds, Points


class Opaque(AbstractArchitecture):
    """Any equinox module from a vector to a vector (or, with one output, to a number).

    Its derivatives come by nested forward mode: correct for everything that JAX can differentiate, slower than the
    networks written in jets. It begins with the weights that it has; `seed` and `points` change nothing.
    """

    module: Callable

    def on(self, names: tuple[str, ...], bounds: Bounds, stretch: float = 1.0) -> "Opaque":
        return self

    def build(self, inputs: int, outputs: int, points: Points, seed: int, order: int = 2) -> "OpaqueNetwork":
        precision = jnp.result_type(float)
        module = jax.tree.map(lambda a: a.astype(precision) if eqx.is_inexact_array(a) else a, self.module)
        kind = type(self.module).__name__
        expected = f"expected a module from a vector of {inputs} to a vector of {outputs}"
        try:
            result = eqx.filter_eval_shape(module, jax.ShapeDtypeStruct((inputs,), precision))
        except Exception as error:
            raise StiffaxError(f"network {kind}: {expected}, but calling it so fails: {error}") from error
        shape = getattr(result, "shape", None)
        if shape != (outputs,) and not (shape == () and outputs == 1):
            raise StiffaxError(f"network {kind}: {expected}, got {result}. Change its input or output size.")
        return OpaqueNetwork(module)

    def describe(self) -> dict:
        return {"kind": type(self.module).__name__}


class OpaqueNetwork(AbstractNetwork):
    module: Callable

    def __call__(self, jet: Jet) -> Jet:
        return jets.compose(jet, lambda z: jnp.atleast_1d(self.module(z)))

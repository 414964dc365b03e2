"""A field is a composition: input scale, embedding, network, output scale, hard condition."""

import dataclasses
from collections.abc import Mapping

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from stiffax import jets
from stiffax.errors import StiffaxError
from stiffax.jets import Basis, Jet
from stiffax.network.base import AbstractArchitecture, AbstractInput, AbstractNetwork, embed
from stiffax.network.hard import Hard, build_in, hard_fields
from stiffax.network.inputs import PeriodicInput, Raw
from stiffax.network.opaque import Opaque
from stiffax.problem.conditions import Data, Periodic
from stiffax.problem.names import nearest
from stiffax.problem.problem import Problem
from stiffax.problem.regions import AbstractRegion
from stiffax.problem.survey import prescribed, sample

Networks = AbstractArchitecture | eqx.Module | Mapping[str, AbstractArchitecture | eqx.Module]


@dataclasses.dataclass(frozen=True)
class OutputScale:
    """A field is `middle` + `size` times what the network gives."""

    middle: float
    size: float


class Composition(eqx.Module):
    """All fields of a problem at a point, one column each, with the derivatives of a basis."""

    networks: tuple[AbstractNetwork, ...]
    embedding: AbstractInput  # the hard periodic coordinates, in front of every network
    columns: tuple[tuple[int, ...], ...] = eqx.field(static=True)  # which fields each network gives
    middle: tuple[float, ...] = eqx.field(static=True)  # of the inputs
    half: tuple[float, ...] = eqx.field(static=True)
    outputs: tuple[OutputScale, ...] = eqx.field(static=True)
    hard: tuple[Hard | None, ...] = eqx.field(static=True)

    def __call__(self, point: Float[Array, " axes"], basis: Basis, coefficients: Mapping[str, Array]) -> Jet:
        middle, half = jnp.asarray(self.middle, point.dtype), jnp.asarray(self.half, point.dtype)
        scaled = jets.scale(jets.shift(jets.coordinates(point, basis), -middle), 1 / half)
        seen = self.embedding(scaled)
        free = self._in_order([network(seen) for network in self.networks])
        sizes = jnp.asarray([o.size for o in self.outputs], point.dtype)
        middles = jnp.asarray([o.middle for o in self.outputs], point.dtype)
        free = jets.scale(free, sizes)
        shifted = jets.shift(free, middles)
        built = [
            shifted[i : i + 1] if h is None else build_in(h, free[i : i + 1], point, basis, coefficients)
            for i, h in enumerate(self.hard)
        ]
        return built[0] if len(built) == 1 else jets.concatenate(built)

    def _in_order(self, outputs: list[Jet]) -> Jet:
        """What the networks give, with a column for each field in the order of the problem."""
        if len(outputs) == 1:
            return outputs[0]
        order = np.array([column for columns in self.columns for column in columns])
        free = jets.concatenate(outputs)
        return free if (order[1:] > order[:-1]).all() else free[np.argsort(order)]


def compose(
    problem: Problem, networks: Networks, points: np.ndarray, seed: int, input_scale: float = 1.0, order: int = 2
) -> Composition:
    """Build the fields of a problem: one network for all of them, or one for each by name.

    `points` are those of training, in the problem's coordinates: the start of the first layer looks at them.
    The inputs are scaled to [-input_scale, input_scale]. `order` is the highest derivative that the problem reads.
    """
    lower, upper = np.array(problem.bounds, float).T
    middle, half = (lower + upper) / 2, (upper - lower) / 2 / input_scale
    periodic = _periodic(problem)
    embedding = PeriodicInput(periodic, harmonics=2) if periodic else Raw()
    embedding = embedding.on(problem.coordinates, problem.bounds, input_scale)
    seen = embed(embedding, (points - middle) / half)
    # The coordinates that are left come first; for an embedding of the user's, the others are known no more.
    left = [i for i, name in enumerate(problem.coordinates) if name not in periodic]
    names, bounds = tuple(problem.coordinates[i] for i in left), [problem.bounds[i] for i in left]
    groups = _groups(problem, networks)
    built = tuple(
        _architecture(network).on(names, bounds, input_scale).build(seen.shape[1], len(fields), seen, seed + i, order)
        for i, (fields, network) in enumerate(groups)
    )
    hard, scales = hard_fields(problem), output_scales(problem)
    return Composition(
        built,
        embedding,
        tuple(tuple(problem.fields.index(f) for f in fields) for fields, _ in groups),
        tuple(map(float, middle)),
        tuple(map(float, half)),
        tuple(scales[f] for f in problem.fields),
        tuple(hard.get(f) for f in problem.fields),
    )


def _architecture(network) -> AbstractArchitecture:
    return network if isinstance(network, AbstractArchitecture) else Opaque(network)


def _groups(problem: Problem, networks: Networks):
    if not isinstance(networks, Mapping):
        return [(problem.fields, networks)]
    for name in networks:
        if name not in problem.fields:
            raise StiffaxError(f"network: unknown field {name!r}.{nearest(name, problem.fields)}")
    missing = [f for f in problem.fields if f not in networks]
    if missing:
        raise StiffaxError(f"network: no network for {', '.join(missing)}; give one for every field, or one for all.")
    return [((f,), networks[f]) for f in problem.fields]


def _periodic(problem: Problem) -> tuple[str, ...]:
    """The coordinates in which all fields are periodic by construction."""
    found = []
    for condition in problem.conditions.values():
        if isinstance(condition, Periodic) and condition.hard:
            found.append(condition.coordinate)
    return tuple(dict.fromkeys(found))


def output_scales(problem: Problem) -> dict[str, OutputScale]:
    """The middle and half the spread of the values that conditions and data prescribe for each field."""
    seen: dict[str, list[np.ndarray]] = {f: [] for f in problem.fields}
    for name, condition in problem.conditions.items():
        if isinstance(condition, Data):
            for field, values in condition.fields.items():
                seen[field].append(values)
        for (field, order), value in condition.pins().items():
            if order == 0 and condition.region is not None:
                seen[field].append(_sampled(problem, name, condition.region, value))
    return {field: _scale(np.concatenate(values) if values else np.zeros(1)) for field, values in seen.items()}


def _sampled(problem: Problem, name: str, region: AbstractRegion, value) -> np.ndarray:
    where = f"condition {name!r}"
    return prescribed(problem, where, value, sample(problem.region(region), where).points)


def _scale(values: np.ndarray) -> OutputScale:
    lowest, highest = float(values.min()), float(values.max())
    spread = (highest - lowest) / 2
    return OutputScale((highest + lowest) / 2, spread if spread > 0 else 1.0)

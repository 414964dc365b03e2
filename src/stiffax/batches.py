"""Mini-batches: which places of a list a step sees, from the seed and the number of the step alone."""

import dataclasses

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from stiffax.errors import StiffaxError

ROUNDS = 32


@dataclasses.dataclass(frozen=True)
class Batches:
    """Every step sees `size` points of each equation, and in an epoch every point is seen.

    Lists no longer than `size`, and means over many points (`sx.Integral`), are seen whole by every step; longer lists
    of a condition are cut like those of the equations, each at its own pace. An epoch is as many steps as batches; the
    last batch is filled up from the first. The order is another one in every epoch.
    """

    size: int

    def __post_init__(self):
        if isinstance(self.size, bool) or not isinstance(self.size, int) or self.size < 1:
            raise StiffaxError(f"Batches: size={self.size!r}; expected a whole number of at least 1.")

    def steps(self, count: int) -> int:
        """The steps of an epoch over so many places."""
        return max(1, -(-count // self.size))

    def places(self, count: int, number: Array, seed: int) -> Int[Array, " size"]:
        """What the step after `number` accepted ones sees of `count` places."""
        epoch, batch = jnp.divmod(number, self.steps(count))
        wanted = (batch * self.size + jnp.arange(self.size)) % count
        return shuffled(wanted, count, jax.random.fold_in(jax.random.key(seed), epoch))


def shuffled(places: Array, count: int, key: Array) -> Array:
    """Where a random permutation of `count` places sends these, without writing the whole permutation down.

    The swap-or-not shuffle (Hoang, Morris, Rogaway 2012): in every round each place is paired with its mirror image
    about a random pivot, and each pair is swapped or not by a hash of the pair.
    """
    pivots = jax.random.randint(key, (ROUNDS,), 0, count)
    salts = jax.random.bits(jax.random.fold_in(key, 1), (ROUNDS,), jnp.uint32)

    def swap(number, at):
        partner = (pivots[number] - at) % count
        pair = jnp.maximum(at, partner).astype(jnp.uint32)
        return jnp.where(_hash(pair ^ salts[number]) & 1, partner, at)

    return jax.lax.fori_loop(0, ROUNDS, swap, places.astype(pivots.dtype))


def _hash(x: Array) -> Array:
    """Every bit of the result depends on every bit of x (the finaliser of MurmurHash3)."""
    x = (x ^ (x >> 16)) * jnp.uint32(0x85EBCA6B)
    x = (x ^ (x >> 13)) * jnp.uint32(0xC2B2AE35)
    return x ^ (x >> 16)

"""The jet algebra: values and partial derivatives pushed together through every operation.

A jet carries one vector ("stream") for each partial derivative of its `Basis`, all with respect to the coordinates of
one point. Sums and linear maps act on every stream alike, so a layer multiplies all of them with the same weight;
products follow Leibniz, compositions Faà di Bruno. Everything between the coordinates of a point and the fields
there (scalings, embeddings, networks, hard conditions, frozen stages) is written with the few operations below.

Under `vmap` a stream becomes a matrix, one row for each point. The streams are kept side by side and never copied into
one array: measured, the copies between the products cost more than longer products save (benchmarks/derivatives.py),
and a stream that is the same at all points, such as the derivative of a coordinate, is then computed once for all.
"""

import functools
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

Key = tuple[int, ...]  # a partial derivative: the sorted axes it differentiates, () for the value itself


class Basis(eqx.Module):
    """Which derivatives travel: a set of keys closed under taking sub-derivatives, and perhaps one Laplacian.

    The Laplacian over some axes needs their first derivatives and a single stream of its own: d + 2 streams, where
    the pure second derivatives one by one would need 2 d + 1.
    """

    keys: tuple[Key, ...] = eqx.field(static=True)
    laplacian: tuple[int, ...] = eqx.field(static=True, default=())

    @staticmethod
    def of(wanted: Iterable[Key] = (), laplacian: Sequence[int] = ()) -> "Basis":
        """The smallest basis in which every wanted derivative, and the Laplacian over the given axes, can be had."""
        keys: set[Key] = {(), *((i,) for i in laplacian)}
        for key in wanted:
            for size in range(len(key) + 1):
                keys.update(itertools.combinations(sorted(key), size))
        if len(laplacian) == 1 or all((i, i) in keys for i in laplacian):
            keys.update((i, i) for i in laplacian)
            laplacian = ()
        return Basis(tuple(sorted(keys, key=lambda k: (len(k), k))), tuple(laplacian))

    @property
    def order(self) -> int:
        return max(len(self.keys[-1]), 2 if self.laplacian else 0)

    @property
    def size(self) -> int:
        return len(self.keys) + bool(self.laplacian)

    def index(self, key: Key) -> int:
        return self.keys.index(tuple(sorted(key)))


VALUE = Basis.of()


class Jet(eqx.Module):
    """Streams of a vector: first its value, then its derivatives in the order of the basis, the Laplacian last."""

    streams: tuple[Float[Array, " width"], ...]
    basis: Basis = eqx.field(static=True)

    @property
    def value(self) -> Float[Array, " width"]:
        return self.streams[0]

    def derivative(self, key: Key) -> Float[Array, " width"]:
        return self.streams[self.basis.index(key)]

    def laplacian(self, axes: Sequence[int]) -> Float[Array, " width"]:
        """The sum of the pure second derivatives over the axes, from its own stream or from theirs."""
        if self.basis.laplacian and tuple(axes) == self.basis.laplacian:
            return self.streams[-1]
        return sum((self.derivative((i, i)) for i in axes), jnp.zeros_like(self.streams[0]))

    def __getitem__(self, columns) -> "Jet":
        return Jet(tuple(z[columns] for z in self.streams), self.basis)

    def __add__(self, other: "Jet") -> "Jet":
        return Jet(tuple(map(jnp.add, self.streams, other.streams)), self.basis)

    def __mul__(self, other: "Jet") -> "Jet":
        return multiply(self, other)


def coordinates(point: Float[Array, " axes"], basis: Basis) -> Jet:
    """The jet of the coordinates themselves: each has derivative one along its own axis."""
    derivatives = np.zeros((basis.size - 1, point.shape[0]))
    for row, key in enumerate(basis.keys[1:]):
        if len(key) == 1:
            derivatives[row, key[0]] = 1.0
    return Jet((point, *(jnp.asarray(row, point.dtype) for row in derivatives)), basis)


def constant(value: Float[Array, " width"], basis: Basis) -> Jet:
    return Jet((value, *[jnp.zeros_like(value)] * (basis.size - 1)), basis)


def concatenate(jets: Sequence[Jet]) -> Jet:
    rows = zip(*(jet.streams for jet in jets), strict=True)
    return Jet(tuple(jnp.concatenate(row) for row in rows), jets[0].basis)


def shift(jet: Jet, offset: Float[Array, " width"] | float) -> Jet:
    """Add a constant: only the value changes."""
    return Jet((jet.streams[0] + offset, *jet.streams[1:]), jet.basis)


def scale(jet: Jet, factor: Float[Array, " width"] | float) -> Jet:
    return Jet(tuple(z * factor for z in jet.streams), jet.basis)


def linear(jet: Jet, weight: Float[Array, "width out"], bias: Float[Array, " out"] | float) -> Jet:
    """One layer: every stream times the weight; the bias moves the value alone."""
    # Where float32 is multiplied in fewer digits by default (TF32 on GPUs), derivatives would keep three of them.
    products = (jnp.matmul(z, weight, precision=jax.lax.Precision.HIGHEST) for z in jet.streams)
    return shift(Jet(tuple(products), jet.basis), bias)


def multiply(a: Jet, b: Jet) -> Jet:
    """The product, element by element (a width of one is broadcast): Leibniz' rule."""
    basis, p, q = a.basis, a.streams, b.streams
    rows = []
    for key in basis.keys:
        halves = Counter((left, right) for left, right in _splits(key))
        rows.append(sum(n * p[basis.index(left)] * q[basis.index(right)] for (left, right), n in halves.items()))
    if basis.laplacian:
        cross = sum(p[basis.index((i,))] * q[basis.index((i,))] for i in basis.laplacian)
        rows.append(p[0] * q[-1] + 2 * cross + p[-1] * q[0])
    return Jet(tuple(rows), basis)


def apply(jet: Jet, function: Callable) -> Jet:
    """A function of one variable, applied element by element: Faà di Bruno's formula."""
    basis, z = jet.basis, jet.streams
    f = tower(function)(z[0], basis.order)
    rows = [f[0]]
    for key in basis.keys[1:]:
        terms = (n * f[len(blocks)] * _product(z, basis, blocks) for blocks, n in _partitions(key))
        rows.append(functools.reduce(jnp.add, terms))
    if basis.laplacian:
        squares = functools.reduce(jnp.add, [z[basis.index((i,))] ** 2 for i in basis.laplacian])
        rows.append(f[1] * z[-1] + f[2] * squares)
    return Jet(tuple(rows), basis)


def compose(jet: Jet, function: Callable) -> Jet:
    """Any function from vectors to vectors, opaque to us: the same formula by nested forward mode."""
    basis, z = jet.basis, jet.streams
    rows = [function(z[0])]
    for key in basis.keys[1:]:
        terms = (n * directional(function, z[0], [z[basis.index(b)] for b in blocks]) for blocks, n in _partitions(key))
        rows.append(functools.reduce(jnp.add, terms))
    if basis.laplacian:
        firsts = [z[basis.index((i,))] for i in basis.laplacian]
        seconds = [directional(function, z[0], [v, v]) for v in firsts]
        rows.append(functools.reduce(jnp.add, seconds, directional(function, z[0], [z[-1]])))
    return Jet(tuple(rows), basis)


def directional(function: Callable, point: Array, directions: Sequence[Array]) -> Array:
    """The derivative of a function along each of the directions, one after the other."""
    for direction in directions:
        function = functools.partial(_along, function, direction)
    return function(point)


def _along(function, direction, point):
    return jax.jvp(function, (point,), (direction.astype(point.dtype),))[1]


def tower(function: Callable) -> Callable[[Array, int], list[Array]]:
    """(z, order) -> the function and its derivatives at z: closed forms where we have them, else forward mode."""
    return next((closed for known, closed in _TOWERS if known is function), functools.partial(_any_tower, function))


def _any_tower(function, z, order):
    ones = jnp.ones_like(z)
    return [directional(jax.vmap(function), z, [ones] * k) for k in range(order + 1)]


def _tanh_tower(z, order):
    t = jnp.tanh(z)
    s = 1 - t * t
    return [t, *(s * _horner(_tanh_polynomial(k), t) for k in range(1, order + 1))]


@functools.cache
def _tanh_polynomial(k: int) -> tuple[float, ...]:
    """q_k with tanh^(k) = (1 - t²) q_k(t), t = tanh, lowest power first."""
    q = np.polynomial.Polynomial([1.0])
    for _ in range(k - 1):
        q = np.polynomial.Polynomial([0.0, -2.0]) * q + np.polynomial.Polynomial([1.0, 0.0, -1.0]) * q.deriv()
    return tuple(float(c) for c in q.coef)


def _horner(coefficients, t):
    total = jnp.full_like(t, coefficients[-1])
    for c in coefficients[-2::-1]:
        total = total * t + c if c else total * t
    return total


def _sin_tower(z, order):
    s = jnp.sin(z)
    if not order:
        return [s]
    c = jnp.cos(z)
    return [(s, c, -s, -c)[k % 4] for k in range(order + 1)]


def _cos_tower(z, order):
    c = jnp.cos(z)
    if not order:
        return [c]
    s = jnp.sin(z)
    return [(c, -s, -c, s)[k % 4] for k in range(order + 1)]


_TOWERS = ((jnp.tanh, _tanh_tower), (jnp.sin, _sin_tower), (jnp.cos, _cos_tower))


@functools.cache
def _partitions(key: Key) -> tuple[tuple[tuple[Key, ...], int], ...]:
    """The ways to split the factors of a derivative into blocks, equal ways counted once with their number."""
    counted = Counter(tuple(sorted(tuple(sorted(b)) for b in blocks)) for blocks in _set_partitions(key))
    return tuple(sorted(counted.items()))


def _set_partitions(items: Key):
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for smaller in _set_partitions(rest):
        yield [(first,), *smaller]
        for i, block in enumerate(smaller):
            yield [*smaller[:i], (first, *block), *smaller[i + 1 :]]


def _splits(key: Key):
    """Every way to give each factor of a derivative to the left or to the right."""
    for sides in itertools.product((True, False), repeat=len(key)):
        yield (
            tuple(k for k, s in zip(key, sides, strict=True) if s),
            tuple(k for k, s in zip(key, sides, strict=True) if not s),
        )


def _product(z, basis, blocks):
    return math.prod([z[basis.index(b)] for b in blocks[1:]], start=z[basis.index(blocks[0])])

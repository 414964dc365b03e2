"""The problem at given points and weights, as a least-squares system of the parameters."""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from stiffax.problem.base import Term
from stiffax.problem.coefficients import Unknown
from stiffax.problem.fields import Evaluator, Here, Names
from stiffax.problem.problem import Problem
from stiffax.system import AbstractLeastSquares, DenseLinearisation, ValueAndGradient

Coefficients = dict[str, Array]


class TermPoints(eqx.Module):
    """The points of one term; `share` is the part of the mean that a point stands for (0: an empty place)."""

    points: Float[Array, "n axes"]
    normals: Float[Array, "n normal"]
    targets: Float[Array, "n targets"]
    share: Float[Array, " n"]


class Trained(eqx.Module):
    """What one θ stands for: the fields' jets at a point, and the coefficients found so far."""

    model: Any  # (point, basis, coefficients) -> Jet
    free: Coefficients  # the unknown coefficients, positive ones by their logarithm
    kinds: dict[str, Unknown] = eqx.field(static=True)

    @property
    def unknowns(self) -> Coefficients:
        return {n: from_free(self.kinds[n], value) for n, value in self.free.items()}


def to_free(kind: Unknown, value: Array) -> Array:
    return jnp.log(value) if kind.positive else value


def from_free(kind: Unknown, value: Array) -> Array:
    return jnp.exp(value) if kind.positive else value


@dataclasses.dataclass(frozen=True, eq=False)
class Layout:
    """What stays the same during a run: the terms, the vocabulary, what θ stands for, and the size of a block."""

    terms: tuple[Term, ...]
    names: Names
    unravel: Callable[[Array], Any]  # θ -> the trained arrays, as a tree
    still: Trained  # the rest of what is trained: sizes, functions, fixed numbers
    most: int  # points in a block at most

    def only(self, number: int) -> "Layout":
        """The same with one term alone, all points in one block."""
        return dataclasses.replace(self, terms=(self.terms[number],), most=1 << 30)

    def trained(self, θ: Array) -> Trained:
        return eqx.combine(self.unravel(θ), self.still)


def block_count(n: int, most: int) -> int:
    """Into how many equal blocks n points are cut; `filled` says how many places that takes."""
    return max(1, -(-n // most))


def filled(n: int, most: int) -> int:
    count = block_count(n, most)
    return count * -(-n // count)


class Assembled(NamedTuple):
    layout: Layout
    θ: Array


def assemble(problem: Problem, terms: tuple[Term, ...], model: Any, most: int) -> Assembled:
    """What a problem and the network of its fields make of a vector θ, and its first value."""
    unknowns = {n: to_free(c, jnp.asarray(c.start, float)) for n, c in problem.unknowns.items()}
    arrays, still = eqx.partition(Trained(model, unknowns, problem.unknowns), eqx.is_inexact_array)
    θ, unravel = ravel_pytree(arrays)
    return Assembled(Layout(terms, problem.names, unravel, still, most), θ)


class PointSystem(AbstractLeastSquares):
    """Mean squares of the terms' rows at points, each row with its weight: r = √(weight · share) · row."""

    points: tuple[TermPoints, ...]
    weights: tuple[Float[Array, " rows"], ...]
    coefficients: Coefficients
    layout: Layout = eqx.field(static=True)

    @property
    def count(self):
        sizes = zip(self.layout.terms, self.points, strict=True)
        return sum(len(t.labels) * (1 if t.group else p.share.shape[0]) for t, p in sizes)

    def tree(self, θ):
        return self.layout.unravel(θ)

    def flat(self, tree):
        del self
        return ravel_pytree(tree)[0]

    def _at(self, term: Term, θ, point, normal, target) -> Float[Array, " labels"]:
        """The rows of a term at one point, without weights."""
        trained = self.layout.trained(θ)
        coefficients = self.coefficients | trained.unknowns

        def fields(place, basis):
            return trained.model(place, basis, coefficients)

        known = normal if normal.shape[0] else None
        here = Here(Evaluator(self.layout.names, fields, term.plan), point, coefficients, known, target)
        return jnp.stack([jnp.asarray(row, point.dtype) for row in term.rows(here)])

    def _map(self, function: Callable, points: TermPoints):
        """A function of (point, normal, target, share), over all points in blocks that stay in cache."""
        arrays = (points.points, points.normals, points.targets, points.share)
        n = points.share.shape[0]
        count = block_count(n, self.layout.most)
        if count == 1:
            return jax.vmap(function)(*arrays)
        blocks = [a.reshape(count, n // count, *a.shape[1:]) for a in arrays]
        out = jax.lax.map(lambda chunk: jax.vmap(function)(*chunk), tuple(blocks))
        return out.reshape(n, *out.shape[2:])

    def _rows(self, θ, term, points, weights):
        """The weighted rows of one term as a matrix (points, labels); one line only where they are grouped."""
        if not term.group:
            return self._map(lambda p, v, t, s: jnp.sqrt(weights * s) * self._at(term, θ, p, v, t), points)
        mean = self._map(lambda p, v, t, s: s * self._at(term, θ, p, v, t), points).sum(0)
        return (jnp.sqrt(weights) * (term.group.factor * mean - term.group.value))[None]

    def _each(self):
        return zip(self.layout.terms, self.points, self.weights, strict=True)

    def residuals(self, θ):
        return jnp.concatenate([self._rows(θ, *each).ravel() for each in self._each()])

    def _jacobian(self, θ, term, points, weights):
        if term.group:
            return jax.jacrev(lambda v: self._rows(v, term, points, weights)[0])(θ)

        def at(p, v, t, s):
            factor = jnp.sqrt(weights * s)
            return jax.jacrev(lambda parameters: factor * self._at(term, parameters, p, v, t))(θ)

        return self._map(at, points).reshape(-1, θ.size)

    def linearise(self, θ):
        return DenseLinearisation(
            self.residuals(θ), jnp.concatenate([self._jacobian(θ, *each) for each in self._each()])
        )

    def curvature(self, θ, v):
        def slope(parameters):
            return jax.jvp(self.residuals, (parameters,), (v,))[1]

        return jax.jvp(slope, (θ,), (v,))[1]

    def value(self, θ):
        return jnp.sum(self.residuals(θ) ** 2)

    def value_and_gradient(self, θ):
        """Added up block by block: differentiating the map over blocks would keep what every one of them computed."""
        total = ValueAndGradient(jnp.zeros((), θ.dtype), jnp.zeros_like(θ))
        for term, points, weights in self._each():

            def squares(parameters, part, term=term, weights=weights):
                return jnp.sum(self._rows(parameters, term, part, weights) ** 2)

            def add(so_far, part, squares=squares):
                here = ValueAndGradient(*jax.value_and_grad(squares)(θ, part))
                return jax.tree.map(jnp.add, so_far, here), None

            count = 1 if term.group else block_count(points.share.shape[0], self.layout.most)
            blocks = jax.tree.map(lambda a, k=count: a.reshape(k, a.shape[0] // k, *a.shape[1:]), points)
            total, _ = jax.lax.scan(add, total, blocks)
        return total

    def hvp(self, θ, v):
        return jax.jvp(jax.grad(self.value), (θ,), (v,))[1]

    def blame(self, θ):
        for term, points, weights in self._each():
            both = jax.jit(lambda v, p, w, t=term: (self._rows(v, t, p, w), self._jacobian(v, t, p, w)))
            rows, slopes = both(θ, points, weights)
            slopes = slopes.reshape(*rows.shape, -1)
            for what, bad in (("", ~jnp.isfinite(rows)), ("the slope of ", ~jnp.isfinite(slopes).all(-1))):
                if bad.any():
                    row, label = (int(i) for i in jnp.argwhere(bad)[0])
                    return f"{what}{term.labels[label]!r} is not finite{self._spot(term, points.points[row])}"
        return ""

    def _spot(self, term: Term, point) -> str:
        if term.group:
            return ""
        named = zip(self.layout.names.coordinates, point, strict=True)
        return " at " + ", ".join(f"{name}={float(value):.4g}" for name, value in named)

    def parts(self, θ):
        """Mean squares by label, without weights."""
        ones = [jnp.ones_like(w) for w in self.weights]
        each = zip(self.layout.terms, self.points, ones, strict=True)
        return jnp.concatenate([(self._rows(θ, *e) ** 2).sum(0) for e in each])

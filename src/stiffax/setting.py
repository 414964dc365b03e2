"""The physics as the loop sees it: points and weights renewed by accepted steps, held-out points, errors."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from stiffax.batches import Batches
from stiffax.cache import Program
from stiffax.errors import StiffaxError
from stiffax.jets import VALUE
from stiffax.network.composition import output_scales
from stiffax.problem.base import Term
from stiffax.problem.names import call, nearest
from stiffax.problem.physics import Layout, PointSystem, TermPoints, filled
from stiffax.problem.points import Points, Sobol
from stiffax.problem.problem import Problem
from stiffax.problem.refresh import HELD_OUT, REPORTED, TRAINING, AbstractRefresh, Choice, draw_seed
from stiffax.records import Row, Run
from stiffax.train import AbstractSetting, Observation

BALANCED_AT = (0, 10, 30, 100, 300)  # accepted steps after which balanced weights are taken anew
SMALLEST_WEIGHT, LARGEST_WEIGHT = 1e-3, 1e8
ERROR_POINTS = 4000
GAP = 10.0  # held-out over training loss: above it few points are fitted, not the equation
GROWTH, MOST_GROWTH = 2, 4  # then a run takes twice the points, and no more than four times those of its start
BATCHES = 3  # the stream of random numbers beside those of the points


@dataclasses.dataclass(frozen=True)
class Weights:
    """Factors by label: fixed where the user gave one, balanced elsewhere."""

    labels: tuple[str, ...]
    owners: tuple[str, ...]
    equations: tuple[bool, ...]
    measured: tuple[bool, ...]
    fixed: Mapping[str, float]

    def first(self) -> np.ndarray:
        return np.array([self.fixed.get(o, 1.0) for o in self.owners])

    def balance(self, squares: np.ndarray, now: np.ndarray) -> np.ndarray:
        """Factors that make the mean squared Jacobian row of every condition that of the equations.

        Equations are balanced against each other once, at the start, where `now` is the factors of `first`: their
        product stays one. The factors of conditions move far during a run, those of the equations are kept.
        Measurements carry noise: where other conditions hold the solution too, they never weigh more than an equation.
        """
        equations = np.array(self.equations) & (squares > 0)
        weighted = squares * now
        level = np.exp(np.mean(np.log(weighted[equations]))) if equations.any() else 1.0
        free = np.where(squares > 0, level / np.maximum(squares, 1e-300), 1.0)
        kept = np.array(self.equations) & (not np.array_equal(now, self.first()))
        free = np.where(self.equations, free, np.clip(free, SMALLEST_WEIGHT, LARGEST_WEIGHT))
        if not all(np.logical_or(self.measured, self.equations)):
            free = np.where(self.measured, np.minimum(free, 1.0), free)
        free = np.where(kept, now, free)
        return np.array([self.fixed.get(o, f) for o, f in zip(self.owners, free, strict=True)])


def weights(problem: Problem, terms: tuple[Term, ...], given) -> Weights:
    labels = tuple(label for t in terms for label in t.labels)
    owners = tuple(owner for t in terms for owner in t.owners)
    equations = tuple(t.condition is None for t in terms for _ in t.labels)
    measured = tuple(t.measured is not None for t in terms for _ in t.labels)
    if given is None or given == "balanced":
        return Weights(labels, owners, equations, measured, {})
    if not isinstance(given, Mapping):
        raise StiffaxError(f'weights: expected "balanced" or factors by name such as {{"walls": 10.0}}, got {given!r}.')
    for name, value in given.items():
        if name not in owners:
            raise StiffaxError(f"weights: unknown name {name!r}.{nearest(name, dict.fromkeys(owners))}")
        if not (np.isfinite(value) and value > 0):
            raise StiffaxError(f"weights of {name!r}: expected a positive number, got {value!r}.")
    return Weights(labels, owners, equations, measured, dict(given))


def is_overfitted(history: Sequence[Row]) -> bool:
    """Whether the held-out residual stayed far above that of training at the last three looks."""
    return len(history) >= 3 and all(row.validation > GAP * row.loss for row in history[-3:])


def widest_gap(history: Sequence[Row]) -> float:
    """The largest factor by which the held-out loss has been above that of training."""
    return max((row.validation / row.loss for row in history if row.loss > 0), default=1.0)


def loss_unit(problem: Problem) -> float:
    """The mean square of the fields' sizes: divided by it, a loss of kelvins is one of order 1."""
    return float(np.mean([scale.size**2 for scale in output_scales(problem).values()]))


def on_device(term: Term, points: Points, targets: np.ndarray | None, most: int, plain: bool = False) -> TermPoints:
    """Points with their shares, filled up with empty places to whole blocks.

    A `plain` mean is by measure. In training, squared residuals count by 1/density²: those in a layer, where graded
    points crowd because the solution is steep, must not outshout the rest.
    """
    n = len(points.points)
    power = 1 if term.group or plain else 2
    share = points.density**-power / n
    room = filled(n, most) - n

    def whole(a):
        return jnp.asarray(np.concatenate([a, np.repeat(a[:1], room, axis=0)]) if room else a, float)

    normals = points.normals if points.normals is not None else np.zeros((n, 0))
    targets = targets if targets is not None else np.zeros((n, 0))
    share = np.concatenate([share, np.zeros(room)])
    return TermPoints(whole(points.points), whole(normals), whole(targets), jnp.asarray(share, float))


def draw_all(problem: Problem, layout: Layout, choices: Mapping[str, Choice], seed: int, stream: int):
    """The points of every term for one stream and one seed; measured points are what they are."""
    drawn = []
    for number, term in enumerate(layout.terms):
        if term.measured is not None:
            given, targets = term.measured
            points = Points(given, None, np.ones(len(given)))
        else:
            draw = choices[term.name].draw if stream == TRAINING else choices[term.name].unseen
            points, targets = draw(term, draw_seed(seed, stream, 0, number)), None
        drawn.append(on_device(term, points, targets, layout.most, plain=stream == REPORTED))
    return tuple(drawn)


def reference(problem: Problem, layout: Layout) -> Callable | None:
    """(θ, coefficients, points) -> values and exact values of the fields that have a reference, one row each."""
    covered = [f for f in problem.fields if f in problem.exact]
    if not covered:
        return None
    columns = [problem.fields.index(f) for f in covered]

    def both(θ, coefficients, point):
        trained = layout.trained(θ)
        everything = coefficients | trained.unknowns
        got = trained.model(point, VALUE, everything).value[jnp.asarray(columns)]
        known = {n: point[i] for i, n in enumerate(problem.coordinates)} | everything
        want = [jnp.asarray(call(problem.exact[f], known, f"exact {f!r}"), point.dtype) for f in covered]
        return jnp.stack([got, jnp.stack(want)])

    def at(θ, coefficients, points):
        return jnp.moveaxis(jax.lax.map(lambda p: both(θ, coefficients, p), points, batch_size=500), 0, -1)

    return at


class PhysicsSetting(AbstractSetting):
    """A problem, its terms, and everything about points and weights that a run does not carry itself."""

    def __init__(self, problem, layout, choices, refresh, weights, seed, batches: Batches | None = None):
        self.problem, self.layout, self.seed, self.batches = problem, layout, seed, batches
        self.choices: Mapping[str, Choice] = choices
        self.refresh: AbstractRefresh = refresh
        self.weights: Weights = weights
        self.unit = loss_unit(problem)
        self.every = refresh.every or 10
        self.squares = Program(_mean_square_rows)
        self.looking = Program(self._observation)
        self.parts = Program(lambda system, θ, points: eqx.tree_at(lambda s: s.points, system, points).parts(θ))
        self.alone = [layout.only(number) for number in range(len(layout.terms))]
        self.magnitudes = [Program(_magnitudes) for _ in layout.terms]
        self.sets = {}

    # points and weights

    def points(self, stream: int) -> tuple[TermPoints, ...]:
        return draw_all(self.problem, self.layout, self.choices, self.seed, stream)

    def system(self) -> PointSystem:
        fixed = {n: jnp.asarray(v, float) for n, v in self.problem.fixed.items()}
        return PointSystem(self.points(TRAINING), self._by_term(self.weights.first()), fixed, self.layout)

    def _by_term(self, factors: np.ndarray) -> tuple[Array, ...]:
        ends = np.cumsum([len(t.labels) for t in self.layout.terms])[:-1]
        return tuple(jnp.asarray(part, float) for part in np.split(factors / self.unit, ends))

    def factors(self, run: Run) -> np.ndarray:
        """The weights by label, without the unit of the loss."""
        return np.concatenate([np.asarray(w, np.float64) for w in run.system.weights]) * self.unit

    def balanced(self, run: Run) -> Run:
        factors = self.weights.balance(np.asarray(self.squares(run.system, run.θ), float), self.factors(run))
        return eqx.tree_at(lambda r: r.system.weights, run, self._by_term(factors))

    def next(self, accepted):
        stops = [(accepted // self.every + 1) * self.every]
        return min([*stops, *(n for n in BALANCED_AT if n > accepted)])

    def renew(self, run, history):
        accepted = int(run.accepted)
        if self.refresh.every and accepted % self.refresh.every == 0:
            more = GROWTH if self._is_short_of_points(run, history) else 1
            points = self._redrawn(run, accepted, more, widest_gap(history))
            run = eqx.tree_at(lambda r: r.system.points, run, points)
        return self.balanced(run) if accepted in BALANCED_AT else run

    def size(self, run):
        return run.system.points[0].share.shape[0]

    def counts(self, run: Run) -> dict[str, int]:
        """How many points every term has now, empty places not counted."""
        numbers = range(len(self.layout.terms))
        return {self.layout.terms[n].name: int((run.system.points[n].share > 0).sum()) for n in numbers}

    def _is_short_of_points(self, run: Run, history: list[Row]) -> bool:
        """Whether few points were fitted and not the equation: three looks with the held-out residual far above."""
        if self._multiple(run, 0) * GROWTH > MOST_GROWTH or not self.choices[self.layout.terms[0].name].free:
            return False
        return is_overfitted(history) and all(row.points == self.size(run) for row in history[-3:])

    def _multiple(self, run: Run, number: int) -> int:
        """How many times its first points a term has now."""
        first = filled(self.choices[self.layout.terms[number].name].count, self.layout.most)
        return max(1, run.system.points[number].share.shape[0] // first)

    def batch(self, system: PointSystem, number):
        points = list(system.points)
        for k, term in enumerate(self.layout.terms):
            if self.batches is not None and not term.group:
                points[k] = self._part(points[k], self.batches, number, draw_seed(self.seed, BATCHES, 0, k))
        return eqx.tree_at(lambda s: s.points, system, tuple(points))

    def _part(self, points: TermPoints, batches: Batches, number, seed: int) -> TermPoints:
        """What one step sees of the points of a term; the shares stand for all of them."""
        count, size = points.share.shape[0], filled(batches.size, self.layout.most)
        if count <= size:
            return points
        places = Batches(size).places(count, number, seed)
        part = jax.tree.map(lambda a: a[places], points)
        return eqx.tree_at(lambda p: p.share, part, part.share * (count / size))

    def _redrawn(self, run: Run, accepted: int, more: int, gap: float) -> tuple[TermPoints, ...]:
        numbers = range(len(self.layout.terms))
        return tuple(self._redrawn_term(run, accepted, number, more, gap) for number in numbers)

    def _redrawn_term(self, run: Run, accepted: int, number: int, more: int, gap: float) -> TermPoints:
        term, old = self.layout.terms[number], run.system.points[number]
        if term.measured is not None:
            return old
        seed = draw_seed(self.seed, TRAINING, accepted, number)
        choice = self.choices[term.name].times(self._multiple(run, number) * more)
        points = self.refresh.draw(term, choice, seed, lambda t, p: self._sizes(run, number, p), gap)
        return on_device(term, points, None, self.layout.most)

    def _sizes(self, run: Run, number: int, points: np.ndarray) -> np.ndarray:
        n = len(points)
        own = TermPoints(jnp.asarray(points), jnp.zeros((n, 0)), jnp.zeros((n, 0)), jnp.ones(n))
        system = PointSystem((own,), (run.system.weights[number],), run.system.coefficients, self.alone[number])
        return np.asarray(self.magnitudes[number](system, run.θ))

    # looking

    def observe(self, run, θ):
        if not self.sets:
            at = error_points(self.problem)
            self.sets = {"held out": self.points(HELD_OUT), "error": jnp.asarray(at, float)}
        return self.looking(run.system, θ, self.sets["held out"], self.sets["error"])

    def _observation(self, system: PointSystem, θ, held_out, error_points):
        held = eqx.tree_at(lambda s: s.points, system, held_out)
        at = reference(self.problem, self.layout)
        if at is None:
            return Observation(held.parts(θ), jnp.asarray(jnp.nan, θ.dtype))
        got, want = at(θ, system.coefficients, error_points)
        size = jnp.linalg.norm(want, axis=1)
        size = jnp.where(size > 0, size, want.shape[1] ** 0.5)  # a reference that is zero everywhere: as if it were one
        relative = jnp.linalg.norm(got - want, axis=1) / size
        return Observation(held.parts(θ), jnp.max(relative))

    def final(self, run: Run) -> tuple[np.ndarray, np.ndarray]:
        """Mean squares by label of the best parameters: on the points of training, and on ones never looked at."""
        reported = self.points(REPORTED)
        seen = [self.parts(run.system, run.best, points) for points in (run.system.points, reported)]
        return np.asarray(seen[0]), np.asarray(seen[1])

    def judge(self, run, parts):
        return float(np.sum(np.concatenate([np.asarray(w) for w in run.system.weights]) * np.asarray(parts)))

    @property
    def compile_seconds(self) -> float:
        return sum(p.seconds for p in (self.squares, self.looking, self.parts, *self.magnitudes))


def error_points(problem: Problem) -> np.ndarray:
    region = problem.region(problem.domain)
    return Sobol().draw(region, ERROR_POINTS, 987654321).points


def _mean_square_rows(system: PointSystem, θ) -> Array:
    """The mean squared Jacobian row by label, without weights."""
    ones = tuple(jnp.ones_like(w) for w in system.weights)
    bare = eqx.tree_at(lambda s: s.weights, system, ones)
    squares = bare.linearise(θ).row_norms() ** 2
    found, start = [], 0
    for term, points in zip(system.layout.terms, system.points, strict=True):
        width = len(term.labels)
        size = width * (1 if term.group else points.share.shape[0])
        found.append(squares[start : start + size].reshape(-1, width).sum(0))
        start += size
    return jnp.concatenate(found)


def _magnitudes(system: PointSystem, θ) -> Array:
    """How large the rows of the only term are, at each of its points."""
    return jnp.linalg.norm(system.residuals(θ).reshape(-1, len(system.layout.terms[0].labels)), axis=1)

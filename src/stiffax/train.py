"""The one loop, where what and how meet.

Attempts run inside one compiled program, a chunk of them at a time; between chunks, and only there, points are
renewed, the held-out residual is looked at, a checkpoint is written, a person is told, and the run may end. What a
chunk computes does not depend on where chunks are cut.
"""

import abc
import dataclasses
import math
import time
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from stiffax.cache import Program
from stiffax.endings import gave_up, stagnates
from stiffax.integrators.base import AbstractIntegrator
from stiffax.records import Progress, Result, Row, Run, work
from stiffax.system import AbstractLoss

MOST_REFUSALS = 60  # in a row: α has then shrunk by 4⁶⁰
CHUNK_SECONDS = 0.7
SAVE_SECONDS = 2.0


@dataclasses.dataclass(frozen=True)
class Limits:
    """When to end. `target` is on the error where there is a reference, else on the held-out residual."""

    steps: int | None = None
    seconds: float | None = None
    target: float | None = None
    stagnation: bool = True


class Observation(eqx.Module):
    """What is seen of a run between chunks: held-out mean squares by part, and the error if there is a reference."""

    parts: Float[Array, " parts"]
    error: Float[Array, ""]


class AbstractSetting(abc.ABC):
    """What the loop asks of the physics between chunks."""

    every: int  # accepted steps between looks

    @abc.abstractmethod
    def next(self, accepted: int) -> int:
        """The next count of accepted steps at which the loop must stop to renew."""

    @abc.abstractmethod
    def renew(self, run: Run, history: list[Row]) -> Run:
        """The run with the points and weights that belong to its count of accepted steps and to what was seen."""

    @abc.abstractmethod
    def batch(self, system: Any, number: Array) -> Any:
        """The part of a system that step `number` sees, or all of it; traced inside the compiled chunk."""

    @abc.abstractmethod
    def size(self, run: Run) -> int:
        """How many points the equations have now."""

    @abc.abstractmethod
    def observe(self, run: Run, θ: Array) -> Observation:
        """A look at some parameters, on points that are never trained on."""

    @abc.abstractmethod
    def judge(self, run: Run, parts: Array) -> float:
        """One number for the held-out mean squares, with the run's weights: comparable to its loss."""


def begin(system: AbstractLoss, θ: Array, integrator: AbstractIntegrator) -> Run:
    """The run before its first step."""
    zero, nan = jnp.asarray(0), jnp.asarray(jnp.nan, θ.dtype)
    parts = jnp.full(jax.eval_shape(system.parts, θ).shape, jnp.inf, θ.dtype)
    α = jnp.asarray(integrator.controller.start, θ.dtype)
    return Run(θ, system, integrator.init(system, θ), α, zero, zero, zero, nan, nan, work(), θ, parts)


def attempts(integrator: AbstractIntegrator, batch: Callable[[Any, Array], Any] = lambda system, number: system):
    """(run, until, budget) -> the run after at most `budget` attempts, with no more than `until` accepted steps.

    `batch` cuts out of the system what the step after so many accepted ones sees.
    """

    def going(run, until, end):
        tried = run.accepted + run.refused
        return (run.accepted < until) & (tried < end) & (run.streak < MOST_REFUSALS)

    def one_attempt(run: Run, system, prepared) -> Run:
        step = integrator.attempt(system, run.θ, run.integrator, prepared, run.α)
        verdict = integrator.controller.judge(step, run.α)
        keep = verdict.keep

        def choose(new, old):
            return jax.tree.map(lambda a, b: jnp.where(keep, a, b), new, old)

        return eqx.tree_at(
            lambda r: (r.θ, r.integrator, r.α, r.accepted, r.refused, r.streak, r.loss, r.defect, r.work),
            run,
            (
                choose(step.θ, run.θ),
                choose(step.state, run.integrator),
                verdict.α.astype(run.α.dtype),
                run.accepted + keep,
                run.refused + ~keep,
                jnp.where(keep, 0, run.streak + 1),
                jnp.where(keep, step.after, step.before),
                jnp.where(keep, step.defect, run.defect),
                # what is shared is counted with the first attempt: chunks may cut between attempts and prepare again
                run.work + step.work + jax.tree.map(lambda n: jnp.where(run.streak == 0, n, 0), prepared.work),
            ),
        )

    def one_step(run: Run, until, end) -> Run:
        """Prepare once, then try until a step is accepted."""
        start, system = run.accepted, batch(run.system, run.accepted)
        prepared = integrator.prepare(system, run.θ, run.integrator)
        return jax.lax.while_loop(
            lambda r: (r.accepted == start) & going(r, until, end), lambda r: one_attempt(r, system, prepared), run
        )

    def chunk(run: Run, until, budget) -> Run:
        end = run.accepted + run.refused + budget
        return jax.lax.while_loop(lambda r: going(r, until, end), lambda r: one_step(r, until, end), run)

    return chunk


@dataclasses.dataclass
class Clock:
    """Wall time of the whole solve, earlier sittings included."""

    earlier: float = 0.0
    start: float = dataclasses.field(default_factory=time.perf_counter)

    @property
    def seconds(self) -> float:
        return self.earlier + time.perf_counter() - self.start


@dataclasses.dataclass
class Loop:
    """One run of the loop: the run itself goes in and comes out; the rest is what surrounds it."""

    integrator: AbstractIntegrator
    setting: AbstractSetting
    limits: Limits
    clock: Clock
    history: list[Row]
    watch: Callable[[Progress], None]
    save: Callable[[Run, list[Row]], None]
    last: bool = True  # whether the run ends with this loop, or another phase follows

    def __post_init__(self):
        self.chunk = Program(attempts(self.integrator, self.setting.batch))
        self.per_attempt = math.inf
        self.last_look = 0.0  # what the looks after the end will cost, as much as the first one did
        self.saved = self.clock.seconds

    def go(self, run: Run) -> tuple[Run, Result]:
        """Train until something ends it. Ctrl-C returns what there is."""
        try:
            while True:
                run, result = self._advance(run)
                if result is not None:
                    return run, result
        except KeyboardInterrupt:
            return self._look(run), Result("interrupted", "stopped by Ctrl-C; this is the solution so far.", True)

    def _advance(self, run: Run) -> tuple[Run, Result | None]:
        accepted = int(run.accepted)
        until = self.setting.next(accepted)
        if self.limits.steps is not None:
            until = min(until, self.limits.steps)
        budget = 1 if math.isinf(self.per_attempt) else max(1, int(CHUNK_SECONDS / self.per_attempt))
        run = self._timed(run, jnp.asarray(until), jnp.asarray(budget))
        result = self._ended(run)
        if int(run.accepted) >= until or result is not None:
            run = self._look(run)
            result = self._reached() or self._missed(result) or self._stagnated()
            if result is None:
                run = self.setting.renew(run, self.history)
        self._tell("training", run)
        if result is None and self.clock.seconds - self.saved > SAVE_SECONDS:
            self.save(run, self.history)
            self.saved = self.clock.seconds
        return run, result

    def _timed(self, run, until, budget):
        if self.chunk.is_new_for(run, until, budget):
            self._tell("compiling", run)
        before, compiled = int(run.accepted) + int(run.refused), self.chunk.seconds
        start = time.perf_counter()
        run = jax.block_until_ready(self.chunk(run, until, budget))
        took = time.perf_counter() - start - (self.chunk.seconds - compiled)
        self.per_attempt = max(took / max(1, int(run.accepted) + int(run.refused) - before), 1e-4)
        return run

    def _look(self, run: Run) -> Run:
        """Look at the held-out residual, remember the best parameters, write a row of history."""
        start = self.clock.seconds
        seen = self.setting.observe(run, run.θ)
        self.last_look = self.last_look or self.clock.seconds - start
        value, best = self.setting.judge(run, seen.parts), self.setting.judge(run, run.best_parts)
        if value <= best or not math.isfinite(best):
            run = eqx.tree_at(lambda r: (r.best, r.best_parts), run, (run.θ, seen.parts))
        error = float(seen.error)
        row = Row(
            int(run.accepted),
            int(run.refused),
            self.clock.seconds,
            float(run.loss),
            float(run.α),
            float(run.defect),
            value,
            None if math.isnan(error) else error,
            int(run.work.iterations),
            self.setting.size(run),
        )
        if not self.history or self.history[-1].steps != row.steps or self.history[-1].refused != row.refused:
            self.history.append(row)
        return run

    def _tell(self, phase: str, run: Run) -> None:
        last = self.history[-1] if self.history else None
        self.watch(
            Progress(
                phase,
                int(run.accepted),
                int(run.refused),
                float(run.loss),
                float(run.α),
                last.validation if last else math.nan,
                last.error if last else None,
                self.clock.seconds,
                self.limits.seconds,
                self.limits.steps,
            )
        )

    def _ended(self, run: Run) -> Result | None:
        """What ends a run whatever the held-out residual says."""
        if int(run.streak) >= MOST_REFUSALS:
            return gave_up(run, MOST_REFUSALS)
        if self.limits.steps is not None and int(run.accepted) >= self.limits.steps:
            if not self.last:
                return Result("phase", "this phase is done.", True)
            return Result("steps", f"did the {self.limits.steps} steps asked for.", True)
        if self.limits.seconds is not None and self.clock.seconds + self.last_look >= self.limits.seconds:
            return Result("time", f"used the {self.limits.seconds:g} s asked for.", True)
        return None

    def _reached(self) -> Result | None:
        if self.limits.target is None:
            return None
        what, value = self._measured()
        if value > self.limits.target:
            return None
        return Result("target", f"reached the target: {what} {value:.1e} ≤ {self.limits.target:g}.", True)

    def _missed(self, result: Result | None) -> Result | None:
        """The same ending, but not as asked where a target was given."""
        if result is None or self.limits.target is None or result.name == "phase":
            return result
        what, value = self._measured()
        return Result(result.name, f"{result.text} The target was not reached: {what} {value:.1e}.", False)

    def _measured(self) -> tuple[str, float]:
        last = self.history[-1]
        if last.error is not None:
            return "relative L2 error", last.error
        return "held-out residual", math.sqrt(last.validation)

    def _stagnated(self) -> Result | None:
        if not self.limits.stagnation or not stagnates([(r.steps, r.validation) for r in self.history]):
            return None
        return self._missed(
            Result(
                "stagnation",
                "the held-out residual no longer falls: the network, the points or the precision allow no more. "
                "A wider network, more points or another seed may go further.",
                True,
            )
        )

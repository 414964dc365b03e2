"""Stages over the one loop, resumable at any moment. So far a stage is a phase: an optimizer and how long it goes."""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import equinox as eqx
import jax.numpy as jnp

from stiffax import checkpoint
from stiffax.errors import StiffaxError
from stiffax.integrators.base import AbstractIntegrator
from stiffax.records import Progress, Result, Row, Run
from stiffax.system import AbstractLoss
from stiffax.train import AbstractSetting, Clock, Limits, Loop, begin


@dataclasses.dataclass(frozen=True)
class Phase:
    """One optimizer for so many accepted steps; without `steps` until the run ends."""

    optimizer: AbstractIntegrator
    steps: int | None = None


def phases(optimizer: AbstractIntegrator | Phase | Sequence[Phase]) -> tuple[Phase, ...]:
    """What `solve` was given, as phases; only the last may be without an end."""
    if isinstance(optimizer, AbstractIntegrator):
        return (Phase(optimizer),)
    given = (optimizer,) if isinstance(optimizer, Phase) else tuple(optimizer)
    if not given or not all(isinstance(phase, Phase) for phase in given):
        raise StiffaxError(
            f"optimizer: expected sx.ImplicitEuler(...), sx.ExplicitEuler(...) or phases; got {optimizer!r}."
        )
    if any(phase.steps is None for phase in given[:-1]):
        raise StiffaxError("optimizer: every phase but the last needs steps=.")
    return given


@dataclasses.dataclass(frozen=True)
class Keeper:
    """Writes checkpoints of a plan into a folder."""

    folder: Path
    clock: Clock

    def save(self, stage: int, start: int, run: Run, history: list[Row]) -> None:
        facts = {"stage": stage, "start": start, "seconds": self.clock.seconds}
        checkpoint.write(self.folder, run, facts, history)

    def facts(self) -> dict[str, Any] | None:
        return checkpoint.facts(self.folder)

    def load(self, like: Run) -> checkpoint.Saved:
        return checkpoint.read(self.folder, like)


@dataclasses.dataclass(frozen=True)
class Outcome:
    run: Run
    result: Result
    history: list[Row]
    compile_seconds: float


@dataclasses.dataclass
class Plan:
    """Phases one after the other, with one clock, one history and one set of limits."""

    phases: tuple[Phase, ...]
    setting: AbstractSetting
    limits: Limits
    clock: Clock
    watch: Callable[[Progress], None]
    keeper: Keeper | None = None

    def go(self, system: AbstractLoss, θ, resuming: bool = False) -> Outcome:
        """Run the phases from the first, or from where the checkpoint stands."""
        stage, start, history, compiling = 0, 0, [], 0.0
        run = begin(system, θ, self.phases[0].optimizer)
        facts = self.keeper.facts() if self.keeper is not None and resuming else None
        if self.keeper is None or facts is None:
            run = self.setting.renew(run, history)
        else:
            stage, start = facts["stage"], facts["start"]
            saved = self.keeper.load(begin(system, θ, self.phases[stage].optimizer))
            run, history, self.clock.earlier = saved.run, saved.history, facts["seconds"]
        while True:
            loop = self._loop(stage, start, history)
            run, result = loop.go(run)
            compiling += loop.chunk.seconds
            if result.name != "phase":
                loop.save(run, history)
                return Outcome(run, result, history, compiling)
            stage, start = stage + 1, int(run.accepted)
            run = _next_phase(run, self.phases[stage].optimizer)

    def _loop(self, stage: int, start: int, history: list[Row]) -> Loop:
        own = self.phases[stage].steps
        ends = [n for n in (self.limits.steps, None if own is None else start + own) if n is not None]
        until = min(ends, default=None)
        last = stage == len(self.phases) - 1 or until == self.limits.steps
        limits = dataclasses.replace(self.limits, steps=until, stagnation=self.limits.stagnation and last)

        def save(run, rows):
            if self.keeper is not None:
                self.keeper.save(stage, start, run, rows)

        optimizer = self.phases[stage].optimizer
        return Loop(optimizer, self.setting, limits, self.clock, history, self.watch, save, last)


def _next_phase(run: Run, optimizer: AbstractIntegrator) -> Run:
    """The same parameters, points and weights under another optimizer, which begins afresh."""
    α = jnp.asarray(optimizer.controller.start, run.α.dtype)
    state = optimizer.init(run.system, run.θ)
    fresh = (state, α, jnp.zeros_like(run.streak))
    own = run.integrator
    return eqx.tree_at(lambda r: (r.integrator, r.α, r.streak), run, fresh, is_leaf=lambda x: x is own)

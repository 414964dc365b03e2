"""The entry points: defaults are chosen here, the plan is run, and a solution comes back."""

import dataclasses
import json
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from stiffax import checkpoint
from stiffax.account import by_owner, derivatives_read, errors, seen_late
from stiffax.batches import Batches
from stiffax.cache import folder as cache_folder
from stiffax.cache import programs_kept
from stiffax.errors import StiffaxError, StiffaxWarning
from stiffax.evaluate import Live
from stiffax.integrators.base import AbstractIntegrator
from stiffax.integrators.implicit import ImplicitEuler
from stiffax.network.base import AbstractArchitecture
from stiffax.network.composition import Networks, compose
from stiffax.network.mlp import MLP
from stiffax.plan import Keeper, Outcome, Phase, Plan, phases
from stiffax.precision import WHAT_TO_EXPECT, computing
from stiffax.problem.base import Term
from stiffax.problem.physics import assemble
from stiffax.problem.points import AbstractPoints
from stiffax.problem.problem import Problem
from stiffax.problem.refresh import TRAINING, AbstractRefresh, Watchful, choices, draw_seed
from stiffax.problem.spec import to_spec
from stiffax.records import Progress
from stiffax.setting import PhysicsSetting
from stiffax.setting import weights as weight_rule
from stiffax.solution import Facts, Solution, is_saved
from stiffax.train import Clock, Limits

DEFAULT_SECONDS = 120.0
FINISHED = "solution"


@dataclasses.dataclass(frozen=True)
class Asked:
    """Everything that `solve` was asked for, defaults filled in."""

    network: Networks
    phases: tuple[Phase, ...]
    points: Mapping[str, int | AbstractPoints]
    weights: Any
    refresh: AbstractRefresh
    batches: Batches | None
    limits: Limits
    seed: int
    precision: str
    input_scale: float


def solve(
    problem: Problem,
    *,
    network: Networks | None = None,
    optimizer: AbstractIntegrator | Sequence[Phase] | None = None,
    points: Mapping[str, int | AbstractPoints] | None = None,
    weights: Mapping[str, float] | str = "balanced",
    refresh: AbstractRefresh | None = None,
    batches: Batches | None = None,
    input_scale: float = 1.0,
    steps: int | None = None,
    time_limit: float | None = None,
    target: float | None = None,
    seed: int = 0,
    precision: str = "float64",
    out: str | Path | None = None,
    callback: Callable[[Progress], None] | None = None,
    source: Mapping[str, Any] | None = None,
    resuming: bool = False,
) -> Solution:
    """Solve a problem.

    Every argument has a default that works. `network`: an architecture such as `sx.MLP(width=30, depth=2)`, any
    equinox module, or one for each field by name. `optimizer`: `sx.ImplicitEuler(...)`, `sx.ExplicitEuler(optax...)`
    or a list of `sx.Phase(...)`. `points`: counts or `sx.Sobol(400)` by name. `weights`: "balanced", or fixed factors
    by name. `refresh`: `sx.Watchful`, `sx.Redraw`, `sx.Adaptive` or `sx.Keep`. `batches`:
    `sx.Batches(size=40)` for steps that see a part of the points each; points are then renewed after whole epochs
    unless `refresh` says otherwise.
    `input_scale`: the inputs of the network are the coordinates scaled to [-input_scale, input_scale]; more than 1 for
    solutions with fine structure. The run ends after `steps` accepted steps, `time_limit` seconds (compiling included),
    when `target` is reached (the relative L2 error where the problem has a reference, else the held-out residual), when
    the held-out residual stagnates, or on Ctrl-C; without `steps` and `time_limit`, after 120 s. `out`: a folder for
    checkpoints and the solution, from which `sx.resume` goes on.
    """
    plan = phases(optimizer or ImplicitEuler())
    asked = Asked(
        network or MLP(width=30, depth=2),
        plan,
        dict(points or {}),
        weights,
        refresh or Watchful(every=plan[0].optimizer.renewal * _epoch(problem, points, batches)),
        batches,
        _limits(steps, time_limit, target),
        seed,
        precision,
        input_scale,
    )
    return _Sitting(problem, asked, None if out is None else Path(out), callback or _quiet, source).solve(resuming)


def resume(
    folder: str | Path,
    problem: Problem,
    *,
    callback: Callable[[Progress], None] | None = None,
    **arguments: Any,
) -> Solution:
    """Go on with the run in a folder, in the same bits; the problem and the arguments of `solve` are given again.

    A finished run is not run again: its solution is loaded.
    """
    folder = Path(folder)
    checkpoint.read_settings(folder)
    if is_saved(folder / FINISHED):
        return Solution.load(folder / FINISHED)
    return solve(problem, out=folder, callback=callback, resuming=True, **arguments)


def _epoch(problem: Problem, points, batches: Batches | None) -> int:
    """The steps in which every point is seen."""
    if batches is None:
        return 1
    chosen = choices(problem, points)
    return max((batches.steps(chosen[term.name].count) for term in _terms(problem, points or {})), default=1)


def _terms(problem: Problem, points: Mapping[str, Any]) -> tuple[Term, ...]:
    """An equation whose points were asked for by name has them to itself."""
    return problem.terms(separate=tuple(name for name in points if name in problem.equations))


def _quiet(progress: Progress) -> None:
    del progress


def _limits(steps, time_limit, target) -> Limits:
    for name, value in (("steps", steps), ("time_limit", time_limit), ("target", target)):
        if value is not None and not (np.isfinite(value) and value > 0):
            raise StiffaxError(f"{name}={value}; expected a positive number.")
    if steps is None and time_limit is None:
        time_limit = DEFAULT_SECONDS
    return Limits(steps, time_limit, target)


def _settings(problem: Problem, asked: Asked, source) -> dict[str, Any]:
    """What makes a run what it is, in words: equal settings, equal run."""
    described = asked.network.describe() if isinstance(asked.network, AbstractArchitecture) else repr(asked.network)
    return {
        "problem": problem.name,
        "coefficients": {n: repr(c) for n, c in problem.coefficients.items()},
        "network": described,
        "optimizer": [repr(phase) for phase in asked.phases],
        "points": {n: repr(v) for n, v in asked.points.items()},
        "weights": repr(asked.weights),
        "refresh": repr(asked.refresh),
        "batches": repr(asked.batches),
        "limits": dataclasses.asdict(asked.limits),
        "seed": asked.seed,
        "precision": asked.precision,
        "input_scale": asked.input_scale,
        "source": source,
    }


class _Sitting:
    """One call of `solve` or `resume`: builds what the loop needs, runs the plan, makes the solution."""

    def __init__(self, problem: Problem, asked: Asked, folder: Path | None, watch, source):
        self.problem, self.asked, self.folder, self.watch = problem, asked, folder, watch
        self.settings = _settings(problem, asked, source)

    def solve(self, resuming: bool) -> Solution:
        self.clock = Clock()
        self._open_folder(resuming)
        with computing(self.asked.precision), programs_kept() as cache_is_new:
            if cache_is_new:
                print(f"compiled programs are kept in {cache_folder()}; remove it whenever you like.", file=sys.stderr)
            expected = WHAT_TO_EXPECT.get(self.asked.precision)
            self.warnings = (*self.problem.check().warnings, *([expected] if expected else []))
            for text in self.warnings:
                warnings.warn(text, StiffaxWarning, stacklevel=3)  # where solve was called
            self._build()
            solution = self._solution(self._train(resuming))
        if self.folder is not None:
            solution.save(self.folder / FINISHED)
        return solution

    def _open_folder(self, resuming: bool) -> None:
        if self.folder is None:
            return
        if resuming:
            before = checkpoint.read_settings(self.folder)
            now = json.loads(json.dumps(self.settings))
            changed = [n for n in now if now[n] != before.get(n) and n != "source"]
            if changed:
                raise StiffaxError(
                    f"{self.folder} holds a run with another {changed[0]}: {before.get(changed[0])} there, "
                    f"{now[changed[0]]} now. Resume with the same problem and arguments."
                )
            return
        if (self.folder / checkpoint.SETTINGS).exists():
            raise StiffaxError(f"{self.folder} holds a run already: resume it, or give another folder.")
        self.folder.mkdir(parents=True, exist_ok=True)
        checkpoint.write_settings(self.folder, self.settings)

    def _build(self) -> None:
        problem, asked = self.problem, self.asked
        self.choices = choices(problem, asked.points)
        self.terms = _terms(problem, asked.points)
        if not self.terms:
            raise StiffaxError("the problem has nothing to train on: no equation, and no condition that is not hard.")
        seen = self._points_inside()
        order = max(place.basis.order for term in self.terms for place in term.plan)
        model = compose(problem, asked.network, seen, asked.seed, asked.input_scale, order)
        self.layout, self.θ = assemble(problem, self.terms, model, most_in_block())
        rule = weight_rule(problem, self.terms, asked.weights)
        self.setting = PhysicsSetting(
            problem, self.layout, self.choices, asked.refresh, rule, asked.seed, asked.batches
        )

    def _points_inside(self) -> np.ndarray:
        """The points of training that the start of the network looks at."""
        first = self.terms[0]
        if first.measured is not None:
            return first.measured.points
        return self.choices[first.name].draw(first, draw_seed(self.asked.seed, TRAINING, 0, 0)).points

    def _train(self, resuming: bool) -> Outcome:
        system = self.setting.system()
        keeper = Keeper(self.folder, self.clock) if self.folder is not None else None
        plan = Plan(self.asked.phases, self.setting, self.asked.limits, self.clock, self.watch, keeper)
        outcome = plan.go(system, self.θ, resuming)
        self.compile_seconds = outcome.compile_seconds + self.setting.compile_seconds
        return outcome

    def _solution(self, outcome: Outcome) -> Solution:
        problem, layout, run = self.problem, self.layout, outcome.run
        trained = layout.trained(run.best)
        coefficients = {n: float(v) for n, v in (run.system.coefficients | trained.unknowns).items()}
        source = Live(trained, coefficients, self.asked.precision)
        trained_on, reported = self.setting.final(run)
        labels, owners = self.setting.weights.labels, self.setting.weights.owners
        facts = Facts(
            problem=problem.name,
            coordinates=problem.coordinates,
            fields=problem.fields,
            space=problem.names.space,
            bounds=problem.bounds,
            domain=to_spec(problem.domain),
            keys=derivatives_read(self.terms),
            coefficients=coefficients,
            errors=errors(problem, source, coefficients),
            residuals=by_owner(reported, owners),
            loss=float(np.sum(trained_on)),
            seconds=self.clock.seconds,
            compile_seconds=self.compile_seconds,
            steps=int(run.accepted),
            refused=int(run.refused),
            work={f.name: int(getattr(run.work, f.name)) for f in dataclasses.fields(run.work)},
            result=outcome.result,
            warnings=(*self.warnings, *seen_late(outcome)),
            parameters=int(run.θ.size),
            points=self.setting.counts(run),
            weights={n: float(w) for n, w in zip(labels, self.setting.factors(run), strict=True)},
            network=self.settings["network"],
            precision=self.asked.precision,
            device=jax.devices()[0].device_kind,
            seed=self.asked.seed,
            history=tuple(outcome.history),
        )
        return Solution(facts, source, problem)


def most_in_block() -> int:
    """Points in a block at most: few on a CPU, so that what a block computes stays in cache."""
    return 400 if jax.default_backend() == "cpu" else 16_384

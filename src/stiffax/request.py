"""What a command line asks for, in words, as the arguments of `solve`."""

import dataclasses
from pathlib import Path
from typing import Any

import optax

import stiffax as sx
from stiffax import zoo
from stiffax.errors import StiffaxError
from stiffax.problem.script import from_file

EXPLICIT = {"sgd": optax.sgd, "adam": optax.adam}  # those that take a rate
IMPLICIT = ("isgd-adam", "isgd-lbfgs")  # the paper's
BELONGS = {
    "rate": (*EXPLICIT, "isgd-adam"),
    "alpha": ("default", *IMPLICIT),
    "inner_steps": IMPLICIT,
    "inner_rate": ("isgd-adam",),
    "after_steps": IMPLICIT,
}
RATE, ALPHA = 1e-3, 0.5
WIDTH, DEPTH = 30, 2  # where only one of the two is given
OPTIMIZERS = ("default", *EXPLICIT, "lbfgs", *IMPLICIT)


@dataclasses.dataclass(frozen=True)
class Request:
    """What was asked for, in words: a run keeps it, and is resumed from it."""

    problem: str
    settings: dict[str, str]
    points: dict[str, int]
    optimizer: str
    rate: float | None
    alpha: float | None
    inner_steps: int | None
    inner_rate: float | None
    after_steps: int | None
    width: int | None
    depth: int | None
    steps: int | None
    time_limit: float | None
    target: float | None
    seed: int
    precision: str

    @property
    def file(self) -> Path | None:
        return Path(self.problem) if is_file(self.problem) else None

    def posed(self) -> sx.Problem:
        if self.file is None:
            return zoo.problem(self.problem, **self.settings)
        if self.settings:
            raise StiffaxError(f"--set belongs to the problems of the zoo; change {self.problem} itself.")
        return from_file(self.file)

    def arguments(self) -> dict[str, Any]:
        """The arguments of `solve`."""
        shaped = self.width is not None or self.depth is not None
        return {
            "network": sx.MLP(width=self.width or WIDTH, depth=self.depth or DEPTH) if shaped else None,
            "optimizer": self.stepping(),
            "points": self.points or None,
            "source": dataclasses.asdict(self),
            "steps": None if self.steps is None else self.steps + (self.after_steps or 0),
        } | {name: getattr(self, name) for name in ("time_limit", "target", "seed", "precision")}

    def stepping(self):
        for name, owners in BELONGS.items():
            if getattr(self, name) is not None and self.optimizer not in owners:
                option = "--" + name.replace("_", "-")
                raise StiffaxError(f"{option} belongs to --optimizer {' or '.join(owners)}, not to {self.optimizer}.")
        if self.optimizer in IMPLICIT:
            return self.paper()
        if self.optimizer == "default":
            return None if self.alpha is None else sx.ImplicitEuler(controller=sx.GainRatio(start=self.alpha))
        return sx.ExplicitEuler(self.plain(self.optimizer))

    def plain(self, name: str) -> optax.GradientTransformation:
        return optax.lbfgs() if name == "lbfgs" else EXPLICIT[name](self.rate or RATE)

    def paper(self):
        """Algorithm 1: K0 (--steps) implicit steps of K1 (--inner-steps), then K2 (--after-steps) plain ones."""
        inner = sx.LBFGS(steps=self.inner_steps or sx.LBFGS().steps)
        if self.optimizer == "isgd-adam":
            inner = sx.Adam(rate=self.inner_rate or RATE, steps=self.inner_steps or sx.Adam().steps)
        implicit = sx.ImplicitEuler(inner, controller=sx.Constant(self.alpha or ALPHA))
        if self.after_steps is None:
            return implicit
        if self.steps is None:
            raise StiffaxError("--after-steps needs --steps: after how many implicit steps.")
        after = sx.ExplicitEuler(self.plain(self.optimizer.removeprefix("isgd-")))
        return [sx.Phase(implicit, steps=self.steps), sx.Phase(after, steps=self.after_steps)]


def is_file(problem: str) -> bool:
    return problem.endswith(".py") or Path(problem).name != problem

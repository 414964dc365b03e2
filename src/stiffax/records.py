"""What flows between the parts: data only. Outcomes carry their explanation."""

import dataclasses
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int


class Work(eqx.Module):
    """Counted work, refused attempts included.

    `iterations` is the count of the paper, (K0·K1 + K2) · batches: inner iterations, or steps where none are inside.
    """

    iterations: Int[Array, ""]
    losses: Int[Array, ""]
    gradients: Int[Array, ""]
    rows: Int[Array, ""]  # of the Jacobian, formed
    products: Int[Array, ""]  # with the Jacobian or the Hessian, without forming it
    factorisations: Int[Array, ""]
    fallbacks: Int[Array, ""]  # solves by QR where Cholesky failed

    def __add__(self, other: "Work") -> "Work":
        return Work(*(getattr(self, f.name) + getattr(other, f.name) for f in dataclasses.fields(self)))


Count = int | Int[Array, ""]


def work(
    iterations: Count = 0,
    losses: Count = 0,
    gradients: Count = 0,
    rows: Count = 0,
    products: Count = 0,
    factorisations: Count = 0,
    fallbacks: Count = 0,
) -> Work:
    counts = (iterations, losses, gradients, rows, products, factorisations, fallbacks)
    return Work(*(jnp.asarray(n, int) for n in counts))


class Step(eqx.Module):
    """One attempt: where it would lead, the loss before and after, and the decrease that the model promised.

    `before` is the loss at the last accepted parameters, wherever the step was anchored. `moved` is ‖θ⁺ - θ‖.
    `defect` is ‖θ⁺ - θ + α∇L(θ⁺)‖ / ‖θ⁺ - θ‖: how implicit the step really was (0: exactly; nan: not an implicit step).
    """

    θ: Float[Array, " parameters"]
    before: Float[Array, ""]
    after: Float[Array, ""]
    predicted: Float[Array, ""]
    moved: Float[Array, ""]
    defect: Float[Array, ""]
    state: Any
    work: Work


class Verdict(eqx.Module):
    """The controller's word on a step: keep it or not, and the next α."""

    keep: Bool[Array, ""]
    α: Float[Array, ""]


class Run(eqx.Module):
    """Everything that evolves. A checkpoint is a `Run` written down; nothing else is needed to go on."""

    # what is trained, and on what
    θ: Float[Array, " parameters"]
    system: Any
    # how
    integrator: Any
    α: Float[Array, ""]
    # how far
    accepted: Int[Array, ""]
    refused: Int[Array, ""]
    streak: Int[Array, ""]
    loss: Float[Array, ""]
    defect: Float[Array, ""]
    work: Work
    # the best so far, judged by the held-out residual
    best: Float[Array, " parameters"]
    best_parts: Float[Array, " parts"]


@dataclasses.dataclass(frozen=True)
class Result:
    """Why a run ended: a name for programs, a text for people, and whether it ended as asked."""

    name: str
    text: str
    ok: bool


@dataclasses.dataclass(frozen=True)
class Row:
    """One line of a history: `iterations` counts inner ones, refused attempts included, `points` the equations'."""

    steps: int
    refused: int
    seconds: float
    loss: float
    alpha: float
    defect: float
    validation: float
    error: float | None
    iterations: int
    points: int


@dataclasses.dataclass(frozen=True)
class Progress:
    """What a watcher is told between chunks."""

    phase: str
    steps: int = 0
    refused: int = 0
    loss: float = float("nan")
    alpha: float = float("nan")
    validation: float = float("nan")
    error: float | None = None
    seconds: float = 0.0
    time_limit: float | None = None
    steps_limit: int | None = None

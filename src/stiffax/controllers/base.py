"""HOW FAR: whether a step is kept, and the next α. A controller sees a `Step` and nothing else."""

import abc

import equinox as eqx
from jaxtyping import Array, Float

from stiffax.records import Step, Verdict


class AbstractController(eqx.Module):
    start: eqx.AbstractVar[float]  # the first α

    @abc.abstractmethod
    def judge(self, step: Step, α: Float[Array, ""]) -> Verdict:
        """Keep the step or refuse it. A step whose loss is not finite is always refused."""

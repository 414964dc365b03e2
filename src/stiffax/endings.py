"""Why runs end by themselves, in words that name causes and cures."""

import numpy as np

from stiffax.records import Result, Run


def stagnates(seen: list[tuple[int, float]]) -> bool:
    """Whether the smallest held-out value has hardly fallen over the last third of the steps, 300 at least."""
    now = seen[-1][0]
    since = now - max(300, now // 3)
    before = [value for steps, value in seen if steps <= since]
    return bool(before) and min(value for _, value in seen) >= 0.8 * min(before)


def gave_up(run: Run, refusals: int) -> Result:
    """What so many refused steps in a row mean: the floor of rounding, or something that is not finite."""
    if np.isfinite(float(run.loss)) and int(run.accepted):
        return Result(
            "converged",
            f"{refusals} steps in a row could not lower the loss: it has reached the floor of rounding. "
            "More points or another network may go further.",
            True,
        )
    what = "the loss does not fall from the start" if np.isfinite(float(run.loss)) else "the loss is not finite"
    return Result(
        "gave up",
        f"{refusals} steps in a row were refused: {run.system.blame(run.θ) or what}. The last good ones are kept. "
        "Causes: an equation that is not finite somewhere (log, sqrt or division near zero), or a learning rate that "
        "is too large.",
        False,
    )

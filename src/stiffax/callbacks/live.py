"""What a person sees of a run: one line that renews itself, or a few plain ones where there is no terminal."""

import math
import time

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner

from stiffax.records import Progress

FIRST_LINE = 5.0  # seconds until the first plain line; the next ones come after twice the time, and again


class LiveLine:
    """A callback for `solve`, entered around it: `with LiveLine(console) as line: sx.solve(..., callback=line)`."""

    def __init__(self, console: Console):
        self.console = console
        self.progress, self.since = Progress("compiling"), time.perf_counter()
        self.live = Live(get_renderable=self.drawn, console=console, refresh_per_second=8, transient=True)
        self.spinner = Spinner("dots")
        self.said, self.next_line = "", FIRST_LINE

    def __enter__(self) -> "LiveLine":
        if self.console.is_terminal:
            self.live.start()
        return self

    def __exit__(self, *failure) -> None:
        self.live.stop()

    def __call__(self, progress: Progress) -> None:
        self.progress, self.since = progress, time.perf_counter()
        if not self.console.is_terminal and self.due(progress):
            self.console.print(line(progress, progress.seconds), soft_wrap=True)

    def due(self, progress: Progress) -> bool:
        """Whether a plain line shall be written: when compiling begins, and ever more rarely after that."""
        began, self.said = progress.phase == "compiling" != self.said, progress.phase
        if progress.phase == "training" and progress.seconds >= self.next_line:
            self.next_line = 2 * progress.seconds
            return True
        return began

    def drawn(self) -> Spinner:
        self.spinner.update(text=line(self.progress, self.progress.seconds + time.perf_counter() - self.since))
        return self.spinner


def line(progress: Progress, seconds: float) -> str:
    """The state of a run in one line."""
    words = [progress.phase, f"{seconds:.0f} s"]
    if progress.steps or progress.refused:
        words += [f"steps {progress.steps}", f"refused {progress.refused}"]
        words += [f"loss {progress.loss:.1e}", f"α {progress.alpha:.1e}"]
        if progress.error is not None:
            words.append(f"error {progress.error:.1e}")
        elif math.isfinite(progress.validation):
            words.append(f"held-out residual {math.sqrt(progress.validation):.1e}")
    left = seconds_left(progress, seconds)
    return "  ".join(words if left is None else [*words, f"{left:.0f} s left"])


def seconds_left(progress: Progress, seconds: float) -> float | None:
    """Until the first limit is met, as far as that can be told."""
    ends = []
    if progress.time_limit is not None:
        ends.append(progress.time_limit - seconds)
    if progress.steps_limit is not None and progress.steps:
        ends.append((progress.steps_limit - progress.steps) * seconds / progress.steps)
    return max(0.0, min(ends)) if ends else None

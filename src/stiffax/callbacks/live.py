"""What a person sees of a run: one line that renews itself, or a few plain ones where there is no terminal."""

import math
import time

from rich.console import Console
from rich.live import Live
from rich.text import Text

from stiffax.records import Progress

TURNING = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
FIRST_LINE = 5.0  # seconds until the first plain line; the next ones come after twice the time, and again


class LiveLine:
    """A callback for `solve`, entered around it: `with LiveLine(console) as line: sx.solve(..., callback=line)`."""

    def __init__(self, console: Console):
        self.console = console
        self.progress, self.since = Progress("compiling"), time.perf_counter()
        self.live = Live(get_renderable=self.drawn, console=console, refresh_per_second=8, transient=True)
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

    def drawn(self) -> Text:
        now = time.perf_counter()
        told = line(self.progress, self.progress.seconds + now - self.since)
        return Text(f"{TURNING[int(8 * now) % len(TURNING)]} {told}", no_wrap=True, overflow="ellipsis")


def line(progress: Progress, seconds: float) -> str:
    """The state of a run in one line, what matters most first."""
    left = seconds_left(progress, seconds)
    words = [f"{seconds:.0f} s" if left is None else f"{seconds:.0f} s, {left:.0f} s left"]
    if not progress.steps and not progress.refused:
        return f"{progress.phase} {words[0]}"
    if progress.error is not None:
        words.append(f"error {progress.error:.1e}")
    elif math.isfinite(progress.validation):
        words.append(f"residual {math.sqrt(progress.validation):.1e}")
    words += [f"loss {progress.loss:.1e}", f"α {progress.alpha:.0e}"]
    words.append(f"{progress.steps} steps, {progress.refused} refused")
    return "  ".join(words)


def seconds_left(progress: Progress, seconds: float) -> float | None:
    """Until the first limit is met, as far as that can be told."""
    ends = []
    if progress.time_limit is not None:
        ends.append(progress.time_limit - seconds)
    if progress.steps_limit is not None and progress.steps:
        ends.append((progress.steps_limit - progress.steps) * seconds / progress.steps)
    return max(0.0, min(ends)) if ends else None

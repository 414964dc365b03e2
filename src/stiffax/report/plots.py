"""Pictures of a solution: lines in one coordinate, maps in two, frames in two of space and time, else a slice."""

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from stiffax.report.images import image_path
from stiffax.report.views import FRAME, LINE, MAP, TIMES, Drawable, Sample, View, moments, sample, view_of

VALUES, ERRORS = "viridis", "magma"  # perceptually uniform, both
PREDICTED, REFERENCE, ERROR = "#1f5fa8", "#f0a030", "#b03a5b"
PANEL = 3.3  # inches across one map
FLAT = 0.4  # height over width below which maps stand one above the other
TICKS = [1, 2, 2.5, 5, 10]
EXACT = 1e-16  # the top of the scale for an error of zero
STYLE: Any = {
    "font.size": 10,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
}


def plot(solution: Drawable, path: str | Path) -> Path:
    """Write the picture of a solution; the suffix chooses PNG, PDF or SVG."""
    path = image_path(path)
    with matplotlib.rc_context(STYLE):
        draw(solution).savefig(path, dpi=160, facecolor="white", bbox_inches="tight", pad_inches=0.12)
    return path


def draw(solution: Drawable) -> Figure:
    """The picture of a solution, for saving or for further work on it."""
    view = view_of(solution)
    scenes = moments(solution, view)
    if len(view.axes) == 1:
        figure = lines(solution.fields, view, sample(solution, view, LINE))
    elif len(scenes) == 1:
        figure = maps(solution.fields, view, sample(solution, view, MAP))
    else:
        figure = frames(solution.fields, scenes, [sample(solution, scene, FRAME) for scene in scenes])
    figure.suptitle(title(solution, view), fontsize=11)
    return figure


def title(solution: Drawable, view: View) -> str:
    """Name and error; the held-out residual where a field has no reference; where the coordinates not drawn stand."""
    errors = solution.error()
    rows = [solution.summary()["problem"]]
    if errors:
        covered = [field for field in solution.fields if field in errors]
        rows.append("relative L2 error: " + ", ".join(f"{field} {errors[field].rel_l2:.1e}" for field in covered))
    if set(errors) != set(solution.fields):
        parts = solution.residual().items()
        rows.append("held-out residual: " + ", ".join(f"{name} {value:.1e}" for name, value in parts))
    if view.note:
        rows.append(f"at {view.note}")
    return "\n".join(rows)


def lines(fields: tuple[str, ...], view: View, sampled: Sample) -> Figure:
    """A row for each field: prediction over reference, and the error below on a logarithmic scale."""
    heights = [h for field in fields for h in ((2.6, 1.3) if field in sampled.exact else (2.6,))]
    figure = Figure(figsize=(6.4, 0.9 + sum(heights)), layout="constrained")
    panels = iter(figure.subplots(len(heights), 1, sharex=True, height_ratios=heights, squeeze=False)[:, 0])
    (along,) = sampled.grid
    panel = None
    for field in fields:
        panel = next(panels)
        if field in sampled.exact:
            panel.plot(along, sampled.exact[field], color=REFERENCE, linewidth=4, label="reference")
        panel.plot(along, sampled.values[field], color=PREDICTED, linewidth=1.4, label="prediction")
        panel.set_ylabel(field)
        panel.grid(alpha=0.25, linewidth=0.6)
        if field in sampled.exact:
            panel.legend(loc="best")
            panel = next(panels)
            error_line(panel, along, sampled.error(field), field)
    if panel is not None:
        panel.set_xlabel(view.axes[0])
        panel.set_xlim(along[0], along[-1])
    return figure


def error_line(panel: Axes, along: np.ndarray, error: np.ndarray, field: str) -> None:
    panel.plot(along, np.where(error > 0, error, np.nan), color=ERROR, linewidth=1)
    panel.set_yscale("log")
    panel.set_ylabel(f"error of {field}")
    panel.grid(alpha=0.25, linewidth=0.6)


def maps(fields: tuple[str, ...], view: View, sampled: Sample) -> Figure:
    """For each field prediction, reference and error, or the prediction alone: a row each, or a column of flat maps."""
    kinds = 3 if sampled.exact else 1
    flat = view.equal and extent(sampled) < FLAT
    across, width = (1, 2 * PANEL) if flat else (kinds, PANEL if kinds > 1 else 1.4 * PANEL)
    down = len(fields) * kinds // across
    size = (width + 1.0) * across, 0.8 + down * (tall(view, sampled, width) + 0.7)
    figure = Figure(figsize=size, layout="compressed")
    for row, field in enumerate(fields):
        has = field in sampled.exact
        shown = {f"{field}, prediction" if has else field: sampled.values[field]}
        shown |= {f"{field}, reference": sampled.exact[field]} if has else {}
        low, high = span(list(shown.values()))
        drawn = [(name, values, low, high, VALUES) for name, values in shown.items()]
        if has:
            error = sampled.error(field)
            drawn.append((f"{field}, absolute error", error, 0.0, largest([error]), ERRORS))
        for column, (name, values, bottom, top, colours) in enumerate(drawn):
            panel = figure.add_subplot(down, across, row * kinds + column + 1)
            scale(figure, panel, paint(panel, view, sampled, values, bottom, top, colours))
            panel.set_title(name)
    return figure


def frames(fields: tuple[str, ...], scenes: list[View], sampled: list[Sample]) -> Figure:
    """A column for each time; for each field a row of predictions and one of errors."""
    rows = [(field, wrong) for field in fields for wrong in (False, True) if not wrong or field in sampled[0].exact]
    width = 0.75 * PANEL
    high = tall(scenes[0], sampled[0], width)
    figure = Figure(figsize=((width + 0.3) * TIMES + 1.0, 1.1 + len(rows) * (high + 0.3)), layout="compressed")
    panels = figure.subplots(len(rows), TIMES, sharex=True, sharey=True, squeeze=False)
    for across, (field, wrong) in zip(panels, rows, strict=True):
        shown = [s.error(field) if wrong else s.values[field] for s in sampled]
        low, high = (0.0, largest(shown)) if wrong else span(shown)
        for panel, view, frame, values in zip(across, scenes, sampled, shown, strict=True):
            image = paint(panel, view, frame, values, low, high, ERRORS if wrong else VALUES)
            panel.label_outer()
        across[0].set_ylabel(f"{field}, {'absolute error' if wrong else 'prediction'}\n{scenes[0].axes[1]}")
        scale(figure, across[-1], image)
    for panel, view in zip(panels[0], scenes, strict=True):
        panel.set_title(f"t = {view.fixed['t']:.3g}")
    return figure


def paint(panel: Axes, view: View, sampled: Sample, values: np.ndarray, low: float, high: float, colours: str):
    """One map; points outside the domain stay white."""
    across, up = sampled.grid
    image = panel.pcolormesh(
        across, up, np.ma.masked_invalid(values), vmin=low, vmax=high, cmap=colours, shading="nearest", rasterized=True
    )
    panel.set_xlabel(view.axes[0])
    panel.set_ylabel(view.axes[1])
    panel.set_xlim(across[0], across[-1])
    panel.set_ylim(up[0], up[-1])
    panel.set_aspect("equal" if view.equal else "auto")
    flat = view.equal and extent(sampled) < FLAT
    panel.xaxis.set_major_locator(MaxNLocator(4, steps=TICKS))
    panel.yaxis.set_major_locator(MaxNLocator(2 if flat else 4, steps=TICKS))
    return image


def scale(figure: Figure, panel: Axes, image) -> None:
    """A colour bar as tall as its map."""
    bar = figure.colorbar(image, cax=panel.inset_axes((1.04, 0.0, 0.05, 1.0)))
    bar.outline.set_linewidth(0.5)  # pyright: ignore[reportCallIssue]
    bar.locator = MaxNLocator(5 if panel.get_position().height > 0.15 else 2)
    bar.ax.ticklabel_format(axis="y", scilimits=(-3, 4))
    bar.update_ticks()


def span(arrays: list[np.ndarray]) -> tuple[float, float]:
    """The smallest and largest finite value; never equal, so that a constant has a colour."""
    finite = np.concatenate([values[np.isfinite(values)] for values in arrays])
    if not len(finite):
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def largest(errors: list[np.ndarray]) -> float:
    """The top of a colour scale for errors, above zero also where there is none."""
    return max(np.max(error, initial=0.0, where=np.isfinite(error)) for error in errors) or EXACT


def extent(sampled: Sample) -> float:
    """Height over width, in the units of the coordinates."""
    across, up = (float(along[-1] - along[0]) for along in sampled.grid)
    return up / across


def tall(view: View, sampled: Sample, width: float) -> float:
    """How tall a map of this width is."""
    return width * float(np.clip(extent(sampled), 0.1, 2.0)) if view.equal else 0.8 * width

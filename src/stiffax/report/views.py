"""What of a solution a figure shows: which coordinates run along its axes, and where the others stand still."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from stiffax.problem.domains import AbstractDomain
from stiffax.problem.regions import TIME, Bounds

LINE, MAP, FRAME = 1001, 301, 161  # points along an axis
TIMES = 4


class Drawable(Protocol):
    """What a figure needs of a solution."""

    @property
    def fields(self) -> tuple[str, ...]: ...
    @property
    def coordinates(self) -> tuple[str, ...]: ...
    @property
    def bounds(self) -> Bounds: ...
    @property
    def domain(self) -> AbstractDomain: ...

    def values(self, points: np.ndarray) -> Mapping[str, np.ndarray]: ...
    def exact_values(self, points: np.ndarray) -> Mapping[str, np.ndarray]: ...
    def error(self) -> Mapping: ...
    def residual(self) -> Mapping[str, float]: ...
    def summary(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True)
class View:
    """`axes`: the coordinates drawn, the horizontal one first. `fixed`: the values of the others."""

    axes: tuple[str, ...]
    fixed: dict[str, float]
    space: tuple[str, ...]

    @property
    def equal(self) -> bool:
        """Whether both axes are space, so that a circle must look round."""
        return len(self.axes) == 2 and set(self.axes) <= set(self.space)

    @property
    def note(self) -> str:
        return ", ".join(f"{name} = {value:.4g}" for name, value in self.fixed.items())


@dataclass(frozen=True)
class Sample:
    """Values on the grid of a view, NaN outside the domain; `exact` has the fields that have a reference."""

    grid: tuple[np.ndarray, ...]
    values: dict[str, np.ndarray]
    exact: dict[str, np.ndarray]

    def error(self, field: str) -> np.ndarray:
        return np.abs(self.values[field] - self.exact[field])


def view_of(solution: Drawable) -> View:
    """Everything if that is one or two coordinates; a slice through the middle in the first two of space if more.

    Two of space and time is left to `moments`: the view then has both of space, and no time among `fixed`.
    """
    domain = solution.domain
    own = [n for n in solution.coordinates if n in domain.names and n not in domain.parameters]
    space = tuple(n for n in own if n != TIME)
    axes = tuple(own) if len(own) <= 2 else space[:2]
    if len(axes) == 2 and axes[1] == TIME:
        axes = axes[::-1]  # time runs to the right
    moving = TIME if TIME in own and len(space) == 2 else None
    middle = {n: (low + high) / 2 for n, (low, high) in zip(solution.coordinates, solution.bounds, strict=True)}
    fixed = {n: value for n, value in middle.items() if n not in axes and n != moving}
    return View(axes, fixed, space)


def moments(solution: Drawable, view: View) -> list[View]:
    """The view at four times from first to last, or alone where time is drawn, stands still or does not exist."""
    if TIME not in solution.coordinates or TIME in (*view.axes, *view.fixed):
        return [view]
    low, high = solution.bounds[solution.coordinates.index(TIME)]
    return [View(view.axes, {**view.fixed, TIME: t}, view.space) for t in np.linspace(low, high, TIMES).tolist()]


def sample(solution: Drawable, view: View, count: int) -> Sample:
    """Prediction and reference on an even grid of `count` points along each axis."""
    bounds = dict(zip(solution.coordinates, solution.bounds, strict=True))
    grid = tuple(np.linspace(*bounds[name], count) for name in view.axes)
    columns = dict(zip(view.axes, np.meshgrid(*grid), strict=True))
    shape = columns[view.axes[0]].shape
    columns |= {name: np.full(shape, value) for name, value in view.fixed.items()}
    inside = solution.domain.contains(np.stack([columns[n].ravel() for n in solution.domain.names], axis=1))
    points = np.stack([columns[n].ravel() for n in solution.coordinates], axis=1)[inside]

    def spread(by_field: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        full = {}
        for field, values in by_field.items():
            full[field] = np.full(inside.shape, np.nan)
            full[field][inside] = values
        return {field: values.reshape(shape) for field, values in full.items()}

    if not len(points):
        return Sample(grid, spread({field: points[:, 0] for field in solution.fields}), {})
    return Sample(grid, spread(solution.values(points)), spread(solution.exact_values(points)))

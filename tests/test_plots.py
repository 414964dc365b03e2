"""Pictures show what they say: the values, the reference, their difference, and nothing outside the domain."""

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pytest

from stiffax.errors import StiffaxError
from stiffax.problem.domains import AbstractDomain
from stiffax.problem.shapes import Ball, Box, Disk, Interval, Rectangle
from stiffax.report.plots import draw, plot

WRONG = 1e-3  # what the fake prediction has too much of, relative to the largest value


@dataclass(frozen=True)
class Fake:
    """A solution from closed forms: `exact` by field, the prediction off by a smooth bit."""

    domain: AbstractDomain
    exact: dict[str, Callable]
    unknown: tuple[str, ...] = ()
    ranges: dict[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def fields(self):
        return tuple(self.exact)

    @property
    def coordinates(self):
        return (*self.domain.names, *self.ranges)

    @property
    def bounds(self):
        return (*self.domain.bounds, *self.ranges.values())

    def closed(self, points):
        assert self.domain.contains(points[:, : len(self.domain.names)]).all()
        return {name: function(*points.T) for name, function in self.exact.items()}

    def values(self, points):
        bump = 1 + WRONG * np.sin(7 * points.sum(axis=1))
        return {name: values * bump for name, values in self.closed(points).items()}

    def exact_values(self, points):
        return {name: values for name, values in self.closed(points).items() if name not in self.unknown}

    def error(self):
        return {name: SimpleNamespace(rel_l2=3.2e-4, linf=1e-3) for name in self.exact if name not in self.unknown}

    def summary(self):
        return {"problem": "fake"}

    def residual(self):
        return {"poisson": 4.5e-5, "walls": 1e-6}


def sines(x, y, *rest):
    return np.sin(np.pi * x) * np.cos(2 * np.pi * y)


def pulse(x, y, t):
    return np.exp(-8 * ((x - 0.5 * np.cos(t)) ** 2 + (y - 0.5 * np.sin(t)) ** 2))


SQUARE = Rectangle(x=(0, 1), y=(0, 1))
RING = Disk(x=0, y=0, radius=1) - Disk(x=0.2, y=0, radius=0.4)
CASES = {
    "lines": (Fake(Interval(x=(-1, 1)), {"u": lambda x: np.tanh(20 * x)}), 2),
    "lines-alone": (Fake(Interval(x=(-1, 1)), {"u": lambda x: np.tanh(20 * x)}, unknown=("u",)), 1),
    "lines-of-two": (Fake(Interval(t=(0, 10)), {"position": np.sin, "velocity": np.cos}, unknown=("velocity",)), 3),
    "maps": (Fake(SQUARE, {"u": sines}), 3),
    "map-alone": (Fake(RING, {"u": sines}, unknown=("u",)), 1),
    "maps-of-three": (Fake(Rectangle(x=(0, 2), y=(0, 1)), {"u": sines, "v": sines, "p": sines}, unknown=("p",)), 7),
    "channel": (Fake(Rectangle(x=(0, 8), y=(0, 1)), {"u": lambda x, y: y * (1 - y) + 0.1 * np.sin(x)}), 3),
    "ring": (Fake(RING, {"u": sines}), 3),
    "in-time": (Fake(Interval(x=(-1, 1)) * Interval(t=(0, 3)), {"u": lambda x, t: np.sin(3 * x - t)}), 3),
    "frames": (Fake(Disk(x=0, y=0, radius=1) * Interval(t=(0, 2)), {"u": pulse}), 8),
    "frames-alone": (Fake(SQUARE * Interval(t=(0, 2)), {"u": pulse, "v": pulse}, unknown=("v",)), 12),
    "slice": (Fake(Ball(x=0, y=0, z=0, radius=2), {"u": sines}), 3),
    "five": (Fake(Box(a=(0, 1), b=(0, 1), c=(0, 1), d=(0, 1), e=(0, 4)), {"u": sines}), 3),
    "family": (Fake(Interval(x=(0, 1)), {"u": lambda x, k: np.sin(k * x)}, ranges={"k": (1, 4)}), 2),
    "constant": (Fake(SQUARE, {"u": lambda x, y: 0 * x}), 3),
}


@pytest.mark.parametrize("name", CASES)
def test_every_kind_of_picture_is_drawn_with_its_panels(name):
    solution, panels = CASES[name]
    assert len(draw(solution).axes) == panels


@pytest.mark.parametrize("suffix", ["png", "pdf", "svg"])
def test_the_suffix_chooses_the_format(suffix, tmp_path):
    starts = {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<?xml"}
    path = plot(CASES["lines"][0], tmp_path / f"u.{suffix}")
    assert path.read_bytes().startswith(starts[suffix])


def text(name: str) -> str:
    return draw(CASES[name][0]).get_suptitle()


def test_the_title_says_how_wrong_it_is():
    assert "relative L2 error: u 3.2e-04" in text("maps") and "held-out" not in text("maps")
    assert "held-out residual: poisson 4.5e-05, walls 1.0e-06" in text("map-alone")
    assert "position 3.2e-04" in text("lines-of-two") and "held-out residual" in text("lines-of-two")


def test_the_title_says_where_a_slice_stands():
    assert "z = 0" in text("slice")
    assert "c = 0.5, d = 0.5, e = 2" in text("five")
    assert "k = 2.5" in text("family")


def painted(panel) -> np.ndarray:
    (mesh,) = panel.collections
    return mesh.get_array().reshape(mesh._coordinates.shape[0] - 1, -1)


def test_maps_show_the_values_and_nothing_outside_the_domain():
    solution = CASES["ring"][0]
    predicted, exact, error = (painted(panel) for panel in draw(solution).axes)
    across, up = np.meshgrid(np.linspace(-1, 1, predicted.shape[1]), np.linspace(-1, 1, predicted.shape[0]))
    inside = solution.domain.contains(np.stack([across.ravel(), up.ravel()], axis=1)).reshape(predicted.shape)
    assert 0.5 < inside.mean() < np.pi / 4
    assert np.array_equal(~np.ma.getmaskarray(predicted), inside)
    assert np.allclose(exact[inside], sines(across, up)[inside], rtol=1e-12)
    assert np.allclose(error[inside], np.abs(predicted - exact)[inside], rtol=1e-12)


def test_a_slice_passes_through_the_middle():
    solution = CASES["slice"][0]
    exact = painted(draw(solution).axes[1])
    x = np.linspace(-2, 2, exact.shape[1])
    assert np.allclose(exact[exact.shape[0] // 2], sines(x, 0 * x), rtol=1e-12)


def test_frames_follow_time():
    panels = draw(CASES["frames"][0]).axes
    peaks = []
    for panel, t in zip(panels[:4], np.linspace(0, 2, 4), strict=True):
        row, column = np.unravel_index(np.ma.argmax(painted(panel)), painted(panel).shape)
        x, y = np.linspace(-1, 1, painted(panel).shape[1])[[column, row]]
        peaks.append(np.hypot(x - 0.5 * np.cos(t), y - 0.5 * np.sin(t)))
    assert max(peaks) < 0.02


def test_time_runs_to_the_right_and_space_keeps_its_shape():
    in_time, square = draw(CASES["in-time"][0]).axes[0], draw(CASES["maps"][0]).axes[0]
    assert (in_time.get_xlabel(), in_time.get_ylabel(), in_time.get_aspect()) == ("t", "x", "auto")
    assert square.get_aspect() == 1.0


def test_the_error_line_is_the_difference():
    solution = CASES["lines"][0]
    lines, error = draw(solution).axes
    reference, prediction = (np.asarray(line.get_ydata()) for line in lines.lines)
    assert error.get_yscale() == "log"
    assert np.nanmax(np.abs(error.lines[0].get_ydata() - np.abs(prediction - reference))) == 0.0
    assert 0.5 * WRONG < np.nanmax(error.lines[0].get_ydata()) < 1.01 * WRONG


def test_a_picture_that_cannot_be_written_is_refused(tmp_path):
    solution = CASES["lines"][0]
    with pytest.raises(StiffaxError, match="'u.txt' does not end in .png, .pdf or .svg"):
        plot(solution, "u.txt")
    with pytest.raises(StiffaxError, match="no such folder: absent"):
        plot(solution, "absent/u.png")

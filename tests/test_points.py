"""Samplers: counts, bits, evenness, densities."""

import warnings
from math import pi, sqrt

import numpy as np
import pytest

from stiffax.errors import StiffaxError
from stiffax.problem.points import Fixed, Graded, Grid, Halton, LatinHypercube, Sobol, Uniform
from stiffax.problem.shapes import Box, Disk, Interval, Rectangle, with_parameters

SQUARE = Rectangle(x=(0, 1), y=(0, 1))
RING = Disk(x=0, y=0, radius=1) - Disk(x=0, y=0, radius=0.8)
SAMPLERS = [Uniform, Sobol, Halton, LatinHypercube]
REGIONS = {
    "square": SQUARE,
    "ring": RING,
    "ring-boundary": RING.boundary,
    "ends": Interval(x=(0, 1)).boundary,
    "instant": Interval(t=(0, 1)).face("t", 0),
    "piece": SQUARE.boundary.where(lambda x: x < 0.01),
}


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("name", REGIONS)
def test_exactly_the_count_is_drawn_and_the_bits_depend_on_the_seed_alone(sampler, name):
    region = REGIONS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one, again, other = (sampler().draw(region, 37, seed) for seed in (0, 0, 1))
    assert one.points.shape == (37, len(region.names)) and one.points.dtype == np.float64
    assert one.points.tobytes() == again.points.tobytes()
    assert name in ("instant", "ends") or one.points.tobytes() != other.points.tobytes()
    assert (one.density == 1).all() and (one.normals is None) == (name in ("square", "ring"))
    assert sampler(12).draw(region, 37, 0).points.tobytes() == one.points.tobytes()


def test_the_sequences_converge_faster_than_independent_points():
    exact, count = (np.e - 1) ** 2, 2**12
    errors = {
        sampler: sqrt(
            np.mean([(np.exp(sampler().draw(SQUARE, count, s).points.sum(1)).mean() - exact) ** 2 for s in range(8)])
        )
        for sampler in SAMPLERS
    }
    deviation = sqrt((np.e**2 - 1) ** 2 / 4 - exact**2)
    assert errors[Uniform] == pytest.approx(deviation / sqrt(count), rel=0.8)
    assert errors[LatinHypercube] < 0.5 * errors[Uniform]
    assert errors[Sobol] < 0.02 * errors[Uniform] and errors[Halton] < 0.1 * errors[Uniform]


def test_sobol_stays_even_on_boundaries_made_of_pieces():
    points = Sobol().draw(SQUARE.boundary, 1024, 3).points
    x, y = points.T
    for side in (x[y == 0], x[y == 1], y[x == 0], y[x == 1]):
        assert len(side) == pytest.approx(256, abs=2)
        assert np.histogram(side, bins=16, range=(0, 1))[0] == pytest.approx(16, abs=2)


def test_every_layer_of_a_latin_hypercube_has_one_point():
    points = LatinHypercube().draw(SQUARE, 50, 0).points
    assert (np.sort(np.floor(points * 50).astype(int), axis=0) == np.arange(50)[:, None]).all()


def test_a_grid_has_the_centres_of_cells_and_at_most_the_count():
    points = Grid().draw(SQUARE, 10, 0).points
    assert sorted(set(points[:, 0])) == pytest.approx([1 / 6, 1 / 2, 5 / 6]) and len(points) == 9
    assert len(Grid().draw(Box(x=(0, 1), y=(0, 1), z=(0, 1)), 8, 0).points) == 8
    assert Grid().draw(Interval(x=(0, 1)).boundary, 6, 0).points.ravel().tolist() == [0.0] * 3 + [1.0] * 3
    assert len(Grid().draw(Interval(t=(0, 1)).face("t", 0), 6, 0).points) == 1
    ring = Grid().draw(RING, 500, 0).points
    assert 350 < len(ring) <= 500 and RING.contains(ring).all()
    assert np.mean(ring[:, 0] ** 2) == pytest.approx((1 + 0.64) / 4, rel=0.02)


def test_graded_points_carry_the_density_of_their_mixture():
    """The mean of 1/density is one, and integrals weighted by it are those of the closed form."""
    for domain in (Interval(x=(-1, 3)), SQUARE, Box(x=(0, 2), y=(0, 1), t=(0, 1), z=(5, 6))):
        drawn = Graded(depth=6, share=0.4).draw(domain, 2**13, 0)
        weight, x = 1 / drawn.density, drawn.points[:, 0]
        low, high = domain.bounds[0]
        assert domain.contains(drawn.points).all() and len(weight) == 2**13
        assert np.mean(weight) == pytest.approx(1.0, abs=3e-3)
        assert np.mean(weight * np.exp(x)) == pytest.approx((np.exp(high) - np.exp(low)) / (high - low), rel=3e-3)
        assert np.mean(weight * drawn.points[:, -1]) == pytest.approx(np.mean(domain.bounds[-1]), rel=3e-3)


def test_the_density_of_graded_points_is_that_of_a_histogram():
    drawn = Graded(depth=4, share=0.5).draw(Interval(x=(0, 1)), 2**15, 1)
    edges = np.array([0, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.5])
    found = np.histogram(drawn.points, bins=edges)[0] / 2**15
    middle = np.linspace(edges[:-1], edges[1:], 2001)
    density = np.stack([Graded(depth=4, share=0.5).density(Interval(x=(0, 1)), m[:, None]) for m in middle])
    expected = np.trapezoid(density, middle, axis=0)
    assert found[1:] == pytest.approx(expected[1:], rel=0.02)
    share_of_a_decade = 0.5 / 2 / 4  # log-uniform over 4 decades, two ends, half of the points
    assert found[2] == pytest.approx(share_of_a_decade + 0.5 * 9e-4, rel=0.01)


def test_graded_reaches_its_depth_at_the_sides_in_space_only():
    domain = with_parameters(Rectangle(x=(0, 2), t=(0, 1)), {"k": (0, 1)})
    points = Graded().draw(domain, 2000, 0).points
    distance = np.minimum(points[:, 0], 2 - points[:, 0])
    assert 0 < distance.min() < 1e-9 and np.mean(distance < 1e-5) == pytest.approx(0.5 * 5.3 / 10.3, abs=0.03)
    assert np.minimum(points[:, 1:], 1 - points[:, 1:]).min() > 1e-6


def test_fixed_points_are_returned_in_the_order_of_the_coordinates():
    by_name = Fixed({"y": [0.1, 0.2], "x": np.array([0.3, 0.4])})
    assert by_name.draw(SQUARE, 7, 0).points.tolist() == [[0.3, 0.1], [0.4, 0.2]] and by_name.count == 2
    assert Fixed([[0.5, 0.25]]).draw(SQUARE, 7, 0).points.tolist() == [[0.5, 0.25]]
    assert Fixed([[0.5, 0.25]]) == Fixed(np.array([[0.5, 0.25]]))


def test_a_thin_region_is_still_found():
    thin = Disk(x=0, y=0, radius=1) - Disk(x=0, y=0, radius=0.999)
    points = Sobol().draw(thin, 200, 0).points
    assert thin.contains(points).all() and len(points) == 200
    assert thin.measure == pytest.approx(pi * (1 - 0.999**2), rel=1e-10)


EMPTY = SQUARE.boundary.where(lambda x: x > 2)
ERRORS = {
    r"whole number of at least 1, got 0": lambda: Sobol(0),
    r"whole number of at least 1, got 2.5": lambda: Uniform(2.5),  # type: ignore[arg-type]
    r"a piece of the box x in \[0, 1\], y in \[0, 1\] is empty": lambda: Sobol().draw(EMPTY, 10, 0),
    r"is empty.*where": lambda: Grid().draw(EMPTY, 10, 0),
    r"whether the combined domains meet": lambda: Uniform().draw(SQUARE & Disk(x=5, y=5, radius=1), 10, 0),
    r"got a Sphere in x, y": lambda: Graded().draw(Disk(x=0, y=0, radius=1).boundary, 10, 0),
    r"got a Ball in x, y: draw with sx.Sobol": lambda: Graded().draw(Disk(x=0, y=0, radius=1), 10, 0),
    r"got a Box in t": lambda: Graded().draw(Interval(t=(0, 1)), 10, 0),
    r"share must lie strictly between": lambda: Graded(share=1.0),
    r"depth counts powers of ten": lambda: Graded(depth=0),
    r"got 3 columns; expected 2, for x, y": lambda: Fixed([[1, 2, 3]]).draw(SQUARE, 1, 0),
    r"got columns x, z; expected x, y": lambda: Fixed({"x": [1], "z": [2]}).draw(SQUARE, 1, 0),
    r"finite; the first that is not stands in row 1": lambda: Fixed([[1, 2], [3, np.nan]]),
    r"columns of equal length": lambda: Fixed({"x": [1, 2], "y": [1]}),
    r"array of shape \(n, d\)": lambda: Fixed([1, 2]),
    r"must be numbers": lambda: Fixed("abc"),
}


@pytest.mark.parametrize("text", ERRORS)
def test_errors_say_what_was_wrong(text):
    with pytest.raises(StiffaxError, match=text):
        ERRORS[text]()


def test_an_empty_piece_has_measure_zero():
    assert EMPTY.measure == 0.0 and (SQUARE & Disk(x=5, y=5, radius=1)).measure == 0.0
    assert (SQUARE - Rectangle(x=(-1, 2), y=(-1, 2))).measure == 0.0

"""Domains against closed forms: measures, moments, and the divergence theorem for boundaries and normals together."""

import json
from math import acos, pi, sqrt
from typing import Any

import numpy as np
import pytest

from stiffax.errors import StiffaxError
from stiffax.problem.points import Sobol, Uniform
from stiffax.problem.polygon import Polygon
from stiffax.problem.regions import AbstractRegion
from stiffax.problem.shapes import Ball, Box, Disk, Interval, Rectangle, with_parameters
from stiffax.problem.spec import from_spec, to_spec

UNIT_SQUARE = Rectangle(x=(0, 1), y=(0, 1))
LONG = Rectangle(x=(0, 2), y=(0, 1))
TALL = Rectangle(x=(0, 1), y=(0, 2))
DISK = Disk(x=0.3, y=-0.2, radius=1.5)
STAR = Polygon([(0, 0), (4, 0), (4, 3), (2, 1), (1, 3), (1, 1), (0, 1)])
LENS_AREA = 2 * pi / 3 - sqrt(3) / 2  # two unit discs whose centres are 1 apart
LENS = Disk(x=0, y=0, radius=1) & Disk(x=1, y=0, radius=1)
ANNULUS = Disk(x=0, y=0, radius=2) - Disk(x=0, y=0, radius=1)
L_SHAPE = Rectangle(x=(0, 2), y=(0, 2)) - Rectangle(x=(1, 2), y=(1, 2))

# name: domain, area or volume, length or area of the boundary
CATALOGUE = {
    "interval": (Interval(x=(-1, 3)), 4.0, 2.0),
    "rectangle": (Rectangle(x=(-1, 1), y=(2, 5)), 6.0, 10.0),
    "box-5d": (Box(a=(0, 1), b=(0, 2), c=(-1, 0), d=(0, 1), e=(1, 3)), 4.0, 32.0),
    "disk": (DISK, pi * 2.25, 3 * pi),
    "ball-1d": (Ball(x=1, radius=2), 4.0, 2.0),
    "ball-3d": (Ball(x=1, y=2, z=3, radius=0.5), pi / 6, pi),
    "ball-5d": (Ball(a=0, b=0, c=1, d=0, e=0, radius=2), 8 * pi**2 / 15 * 32, 8 * pi**2 / 3 * 16),
    "triangle": (Polygon([(0, 0), (0, 1), (1, 0)]), 0.5, 2 + sqrt(2)),
    "star": (STAR, 7.0, 4 + 3 + 2 * sqrt(2) + sqrt(5) + 2 + 1 + 1),
    "annulus": (ANNULUS, 3 * pi, 6 * pi),
    "l-shape": (L_SHAPE, 3.0, 8.0),
    "union-crossing": (LONG | TALL, 3.0, 8.0),
    "union-sharing-an-edge": (UNIT_SQUARE | Rectangle(x=(1, 2), y=(0, 1)), 2.0, 6.0),
    "union-sharing-part-of-an-edge": (UNIT_SQUARE | Rectangle(x=(1, 2), y=(0.5, 2.5)), 3.0, 9.0),
    "union-apart": (UNIT_SQUARE | Rectangle(x=(2, 3), y=(0, 2)), 3.0, 10.0),
    "union-with-itself": (UNIT_SQUARE | UNIT_SQUARE, 1.0, 4.0),
    "intersection-sharing-edges": (LONG & TALL, 1.0, 4.0),
    "difference-sharing-edges": (Rectangle(x=(0, 3), y=(0, 1)) - UNIT_SQUARE, 2.0, 6.0),
    "difference-cut-through": (Rectangle(x=(0, 3), y=(0, 1)) - Rectangle(x=(1, 2), y=(0, 1)), 2.0, 8.0),
    "lens": (LENS, LENS_AREA, 4 * pi / 3),
    "two-discs": (Disk(x=0, y=0, radius=1) | Disk(x=1, y=0, radius=1), 2 * pi - LENS_AREA, 8 * pi / 3),
    "half-disk-by-polygon": (
        Disk(x=0, y=0, radius=1) & Polygon([(-2, 0), (2, 0), (2, 2), (-2, 2)]),
        pi / 2,
        pi + 2,
    ),
    "nested": ((ANNULUS | Disk(x=0, y=0, radius=0.5)) - Disk(x=0, y=0, radius=0.25), pi * (3 + 3 / 16), 7.5 * pi),
    "two-holes": (
        Rectangle(x=(0, 4), y=(0, 2)) - Disk(x=1, y=1, radius=0.5) - Disk(x=3, y=1, radius=0.25),
        8 - pi * (0.25 + 0.0625),
        12 + 1.5 * pi,
    ),
    "cylinder": (Disk(x=0, y=0, radius=1) * Interval(z=(0, 2)), 2 * pi, 6 * pi),
    "pipe": (ANNULUS * Interval(z=(0, 2)), 6 * pi, 18 * pi),
    "intervals-with-a-gap": (Interval(x=(0, 1)) | Interval(x=(2, 4)), 3.0, 4.0),
    "interval-split": (Interval(x=(0, 3)) - Interval(x=(1, 2)), 2.0, 4.0),
}


def rows(region: AbstractRegion, count: int = 4096, seed: int = 0) -> tuple[np.ndarray, Any]:
    """Points drawn from a region, and their normals or None."""
    drawn = Sobol(count).draw(region, count, seed)
    return drawn.points, drawn.normals


@pytest.mark.parametrize("name", CATALOGUE)
def test_measures_are_those_of_the_closed_form(name):
    domain, volume, surface = CATALOGUE[name]
    assert domain.measure == pytest.approx(volume, rel=3e-4)
    assert domain.boundary.measure == pytest.approx(surface, rel=3e-4)


@pytest.mark.parametrize(
    "name", ["annulus", "l-shape", "nested", "two-holes", "union-sharing-an-edge", "cylinder", "pipe"]
)
def test_measures_are_exact_where_one_domain_lies_in_the_other(name):
    domain, volume, surface = CATALOGUE[name]
    assert domain.measure == pytest.approx(volume, rel=1e-14)
    if name in ("annulus", "nested", "two-holes", "cylinder", "pipe"):
        assert domain.boundary.measure == pytest.approx(surface, rel=1e-14)


@pytest.mark.parametrize("name", CATALOGUE)
def test_the_divergence_theorem_holds(name):
    """The flux of F through the boundary is the integral of div F: measures, places and normals at once."""
    domain, volume, surface = CATALOGUE[name]
    (inside, _), (edge, normals) = rows(domain, 2**14), rows(domain.boundary, 2**14)
    low, high = np.array(domain.bounds).T
    assert np.linalg.norm(normals, axis=1) == pytest.approx(1.0, abs=1e-12)
    for axis in range(len(low)):
        scale = 2 / (high - low)[axis]
        shift = edge.sum(axis=1) - edge[:, axis]  # so that the field changes across its own direction too
        flux = surface * np.mean(np.sin(scale * edge[:, axis] + shift) * normals[:, axis])
        shift = inside.sum(axis=1) - inside[:, axis]
        divergence = volume * np.mean(scale * np.cos(scale * inside[:, axis] + shift))
        assert flux == pytest.approx(divergence, abs=2e-3 * (surface + scale * volume))
    constant = surface * normals.mean(axis=0)  # a closed surface has no net normal
    assert constant == pytest.approx(0.0, abs=2e-3 * surface)


@pytest.mark.parametrize("name", CATALOGUE)
def test_points_are_inside_and_boundary_points_have_the_inside_behind_them(name):
    domain, _, _ = CATALOGUE[name]
    (inside, none), (edge, normals) = rows(domain), rows(domain.boundary)
    assert none is None
    assert domain.contains(inside).all() and domain.contains(edge).all()
    assert domain.contains(edge - 1e-5 * normals).mean() > 0.999
    assert domain.contains(edge + 1e-5 * normals).mean() < 0.001
    low, high = np.array(domain.bounds).T
    assert not domain.contains(np.array([high + 1.0, low - 1.0])).any()


def moments_by_closed_form():
    """Means and second moments about the origin of the first coordinate, integrated by hand."""
    yield "interval", Interval(x=(-1, 3)), 1.0, 28 / 12
    yield "box", Box(x=(0, 1), b=(0, 2), c=(-1, 0), d=(0, 1), e=(1, 3)), 0.5, 1 / 3
    yield "disk", DISK, 0.3, 0.09 + 2.25 / 4
    yield "circle", DISK.boundary, 0.3, 0.09 + 2.25 / 2
    yield "ball", Ball(x=1, y=2, z=3, radius=0.5), 1.0, 1 + 0.25 / 5
    yield "sphere", Ball(x=1, y=2, z=3, radius=0.5).boundary, 1.0, 1 + 0.25 / 3
    yield "ball-5d", Ball(a=0, b=0, c=1, d=0, e=0, radius=2), 0.0, 4 / 7
    yield "sphere-5d", Ball(a=0, b=0, c=1, d=0, e=0, radius=2).boundary, 0.0, 4 / 5
    yield "triangle", Polygon([(0, 0), (1, 0), (0, 1)]), 1 / 3, 1 / 6
    yield "square-outline", UNIT_SQUARE.boundary, 0.5, (1 + 2 / 3) / 4
    yield "annulus", ANNULUS, 0.0, (16 - 1) / (4 * 3)
    yield "l-shape", L_SHAPE, (0.5 * 2 + 1.5) / 3, (2 / 3 + 7 / 3) / 3
    yield "lens", LENS, 0.5, 0.25 + (pi / 6 - sqrt(3) / 4 - (LENS_AREA / 4 - sqrt(3) / 8)) / LENS_AREA


def lens_second_moment():
    """E x² over the lens by a fine midpoint rule over its chords, independent of everything in the package."""
    x = (np.arange(1_000_000) + 0.5) / 1_000_000
    half = np.sqrt(np.maximum(0, np.where(x < 0.5, 1 - (x - 1) ** 2, 1 - x**2)))
    return float(np.sum(x**2 * half) / np.sum(half))


@pytest.mark.parametrize("case", list(moments_by_closed_form()), ids=lambda case: case[0])
def test_points_have_the_moments_of_the_uniform_distribution(case):
    name, region, mean, second = case
    if name == "lens":
        second = lens_second_moment()
    count = 2**13
    for sampler, seed, factor in ((Uniform(count), 1, 4.0), (Sobol(count), 1, 0.4)):
        x = sampler.draw(region, count, seed).points[:, 0]
        assert len(x) == count
        assert abs(np.mean(x) - mean) < factor * np.std(x) / sqrt(count)
        assert abs(np.mean(x**2) - second) < factor * np.std(x**2) / sqrt(count)


def test_pieces_of_unequal_acceptance_are_chosen_in_proportion_to_what_is_kept():
    """Of the left square one half survives, of the right one everything: shares 1/3 and 2/3."""
    left = UNIT_SQUARE - Rectangle(x=(0, 1), y=(0, 0.5))
    both = left | Rectangle(x=(2, 3), y=(0, 1))
    points, _ = rows(both, 3000)
    assert np.mean(points[:, 0] < 1) == pytest.approx(1 / 3, abs=5e-3)
    assert np.mean(rows(both.boundary, 3000)[0][:, 0] <= 1) == pytest.approx(3 / 7, abs=5e-3)


def test_where_keeps_the_part_of_a_boundary_and_its_measure():
    half = DISK.boundary.where(lambda x: x < 0.3)
    assert half.measure == pytest.approx(1.5 * pi, rel=1e-4)
    points, normals = rows(half)
    assert (points[:, 0] < 0.3).all() and (normals[:, 0] < 0).all()
    cap = DISK.boundary.where(lambda x: x > 0.3 + 0.75)
    assert cap.measure == pytest.approx(2 * 1.5 * acos(0.5), rel=1e-4)
    assert UNIT_SQUARE.where(lambda x, y: x + y < 1).measure == pytest.approx(0.5, rel=1e-3)
    assert Interval(x=(0, 1)).boundary.where(lambda x: x > 0.5).measure == 1.0
    assert UNIT_SQUARE.boundary.where(lambda x: x == 0).where(lambda y: y < 0.25).measure == pytest.approx(
        0.25, rel=1e-3
    )


def test_a_predicate_for_one_point_is_asked_point_by_point():
    chained = UNIT_SQUARE.boundary.where(lambda x, y: x < 0.5 and 0 < y <= 0.75)
    assert chained.measure == pytest.approx(0.75 + 0.0, rel=1e-4)
    assert UNIT_SQUARE.boundary.where(lambda x, side=0.5: x < side).measure == pytest.approx(2.0, rel=1e-4)
    assert UNIT_SQUARE.boundary.where(lambda y: True).measure == 4.0


def test_faces_are_flat_ends_with_their_normals():
    for end, at in ((0, -1.0), (1, 2.0)):
        face = Box(x=(0, 1), y=(-1, 2), t=(0, 5)).face("y", end)
        points, normals = rows(face, 64)
        assert face.measure == 5.0 and (points[:, 1] == at).all()
        assert (normals == [0, 1 if end else -1, 0]).all()
        assert face.bounds == ((0.0, 1.0), (at, at), (0.0, 5.0))
    start = (DISK * Interval(t=(0, 2))).face("t", 0)
    points, normals = rows(start, 64)
    assert start.measure == pytest.approx(2.25 * pi, rel=1e-14) and (points[:, 2] == 0).all()
    assert DISK.contains(points[:, :2]).all() and (normals == [0, 0, -1]).all()
    point = Interval(t=(0, 10)).face("t", 0)
    assert point.measure == 1.0 and point.unit_dim == 0 and rows(point, 3)[0].tolist() == [[0.0]] * 3


def test_faces_of_combined_domains_are_what_is_left_of_those_of_their_parts():
    assert L_SHAPE.face("x", 1).measure == pytest.approx(1.0, rel=1e-4)
    assert L_SHAPE.face("x", 0).measure == 2.0
    holed = UNIT_SQUARE * Interval(t=(0, 1)) - Disk(x=0.5, y=0.5, radius=0.25) * Interval(t=(0, 1))
    assert holed.contains([[0.5, 0.5, 0], [0.5, 0.5, 1], [0.1, 0.1, 0], [0.75, 0.5, 0]]).tolist() == [0, 0, 1, 1]
    start = holed.face("t", 0)
    points, normals = rows(start, 256)
    assert start.measure == pytest.approx(1 - pi / 16, rel=1e-3)
    assert (normals == [0, 0, -1]).all() and (np.hypot(points[:, 0] - 0.5, points[:, 1] - 0.5) >= 0.25).all()
    assert (UNIT_SQUARE | Rectangle(x=(1, 2), y=(0, 1))).face("y", 0).measure == 2.0


def test_the_boundary_is_that_in_space_at_all_times():
    tube = Disk(x=0, y=0, radius=1) * Interval(t=(0, 3))
    points, normals = rows(tube.boundary, 512)
    assert tube.space == ("x", "y") and tube.boundary.space == ("x", "y")
    assert tube.boundary.measure == pytest.approx(6 * pi, rel=1e-14)
    assert np.hypot(points[:, 0], points[:, 1]) == pytest.approx(1.0) and (normals[:, 2] == 0).all()
    assert np.mean(points[:, 2]) == pytest.approx(1.5, abs=0.01)
    strip = Rectangle(x=(0, 1), t=(0, 3))
    assert strip == Interval(x=(0, 1)) * Interval(t=(0, 3)) and strip.space == ("x",)
    points, normals = rows(strip.boundary, 512)
    assert strip.boundary.measure == 6.0 and np.isin(points[:, 0], (0, 1)).all() and (normals[:, 1] == 0).all()
    assert (Interval(x=(0, 1)).boundary * Interval(t=(0, 3))).measure == 6.0
    assert (Interval(t=(0, 3)) * Interval(x=(0, 1)).boundary).names == ("t", "x")


def test_a_domain_that_changes_in_time_keeps_its_boundary_in_space():
    """[0, 1] for t in [0, 1] beside [1, 2] for t in [0, 2]: walls at 0, at 1 (later), at 2."""
    domain = Rectangle(x=(0, 1), t=(0, 1)) | Rectangle(x=(1, 2), t=(0, 2))
    assert domain.boundary.measure == pytest.approx(1 + 1 + 2, rel=1e-4)
    points, normals = rows(domain.boundary.where(lambda x: abs(x - 1) < 0.1), 200)
    assert (points[:, 0] == 1).all() and (points[:, 1] > 1).all() and (normals == [-1, 0]).all()
    assert domain.face("t", 0).measure == 2.0 and domain.face("t", 1).measure == 1.0


def test_an_interval_in_time_alone_is_an_ode():
    time = Interval(t=(0, 10))
    assert time.space == () and time.measure == 10.0 and time.face("t", 1).bounds == ((10.0, 10.0),)
    with pytest.raises(StiffaxError, match=r'no boundary in space.*sx.Initial.*face\("t", 0\)'):
        _ = time.boundary


@pytest.mark.parametrize(
    "region",
    [UNIT_SQUARE, DISK, ANNULUS, DISK.boundary, UNIT_SQUARE.face("x", 1), ANNULUS.boundary.where(lambda x: x > 0)],
    ids=["box", "disk", "combined", "boundary", "face", "where"],
)
def test_parameters_are_coordinates_that_are_not_space(region):
    family = with_parameters(region, {"k": (1, 4), "nu": (0.1, 0.2)})
    assert family.names == ("x", "y", "k", "nu") and family.parameters == ("k", "nu") and family.space == ("x", "y")
    assert family.measure == pytest.approx(0.3 * region.measure, rel=1e-12)
    points, normals = rows(family, 512)
    assert points[:, 2].min() >= 1 and points[:, 2].max() <= 4 and np.mean(points[:, 2]) == pytest.approx(2.5, abs=0.02)
    assert normals is None or (normals[:, 2:] == 0).all()
    assert with_parameters(region, {}) is region


def test_the_boundary_of_a_family_is_that_in_space():
    for domain in (UNIT_SQUARE, DISK, Disk(x=0, y=0, radius=1) * Interval(t=(0, 1))):
        family = with_parameters(domain, {"k": (1, 4)})
        assert family.boundary.measure == pytest.approx(3 * domain.boundary.measure, rel=1e-12)
        assert family.boundary.parameters == ("k",)


def test_tolerance_is_relative_to_the_box():
    tiny = Rectangle(x=(0, 1e-9), y=(0, 1e6))
    assert tiny.contains([[1e-9, 1e6], [1.0001e-9, 0], [0, 1.0001e6]]).tolist() == [True, False, False]
    far = Interval(x=(1e6, 1e6 + 1)) | Interval(x=(1e6 + 1, 1e6 + 3))
    assert far.boundary.measure == 2.0 and far.measure == 3.0
    stretched = tiny | Rectangle(x=(1e-9, 2e-9), y=(0, 1e6))
    assert stretched.boundary.measure == pytest.approx(2e6, rel=1e-12)


def test_polygons_are_triangulated_in_either_orientation():
    clockwise = Polygon(STAR.corners[::-1])
    assert clockwise == STAR and STAR.areas.min() > 0 and STAR.areas.sum() == pytest.approx(7.0, rel=1e-14)
    flat = Polygon([(0, 0), (1, 0), (2, 0), (2, 2), (1, 2), (0, 2), (0, 1), (0, 0)])  # corners within sides, closed
    assert flat.measure == 4.0 and len(flat.corners) == 7 and flat.areas.min() > 0
    angles = 2 * pi * np.arange(40) / 40
    radii = np.where(np.arange(40) % 2, 0.4, 1.0)
    spiky = Polygon(list(zip(radii * np.cos(angles), radii * np.sin(angles), strict=True)), names=("a", "b"))
    assert spiky.areas.sum() == pytest.approx(20 * 0.4 * np.sin(pi / 20), rel=1e-13) and spiky.areas.min() > 0
    assert spiky.contains(rows(spiky)[0]).all() and spiky.names == ("a", "b")


@pytest.mark.parametrize("name", CATALOGUE)
def test_domains_are_written_as_json_and_read_back(name):
    domain = CATALOGUE[name][0]
    back = from_spec(json.loads(json.dumps(to_spec(domain))))
    assert back == domain and hash(back) == hash(domain)
    u = np.random.default_rng(0).random((20, domain.unit_dim))
    assert (back.place(u).points == domain.place(u).points).all()


def test_families_are_written_and_read_back():
    family = with_parameters(DISK * Interval(t=(0, 1)), {"k": (1, 4)})
    assert from_spec(json.loads(json.dumps(to_spec(family)))) == family


ERRORS = {
    r"takes 1 coordinate by name, got 2: x, y": lambda: Interval(x=(0, 1), y=(0, 1)),
    r"takes 2 coordinates by name, got 0: none": lambda: Rectangle(),
    r"expected two ends.*x=\(0, 1\)": lambda: Interval(x=3),  # type: ignore[arg-type]
    r"lower end must come first": lambda: Interval(x=(1, 0)),
    r"finite number for the upper end of x": lambda: Interval(x=(0, float("inf"))),
    r"Box\(\) has no coordinates": lambda: Box(),
    r"radius of a ball or disk must be positive": lambda: Disk(x=0, y=0, radius=0),
    r"named t is time.*sx.Interval\(t": lambda: Disk(x=0, t=0, radius=1),
    r"number for the centre y": lambda: Disk(x=0, y="b", radius=1),  # type: ignore[arg-type]
    r"at least 3 corners, got 2": lambda: Polygon([(0, 0), (1, 1)]),
    r"outline meets itself": lambda: Polygon([(0, 0), (1, 1), (1, 0), (0, 1)]),
    r"turns back": lambda: Polygon([(0, 0), (2, 0), (1, 0)]),
    r"two different names": lambda: Polygon([(0, 0), (1, 0), (0, 1)], names=("x", "x")),
    r"list of corners": lambda: Polygon([(0, 0, 0), (1, 0, 0), (0, 1, 0)]),
    r"no coordinate 'xx' here. Did you mean 'x'": lambda: UNIT_SQUARE.face("xx", 0),
    r"must be 0 \(the lower end\) or 1": lambda: UNIT_SQUARE.face("x", 2),
    r"no flat face at that end of 'x'.*boundary.where": lambda: DISK.face("x", 0),
    r"no flat face at that end of 'y'": lambda: (UNIT_SQUARE | DISK).face("y", 1),
    r"\| combines domains in the same coordinates": lambda: UNIT_SQUARE | Interval(x=(0, 1)),
    r"- combines two domains": lambda: UNIT_SQUARE - DISK.boundary,  # type: ignore[operator]
    r"both have x": lambda: UNIT_SQUARE * Interval(x=(0, 1)),
    r"\* multiplies domains": lambda: UNIT_SQUARE * 3,  # type: ignore[operator]
    r"unknown argument 'z'": lambda: UNIT_SQUARE.where(lambda z: z > 0),
    r"must return True or False.*float64": lambda: UNIT_SQUARE.where(lambda x: x).measure,
    r"shape \(n, 2\) with columns x, y": lambda: UNIT_SQUARE.contains([0.5, 0.5]),
    r"Sphere cannot be written": lambda: to_spec(DISK.boundary),  # type: ignore[arg-type]
    r"Unknown kind of domain 'Bax'. Did you mean 'Box'": lambda: from_spec({"kind": "Bax"}),
    r"A Box is written with names, bounds, parameters": lambda: from_spec({"kind": "Box", "names": []}),
}


@pytest.mark.parametrize("text", ERRORS)
def test_errors_say_what_was_wrong(text):
    with pytest.raises(StiffaxError, match=text):
        ERRORS[text]()


def test_a_users_own_exception_is_shown():
    def broken(x):
        return x < undefined_name  # type: ignore[name-defined]

    with pytest.raises(NameError, match="undefined_name"):
        _ = UNIT_SQUARE.where(broken).measure

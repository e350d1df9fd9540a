from __future__ import annotations

import numpy as np
import pytest

from harness.carlite.actors import ActorKind
from harness.carlite.arrays import Floats, Ints
from harness.carlite.blueprints import build_blueprint_library as blueprints
from harness.carlite.bodies import build_body_library
from harness.carlite.bodies.solids import extrude_profile, loft_rings
from harness.carlite.labels import SemanticLabel


def mesh(name: str) -> tuple[Floats, Ints]:
    """Return the vertices and triangles of one body, counted from zero."""
    bodies = build_body_library()
    index = bodies.find_body_index(name)
    start, total = bodies.vertex_first[index], bodies.vertex_count[index]
    first, count = bodies.first[index], bodies.count[index]
    triangles = bodies.triangles[first : first + count].astype(np.int64) - start
    return bodies.vertices[start : start + total].astype(np.float64), triangles


def volume(vertices: Floats, triangles: Ints) -> float:
    a, b, c = (vertices[triangles[:, corner]] for corner in range(3))
    return float(np.linalg.det(np.stack([a, b, c], axis=1)).sum() / 6)


@pytest.mark.parametrize("name", build_body_library().names)
def test_surfaces_are_closed_and_oriented(name: str) -> None:
    vertices, triangles = mesh(name)
    assert triangles.min() == 0
    assert triangles.max() == len(vertices) - 1
    edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    forward = {tuple(edge) for edge in edges.tolist()}
    assert len(forward) == len(edges)
    assert all((b, a) in forward for a, b in forward)


@pytest.mark.parametrize("name", build_body_library().names)
def test_every_solid_of_a_body_points_outward(name: str) -> None:
    vertices, triangles = mesh(name)
    solid = np.arange(len(vertices))
    for _ in range(len(vertices)):
        lowest = solid[triangles].min(axis=1)
        merged = solid.copy()
        np.minimum.at(merged, triangles.ravel(), np.repeat(lowest, 3))
        if np.array_equal(merged, solid):
            break
        solid = merged
    for start in np.unique(solid):
        assert volume(vertices, triangles[solid[triangles[:, 0]] == start]) > 0


@pytest.mark.parametrize("name", build_body_library().names)
def test_triangles_are_few_and_have_area(name: str) -> None:
    vertices, triangles = mesh(name)
    assert 12 <= len(triangles) <= 150
    a, b, c = (vertices[triangles[:, corner]] for corner in range(3))
    assert np.linalg.norm(np.cross(b - a, c - a), axis=1).min() > 1e-5


def test_blueprints_fill_their_boxes() -> None:
    for name, blueprint in blueprints().items():
        if blueprint.body:
            assert build_body_library().find_body_index(
                name
            ) == build_body_library().find_body_index(blueprint.body)
            vertices = mesh(name)[0] * blueprint.extent
            assert vertices.max(axis=0) == pytest.approx(blueprint.extent, abs=0.001)
            assert -vertices.min(axis=0) == pytest.approx(blueprint.extent, abs=0.001)


def test_every_body_is_used_and_every_vehicle_has_one() -> None:
    used = {blueprint.body for blueprint in blueprints().values() if blueprint.body}
    assert used == set(build_body_library().names)
    vehicles = {b.body for b in blueprints().values() if b.kind is ActorKind.VEHICLE}
    assert len(vehicles) >= 15


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        ("vehicle.tesla.model3", 0.45, 0.85),
        ("vehicle.nissan.patrol", 0.5, 0.9),
        ("vehicle.mercedes.sprinter", 0.6, 1.0),
        ("vehicle.carlamotors.carlacola", 0.55, 1.0),
        ("vehicle.bh.crossbike", 0.02, 0.25),
        ("walker.pedestrian.0001", 0.15, 0.6),
        ("static.prop.box01", 0.999, 1.001),
        ("static.prop.trafficcone01", 0.1, 0.5),
    ],
)
def test_volume_is_a_plausible_part_of_the_box(name: str, least: float, most: float) -> None:
    assert least < volume(*mesh(name)) / 8 < most


def test_nose_is_in_front_and_wheels_are_below() -> None:
    vertices, _ = mesh("vehicle.tesla.model3")
    roof = vertices[vertices[:, 2] > 0.6]
    assert roof[:, 0].max() < 0.3 < vertices[vertices[:, 2] > 0.2][:, 0].max()
    assert len(vertices[vertices[:, 2] < -0.99]) >= 8


def test_bodies_are_symmetric_where_they_should_be() -> None:
    for name in ("sedan", "van", "bus", "pickup", "kiosk", "container"):
        vertices = np.round(mesh(name)[0], 4)
        mirrored = np.round(vertices * (1, -1, 1), 4) + 0.0
        assert {tuple(v) for v in (vertices + 0.0).tolist()} == {
            tuple(v) for v in mirrored.tolist()
        }


def test_riders_are_labelled_and_nothing_else_is() -> None:
    bodies = build_body_library()
    for index, name in enumerate(bodies.names):
        first, count = bodies.first[index], bodies.count[index]
        labels = set(bodies.label[first : first + count].tolist())
        ridden = name in ("motorcycle", "scooter", "bicycle")
        assert labels == (
            {SemanticLabel.NONE, SemanticLabel.RIDER} if ridden else {SemanticLabel.NONE}
        )


def test_concave_caps_are_cut_without_overlap() -> None:
    outline = [(0.0, 0.0), (4.0, 0.0), (4.0, 3.0), (3.0, 3.0), (3.0, 1.0), (1.0, 1.0), (1.0, 3.0),
               (0.0, 3.0)]  # fmt: skip
    part = extrude_profile(outline, 0.5)
    assert volume(part.vertices, part.triangles.astype(np.int64)) == pytest.approx(8.0)
    caps = [t for t in part.triangles.tolist() if len({i // len(outline) for i in t}) == 1]
    corners = part.vertices[np.array(caps)]
    area = np.linalg.norm(
        np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1
    )
    assert area.sum() / 2 == pytest.approx(2 * 8.0)


def test_orientation_of_the_rings_does_not_matter() -> None:
    ring = np.array([(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (1.0, 1.0, 0.0), (0.0, 1.0, 0.0)])
    for first in (ring, ring[::-1]):
        part = loft_rings([first, np.add(first, (0.0, 0.0, 2.0))])
        assert volume(part.vertices, part.triangles.astype(np.int64)) == pytest.approx(2.0)

"""Rays against meshes, compared with a slow caster and with carlite's own."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings

from harness.common.randomness import make_named_stream
from harness.types.vocabulary import Floats, Pose
from studies.metamorphic.geometry.casting import (
    compute_hit_cosines,
    find_box_entries,
    find_nearest_hits,
)
from studies.metamorphic.geometry.shapes import PlacedShape, RoadUserShape, load_shapes
from tests.studies.metamorphic.made_boxes import SEEDS
from tests.studies.metamorphic.rendered import Standing, bare_town, world_with


def unit(vectors: Floats) -> Floats:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1)[:, None])


def slow_hit(direction: Floats, corners: Floats) -> tuple[float, int]:
    """Solve `t d = a + u (b - a) + v (c - a)` for one ray and each triangle."""
    best, which = math.inf, -1
    for number, (a, b, c) in enumerate(corners):
        facing = float(np.dot(np.cross(b - a, c - a), direction))
        system = np.column_stack([direction, a - b, a - c])
        if facing >= 0 or abs(np.linalg.det(system)) < 1e-14:
            continue
        t, u, v = np.linalg.solve(system, a)
        if t > 0 and u >= 0 and v >= 0 and u + v <= 1 and t < best:
            best, which = float(t), number
    return best, which


@pytest.mark.thorough
@given(seed=SEEDS)
@settings(max_examples=25)
def test_hits_are_those_of_a_slow_caster(seed: int) -> None:
    random = make_named_stream(seed, "triangles")
    corners = random.normal(0, 1, (12, 1, 3)) * 4 + random.normal(0, 1.5, (12, 3, 3))
    directions = unit(random.normal(0, 1, (40, 3)))
    ranges, faces = find_nearest_hits(directions, corners)
    for n, direction in enumerate(directions):
        distance, face = slow_hit(direction, corners)
        assert faces[n] == face
        assert ranges[n] == pytest.approx(distance, rel=1e-9)
    struck = faces >= 0
    cosines = compute_hit_cosines(directions[struck], corners, faces[struck])
    for direction, face, cosine in zip(directions[struck], faces[struck], cosines, strict=True):
        a, b, c = corners[face]
        normal = np.cross(b - a, c - a)
        assert cosine == pytest.approx(-normal @ direction / np.linalg.norm(normal))


@pytest.mark.thorough
@given(seed=SEEDS)
@settings(max_examples=25)
def test_boxes_are_entered_where_a_mesh_of_theirs_is_hit(seed: int) -> None:
    random = make_named_stream(seed, "boxes")
    x, y, z = (random.uniform(4, 9, 3) * random.choice([-1, 1], 3)).tolist()
    size, yaw = random.uniform(1, 5, 3), float(random.uniform(-4, 4))
    signs = np.array([[(n >> axis) & 1 for axis in range(3)] for n in range(8)]) * 2 - 1
    faces = np.array(
        [
            *([0, 2, 3], [0, 3, 1], [4, 5, 7], [4, 7, 6], [0, 1, 5], [0, 5, 4]),
            *([2, 6, 7], [2, 7, 3], [0, 4, 6], [0, 6, 2], [1, 3, 7], [1, 7, 5]),
        ]
    )
    cube = RoadUserShape(
        name="cube", of_class=0, vertices=signs * size / 2, faces=faces, tags=np.zeros(12, np.uint8)
    )
    corners = PlacedShape(cube, Pose(x, y, z, yaw=yaw), 1).compute_corners(Pose(0.0, 0.0))
    directions = unit(np.array([x, y, z]) + random.normal(0, 3, (60, 3)))
    ranges, _ = find_nearest_hits(directions, corners)
    np.testing.assert_allclose(
        find_box_entries(directions, np.array([x, y, z, *size, yaw])), ranges
    )


@pytest.mark.parametrize("name", sorted(load_shapes()))
def test_carlite_hits_the_body_where_rays_hit_the_shape(name: str) -> None:
    user = Standing(name, 9.0, -4.0, 0.7)
    random = np.random.default_rng(3)
    spread = random.uniform(-0.6, 0.6, (300, 3)) * user.size.max()
    rays = unit(np.array([9.0, -4.0, user.size[2] / 2 - 2.0]) + spread)
    origin = Pose(0.0, 0.0, 2.0)
    ranges, _ = find_nearest_hits(rays, user.placed(5).compute_corners(origin))
    world = world_with(bare_town(0), {5: user})
    world.refresh_actors()
    theirs, actor, _ = world.find_first_hit(np.tile([0.0, 0.0, 2.0], (300, 1)), rays, 60.0)
    struck = actor == 5
    assert struck.sum() > 10
    np.testing.assert_allclose(ranges[struck], theirs[struck], atol=1e-5)
    over = ~struck & (theirs > ranges)
    assert not over.any()

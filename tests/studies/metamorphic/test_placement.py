"""Placement without a map: on road that was seen, and apart from everything else."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shapely.geometry import Polygon

from harness.common.randomness import make_named_stream
from harness.types.vocabulary import Floats, Pose, Surfaces
from studies.metamorphic.geometry.ground import (
    collect_standing_boxes,
    find_gentle_ground,
    find_scene_ground,
)
from studies.metamorphic.geometry.placement import (
    MARGIN,
    build_placement_site,
    find_standing_pose,
    is_clear_of_boxes,
    is_separated,
    iterate_near_poses,
    iterate_random_poses,
)
from studies.metamorphic.geometry.shapes import find_shape_by_name
from studies.metamorphic.scenes.scene import CooperativeScene
from tests.studies.metamorphic.made_boxes import SEEDS
from tests.studies.metamorphic.rendered import (
    ADULT,
    TESLA,
    USERS,
    bare_surfaces,
    bare_town,
    scene_of,
    sparse,
    surveyed,
)

EGO = Pose(0.0, 0.0)


def outline(box: Floats) -> Polygon:
    """Return a box from above."""
    x, y, _, length, width, _, yaw = box.tolist()
    ahead = np.array([math.cos(yaw), math.sin(yaw)]) * length / 2
    aside = np.array([-math.sin(yaw), math.cos(yaw)]) * width / 2
    signs = ((1, 1), (1, -1), (-1, -1), (-1, 1))
    return Polygon([(x, y) + a * ahead + b * aside for a, b in signs])


def random_boxes(random: np.random.Generator, count: int) -> Floats:
    places = random.uniform(-5, 5, (count, 3))
    return np.column_stack(
        [places, random.uniform(0.3, 6, (count, 3)), random.uniform(-4, 4, count)]
    )


@given(seed=SEEDS)
@settings(max_examples=60)
def test_boxes_are_separated_where_their_outlines_are(seed: int) -> None:
    random = make_named_stream(seed, "boxes")
    box, others = random_boxes(random, 1)[0], random_boxes(random, 12)
    for other, apart in zip(others, is_separated(box, others), strict=True):
        shared = outline(box).intersection(outline(other)).area
        assert apart == (shared == 0) or shared < 1e-9
    if is_clear_of_boxes(others, box):
        assert min(outline(box).distance(outline(other)) for other in others) >= MARGIN - 1e-9


@pytest.mark.thorough
@pytest.mark.parametrize("labelled", [True, False])
@given(seed=SEEDS, name=st.sampled_from([TESLA, ADULT, "vehicle.mitsubishi.fusorosa"]))
@settings(max_examples=8)
def test_placed_objects_overlap_nothing(labelled: bool, seed: int, name: str) -> None:
    scene = sparse() if labelled else bare_surfaces(sparse())
    site, size = build_placement_site(scene), find_shape_by_name(name).size
    boxes = collect_standing_boxes(scene).geometry
    poses = list(
        islice(
            iterate_random_poses(site, size, make_named_stream(seed, "p"), around=EGO, within=40.0),
            6,
        )
    )
    assert len(poses) == 6
    for pose in poses:
        box = np.array([pose.x, pose.y, pose.z, *size, pose.yaw])
        assert min(outline(box).distance(outline(other)) for other in boxes) >= MARGIN - 1e-9
        # the town is level; without labels, its height is read from points with noise
        assert pose.z == pytest.approx(size[2] / 2, abs=0.02 if labelled else 0.05)
        assert math.hypot(pose.x, pose.y) <= 40.0
        inside = np.abs(site.points - [pose.x, pose.y, pose.z]).max(axis=1)
        assert ((inside < 0.15) & (site.points[:, 2] > 0.25)).sum() <= 2
        if labelled:
            assert abs(pose.y) <= 6.6  # the road


def test_all_road_users_are_obstacles_once_and_carriers_too() -> None:
    boxes = collect_standing_boxes(sparse()).geometry
    assert len(boxes) - len(USERS) < 100  # the others are parked
    for user in USERS.values():
        here = np.hypot(*(boxes[:, :2] - [user.x, user.y]).T) < 0.05
        assert here.sum() == 1
    without = collect_standing_boxes(sparse(), without=(20,)).geometry
    assert len(without) == len(boxes) - 1
    alone = scene_of(bare_town(0), {7: USERS[7]}, carriers=(7,))
    assert not len(collect_standing_boxes(alone))
    assert (
        find_standing_pose(
            build_placement_site(alone), find_shape_by_name(ADULT).size, 0.5, 0.3, yaw=0.0
        )
        is None
    )
    assert (
        find_standing_pose(
            build_placement_site(alone), find_shape_by_name(ADULT).size, 6.0, 0.3, yaw=0.0
        )
        is not None
    )


@pytest.mark.thorough
def test_places_are_the_generators_and_the_wanted_ones_come_first() -> None:
    site, size = build_placement_site(sparse()), find_shape_by_name(TESLA).size
    first, second = (
        list(iterate_random_poses(site, size, make_named_stream(4, "p"), around=EGO, within=30.0))
        for _ in range(2)
    )
    assert first == second
    assert first != list(
        iterate_random_poses(site, size, make_named_stream(5, "p"), around=EGO, within=30.0)
    )
    poses = list(iterate_near_poses(site, size, -20.0, 1.0, yaw=0.3, within=(-20.0, 0.0, 9.0)))
    away = [math.hypot(pose.x + 20.0, pose.y - 1.0) for pose in poses]
    assert away == sorted(away)
    assert away[0] == 0.0
    assert 6.0 < away[-1] <= 10.0
    assert {pose.yaw for pose in poses} == {0.3}


def with_labels(scene: CooperativeScene, label: int) -> CooperativeScene:
    """Return a scene whose ground has one label everywhere."""

    def labelled(surfaces: Surfaces | None) -> Surfaces:
        assert surfaces is not None
        ground = np.isin(surfaces.labels, (1, 10))
        labels = np.where(ground, label, surfaces.labels).astype(np.uint8)
        return Surfaces(labels, surfaces.cosines)

    ego, *partners = (replace(view, surfaces=labelled(view.surfaces)) for view in scene.views)
    return replace(scene, ego=ego, partners=tuple(partners))


@pytest.mark.parametrize(("label", "road"), [(1, True), (24, True), (2, False), (10, False)])
def test_only_roads_and_their_lines_are_road(label: int, road: bool) -> None:
    site = build_placement_site(with_labels(sparse(), label))
    assert (
        find_standing_pose(site, find_shape_by_name(TESLA).size, -20.0, 1.0, yaw=0.0) is not None
    ) == road


def test_walls_and_roofs_are_no_ground_without_labels() -> None:
    """Nearly all lowest points of the level town lie at height 0."""
    heights = find_scene_ground(bare_surfaces(sparse())).points[:, 2]
    assert len(heights) > 800
    assert (np.abs(heights) < 0.05).mean() > 0.99


@pytest.mark.parametrize(
    ("count", "height", "stands"), [(2, 0.9, True), (3, 0.9, False), (9, 0.1, True), (3, 2.5, True)]
)
def test_few_points_may_lie_where_an_object_is_to_stand(
    count: int, height: float, stands: bool
) -> None:
    site = build_placement_site(sparse())
    inside = np.array([[-20.0 + 0.2 * n, 1.0, height] for n in range(count)])
    filled = replace(site, points=np.concatenate([site.points, inside]))
    pose = find_standing_pose(filled, find_shape_by_name(TESLA).size, -20.0, 1.0, yaw=0.0)
    assert (pose is not None) == stands


def test_ground_rises_gently_from_cell_to_cell() -> None:
    x, y = (part.ravel() for part in np.meshgrid(np.arange(20.0), np.arange(12.0)))
    roof = (x > 13) & (y < 6)
    level = np.column_stack([x, y, np.where(roof, 3.0, 0.0)])
    np.testing.assert_array_equal(find_gentle_ground(level, fewest=0), ~roof)
    assert find_gentle_ground(level, fewest=4).all()
    for degrees, is_ground in ((9.0, True), (12.0, False)):
        slope = math.tan(math.radians(degrees))
        ridge = np.column_stack([x, 30 * y, slope * x])
        assert find_gentle_ground(ridge, fewest=4).all() == is_ground


def test_steep_ground_is_no_place() -> None:
    scene = sparse()
    site = build_placement_site(scene)
    points = site.ground.points.copy()
    points[:, 2] = 0.3 * points[:, 0]
    steep = replace(site, ground=replace(site.ground, points=points))
    assert find_standing_pose(site, find_shape_by_name(TESLA).size, -20.0, 1.0, yaw=0.0) is not None
    assert find_standing_pose(steep, find_shape_by_name(TESLA).size, -20.0, 1.0, yaw=0.0) is None
    assert (
        find_standing_pose(site, find_shape_by_name(TESLA).size, -95.0, 1.0, yaw=0.0) is None
    )  # not seen


def test_recorded_ground_is_road_where_no_one_has_seen_it() -> None:
    """The town has road up to 5.5 m aside; a car is 4.8 m long and 2.2 m wide."""
    scene = replace(sparse(), ground=surveyed(0.0, 40))
    site, size = build_placement_site(scene), find_shape_by_name(TESLA).size
    seen = build_placement_site(sparse())
    assert find_standing_pose(seen, size, -95.0, 1.0, yaw=0.0) is None
    assert find_standing_pose(site, size, -95.0, 1.0, yaw=0.0) is not None
    for y, yaw, stands in ((3.9, 0.0, True), (5.0, 0.0, False), (3.9, 1.57, False)):
        assert (find_standing_pose(site, size, -95.0, y, yaw=yaw) is not None) == stands


def test_objects_stand_on_recorded_hills() -> None:
    """Within 2 cm of carlite's own heights."""
    town, mast = bare_town(0, hills=1.0), Pose(30.0, 0.0, 9.0)
    scene = scene_of(town, {20: replace(USERS[20], x=60.0)}, roadside=(mast,))
    ground = find_scene_ground(replace(scene, ground=surveyed(1.0, 0)))
    grid, random = town.ground, np.random.default_rng(3)
    for _ in range(40):
        column, row = random.integers(136, 175), random.integers(115, 126)
        x, y = grid.x + column * grid.cell, grid.y + row * grid.cell
        assert ground.get_height(x, y) == pytest.approx(float(grid.lower[row, column]), abs=0.02)

"""Objects in pictures: recorded worlds are shown again, with a road user more, less or elsewhere.

That a shown world equals a played one to the pixel is tested with the stage itself
(tests/world/test_world_states.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from harness.common.errors import UserError
from harness.types.geometry import build_pose_matrix, transform_boxes
from harness.types.vocabulary import CameraImage, Floats
from studies.metamorphic.operators.objects import (
    DeleteObject,
    InsertObject,
    ScaleObject,
    TranslateObject,
)
from studies.metamorphic.operators.pictures import NightOperator
from studies.metamorphic.operators.weather import FogOperator
from studies.metamorphic.pictures.staging import close_stage, count_changed_pixels, show_world
from studies.metamorphic.running.generation import write_changed_scene
from studies.metamorphic.running.natural import build_naturalness_sheets, measure_insertion
from studies.metamorphic.running.systems import build_named_system, refuse_without_pictures
from studies.metamorphic.scenes.answers import ask_system
from studies.metamorphic.scenes.operator import ChangedScene, DoesNotApplyError
from studies.metamorphic.scenes.scene import CooperativeScene, list_scene_sources, read_scene
from studies.space import Values
from tests.studies.metamorphic.staged import make_recording

pytestmark = pytest.mark.thorough
VALUES: Values = {
    "shape": "vehicle.volkswagen.t2",
    "distance": 12.0,
    "bearing": 10.0,
    "heading": 30.0,
}


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CooperativeScene]:
    yield read_scene(list_scene_sources([make_recording(tmp_path_factory)])[0])
    close_stage()


@pytest.fixture(scope="module")
def inserted(scene: CooperativeScene) -> ChangedScene:
    return InsertObject().apply(scene, VALUES, np.random.default_rng(1))


def box_corners(scene: CooperativeScene, actor: int) -> Floats:
    """Return the (8, 3) corners of an actor's box in the ego's LiDAR frame."""
    box = scene.ego.truth.boxes_in_lidar.geometry[scene.ego.truth.actor_ids == actor][0]
    signs = np.array([[a, b, c] for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)])
    cos, sin = np.cos(box[6]), np.sin(box[6])
    local = signs * box[3:6] / 2
    x = box[0] + cos * local[:, 0] - sin * local[:, 1]
    y = box[1] + sin * local[:, 0] + cos * local[:, 1]
    return np.column_stack([x, y, box[2] + local[:, 2]])


def project(image: CameraImage, points: Floats) -> Floats:
    """Return (N, 2) columns and rows of points that are all ahead of a camera."""
    inverse = np.linalg.inv(build_pose_matrix(image.camera_in_lidar))
    x, y, z = (points @ inverse[:3, :3].T + inverse[:3, 3]).T
    assert (x > 1).all()
    return (
        np.column_stack([image.intrinsics[0, 0] * y / x, -image.intrinsics[1, 1] * z / x])
        + (image.intrinsics[:2, 2])
    )


def test_the_recorded_world_gives_the_recorded_pictures(scene: CooperativeScene) -> None:
    assert scene.world is not None
    again = show_world(scene, scene.world)
    assert sum(len(view.images) for view in again.views) >= 8
    assert count_changed_pixels(scene.views, again.views) == 0


def test_an_object_is_in_points_and_pictures_at_one_place(
    scene: CooperativeScene, inserted: ChangedScene
) -> None:
    (actor,) = inserted.expectation.new
    after = inserted.scene
    assert after.world is not None
    assert scene.world is not None
    assert after.world.actors.max() == actor > scene.world.actors.max()
    assert count_changed_pixels(scene.views, after.views) > 50
    # pixels that changed in the front picture: the box, and a shadow at its foot
    front, shown = scene.ego.images[0], after.ego.images[0]
    changed = np.argwhere((front.pixels != shown.pixels).any(axis=2))
    corners = project(shown, box_corners(after, actor))
    low, high = corners.min(axis=0), corners.max(axis=0)
    inside = (changed[:, ::-1] >= low - 1.5).all(axis=1) & (changed[:, ::-1] <= high + 1.5).all(
        axis=1
    )
    assert inside.sum() > 20
    assert inside.mean() > 0.5
    # new points fall on changed pixels, where the camera sees the object
    points = after.ego.points_in_lidar[:, :3].astype(np.float64)
    box = after.ego.truth.boxes_in_lidar.geometry[after.ego.truth.actor_ids == actor][0]
    near = points[np.linalg.norm(points - box[:3], axis=1) < 1.0]
    assert len(near) > 5
    pixels = np.rint(project(shown, near) - 0.5).astype(int)
    mask = (front.pixels != shown.pixels).any(axis=2)
    fits = (pixels >= 0).all(axis=1) & (pixels < mask.shape[::-1]).all(axis=1)
    assert mask[pixels[fits, 1], pixels[fits, 0]].mean() > 0.8


def test_a_second_object_stands_next_to_the_first(
    scene: CooperativeScene, inserted: ChangedScene
) -> None:
    values: Values = {**VALUES, "shape": "vehicle.tesla.model3", "distance": 20.0, "bearing": -20.0}
    both = InsertObject().apply(inserted.scene, values, np.random.default_rng(2))
    assert both.scene.world is not None
    assert scene.world is not None
    assert len(both.scene.world.actors) == len(scene.world.actors) + 2
    (one,), (other,) = inserted.expectation.new, both.expectation.new
    assert other == one + 1
    # taken away again, it is as before
    alone = show_world(both.scene, both.scene.world.remove_actor(other))
    assert count_changed_pixels(alone.views, inserted.scene.views) == 0


def test_a_deleted_road_user_is_gone_from_pictures(scene: CooperativeScene) -> None:
    assert scene.world is not None
    changed = DeleteObject().apply(scene, {"object": 0.0}, np.random.default_rng(1))
    (actor,) = changed.expectation.gone
    assert changed.scene.world is not None
    assert actor not in changed.scene.world.actors
    assert count_changed_pixels(scene.views, changed.scene.views) > 0


def test_a_moved_road_user_stands_where_its_box_is(scene: CooperativeScene) -> None:
    random = np.random.default_rng(1)
    for share in (0.0, 0.3, 0.6, 0.9):
        for direction in (0.0, 90.0, 180.0):
            values = {"object": share, "metres": 0.8, "direction": direction}
            try:
                changed = TranslateObject().apply(scene, values, random)
            except DoesNotApplyError:
                continue
            (actor,) = changed.expectation.moved
            assert changed.scene.world is not None
            pose = changed.scene.world.get_pose(actor)
            ego = changed.scene.ego
            box = transform_boxes(
                ego.truth.boxes_in_lidar, ego.lidar_in_world, type(ego.lidar_in_world)(0.0, 0.0)
            ).geometry[ego.truth.actor_ids == actor][0]
            assert np.hypot(*(pose[:2] - box[:2])) < 0.5
            return
    pytest.fail("no road user could be moved")


def test_pictures_that_cannot_be_shown_are_refused(scene: CooperativeScene) -> None:
    random = np.random.default_rng(1)
    with pytest.raises(DoesNotApplyError, match="scaled"):
        ScaleObject().apply(scene, {"object": 0.0, "x": 0.99, "y": 0.99, "z": 0.99}, random)
    with pytest.raises(DoesNotApplyError, match="record them again"):
        InsertObject().apply(replace(scene, world=None), VALUES, random)


def test_a_changed_scene_is_written_with_its_pictures(
    scene: CooperativeScene, inserted: ChangedScene, tmp_path: Path
) -> None:
    about = {"operator": "insert"}
    write_changed_scene(tmp_path / "changed", inserted.scene, inserted.expectation, about)
    (source,) = list_scene_sources([tmp_path])
    read = read_scene(source)
    assert count_changed_pixels(read.views, inserted.scene.views) == 0
    assert read.world is not None
    assert inserted.scene.world is not None
    assert read.world.actors.tolist() == inserted.scene.world.actors.tolist()
    # the object is in the depths too, and nothing else is
    agent = str(scene.ego.agent)
    before = scene.source.scenario.read_depths(scene.ego.agent, f"{scene.source.moment:06}")[0]
    after = source.scenario.read_depths(int(agent), "000000")[0]
    nearer, there = after < before - 0.02, inserted.scene.ego.images[0].pixels
    assert 20 < nearer.sum() < 0.3 * nearer.size
    assert (there != scene.ego.images[0].pixels).any(axis=2)[nearer].mean() > 0.9
    assert (after <= before + 0.02).mean() > 0.999


def test_systems_with_cameras_answer_and_need_pictures(
    scene: CooperativeScene, inserted: ChangedScene, recording: Path
) -> None:
    system = build_named_system("mixed_late")
    one, other = ask_system(system, scene), ask_system(system, scene)
    np.testing.assert_array_equal(one.cooperative.geometry, other.cooperative.geometry)
    camera = build_named_system("camera_single")
    before, after = ask_system(camera, scene), ask_system(camera, inserted.scene)
    assert (
        len(before.cooperative) != len(after.cooperative)
        or (before.cooperative.scores != after.cooperative.scores).any()
    )
    refuse_without_pictures(["camera_late"], [scene.source])
    with pytest.raises(UserError, match="has no pictures"):
        refuse_without_pictures(["late", "camera_late"], list_scene_sources([recording]))


def test_night_and_weather_are_shown(scene: CooperativeScene) -> None:
    random = np.random.default_rng(1)
    night = NightOperator().apply(scene, {"altitude": -25.0}, random)
    fog = FogOperator().apply(scene, {"visibility": 40.0}, random)
    by_day = np.mean([image.pixels.mean() for image in scene.ego.images])
    at_night = np.mean([image.pixels.mean() for image in night.scene.ego.images])
    assert at_night < 0.75 * by_day
    assert night.changed > 10_000
    # fog takes points and contrast: one weather
    assert len(fog.scene.ego.points_in_lidar) < len(scene.ego.points_in_lidar)
    contrast = [image.pixels.std() for image in (scene.ego.images[0], fog.scene.ego.images[0])]
    assert contrast[1] < 0.8 * contrast[0]
    # an object at night, and the same object by day
    both = InsertObject().apply(night.scene, VALUES, np.random.default_rng(1))
    assert both.scene.world is not None
    assert both.scene.world.weather["sun_altitude_angle"] == -25.0
    assert count_changed_pixels(night.scene.views, both.scene.views) > 30


def test_how_natural_an_insertion_is(scene: CooperativeScene) -> None:
    rows = (measure_insertion(scene, seed) for seed in range(3, 9))
    row = next(row for row in rows if row["objects"]["inserted"])  # in a picture, large enough
    assert row["differ"] == 0
    inserted, displaced = (row["objects"][name] for name in ("inserted", "displaced"))
    assert inserted
    assert np.mean([one["overlap"] for one in inserted]) > 0.5
    on, points = (sum(one[key] for one in inserted) for key in ("on_pixels", "points"))
    assert on / points > 0.9
    apart = [one["overlap"] for one in displaced]
    assert np.mean(apart or [0.0]) < np.mean([one["overlap"] for one in inserted])
    consistency, distances = build_naturalness_sheets([{**row, "cluster": "a", "skipped": ""}])
    assert consistency.note.startswith("0 of ")
    assert len(distances.rows) == 3

"""The cameras against Embree, pixel by pixel, and how their pictures are coded."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from harness.carlite import sensors
from harness.carlite.actors import ActorTable
from harness.carlite.arrays import Bytes, Floats
from harness.carlite.labels import SemanticLabel
from harness.carlite.sensors.protocol import SensorPose
from harness.carlite.sensors.scene import SensorScene
from tests.carlite import ray_worlds

WIDTH, HEIGHT, FIELD = 160, 120, 80.0
SIZE = {"image_size_x": str(WIDTH), "image_size_y": str(HEIGHT), "fov": str(FIELD)}
POSES = {
    "level": SensorPose((0, 0, 1.8), (0.0, 0.3, 0.0)),
    "rolled": SensorPose((2, 1, 3.0), (-0.2, 2.0, 0.5)),
    "from above": SensorPose((0, 0, 40.0), (-np.pi / 2, 1.0, 0.0)),
    "on its head": SensorPose((0, 0, 3.0), (0.1, 2.5, np.pi)),
}
GROUNDS = (SemanticLabel.ROAD, SemanticLabel.TERRAIN)


def image(kind: str, scene: SensorScene, pose: SensorPose, **attributes: str) -> Bytes:
    """Rows, columns, BGRA."""
    camera = sensors.make_sensor(f"sensor.camera.{kind}", {**SIZE, **attributes}, 0, 1)
    body = camera.capture(scene, pose, 1, 0.05)
    assert body is not None
    width, height, field = struct.unpack_from("<IIf", body)
    assert (width, height, field) == (
        WIDTH,
        HEIGHT,
        np.float32(float(attributes.get("fov", FIELD))),
    )
    return np.frombuffer(body, np.uint8, offset=12).reshape(height, width, 4)


def depth_of(pixels: Bytes) -> Floats:
    """Decode depth as CARLA documents it."""
    blue, green, red = (pixels[..., n].astype(np.float64) for n in range(3))
    metres: Floats = (red + green * 256 + blue * 65536) / (2**24 - 1) * 1000
    return metres


def rays() -> Floats:
    """Directions one metre ahead through the middle of each pixel, row by row."""
    focal = WIDTH / 2 / np.tan(np.radians(FIELD) / 2)
    across = (np.arange(WIDTH) + 0.5 - WIDTH / 2) / focal
    upward = (HEIGHT / 2 - np.arange(HEIGHT) - 0.5) / focal
    y, z = np.meshgrid(across, upward)
    return np.stack([np.ones_like(y), y, z], axis=-1).reshape(-1, 3)


@pytest.fixture(scope="module")
def scene() -> SensorScene:
    return SensorScene(ray_worlds.town(hills=1.0, deck=True), ray_worlds.crowd(60, seed=3))


@pytest.mark.thorough
@pytest.mark.parametrize("pose", POSES.values(), ids=POSES.keys())
def test_embree_sees_the_same_picture(scene: SensorScene, pose: SensorPose) -> None:
    origin, ahead = np.array(pose.position, np.float64), rays()
    length = np.linalg.norm(ahead, axis=1)
    directions = ahead / length[:, None] @ ray_worlds.turned(np.array(pose.rotation)).T
    triangles = ray_worlds.triangles_of(scene.town, scene.table, origin, 250.0).seen_from(origin)
    tree = ray_worlds.embree_scene(triangles)
    distance, which = ray_worlds.embree_hits(tree, origin, directions)
    seen = np.isfinite(distance)
    depth = depth_of(image("depth", scene, pose)).ravel()
    expected = np.where(seen, distance / length, 1000.0)
    assert (np.abs(depth - expected) < 0.01).mean() > 0.999
    label = image("semantic_segmentation", scene, pose)[..., 2].ravel()
    truth = np.where(seen, triangles.label[which], SemanticLabel.SKY)
    same = (label == truth) | (np.isin(label, GROUNDS) & np.isin(truth, GROUNDS))
    assert same.mean() > 0.999
    instance = image("instance_segmentation", scene, pose).reshape(-1, 4).astype(int)
    np.testing.assert_array_equal(instance[:, 2], label)
    actor = np.where(seen, triangles.actor[which], 0)
    number = instance[:, 1] + 256 * instance[:, 0]
    assert (np.where(number < 0x8000, number, 0) == actor).mean() > 0.999


def test_every_piece_of_scenery_has_another_number(scene: SensorScene) -> None:
    instance = image("instance_segmentation", scene, POSES["from above"]).astype(int)
    number = instance[..., 1] + 256 * instance[..., 0]
    labels = instance[..., 2]
    houses = np.unique(number[labels == SemanticLabel.BUILDING])
    assert len(houses) > 5
    assert (houses >= 0x8000).all()
    assert (number[np.isin(labels, (*GROUNDS, SemanticLabel.SKY))] == 0).all()


def test_the_picture_looks_like_a_street_by_day() -> None:
    table = ActorTable()
    table.add_actor(
        5, label=SemanticLabel.CAR, body=0, position=(12, 0, 0), box_centre=(0, 0, 0.74),
        extent=(2.4, 1.0, 0.74),
    )  # fmt: skip
    scene = SensorScene(ray_worlds.town(pieces=0), table)
    pixels = image("rgb", scene, SensorPose((0, 0, 1.5), (0.0, 0.0, 0.0))).astype(int)
    assert (pixels[..., 3] == 255).all()
    sky, road, verge = pixels[5, 80], pixels[115, 80], pixels[62, 5]
    assert sky[0] > sky[1] > sky[2] > 80
    assert np.ptp(road[:3]) < 15
    assert verge[1] > verge[0]
    labels = image("semantic_segmentation", scene, SensorPose((0, 0, 1.5), (0.0, 0.0, 0.0)))[..., 2]
    car = pixels[labels == SemanticLabel.CAR][:, :3]
    assert len(car) > 200
    assert len(np.unique(car, axis=0)) >= 2
    np.testing.assert_array_equal(pixels[0, :, :3].std(axis=0) < 12, True)


def test_a_wider_field_shows_more_and_smaller(scene: SensorScene) -> None:
    narrow, wide = (
        (
            image("semantic_segmentation", scene, POSES["level"], fov=fov)[..., 2]
            == SemanticLabel.SKY
        ).mean()
        for fov in ("20", "120")
    )
    assert narrow != wide
    middle = image("depth", scene, POSES["level"], fov="120")[60, 80]
    close = image("depth", scene, POSES["level"], fov="20")[60, 80]
    assert depth_of(middle) == pytest.approx(depth_of(close), rel=0.1)


def test_lens_attributes_are_accepted() -> None:
    scene = SensorScene(ray_worlds.town(pieces=0), ActorTable())
    lens = {"lens_k": "-1.0", "fstop": "1.4", "enable_postprocess_effects": "True"}
    plain = image("rgb", scene, POSES["level"])
    np.testing.assert_array_equal(image("rgb", scene, POSES["level"], **lens), plain)


def test_pictures_show_the_poses_of_the_snapshot() -> None:
    """A pose that reaches a client equal gives an equal picture; the LiDAR's is the world's own."""
    town, table = ray_worlds.town(), ActorTable()
    table.add_actor(
        7,
        kind=1,
        label=SemanticLabel.CAR,
        body=0,
        position=(9.0, 1.0, 0.8),
        rotation=(0.01, 0.4, 0.0),
        velocity=(0.0, 0.0, 0.0),
        box_centre=(0.0, 0.0, 0.0),
        extent=(2.0, 1.0, 0.8),
    )
    scene = SensorScene(town, table)
    before = image("rgb", scene, POSES["level"])
    # less than single precision holds
    single = table.position[0].astype(np.float32)
    table.position[0] += 1e-8
    np.testing.assert_array_equal(table.position[0].astype(np.float32), single)
    scene.refresh_actors()
    centre = scene.shown.centre[-1].copy()
    assert (scene.things.centre[-1] != centre).any()
    np.testing.assert_array_equal(image("rgb", scene, POSES["level"]), before)
    # a pose that differs for clients differs in pictures
    table.position[0] += 0.2
    scene.refresh_actors()
    assert (image("rgb", scene, POSES["level"]) != before).any()

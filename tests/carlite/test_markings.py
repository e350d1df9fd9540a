"""What is painted on roads: in pictures and scans, where the file says it is."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from harness.carlite import bodies, sensors, towns
from harness.carlite.actors import ActorKind, ActorTable
from harness.carlite.arrays import Bytes
from harness.carlite.labels import SemanticLabel
from harness.carlite.sensors.lamps import BRAKE, find_light_heads
from harness.carlite.sensors.markings import is_on_marking
from harness.carlite.sensors.protocol import SensorPose
from harness.carlite.sensors.scene import SensorScene
from harness.carlite.towns.marking_strips import build_town_strips
from harness.carlite.towns.model import Town
from harness.carlite.warmup import build_road
from tests.carlite import ray_worlds

LINE, ROAD = int(SemanticLabel.ROAD_LINE), int(SemanticLabel.ROAD)


@pytest.fixture(scope="module")
def town() -> Town:
    """A town with markings, lights and crosswalks."""
    return towns.load_town("Crucible05", None)


def take_image(kind: str, scene: SensorScene, pose: SensorPose, **attributes: str) -> Bytes:
    """Rows, columns, BGRA."""
    body = sensors.make_sensor(f"sensor.camera.{kind}", attributes, 0, 1).capture(
        scene, pose, 1, 0.05
    )
    assert body is not None
    width, height, _ = struct.unpack_from("<IIf", body)
    return np.frombuffer(body, np.uint8, offset=12).reshape(height, width, 4)


def test_a_road_without_markings_has_no_lines() -> None:
    """Lanes of a file need not have any."""
    road = build_road(60.0)
    assert "roadMark" not in road.opendrive
    assert [len(part) for part in build_town_strips(road.opendrive, ())] == [0, 0]
    scene = SensorScene(road, ActorTable(), None, build_town_strips)
    pose = SensorPose((30.0, 0.0, 10.0), (-np.pi / 2, 0.0, 0.0))
    labels = take_image("semantic_segmentation", scene, pose, image_size_x="80", image_size_y="60")
    assert LINE not in labels[..., 2]
    assert ROAD in labels[..., 2]


def test_a_line_lies_at_the_edge_of_its_lane(town: Town) -> None:
    """From straight above, a line is half way between the centres of lanes of equal width."""
    lanes, scene = town.lanes, SensorScene(town, ActorTable(), None, build_town_strips)
    seen = 0
    # lanes with a neighbour on the left; gaps of broken lines are passed over
    for lane in np.flatnonzero((lanes.left >= 0) & (lanes.junction < 0))[:40]:
        at = lanes.first[lane] + lanes.count[lane] // 2
        x, y, z = lanes.points[at]
        # half the way to the centre line on the left, square to it
        yaw, other = lanes.yaw[at], lanes.left[lane]
        neighbours = slice(lanes.first[other], lanes.first[other] + lanes.count[other])
        apart = lanes.points[neighbours, :2] - (x, y)
        near = np.hypot(*apart.T).argmin()
        turn = lanes.yaw[neighbours][near]
        half = abs(apart[near] @ (-np.sin(turn), np.cos(turn))) / 2
        assert lanes.width[at] == pytest.approx(lanes.width[neighbours][near])
        pose = SensorPose((x, y, z + 10.0), (-np.pi / 2, yaw, 0.0))
        labels = take_image(
            "semantic_segmentation", scene, pose, image_size_x="801", image_size_y="3", fov="60"
        )[1, :, 2]
        metre = 10.0 * 2 * np.tan(np.radians(30)) / 801
        across = (np.arange(801) - 400) * metre
        line = (labels == LINE) & (np.abs(across + half) < 0.5)
        if line.any():
            seen += 1
            assert abs(across[line].mean() + half) < 0.03
    assert seen > 5


def test_the_semantic_scan_and_the_semantic_picture_agree(town: Town) -> None:
    """A scan's points on paint are those that the file puts there, and there are some."""
    line = next(s for s in town.signals if s.stop_lines).stop_lines[0]
    scene = SensorScene(town, ActorTable(), None, build_town_strips)
    x, y, z = line.position
    back = x - 8 * np.cos(line.yaw), y - 8 * np.sin(line.yaw)
    pose = SensorPose((*back, z + 1.8), (0.0, line.yaw, 0.0))
    labels = take_image("semantic_segmentation", scene, pose)[..., 2]
    depth = take_image("depth", scene, pose)[..., :3].astype(np.float64)
    ahead = (depth @ [65536, 256, 1]) / (2**24 - 1) * 1000
    # the same place in the world as the picture's pixel says
    rows, columns = np.nonzero((labels == LINE) | (labels == ROAD))
    rows, columns = rows[::29], columns[::29]
    far = ahead[rows, columns]
    right, up = far * (columns + 0.5 - 400) / 400, far * (300 - rows - 0.5) / 400
    cos, sin = np.cos(line.yaw), np.sin(line.yaw)
    painted = [
        is_on_marking(scene.markings, back[0] + a * cos - b * sin, back[1] + a * sin + b * cos, c)
        for a, b, c in zip(far, right, z + 1.8 + up, strict=True)
    ]
    agree = np.array(painted) == (labels[rows, columns] == LINE)
    assert np.sum(painted) > 100
    assert agree.mean() > 0.999
    # the scan sees paint as well
    scan = sensors.make_sensor("sensor.lidar.ray_cast_semantic", {}, 0, 1)
    body = scan.capture(scene, pose, 2, 0.1)
    assert body is not None
    points = np.frombuffer(body[8 + 4 * 32 :], "<f4").reshape(-1, 6)
    tags = points[:, 5].copy().view("<u4")
    on_paint = points[tags == LINE]
    assert len(on_paint) > 3
    for a, b, c in on_paint[:, :3].astype(np.float64):
        east, north = back[0] + a * cos - b * sin, back[1] + a * sin + b * cos
        assert is_on_marking(scene.markings, east, north, z + 1.8 + c) or abs(a) > 100


@pytest.mark.parametrize("metres", [12, 30])
def test_lights_differ_by_their_state(town: Town, metres: int) -> None:
    """The brightest saturated pixels of a head differ for red, yellow and green."""
    pieces, numbers, facing = find_light_heads(town)
    plain = SensorScene(town, ActorTable(), None, build_town_strips)
    # the first head that nothing hides, straight ahead
    for head in range(len(pieces)):
        ahead = np.array([*facing[head], 0.0])
        away = town.scenery.centre[pieces[head]] + metres * ahead
        pose = SensorPose(tuple(away), (0.0, float(np.arctan2(-ahead[1], -ahead[0])), 0.0))
        labels = take_image("semantic_segmentation", plain, pose)[..., 2]
        if (labels[298:302, 398:402] == SemanticLabel.TRAFFIC_LIGHT).all():
            break
    hues = []
    for state in range(3):
        states = np.full(numbers.max() + 1, 3, np.uint8)
        states[numbers[head]] = state
        scene = SensorScene(town, ActorTable(), states, build_town_strips)
        picture = take_image("rgb", scene, pose)
        middle = picture[280:320, 380:420, 2::-1].astype(int).reshape(-1, 3)
        lit = middle[(middle.max(axis=1) > 200) & (np.ptp(middle, axis=1) > 120)]
        assert len(lit) >= 3
        red, green, _ = lit.mean(axis=0)
        hues.append((red > 200, green > 150))
    assert hues == [(True, False), (True, True), (False, True)]


def test_brake_lamps_follow_the_light_state() -> None:
    """A car seen from behind is brighter red where its brake lamps are lit, and nowhere else."""
    label, extent = ray_worlds.MODELS["vehicle.tesla.model3"]
    table = ActorTable()
    table.add_actor(
        100, kind=ActorKind.VEHICLE, label=label, position=(8, 0, 0), rotation=(0, 0, 0),
        body=bodies.build_body_library().find_body_index("vehicle.tesla.model3"),
        velocity=(0, 0, 0), box_centre=(0, 0, extent[2]), extent=extent,
    )  # fmt: skip
    scene, pose = SensorScene(ray_worlds.town(pieces=0), table), SensorPose((0, 0, 1.0), (0, 0, 0))
    dark = take_image("rgb", scene, pose).astype(int)
    table.lamps[table.body >= 0] = BRAKE
    lit = take_image("rgb", scene, pose).astype(int)
    changed = np.any(dark != lit, axis=2)
    assert changed.sum() > 100
    # pixels on the edges of lenses blend with the paint next to them
    assert (lit[changed][:, 2] > dark[changed][:, 2]).all()
    assert (lit[changed][:, 2] > 200).mean() > 0.9
    assert (lit[changed][:, :2] < 60).mean() > 0.9

"""Classical detectors of OpenCV, where it is installed, find what is in pictures."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

from harness.carlite import sensors, towns
from harness.carlite.actors import ActorTable
from harness.carlite.arrays import Bytes
from harness.carlite.labels import SemanticLabel
from harness.carlite.sensors.lamps import find_light_heads
from harness.carlite.sensors.protocol import SensorPose
from harness.carlite.sensors.scene import SensorScene
from harness.carlite.sensors.weather import SceneWeather
from harness.carlite.towns.marking_strips import build_town_strips
from harness.carlite.towns.model import Town

cv2: Any = pytest.importorskip("cv2", reason="no OpenCV")
LIGHTS = {"red": ((0, 10), (170, 180)), "yellow": ((15, 35),), "green": ((45, 90),)}
WEATHERS = {
    "noon": SceneWeather(sun_altitude_angle=60.0),
    "night": SceneWeather(sun_altitude_angle=-40.0),
    "fog": SceneWeather(fog_density=40.0),
    "rain": SceneWeather(precipitation=60.0, wetness=60.0, cloudiness=80.0),
}


@pytest.fixture(scope="module")
def town() -> Town:
    return towns.load_town("Crucible05", None)


def take(kind: str, scene: SensorScene, pose: SensorPose) -> Bytes:
    """Rows, columns, BGRA."""
    body = sensors.make_sensor(f"sensor.camera.{kind}", {}, 0, 1).capture(scene, pose, 1, 0.05)
    assert body is not None
    width, height, _ = struct.unpack_from("<IIf", body)
    return np.frombuffer(body, np.uint8, offset=12).reshape(height, width, 4)


@pytest.mark.thorough
@pytest.mark.parametrize("weather", WEATHERS)
def test_hough_lines_lie_on_markings(town: Town, weather: str) -> None:
    """Most long lines on the road are on paint, and most pictures have some."""
    scene = SensorScene(town, ActorTable(), None, build_town_strips)
    scene.weather = WEATHERS[weather]
    shown = on_paint = lines = 0
    for x, y, z, pitch, yaw, _ in town.spawn_points[::12].tolist():
        pose = SensorPose((x, y, z + 1.8), (pitch, yaw, 0.0))
        labels = take("semantic_segmentation", scene, pose)[..., 2]
        grey = cv2.cvtColor(np.ascontiguousarray(take("rgb", scene, pose)[..., :3]), 6)
        edges = cv2.Canny(grey, 60, 160)
        road = np.isin(labels, (SemanticLabel.ROAD, SemanticLabel.ROAD_LINE)).astype(np.uint8)
        edges[cv2.erode(road, np.ones((9, 9), np.uint8)) == 0] = 0
        segments = cv2.HoughLinesP(edges, 1, np.pi / 180, 40, minLineLength=50, maxLineGap=10)
        near_paint = cv2.dilate(
            (labels == SemanticLabel.ROAD_LINE).astype(np.uint8), np.ones((7, 7), np.uint8)
        )
        shown += segments is not None
        for x0, y0, x1, y1 in [] if segments is None else segments.reshape(-1, 4):
            along = np.linspace(0, 1, 50)
            at = np.rint(np.outer(1 - along, (x0, y0)) + np.outer(along, (x1, y1))).astype(int)
            lines += 1
            on_paint += near_paint[at[:, 1], at[:, 0]].mean() > 0.7
    print(f"{weather}: {lines} lines, {on_paint} on paint; {shown} pictures with lines")
    assert lines > 20
    assert on_paint / lines > 0.8


@pytest.mark.thorough
@pytest.mark.parametrize("weather", WEATHERS)
def test_hues_name_the_state_of_a_light(town: Town, weather: str) -> None:
    """A fixed rule on hue, saturation and value names the state of heads 10 m away."""
    pieces, numbers, facing = find_light_heads(town)
    right = asked = 0
    for head in range(0, len(pieces), 4):
        ahead = np.array([*facing[head], 0.0])
        away = town.scenery.centre[pieces[head]] + 10 * ahead
        pose = SensorPose(tuple(away), (0.0, float(np.arctan2(-ahead[1], -ahead[0])), 0.0))
        for state, name in enumerate(LIGHTS):
            states = np.full(numbers.max() + 1, 3, np.uint8)
            states[numbers[head]] = state
            scene = SensorScene(town, ActorTable(), states, build_town_strips)
            labels = take("semantic_segmentation", scene, pose)[..., 2]
            if (labels[296:304, 396:404] != SemanticLabel.TRAFFIC_LIGHT).any():
                continue
            scene.weather = WEATHERS[weather]
            picture = np.ascontiguousarray(take("rgb", scene, pose)[275:325, 385:415, :3])
            hue, strong, bright = np.moveaxis(cv2.cvtColor(picture, cv2.COLOR_BGR2HSV), 2, 0)
            shining = (strong > 110) & (bright > 150)
            counts = {
                key: sum((shining & (hue >= a) & (hue <= b)).sum() for a, b in spans)
                for key, spans in LIGHTS.items()
            }
            asked += 1
            right += max(counts, key=lambda key: counts[key]) == name and counts[name] > 0
    print(f"{weather}: {right} of {asked} states")
    assert asked >= 9
    assert right == asked

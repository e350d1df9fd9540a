"""Pictures: where things are in them, and what weather, lamps and film make of them."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from harness.carlite import sensors
from harness.carlite.actors import ActorTable
from harness.carlite.arrays import Bytes, Floats
from harness.carlite.blueprints.sensors import list_idle_attributes
from harness.carlite.errors import CallError
from harness.carlite.labels import SemanticLabel
from harness.carlite.sensors.film import make_tone_curve
from harness.carlite.sensors.protocol import SensorPose
from harness.carlite.sensors.scene import SensorScene
from harness.carlite.sensors.weather import (
    SceneWeather,
    compute_extinction,
    compute_fog_density,
    compute_fog_visibility,
    make_scene_weather,
)
from harness.carlite.towns.model import SceneryShape, TownScenery
from harness.channel.interference.extinction import make_rain_drops
from tests.carlite import ray_worlds

WIDTH, HEIGHT, FIELD = 320, 240, 70.0
SIZE = {"image_size_x": str(WIDTH), "image_size_y": str(HEIGHT), "fov": str(FIELD)}
SCAN = {"points_per_second": "400000", "upper_fov": "20"}
EYE = SensorPose((0.0, 0.0, 1.8), (0.0, 0.0, 0.0))
ABOVE = SensorPose((0.0, 0.0, 30.0), (-np.pi / 2, 0.0, 0.0))
NIGHT = SceneWeather(sun_altitude_angle=-40.0)


def take(kind: str, scene: SensorScene, pose: SensorPose, **attributes: str) -> Bytes:
    """Rows, columns, BGRA."""
    camera = sensors.make_sensor(f"sensor.camera.{kind}", {**SIZE, **attributes}, 0, 1)
    body = camera.capture(scene, pose, 1, 0.05)
    assert body is not None
    width, height, _ = struct.unpack_from("<IIf", body)
    return np.frombuffer(body, np.uint8, offset=12).reshape(height, width, 4)


def build_boxes(*boxes: tuple[float, float, float, float, float, float, float]) -> SensorScene:
    """A flat world with houses: centre, half sizes, yaw of each."""
    table = np.array(boxes, np.float64).reshape(-1, 7)
    count = len(table)
    place = replace(
        ray_worlds.town(pieces=0),
        scenery=TownScenery(
            centre=table[:, :3].copy(),
            extent=table[:, 3:6].copy(),
            yaw=table[:, 6].copy(),
            shape=np.full(count, SceneryShape.BOX, np.uint8),
            body=np.full(count, -1, np.int32),
            label=np.full(count, SemanticLabel.BUILDING, np.uint8),
            solid=np.ones(count, np.bool_),
        ),
    )
    return SensorScene(place, ActorTable())


def project(points: Floats, pose: SensorPose) -> Floats:
    """Pixels of points of the world, and their depths, as CARLA's bounding box tutorial has it."""
    focal = WIDTH / (2.0 * np.tan(FIELD * np.pi / 360.0))
    camera = np.array([[focal, 0, WIDTH / 2], [0, focal, HEIGHT / 2], [0, 0, 1]])
    local = (points - np.array(pose.position)) @ ray_worlds.turned(np.array(pose.rotation))
    # from x forward, y right, z up to x right, y down, z forward
    image = camera @ np.stack([local[:, 1], -local[:, 2], local[:, 0]])
    return np.stack([image[0] / image[2], image[1] / image[2], image[2]], axis=1)


@pytest.mark.parametrize("pose", [EYE, SensorPose((-3.0, 2.0, 4.0), (-0.1, 0.2, 0.15))])
def test_a_box_is_where_the_pinhole_of_carla_projects_it(pose: SensorPose) -> None:
    box = (20.0, 2.0, 2.5, 3.0, 2.0, 2.5, 0.4)
    labels = take("semantic_segmentation", build_boxes(box), pose)[..., 2]
    rows, columns = np.nonzero(labels == SemanticLabel.BUILDING)
    corner = np.array([[a, b, c] for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)])
    turn = ray_worlds.turned(np.array([0.0, box[6], 0.0]))
    u, v, _ = project((corner * box[3:6]) @ turn.T + box[:3], pose).T
    for seen, expected in ((columns, u), (rows, v)):
        assert abs(seen.min() - expected.min()) <= 1.0
        assert abs(seen.max() + 1 - expected.max()) <= 1.0


def test_depth_and_label_are_those_of_a_ray_and_of_the_semantic_scan() -> None:
    scene = SensorScene(ray_worlds.town(hills=1.0, deck=True), ray_worlds.crowd(60, seed=3))
    depth = take("depth", scene, EYE)[..., :3].astype(np.float64) @ [65536, 256, 1]
    ahead = depth / (2**24 - 1) * 1000
    labels = take("semantic_segmentation", scene, EYE)[..., 2]
    # the rays through the middles of pixels
    focal = WIDTH / (2 * np.tan(np.radians(FIELD) / 2))
    grid = np.meshgrid(np.arange(0, HEIGHT, 3), np.arange(0, WIDTH, 3), indexing="ij")
    rows, columns = (axis.ravel() for axis in grid)
    way = np.stack(
        [
            np.ones(len(rows)),
            (columns + 0.5 - WIDTH / 2) / focal,
            (HEIGHT / 2 - rows - 0.5) / focal,
        ],
        axis=1,
    )
    length = np.linalg.norm(way, axis=1)
    begin = np.tile(np.array(EYE.position), (len(rows), 1))
    distance, _, label = scene.find_first_hit(begin, way / length[:, None], 900.0)
    hit = np.isfinite(distance)
    far = np.abs(distance[hit] / length[hit] - ahead[rows, columns][hit])
    assert hit.sum() > 4000
    assert (far < 0.02).mean() > 0.999
    assert (label[hit] == labels[rows, columns][hit]).mean() > 0.999
    # points of a scan from the same place, in the picture
    scan = sensors.make_sensor(
        "sensor.lidar.ray_cast_semantic",
        {**SCAN, "range": "80", "rotation_frequency": "20"},
        0, 1,
    ).capture(scene, EYE, 1, 0.05)  # fmt: skip
    assert scan is not None
    points = np.frombuffer(scan[8 + 4 * 32 :], "<f4").reshape(-1, 6)
    tags = points[:, 5].copy().view("<u4")
    u, v, deep = project(points[:, :3].astype(np.float64) + EYE.position, EYE).T
    inside = (deep > 1) & (u > 1) & (u < WIDTH - 2) & (v > 1) & (v < HEIGHT - 2)
    u, v, tags = u[inside].astype(int), v[inside].astype(int), tags[inside]
    near = [labels[v + a, u + b] == tags for a in (-1, 0, 1) for b in (-1, 0, 1)]
    assert len(tags) > 1000
    assert np.any(near, axis=0).mean() > 0.995


def test_a_shadow_lies_opposite_to_the_sun_and_is_as_long_as_the_sun_is_high() -> None:
    # a block 4 m high and 4 m wide; the sun is at x, 45 degrees high
    scene = build_boxes((0.0, 0.0, 2.0, 2.0, 2.0, 2.0, 0.0))
    scene.weather = SceneWeather(sun_altitude_angle=45.0, sun_azimuth_angle=0.0)
    picture = take("rgb", scene, ABOVE)[..., :3].astype(int).sum(axis=2)
    shadeless = build_boxes()
    shadeless.weather = scene.weather
    bare = take("rgb", shadeless, ABOVE)[..., :3].astype(int).sum(axis=2)
    # along x through the middle: up in the picture is ahead
    metre = 30.0 * 2 * np.tan(np.radians(FIELD) / 2) / WIDTH
    x = (HEIGHT / 2 - np.arange(HEIGHT) - 0.5) * metre
    column = WIDTH // 2
    dark = picture[:, column] < 0.8 * bare[:, column]
    outside = np.abs(x) > 2.6
    assert dark[outside & (x > -5.7) & (x < 0)].all()
    assert not dark[outside & ((x < -6.4) | (x > 0))].any()


def test_a_car_throws_a_shadow_that_goes_with_it() -> None:
    table = ActorTable()
    table.add_actor(
        5, label=SemanticLabel.CAR, body=0, position=(0, 0, 0), box_centre=(0, 0, 0.74),
        extent=(2.4, 1.0, 0.74),
    )  # fmt: skip
    scene = SensorScene(ray_worlds.town(pieces=0), table)
    scene.weather = SceneWeather(sun_altitude_angle=30.0, sun_azimuth_angle=90.0)
    there = take("rgb", scene, ABOVE)
    table.position[table.body >= 0] += (8.0, 0.0, 0.0)
    scene.refresh_actors()
    take("rgb", scene, ABOVE)
    table.position[table.body >= 0] -= (8.0, 0.0, 0.0)
    scene.refresh_actors()
    np.testing.assert_array_equal(take("rgb", scene, ABOVE), there)
    assert np.any(there != take("rgb", SensorScene(ray_worlds.town(pieces=0), ActorTable()), ABOVE))


def test_fog_and_rain_take_what_the_lidars_weather_takes() -> None:
    for rate in (5.0, 50.0):
        weather = SceneWeather(fog_density=30.0, precipitation=2 * rate)
        fog = np.log(20) / compute_fog_visibility(30.0)
        assert compute_extinction(weather) == pytest.approx(fog + make_rain_drops(rate).extinction)
    for visibility in (50.0, 300.0, 5000.0):
        density = compute_fog_density(visibility)
        assert compute_fog_visibility(density) == pytest.approx(visibility)


def test_far_things_vanish_in_fog_by_the_law_of_extinction() -> None:
    """Contrast of two equal walls before the horizon's colour falls as exp(-alpha d)."""
    alpha = compute_extinction(SceneWeather(fog_density=60.0))
    walls = build_boxes(
        (20.5, -4.0, 5.0, 0.5, 3.0, 5.0, 0.0), (60.5, 12.0, 15.0, 0.5, 9.0, 15.0, 0.0)
    )
    walls.weather = SceneWeather(
        fog_density=60.0, fog_distance=0.0, cloudiness=100.0, fog_falloff=0.0
    )
    curve = make_tone_curve(2.2)
    root = np.interp(np.arange(256), curve, np.linspace(0, 1, len(curve)))
    light = root[take("rgb", walls, EYE)[..., 1]] ** 2
    labels = take("semantic_segmentation", walls, EYE)[..., 2] == SemanticLabel.BUILDING
    horizon = light[HEIGHT // 2 - 2, ~labels[HEIGHT // 2 - 2]].mean()
    darkest = [
        np.abs(light[:, part][labels[:, part]] - horizon).max()
        for part in (slice(0, WIDTH // 2), slice(WIDTH // 2, WIDTH))
    ]
    assert darkest[1] / darkest[0] == pytest.approx(np.exp(-40 * alpha), rel=0.15)


def test_night_is_dark_and_lamps_shine_and_labels_stay() -> None:
    table = ray_worlds.crowd(20, seed=3)
    scene = SensorScene(ray_worlds.town(), table)
    day, labels = take("rgb", scene, EYE), take("semantic_segmentation", scene, EYE)
    scene.weather = NIGHT
    night = take("rgb", scene, EYE)
    assert night[..., :3].mean() < 0.5 * day[..., :3].mean()
    table.lamps[table.body >= 0] = 4
    scene.refresh_actors()
    beams = take("rgb", scene, EYE)
    assert (beams[..., 1].astype(int) - night[..., 1]).max() > 60
    for weather in (NIGHT, SceneWeather(precipitation=100.0, fog_density=100.0, wetness=100.0)):
        scene.weather = weather
        np.testing.assert_array_equal(take("semantic_segmentation", scene, EYE), labels)


def test_wet_roads_are_darker_below_and_mirror_the_sky_far_away() -> None:
    scene = build_boxes()
    dry = take("rgb", scene, EYE).astype(int)
    scene.weather = SceneWeather(wetness=100.0)
    wet = take("rgb", scene, EYE).astype(int)
    road = take("semantic_segmentation", scene, EYE)[..., 2] == SemanticLabel.ROAD
    near, far = np.zeros_like(road), np.zeros_like(road)
    near[-20:], far[HEIGHT // 2 + 2 : HEIGHT // 2 + 5] = True, True
    assert wet[near & road, :3].mean() < 0.9 * dry[near & road, :3].mean()
    assert wet[far & road, :3].mean() > 1.1 * wet[near & road, :3].mean()


@pytest.mark.parametrize(
    ("attributes", "stops"),
    [
        ({"exposure_compensation": "-1"}, -1.0),
        ({"exposure_mode": "manual", "shutter_speed": "400"}, -1.0),
        ({"exposure_mode": "manual", "iso": "50"}, -1.0),
        ({"exposure_mode": "manual", "fstop": "2.8"}, -2.0),
    ],
)
def test_the_film_is_exposed_as_its_attributes_ask(
    attributes: dict[str, str], stops: float
) -> None:
    scene = build_boxes()
    mode = {"exposure_mode": attributes.get("exposure_mode", "histogram")}
    # byte b of a curve without gamma is light b / 255 below the knee
    before = take("rgb", scene, ABOVE, gamma="1", **mode)[..., 1].astype(float)
    after = take("rgb", scene, ABOVE, gamma="1", **attributes)[..., 1].astype(float)
    assert 20 < before.mean() < 170
    assert after.mean() / before.mean() == pytest.approx(2.0**stops, rel=0.05)


def test_bad_film_attributes_are_refused_and_idle_ones_are_listed() -> None:
    bad: list[dict[str, str]] = [{"gamma": "x"}, {"exposure_mode": "auto"}, {"gamma": "0"}]
    for attributes in bad:
        with pytest.raises(CallError, match=next(iter(attributes))):
            sensors.make_sensor("sensor.camera.rgb", attributes, 0, 1)
    values = {"lens_k": "-1", "lens_kcube": "0.3", "gamma": "1.8", "toe": "0.55", "temp": "5000"}
    assert list_idle_attributes("sensor.camera.rgb", values) == ["lens_kcube", "temp"]
    assert list_idle_attributes("sensor.lidar.ray_cast", values) == []


def test_equal_weather_and_seed_give_equal_bytes_whatever_came_before() -> None:
    crowd: Any = ray_worlds.crowd(30, seed=5)
    one = SensorScene(ray_worlds.town(), crowd)
    other = SensorScene(ray_worlds.town(), crowd)
    one.weather = NIGHT
    take("rgb", one, EYE)
    one.weather = other.weather = SceneWeather(cloudiness=50.0, sun_altitude_angle=12.0)
    np.testing.assert_array_equal(take("rgb", one, EYE), take("rgb", other, EYE))


def test_numbers_without_a_meaning_are_moved_to_where_they_have_one() -> None:
    numbers = {**vars(SceneWeather()), "cloudiness": 1e9, "fog_density": float("nan")}
    weather = make_scene_weather(numbers)
    assert (weather.cloudiness, weather.fog_density) == (100.0, SceneWeather().fog_density)


def test_rain_differs_between_frames_and_not_between_runs() -> None:
    scene = build_boxes()
    scene.weather = SceneWeather(precipitation=80.0)
    camera = sensors.make_sensor("sensor.camera.rgb", SIZE, 0, 1)
    first, second, again = (camera.capture(scene, EYE, frame, 0.05) for frame in (1, 2, 1))
    assert first == again
    assert first != second


def test_edges_between_surfaces_are_smooth() -> None:
    """Along a slanted roof line, pixels between wall and sky have colours in between."""
    pose = SensorPose(EYE.position, (0.0, 0.0, 0.1))
    picture = take("rgb", build_boxes((20.0, 0.0, 2.5, 3.0, 6.0, 2.5, 0.0)), pose)[..., 2]
    labels = take("semantic_segmentation", build_boxes((20.0, 0.0, 2.5, 3.0, 6.0, 2.5, 0.0)), pose)
    between = 0
    for column in range(WIDTH // 2 - 30, WIDTH // 2 + 30):
        edge = int(np.flatnonzero(labels[:, column, 2] == SemanticLabel.BUILDING)[0])
        sky, wall = int(picture[edge - 3, column]), int(picture[edge + 3, column])
        near = picture[edge - 1 : edge + 1, column].astype(int)
        low, high = min(sky, wall) + 12, max(sky, wall) - 12
        between += bool(((near > low) & (near < high)).any())
    assert between > 30

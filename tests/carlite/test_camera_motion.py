"""Normals, optical flow and events through the real client, against projections and depth."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import carla
import numpy as np
import pytest

from harness.carlite.arrays import Bytes, Floats
from harness.carlite.labels import SemanticLabel
from harness.carlite.sensors.events import EVENT
from tests.carlite.test_replies_actors import MODEL3, spawn
from tests.carlite.test_world_sensors import Ear, level

WIDTH, HEIGHT, FIELD = 96, 64, 80.0
SIZE = {"image_size_x": str(WIDTH), "image_size_y": str(HEIGHT), "fov": str(FIELD)}
FOCAL = WIDTH / 2 / math.tan(math.radians(FIELD) / 2)
# a view to the front, a little down, from above the road
VIEW = carla.Transform(carla.Location(-9.0, 0.5, 3.0), carla.Rotation(-14.0, 3.0, 2.0))
MOVES = {
    "forwards": carla.Transform(carla.Location(-8.6, 0.5, 3.0), carla.Rotation(-14.0, 3.0, 2.0)),
    "aside": carla.Transform(carla.Location(-9.0, 0.2, 3.1), carla.Rotation(-14.0, 3.0, 2.0)),
    "turning": carla.Transform(carla.Location(-9.0, 0.5, 3.0), carla.Rotation(-13.0, 5.0, 3.0)),
    "all": carla.Transform(carla.Location(-8.7, 0.7, 2.9), carla.Rotation(-13.0, 2.0, 1.0)),
}


def bgra(image: Any) -> Bytes:
    return np.frombuffer(image.raw_data, np.uint8).reshape(HEIGHT, WIDTH, 4)


def matrix_of(transform: carla.Transform) -> Floats:
    return np.array(transform.get_matrix())


def points_of(depth: Any) -> Floats:
    """Return the points behind pixels in the camera's frame, (pixels, 4)."""
    blue, green, red = (bgra(depth)[..., n].astype(np.float64) for n in range(3))
    ahead = (red + 256 * green + 65536 * blue) / (2**24 - 1) * 1000.0
    column, row = np.meshgrid(np.arange(WIDTH), np.arange(HEIGHT))
    right = (column + 0.5 - WIDTH / 2) / FOCAL
    up = (HEIGHT / 2 - row - 0.5) / FOCAL
    points = np.stack([ahead, right * ahead, up * ahead, np.ones_like(ahead)], axis=-1)
    return points.reshape(-1, 4)


def pixels_of(points: Floats) -> Floats:
    """Return where points of the camera's frame are in its picture: right and down."""
    flat = points[:, 1:3] / points[:, :1] * FOCAL
    return flat * [1.0, -1.0] + [WIDTH / 2, HEIGHT / 2]


def seen_from(base: carla.Transform, view: carla.Transform) -> carla.Transform:
    """Return a pose that is given in a base's frame, in the world's."""
    place = base.transform(carla.Vector3D(view.location.x, view.location.y, view.location.z))
    turn = carla.Rotation(
        view.rotation.pitch, base.rotation.yaw + view.rotation.yaw, view.rotation.roll
    )
    return carla.Transform(place, turn)


@pytest.fixture
def eyes(world: carla.World) -> Iterator[dict[str, Ear]]:
    """Set up cameras in one place, which look along a road."""
    here = seen_from(level(world), VIEW)
    kinds = ("depth", "optical_flow", "instance_segmentation", "normals")
    ears = {kind: Ear(spawn(world, f"sensor.camera.{kind}", here, **SIZE)) for kind in kinds}
    yield ears
    for ear in ears.values():
        ear.sensor.destroy()


def look(world: carla.World, eyes: dict[str, Ear], pose: carla.Transform) -> dict[str, Any]:
    """Move all cameras, and return what they see."""
    for ear in eyes.values():
        ear.sensor.set_transform(pose)
    world.tick()
    return {kind: ear.next() for kind, ear in eyes.items()}


def flow_of(image: Any) -> Floats:
    """Return the flow in pixels, right and down, (pixels, 2)."""
    flow = np.frombuffer(image.raw_data, np.float32).reshape(-1, 2).astype(np.float64)
    return flow * [WIDTH / 2, -HEIGHT / 2]


@pytest.mark.parametrize("move", MOVES)
def test_the_flow_of_what_stands_still_is_its_projection(
    world: carla.World, eyes: dict[str, Ear], move: str
) -> None:
    base = level(world)
    assert np.abs(flow_of(look(world, eyes, seen_from(base, VIEW))["optical_flow"])).max() < 1e-9
    before = matrix_of(eyes["depth"].sensor.get_transform())
    seen = look(world, eyes, seen_from(base, MOVES[move]))
    now, points = matrix_of(seen["depth"].transform), points_of(seen["depth"])
    near = points[:, 0] < 900.0
    assert near.mean() > 0.4
    earlier = points @ (np.linalg.inv(before) @ now).T
    expected = pixels_of(points) - pixels_of(earlier)
    assert np.abs(expected[near]).max() > 0.5
    within = np.abs(expected).max(axis=1) < HEIGHT
    error = np.abs(flow_of(seen["optical_flow"]) - expected)[near & within]
    assert error.max() < 0.05
    # the sky turns with the camera, and does not come nearer
    sky = flow_of(seen["optical_flow"])[points[:, 0] > 999.0]
    assert (np.abs(sky).max() > 0.5) == (move in ("turning", "all"))


def test_the_flow_of_a_car_that_moves_and_turns_is_its_projection(
    world: carla.World, eyes: dict[str, Ear]
) -> None:
    base = level(world)
    car = spawn(world, MODEL3, base)
    assert isinstance(car, carla.Vehicle)
    car.set_simulate_physics(False)
    look(world, eyes, seen_from(base, VIEW))
    poses = []
    for pose in (
        carla.Transform(carla.Location(0.0, 0.0, 0.2), carla.Rotation(0.0, 0.0, 0.0)),
        carla.Transform(carla.Location(0.6, 0.3, 0.25), carla.Rotation(0.0, 5.0, 0.0)),
    ):
        car.set_transform(seen_from(base, pose))
        seen = look(world, eyes, seen_from(base, VIEW))
        poses.append(matrix_of(car.get_transform()))
    # the car's pixels, by the number in the instance picture
    numbers = bgra(seen["instance_segmentation"]).reshape(-1, 4).astype(int)
    shown = (numbers[:, 1] + 256 * numbers[:, 0]) == car.id
    assert shown.sum() > 100
    camera, points = matrix_of(seen["depth"].transform), points_of(seen["depth"])
    back = np.linalg.inv(camera) @ poses[0] @ np.linalg.inv(poses[1]) @ camera
    expected = pixels_of(points) - pixels_of(points @ back.T)
    flow = flow_of(seen["optical_flow"])
    assert np.abs(expected[shown]).max() > 2.0
    assert np.abs(flow - expected)[shown].max() < 0.05
    assert np.abs(flow[~shown]).max() < 1e-9
    coloured = seen["optical_flow"].get_color_coded_flow()
    assert (coloured.width, coloured.height) == (WIDTH, HEIGHT)


def test_normals_of_level_ground_are_up_and_those_of_a_car_are_its_depths(
    world: carla.World, eyes: dict[str, Ear]
) -> None:
    base = level(world)
    car = spawn(world, MODEL3, base)
    seen = look(world, eyes, seen_from(base, VIEW))
    normals = bgra(seen["normals"])[..., 2::-1].astype(np.float64) / 127.5 - 1.0
    numbers = bgra(seen["instance_segmentation"]).astype(int)
    label = numbers[..., 2]
    road = np.isin(label, (SemanticLabel.ROAD, SemanticLabel.ROAD_LINE))
    assert road.sum() > 500
    assert np.abs(normals[road] - [0, 0, 1]).max() < 0.02
    assert np.abs(normals[label == SemanticLabel.SKY]).max() < 0.01
    # a plane through three neighbouring pixels of one face has the normal that is shown
    points = (points_of(seen["depth"]) @ matrix_of(seen["depth"].transform).T)[:, :3]
    points = points.reshape(HEIGHT, WIDTH, 3)
    across = points[:-1, 1:] - points[:-1, :-1]
    down = points[1:, :-1] - points[:-1, :-1]
    plane = np.cross(down, across)
    plane /= np.linalg.norm(plane, axis=-1, keepdims=True)
    corner = normals[:-1, :-1]
    same = (corner == normals[:-1, 1:]).all(-1) & (corner == normals[1:, :-1]).all(-1)
    ours = (numbers[..., 1] + 256 * numbers[..., 0])[:-1, :-1] == car.id
    assert (same & ours).sum() > 50
    error = np.abs(np.abs(np.sum(plane * corner, axis=-1)) - 1.0)[same & ours]
    assert np.quantile(error, 0.9) < 0.02
    facing = np.sum(corner * (points[:-1, :-1] - points_of_eye(seen["depth"])), axis=-1)
    assert (facing[ours] < 0.1).all()


def points_of_eye(image: Any) -> Floats:
    at = image.transform.location
    return np.array([at.x, at.y, at.z])


@pytest.mark.parametrize("logarithmic", ["true", "false"])
def test_events_are_crossings_of_levels_a_threshold_apart(
    world: carla.World, logarithmic: str
) -> None:
    base, rise, fall = level(world), 0.2, 0.35
    scale = 1.0 if logarithmic == "true" else 40.0
    here = seen_from(base, VIEW)
    settings = {
        "positive_threshold": str(rise * scale),
        "negative_threshold": str(fall * scale),
        "use_log": logarithmic,
    }
    eye = Ear(spawn(world, "sensor.camera.rgb", here, **SIZE))
    events = Ear(spawn(world, "sensor.camera.dvs", here, **SIZE, **settings))
    car = spawn(world, MODEL3, base)
    assert isinstance(car, carla.Vehicle)
    car.set_simulate_physics(False)
    world.tick()
    pictures, stamps = [eye.next()], [world.get_snapshot().timestamp.elapsed_seconds]
    for step in range(1, 6):
        aside = base.transform(carla.Vector3D(0.0, 0.4 * step, 0.1))
        car.set_transform(carla.Transform(aside, base.rotation))
        world.tick()
        pictures.append(eye.next())
        stamps.append(world.get_snapshot().timestamp.elapsed_seconds)
    light = [brightness_of(picture, logarithmic == "true") for picture in pictures]
    level_of = light[0].copy()
    for before, after, since, until in zip(
        light[:-1], light[1:], stamps[:-1], stamps[1:], strict=True
    ):
        seen = events.next()
        rows = np.frombuffer(seen.raw_data, EVENT)
        assert len(rows) == len(seen) > 0
        assert (np.diff(rows["t"]) >= 0).all()
        expected = []
        for pixel in np.flatnonzero(np.abs(after - before) > 1e-6).tolist():
            way = 1 if after[pixel] > before[pixel] else -1
            gap = scale * (rise if way > 0 else fall)
            # one level after another, the first of them a threshold from the last one crossed
            while True:
                mark = level_of[pixel] + way * gap
                if not (way * before[pixel] < way * mark <= way * after[pixel]):
                    break
                share = (mark - before[pixel]) / (after[pixel] - before[pixel])
                moment = since + share * (until - since)
                expected.append((pixel % WIDTH, pixel // WIDTH, moment, way > 0))
                level_of[pixel] = mark
        shown = sorted((int(r["y"]), int(r["x"]), int(r["t"]), bool(r["pol"])) for r in rows)
        wanted = sorted((y, x, t, up) for x, y, t, up in expected)
        assert [(y, x, up) for y, x, _, up in shown] == [(y, x, up) for y, x, _, up in wanted]
        times = np.array([t for _, _, t, _ in shown])
        assert np.abs(times - 1e9 * np.array([t for _, _, t, _ in wanted])).max() < 1e3
        first = seen[0]
        assert (first.x, first.y, first.t, first.pol) == tuple(rows[0].tolist())
        assert seen.to_array_t() == rows["t"].tolist()
    world.tick()
    assert events.silent()


def brightness_of(picture: Any, logarithmic: bool) -> Floats:
    pixels = bgra(picture).reshape(-1, 4).astype(np.float64)
    grey = 0.2989 * pixels[:, 2] + 0.587 * pixels[:, 1] + 0.114 * pixels[:, 0]
    return np.log(0.001 + grey / 255.0) if logarithmic else grey


def test_a_pixel_rests_after_an_event(world: carla.World) -> None:
    base = level(world)
    here, rest = seen_from(base, VIEW), 2.0
    settings = {"positive_threshold": "0.05", "negative_threshold": "0.05"}
    settings_of_tired = {**settings, "refractory_period_ns": str(int(rest * 1e9))}
    tired = Ear(spawn(world, "sensor.camera.dvs", here, **SIZE, **settings_of_tired))
    awake = Ear(spawn(world, "sensor.camera.dvs", here, **SIZE, **settings))
    car = spawn(world, MODEL3, base)
    assert isinstance(car, carla.Vehicle)
    car.set_simulate_physics(False)
    world.tick()
    counts, seen = [], []
    for step in range(1, 5):
        aside = base.transform(carla.Vector3D(0.0, 0.4 * step, 0.1))
        car.set_transform(carla.Transform(aside, base.rotation))
        world.tick()
        counts.append(len(awake.next()))
    while not tired.silent():
        event_array = tired.next()
        seen += [(event.x, event.y) for event in event_array]
    assert len(seen) == len(set(seen)) < sum(counts)


def test_the_cosmos_picture_has_carlas_colours(world: carla.World) -> None:
    base = level(world)
    here = seen_from(base, VIEW)
    ears = [
        Ear(spawn(world, f"sensor.camera.{kind}", here, **SIZE))
        for kind in ("cosmos_visualization", "semantic_segmentation")
    ]
    spawn(world, MODEL3, base)
    world.tick()
    shown, labels = (bgra(ear.next()) for ear in ears)
    cars, lines = labels[..., 2] == SemanticLabel.CAR, labels[..., 2] == SemanticLabel.ROAD_LINE
    assert cars.sum() > 100
    assert lines.any()
    assert (shown[cars] == (0, 0, 255, 255)).all()
    assert (shown[lines] == (249, 183, 98, 255)).all()
    assert (shown[labels[..., 2] == SemanticLabel.ROAD][:, :3] == 0).all()

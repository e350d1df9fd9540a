from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from harness.carlite.actors import ActorKind, ActorTable
from harness.carlite.blueprints import build_blueprint_library, resolve_actor_attributes
from harness.carlite.bodies import build_body_library as bodies
from harness.carlite.labels import SemanticLabel
from harness.carlite.sensors import SensorPose
from harness.carlite.sensors.obstacle import ObstacleHit, ObstacleSensor, unpack_obstacle_hit
from harness.carlite.sensors.scene import SensorScene
from harness.carlite.towns.model import SceneryShape, Town, TownGround, TownLanes, TownScenery

WALL_AT = 30.0
EGO, OTHER = 7, 8


def town() -> Town:
    """A flat field with one wall across it."""
    no_lanes: dict[str, Any] = {field.name: np.zeros(0) for field in fields(TownLanes)}
    flat = np.zeros((101, 101), np.float32)
    ground = TownGround(
        x=-50.0,
        y=-50.0,
        cell=1.0,
        lower=flat,
        upper=np.full_like(flat, np.nan),
        label=np.full(flat.shape, SemanticLabel.ROAD, np.uint8),
    )
    wall = TownScenery(
        centre=np.array([[WALL_AT + 0.5, 0.0, 2.0]]), extent=np.array([[0.5, 10.0, 2.0]]),
        yaw=np.zeros(1),
        shape=np.array([SceneryShape.BOX], np.uint8), body=np.array([-1], np.int32),
        label=np.array([SemanticLabel.BUILDING], np.uint8), solid=np.ones(1, np.bool_),
    )  # fmt: skip
    return Town(
        name="Field",
        opendrive="",
        lanes=TownLanes(**no_lanes),
        ground=ground,
        signals=(),
        scenery=wall,
        spawn_points=np.zeros((0, 6)),
        crosswalks=(),
    )


def scene_with(*cars: tuple[int, float, float]) -> SensorScene:
    table = ActorTable()
    car = build_blueprint_library()["vehicle.tesla.model3"]
    for actor, x, y in cars:
        table.add_actor(
            actor, kind=ActorKind.VEHICLE, label=car.label, position=(x, y, 0.0), extent=car.extent,
            box_centre=car.box_centre, body=bodies().find_body_index(car.id),
        )  # fmt: skip
    scene = SensorScene(town(), table)
    scene.refresh_actors(1)
    return scene


def look(
    scene: SensorScene, yaw: float = 0.0, height: float = 0.8, at: float = 2.4, **attributes: str
) -> ObstacleHit | None:
    sensor = ObstacleSensor(
        resolve_actor_attributes(build_blueprint_library()["sensor.other.obstacle"], attributes),
        1,
        9,
    )
    pose = SensorPose((at, 0.0, height), (0.0, yaw, 0.0), parent=EGO)
    body = sensor.capture(scene, pose, 1, 0.05)
    return None if body is None else unpack_obstacle_hit(body)


def test_finds_the_car_ahead_and_not_its_carrier() -> None:
    hit = look(scene_with((EGO, 0.0, 0.0), (OTHER, 15.0, 0.0)), distance="20", height=0.6)
    assert hit is not None
    assert hit.actor == OTHER
    assert hit.label is SemanticLabel.CAR
    rear = 15.0 - build_blueprint_library()["vehicle.tesla.model3"].extent[0]
    assert hit.distance == pytest.approx(rear - 2.4 - 0.5, abs=0.1)


def test_distance_is_that_of_the_ball() -> None:
    for radius in (0.0, 0.3, 1.0):
        hit = look(scene_with((EGO, 0.0, 0.0)), distance="40", hit_radius=str(radius), height=1.5)
        assert hit is not None
        assert (hit.actor, hit.label) == (0, SemanticLabel.BUILDING)
        assert hit.distance == pytest.approx(WALL_AT - 2.4 - radius, abs=0.01)


def test_out_of_reach_is_free() -> None:
    scene = scene_with((EGO, 0.0, 0.0), (OTHER, 15.0, 0.0))
    assert look(scene, distance="5") is None
    assert look(scene, yaw=math.pi, distance="40") is None


def test_only_dynamics_leaves_out_the_town() -> None:
    alone = scene_with((EGO, 0.0, 0.0))
    assert look(alone, distance="40", only_dynamics="true") is None
    hit = look(scene_with((EGO, 0.0, 0.0), (OTHER, 15.0, 0.0)), distance="40",
                 only_dynamics="true")  # fmt: skip
    assert hit is not None
    assert hit.actor == OTHER


def test_radius_widens_the_view() -> None:
    scene = scene_with((EGO, 0.0, 0.0), (OTHER, 15.0, 1.6))
    assert look(scene, distance="20", hit_radius="0.1", height=0.5) is None
    hit = look(scene, distance="20", hit_radius="1.0", height=0.5)
    assert hit is not None
    assert hit.actor == OTHER


def test_the_ground_is_no_obstacle() -> None:
    assert look(scene_with((EGO, 0.0, 0.0)), distance="10", hit_radius="1.0", height=0.3) is None

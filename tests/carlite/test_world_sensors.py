"""Sensors in the world: when they send, what their headers say, and events."""

from __future__ import annotations

import queue
import struct
import time

import carla
import numpy as np
import pytest

from harness.carlite.labels import SemanticLabel
from tests.carlite.byte_client import Raw
from tests.carlite.test_replies_actors import MODEL3, floats, pose, spawn
from tests.conftest import PATIENCE, Carlite


class Ear:
    """Listens to a sensor."""

    def __init__(self, sensor: carla.Actor) -> None:
        assert isinstance(sensor, carla.Sensor)
        self.sensor = sensor
        self.heard: queue.Queue[carla.SensorData] = queue.Queue()
        sensor.listen(self.heard.put)

    def next(self) -> carla.SensorData:
        return self.heard.get(timeout=PATIENCE)

    def silent(self) -> bool:
        time.sleep(0.05)
        return self.heard.empty()


def level(world: carla.World, index: int = 0) -> carla.Transform:
    """Return a spawn point on level ground."""
    return [p for p in world.get_map().get_spawn_points() if abs(p.rotation.pitch) < 0.01][index]


def test_headers_have_the_snapshots_pose_to_the_last_bit(
    world: carla.World, carlite: Carlite
) -> None:
    car = spawn(world, MODEL3)
    assert isinstance(car, carla.Vehicle)
    mount = carla.Transform(carla.Location(0.3, 0.1, 2.1), carla.Rotation(-7, 33, 2))
    sensors = [spawn(world, f"sensor.other.{kind}", mount, car) for kind in ("gnss", "imu")]
    car.apply_control(carla.VehicleControl(throttle=0.7, steer=0.2))
    with Raw(carlite) as client, client.stream(1) as snapshots:
        streams = [client.stream(sensor.id) for sensor in sensors]
        for _ in range(20):
            frame = world.tick()
            snapshot = snapshots.frame()
            rows = {
                struct.unpack_from("<I", snapshot, at)[0]: snapshot[at + 5 : at + 29]
                for at in range(84, len(snapshot), 119)
            }
            for sensor, stream in zip(sensors, streams, strict=True):
                data = stream.frame()
                assert struct.unpack_from("<Q", data, 8)[0] == frame
                assert data[24:48] == rows[sensor.id]
        for stream in streams:
            stream.connection.close()


def test_frame_timestamp_and_transform_of_sensor_data(world: carla.World) -> None:
    ear = Ear(spawn(world, "sensor.other.imu", carla.Transform(carla.Location(1, 2, 30))))
    frame = world.tick()
    data = ear.next()
    stamp = world.get_snapshot().timestamp
    assert (data.frame, data.timestamp) == (frame, stamp.elapsed_seconds)
    assert pose(data.transform) == pose(ear.sensor.get_transform())


def test_a_lidar_that_rests_between_ticks_still_fires_for_one_tick(world: carla.World) -> None:
    counts = []
    for interval in (0.0, 0.2):
        lidar = spawn(
            world,
            "sensor.lidar.ray_cast_semantic",
            sensor_tick=str(interval),
            rotation_frequency="20",
            points_per_second="100000",
            upper_fov="-20",
        )
        ear = Ear(lidar)
        for _ in range(5):
            world.tick()
        counts.append(len(ear.next()))
        lidar.destroy()
    assert counts[0] == pytest.approx(counts[1], rel=0.05)


@pytest.mark.thorough
@pytest.mark.parametrize(("interval", "expected"), [(0.0, 12), (0.05, 12), (0.1, 6), (0.15, 4)])
def test_sensors_keep_their_interval(world: carla.World, interval: float, expected: int) -> None:
    ear = Ear(spawn(world, "sensor.other.gnss", sensor_tick=str(interval)))
    frames = [world.tick() for _ in range(12)]
    heard = [ear.next().frame for _ in range(expected)]
    assert ear.silent()
    assert heard == frames[:: 12 // expected]


@pytest.mark.thorough
def test_a_stopped_sensor_is_silent_and_can_listen_again(world: carla.World) -> None:
    ear = Ear(spawn(world, "sensor.other.gnss"))
    world.tick()
    ear.next()
    ear.sensor.stop()
    for _ in range(20):
        world.tick()
        if not ear.silent():
            ear.heard.get()
    assert ear.silent()
    ear.sensor.listen(ear.heard.put)
    assert world.tick() == ear.next().frame


def test_several_may_listen_to_one_sensor(world: carla.World, carlite: Carlite) -> None:
    sensor = spawn(world, "sensor.lidar.ray_cast", points_per_second="20000")
    ear = Ear(sensor)
    other = carlite.client().get_world()
    twin = Ear(other.get_actor(sensor.id))
    for _ in range(5):
        world.tick()
        mine, theirs = ear.next(), twin.next()
        assert mine.frame == theirs.frame
        assert bytes(mine.raw_data) == bytes(theirs.raw_data)


def test_both_parties_of_a_collision_get_the_event(world: carla.World) -> None:
    place = level(world)
    ahead = place.get_forward_vector()
    first = spawn(world, MODEL3, place)
    second = spawn(
        world, MODEL3, carla.Transform(place.location + ahead * 8, place.rotation), role_name="b"
    )
    ears = [
        Ear(spawn(world, "sensor.other.collision", carla.Transform(), car))
        for car in (first, second)
    ]
    for _ in range(20):
        world.tick()
    first.set_target_velocity(ahead * 10)
    for _ in range(20):
        world.tick()
    events = [ear.next() for ear in ears]
    assert all(isinstance(event, carla.CollisionEvent) for event in events)
    hit, struck = events
    assert (hit.actor.id, hit.other_actor.id) == (first.id, second.id)
    assert (struck.actor.id, struck.other_actor.id) == (second.id, first.id)
    push = np.array(floats(struck.normal_impulse))
    assert np.allclose(push, -np.array(floats(hit.normal_impulse)))
    assert push @ np.array(floats(ahead)) > 3000
    assert hit.frame == struck.frame


def test_running_into_a_building_is_reported(world: carla.World) -> None:
    building = world.get_environment_objects(carla.CityObjectLabel.Buildings)[0]
    wall = building.transform
    out = wall.get_forward_vector()
    place = carla.Transform(
        wall.location + out * (building.bounding_box.extent.x + 6), wall.rotation
    )
    place.location.z = 1
    place.rotation.yaw += 180
    ground = world.ground_projection(place.location + carla.Location(z=30), 100)
    place.location.z = ground.location.z + 0.1
    car = world.spawn_actor(world.get_blueprint_library().find(MODEL3), place)
    ear = Ear(spawn(world, "sensor.other.collision", carla.Transform(), car))
    car.enable_constant_velocity(carla.Vector3D(8, 0, 0))
    for _ in range(20):
        world.tick()
    car.disable_constant_velocity()
    event = ear.next()
    assert isinstance(event, carla.CollisionEvent)
    assert event.actor.id == car.id
    assert event.other_actor.type_id == "static.building"
    assert list(event.other_actor.semantic_tags) == [SemanticLabel.BUILDING]


def test_an_obstacle_ahead_is_reported(world: carla.World) -> None:
    place = level(world)
    car = spawn(world, MODEL3, place)
    other = spawn(
        world,
        MODEL3,
        carla.Transform(place.location + place.get_forward_vector() * 12, place.rotation),
    )
    mount = carla.Transform(carla.Location(2.5, 0, 0.7))
    ear = Ear(
        spawn(world, "sensor.other.obstacle", mount, car, distance="20", only_dynamics="true")
    )
    world.tick()
    event = ear.next()
    assert isinstance(event, carla.ObstacleDetectionEvent)
    assert (event.actor.id, event.other_actor.id) == (car.id, other.id)
    assert event.distance == pytest.approx(12 - 2.5 - 2.4 - 0.5, abs=0.2)


def test_lane_invasion_happens_in_the_client(world: carla.World) -> None:
    car = spawn(world, MODEL3)
    ear = Ear(spawn(world, "sensor.other.lane_invasion", carla.Transform(), car))
    world.tick()
    sideways = car.get_transform().get_right_vector()
    for step in range(40):
        moved = car.get_transform()
        moved.location += sideways * 0.15
        car.set_transform(moved)
        world.tick()
        if step > 5 and not ear.heard.empty():
            break
    assert isinstance(ear.next(), carla.LaneInvasionEvent)


def test_a_destroyed_sensors_stream_stays_silent(world: carla.World, carlite: Carlite) -> None:
    sensor = spawn(world, "sensor.other.gnss")
    with Raw(carlite) as client, client.stream(sensor.id) as stream:
        world.tick()
        stream.frame()
        sensor.destroy()
        world.tick()
        stream.connection.settimeout(0.2)
        with pytest.raises(TimeoutError):
            stream.frame()

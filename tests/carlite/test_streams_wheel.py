"""Streams and time as the real client sees them."""

from __future__ import annotations

import queue
import struct
import time

import carla

from tests.carlite.byte_client import Raw, Stream
from tests.conftest import PATIENCE, Carlite


def test_the_first_frame_after_listening_is_not_missed(world: carla.World) -> None:
    blueprint = world.get_blueprint_library().find("sensor.other.gnss")
    for _ in range(30):
        sensor = world.spawn_actor(blueprint, carla.Transform())
        frames: queue.Queue[int] = queue.Queue()
        sensor.listen(lambda data, frames=frames: frames.put(data.frame))
        ticked = world.tick()
        assert frames.get(timeout=PATIENCE) == ticked
        sensor.destroy()


def test_every_frame_arrives_once_and_in_order(world: carla.World) -> None:
    blueprint = world.get_blueprint_library().find("sensor.other.imu")
    sensors = [world.spawn_actor(blueprint, carla.Transform()) for _ in range(3)]
    heard: list[queue.Queue[int]] = [queue.Queue() for _ in sensors]
    for sensor, frames in zip(sensors, heard, strict=True):
        sensor.listen(lambda data, frames=frames: frames.put(data.frame))
    ticked = [world.tick() for _ in range(100)]
    for frames in heard:
        assert [frames.get(timeout=PATIENCE) for _ in ticked] == ticked


def test_two_clients_listen_to_the_same_sensor(carlite: Carlite, world: carla.World) -> None:
    blueprint = world.get_blueprint_library().find("sensor.other.gnss")
    sensor = world.spawn_actor(blueprint, carla.Transform())
    world.tick()
    same = carlite.client().get_world().get_actor(sensor.id)
    heard: list[queue.Queue[int]] = [queue.Queue(), queue.Queue()]
    sensor.listen(lambda data: heard[0].put(data.frame))
    same.listen(lambda data: heard[1].put(data.frame))
    ticked = [world.tick() for _ in range(10)]
    for frames in heard:
        assert [frames.get(timeout=PATIENCE) for _ in ticked] == ticked
    same.stop()
    later = world.tick()
    assert heard[0].get(timeout=PATIENCE) == later


def test_a_synchronous_world_waits(world: carla.World) -> None:
    before = world.tick()
    time.sleep(0.2)
    assert world.get_snapshot().frame == before
    assert world.tick() == before + 1


def test_who_dials_late_still_hears_of_the_tick_it_asked_for(
    carlite: Carlite, world: carla.World
) -> None:
    """A client waits for its tick's snapshot; no other may ever tick again."""
    assert world.get_settings().synchronous_mode
    for earlier in (0, 3):
        with Raw(carlite) as raw:
            _, (token,) = raw.value("get_episode_info")
            raw.value("get_sensor_token", struct.unpack_from("<I", token)[0])
            for _ in range(earlier):
                raw.value("tick_cue")
            ticked = raw.value("tick_cue")
            with Stream(token) as snapshots:
                assert struct.unpack_from("<Q", snapshots.frame(), 8) == (ticked,)
                following = raw.value("tick_cue")
                assert struct.unpack_from("<Q", snapshots.frame(), 8) == (following,)

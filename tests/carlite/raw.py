"""Talking to carlite without the client's manners, and looking at what it did."""

from __future__ import annotations

import math
import socket
import struct
from typing import Any

import carla
import msgpack
import psutil

from tests.conftest import PATIENCE, Carlite


def rpc(server: Carlite) -> socket.socket:
    return socket.create_connection((server.host, server.port), PATIENCE)


def stream(server: Carlite) -> socket.socket:
    return socket.create_connection((server.host, stream_port(server)), PATIENCE)


def call(connection: socket.socket, name: str, *arguments: object) -> Any:
    """Make one call as the wheel would and return its wrapped result."""
    connection.sendall(msgpack.packb([0, 1, name, [[False], *arguments]]))
    unpacker = msgpack.Unpacker(unicode_errors="surrogateescape", strict_map_key=False)
    while data := connection.recv(1 << 16):
        unpacker.feed(data)
        for kind, _, error, result in unpacker:
            assert (kind, error) == (1, None)
            return result
    raise EOFError


def stream_port(server: Carlite) -> int:
    with rpc(server) as connection:
        [[_, [_, [token]]]] = call(connection, "get_episode_info")
    port: int = struct.unpack_from("<IH", token)[1]
    return port


def in_order(server: Carlite, client: carla.Client) -> None:
    """Check that a client that was there before is served as ever, and so is a new one."""
    assert client.get_world().get_snapshot().frame > 0
    fresh = server.client()
    world = fresh.get_world()
    world.apply_settings(carla.WorldSettings(synchronous_mode=True, fixed_delta_seconds=0.05))
    before = world.get_snapshot().frame
    assert world.tick() > before
    world.apply_settings(carla.WorldSettings())
    assert server.process.poll() is None


def assert_finite(world: carla.World) -> None:
    """Check every number that a snapshot has of every actor."""
    snapshot = world.get_snapshot()
    for actor in world.get_actors():
        seen = snapshot.find(actor.id)
        numbers = [
            *(getattr(seen.get_transform().location, axis) for axis in "xyz"),
            *(getattr(seen.get_transform().rotation, axis) for axis in ("pitch", "yaw", "roll")),
            *(getattr(seen.get_velocity(), axis) for axis in "xyz"),
            *(getattr(seen.get_angular_velocity(), axis) for axis in "xyz"),
            *(getattr(seen.get_acceleration(), axis) for axis in "xyz"),
        ]
        assert all(map(math.isfinite, numbers)), actor


def populate(world: carla.World) -> list[carla.Actor]:
    """Spawn cars with sensors that listen."""
    library = world.get_blueprint_library()
    actors = []
    for pose in world.get_map().get_spawn_points()[:4]:
        car = world.spawn_actor(library.find("vehicle.tesla.model3"), pose)
        actors.append(car)
        for name in ("lidar.ray_cast", "other.imu", "other.collision"):
            sensor = world.spawn_actor(
                library.find("sensor." + name), carla.Transform(), attach_to=car
            )
            sensor.listen(lambda data: None)
            actors.append(sensor)
    return actors


def rss(server: Carlite) -> int:
    return int(psutil.Process(server.process.pid).memory_info().rss)

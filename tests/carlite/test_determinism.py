"""The same seed and the same calls give the same bytes, in another process too."""

from __future__ import annotations

import hashlib
import math
import struct
import time

import pytest

from harness.carlite import towns
from harness.carlite.blueprints import build_blueprint_library
from tests.carlite.byte_client import Raw, Stream
from tests.conftest import Carlite

SYNCHRONOUS = [True, False, [True, 0.05], True, 0.01, 10, 0.0, True, 3000.0, 2000.0, True]
RIG = {
    "sensor.lidar.ray_cast": {"points_per_second": "50000", "noise_stddev": "0.02"},
    "sensor.lidar.ray_cast_semantic": {"points_per_second": "50000"},
    "sensor.other.gnss": {"noise_lat_stddev": "0.00001"},
    "sensor.other.imu": {"noise_accel_stddev_x": "0.1"},
    "sensor.other.radar": {},
    "sensor.camera.depth": {"image_size_x": "64", "image_size_y": "48"},
    "sensor.camera.rgb": {"image_size_x": "64", "image_size_y": "48"},
}
TICKS = 60


def description(name: str, given: dict[str, str] | None = None) -> list[object]:
    attributes = build_blueprint_library()[name].attributes
    values = {attribute.id: attribute.value for attribute in attributes} | (given or {})
    return [1, name, [[one.id, int(one.type), values[one.id]] for one in attributes]]


def settle(client: Raw) -> None:
    """Become synchronous; no one else shares the world's clock."""
    client.value("set_episode_settings", SYNCHRONOUS)


def play(client: Raw, town: str, models: tuple[str, ...]) -> list[str]:
    """Drive a little and return the digests of everything that was streamed."""
    points = towns.load_town(town, None).spawn_points.tolist()
    poses = [[[x, y, z], [math.degrees(a) for a in (p, w, r)]] for x, y, z, p, w, r in points]
    cars = [
        client.value("spawn_actor", description(models[i % len(models)]), poses[3 * i])[0]
        for i in range(8)
    ]
    mounted = [
        client.value(
            "spawn_actor_with_parent",
            description(name, given),
            [[0.0, 0.0, 2.5], [0.0, 0.0, 0.0]],
            cars[0],
            0,
            "",
        )[0]
        for name, given in RIG.items()
    ]
    for car in cars[1:]:
        client.void("set_actor_autopilot", car, True)
    streams = [client.stream(number) for number in (1, *mounted)]
    try:
        return _drive(client, cars[0], streams)
    finally:
        for stream in streams:
            stream.connection.close()


def _drive(client: Raw, car: int, streams: list[Stream]) -> list[str]:
    digests = [hashlib.sha256() for _ in streams]
    for tick in range(TICKS):
        client.void("apply_control_to_vehicle", car, [0.6, 0.1, 0.0, False, False, False, 0])
        frame = client.value("tick_cue")
        for stream, digest in zip(streams, digests, strict=True):
            data = stream.frame()
            assert struct.unpack_from("<Q", data, 8)[0] == frame, tick
            digest.update(data)
    return [digest.hexdigest() for digest in digests]


def run(
    seed: int, wait: float = 0.0, models: tuple[str, ...] = ("vehicle.tesla.model3",)
) -> list[str]:
    with Carlite("--seed", str(seed)) as server, Raw(server) as client:
        time.sleep(wait)
        settle(client)
        return play(client, server.town, models)


@pytest.fixture(scope="module")
def reference() -> list[str]:
    return run(seed=7)


@pytest.mark.thorough
def test_another_process_sends_the_same_bytes(reference: list[str]) -> None:
    assert run(seed=7, wait=0.37) == reference


@pytest.mark.thorough
def test_another_seed_senses_otherwise(reference: list[str]) -> None:
    lidar = 1 + list(RIG).index("sensor.lidar.ray_cast")
    assert run(seed=8)[lidar] != reference[lidar]


@pytest.mark.thorough
def test_other_cars_make_other_bytes(reference: list[str]) -> None:
    assert run(seed=7, models=("vehicle.nissan.micra",))[0] != reference[0]


@pytest.mark.thorough
def test_an_episode_can_be_played_again() -> None:
    """After a reload only frame numbers and actor ids go on counting."""
    with Carlite() as server, Raw(server) as client:
        settle(client)
        paths = [_path(client, server.town) for _ in range(2)]
    assert paths[0] == paths[1]


def _path(client: Raw, town: str) -> list[bytes]:
    """Return the motion of all vehicles of a fresh episode, tick by tick."""
    client.void("load_new_episode", "", False, 0xFFFF)
    points = towns.load_town(town, None).spawn_points.tolist()
    for x, y, z, *angles in points[:20:2]:
        pose = [[x, y, z], [math.degrees(angle) for angle in angles]]
        car = client.value("spawn_actor", description("vehicle.tesla.model3"), pose)[0]
        client.void("set_actor_autopilot", car, True)
    rows = []
    with client.stream(1) as stream:
        for _ in range(TICKS):
            client.value("tick_cue")
            body = stream.frame()[48 + 36 :]
            rows.append(b"".join(body[at + 5 : at + 65] for at in range(0, len(body), 119)))
    return rows

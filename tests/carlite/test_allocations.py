"""What compiled code allocates is freed: numba counts it."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest
from numba.core import runtime

from harness.carlite.actors import ActorKind
from harness.carlite.blueprints import build_blueprint_library
from harness.carlite.wire.codec import LEVEL, Rotation
from harness.carlite.wire.records import ActorDescription, Transform
from harness.carlite.world.world import ServerWorld

TOWN, EPISODES, TICKS = "Crucible05", 3, 4
SENSORS = (
    "sensor.lidar.ray_cast",
    "sensor.lidar.ray_cast_semantic",
    "sensor.other.radar",
    "sensor.other.imu",
    "sensor.other.obstacle",
    "sensor.camera.depth",
)
RUNTIME: Any = runtime
counter, system = RUNTIME._nrt_python, RUNTIME.rtsys


class Listeners:
    """They listen to every stream, and keep nothing."""

    def has_listener(self, stream_id: int) -> bool:
        return True

    def publish(self, stream_id: int, payload: bytes) -> None:
        assert payload


@pytest.fixture
def counted() -> Iterator[None]:
    was_on = counter.memsys_stats_enabled()
    counter.memsys_enable_stats()
    yield
    if not was_on:
        counter.memsys_disable_stats()


def alive() -> int:
    """Return how many arrays of compiled code are there."""
    gc.collect()
    stats = system.get_allocation_stats()
    return int(stats.mi_alloc - stats.mi_free)


def play(world: ServerWorld) -> None:
    """Begin an episode, in which all kinds of things drive, walk, stand and measure."""
    world.load_town("", False)
    names = [
        name
        for name in build_blueprint_library()
        if name.startswith(("vehicle.", "walker.", "static.prop"))
    ]
    points = world.town.spawn_points.tolist()
    spawned = [
        world.episode.spawn_resident(
            ActorDescription(1, name, ()), Transform((x, y, z), Rotation((pitch, yaw, roll)))
        )
        for name, (x, y, z, pitch, yaw, roll) in zip(names[::3], points, strict=False)
    ]
    cars = [resident.id for resident in spawned if resident.kind == ActorKind.VEHICLE]
    world.traffic.register_vehicle(cars)
    above = Transform((0.0, 0.0, 2.0), LEVEL)
    for sensor in SENSORS:
        world.episode.spawn_resident(ActorDescription(1, sensor, ()), above, cars[0])
    for _ in range(TICKS):
        world.tick()


@pytest.mark.thorough
def test_no_array_of_compiled_code_is_lost(counted: None) -> None:
    world = ServerWorld(TOWN, None, 0, Listeners())
    play(world)
    before = alive()
    for _ in range(EPISODES):
        play(world)
    assert alive() - before < EPISODES

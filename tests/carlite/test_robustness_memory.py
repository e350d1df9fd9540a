"""Memory stays flat, whatever comes and goes."""

from __future__ import annotations

import os

import carla
import pytest

from tests.carlite.raw import populate, rss
from tests.conftest import Carlite


@pytest.mark.slow
def test_memory_stays_flat_over_rounds_of_actors(target: Carlite) -> None:
    client = target.client()
    client.reload_world()
    world = client.get_world()
    world.apply_settings(carla.WorldSettings(synchronous_mode=True, fixed_delta_seconds=0.05))
    levels = []
    for number in range(200):
        actors = populate(world)
        world.tick()
        for actor in actors:
            if actor.type_id.startswith("sensor"):
                actor.stop()
        client.apply_batch_sync([carla.command.DestroyActor(actor) for actor in actors])
        world.tick()
        if number in {50, 199}:
            levels.append(rss(target))
    world.apply_settings(carla.WorldSettings())
    assert levels[1] - levels[0] < 4 << 20


@pytest.mark.slow
def test_memory_stays_flat_over_many_ticks(target: Carlite) -> None:
    client = target.client()
    client.reload_world()
    world = client.get_world()
    world.apply_settings(carla.WorldSettings(synchronous_mode=True, fixed_delta_seconds=0.05))
    ticks = int(os.environ.get("CRUCIBLE_TICKS", "10000"))
    levels = []
    for number in range(ticks):
        world.tick()
        if number in {ticks // 4, ticks - 1}:
            levels.append(rss(target))
    world.apply_settings(carla.WorldSettings())
    assert levels[1] - levels[0] < 4 << 20

"""Memory stays flat, whatever comes and goes."""

from __future__ import annotations

import os
import subprocess
import sys

import carla
import pytest

from tests.carlite.raw import rss
from tests.conftest import ROOT, Carlite
from tests.dying import died, refuse_failed

ROUNDS_OF_A_PART, PARTS, DEATHS = 50, 4, 3


# The client library now and then ends its process while LiDARs are destroyed on a busy machine
# (`clmdep_msgpack::type_error` in a thread of its own, or a segmentation fault), so rounds have
# processes of their own.
ROUNDS = f"""
import os, sys, carla
from tests.carlite.raw import populate
client = carla.Client("127.0.0.1", int(sys.argv[1]))
client.set_timeout(20.0)
world = client.get_world()
for _ in range({ROUNDS_OF_A_PART}):
    actors = populate(world)
    world.tick()
    for actor in actors:
        if actor.type_id.startswith("sensor"):
            actor.stop()
    client.apply_batch_sync([carla.command.DestroyActor(actor) for actor in actors])
    world.tick()
os._exit(0)
"""


@pytest.mark.thorough
def test_memory_stays_flat_over_rounds_of_actors(target: Carlite) -> None:
    client = target.client()
    levels, deaths = list[int](), 0
    while len(levels) < PARTS:
        if not levels:
            client.reload_world().apply_settings(
                carla.WorldSettings(synchronous_mode=True, fixed_delta_seconds=0.05)
            )
        command = [sys.executable, "-c", ROUNDS, str(target.port)]
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
        )
        if died(done.returncode) and deaths < DEATHS:
            levels, deaths = [], deaths + 1  # it left its actors: again from the beginning
            continue
        refuse_failed(done)
        levels.append(rss(target))
    client.get_world().apply_settings(carla.WorldSettings())
    assert levels[-1] - levels[0] < 4 << 20


@pytest.mark.thorough
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

"""Collects the facts of one server: `python -m harness.doctor.collecting HOST PORT TOWN FILE`.

A process for each server: the client library is not made for two at a time. The town is loaded
again; `-` is the town that is loaded.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import carla

from harness.common.files import write_whole
from harness.doctor import facts, trials, working
from harness.doctor.facts import Section
from harness.world.session import load_fresh_world

TIMEOUT = 120.0
TICK = 0.05
CAMERAS = "cameras"
"""Run last: a server that cannot render may crash on them."""


def collect_server_facts(host: str, port: str, town: str, file: str) -> None:
    """Write all facts, then exit at once: the library's threads do not always end."""
    client = carla.Client(host, int(port))
    client.set_timeout(TIMEOUT)
    stands = client.get_world().get_map().name.rpartition("/")[2]
    with run_synchronously(load_fresh_world(client, stands if town == "-" else town)) as world:
        facts = {
            name: try_section(name, collect)
            for name, collect in collect_sections(client, world).items()
        }
        text = world.get_map().to_opendrive()
        lost = {CAMERAS: {"failed": {"with": "the server did not answer any more"}}}
        write_whole(Path(file), json.dumps({"facts": facts | lost, "opendrive": text}))
        facts[CAMERAS] = try_section(CAMERAS, lambda: working.try_cameras(world))
    write_whole(Path(file), json.dumps({"facts": facts, "opendrive": text}))
    os._exit(0)


def collect_sections(client: carla.Client, world: carla.World) -> dict[str, Callable[[], Section]]:
    """Return everything that is looked at, in the order of the table."""
    town = world.get_map()
    return {
        "server": lambda: facts.collect_server_info(client, world),
        "map": lambda: facts.collect_road_map(town),
        "spawn points": lambda: facts.collect_spawn_points(town),
        "crosswalks": lambda: facts.collect_crosswalks(town),
        "traffic lights": lambda: facts.collect_traffic_lights(world),
        "weather": lambda: facts.collect_weather(world),
        "blueprints": lambda: facts.collect_blueprints(world),
        "vehicles": lambda: trials.measure_bodies(world, "vehicle.*"),
        "walkers": lambda: trials.measure_bodies(world, "walker.pedestrian.*"),
        "physics": lambda: trials.collect_physics(world),
        "LiDAR": lambda: trials.measure_lidar(world),
        "GNSS": lambda: trials.measure_gnss(world),
        "driving": lambda: trials.measure_driving(world),
        "rays": lambda: working.try_ray_sensors(world),
    }


def try_section(name: str, collect: Callable[[], Section]) -> Section:
    """Return a section or its failure; other sections go on unless the server is silent."""
    print(name, file=sys.stderr, flush=True)
    try:
        return collect()
    except (RuntimeError, IndexError, AttributeError, ValueError) as problem:
        if "time-out" in str(problem):
            raise
        return {"failed": {"with": f"{type(problem).__name__}: {problem}"}}


@contextmanager
def run_synchronously(world: carla.World) -> Iterator[carla.World]:
    """Stop the clock while the block lasts."""
    before = world.get_settings()
    world.apply_settings(carla.WorldSettings(synchronous_mode=True, fixed_delta_seconds=TICK))
    try:
        yield world
    finally:
        world.apply_settings(before)


if __name__ == "__main__":
    collect_server_facts(*sys.argv[1:5])

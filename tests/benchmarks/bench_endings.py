"""Clients that end while their callbacks run: how many of thirty processes die in the library."""

from __future__ import annotations

import subprocess
import sys

from tests.conftest import Carlite

RUNS = 30
CLIENT = """
import os, sys, time, carla
client = carla.Client(sys.argv[1], int(sys.argv[2]))
client.set_timeout(60.0)
world = client.get_world()
def look(snapshot):
    time.sleep(0.02)
    [actor.get_transform() for actor in world.get_actors()]
numbers = [world.on_tick(look) for _ in range(3)]
for _ in range(5):
    world.wait_for_tick(60.0)
"""
ENDINGS = {
    "nothing": "",
    "remove_on_tick": "[world.remove_on_tick(number) for number in numbers]",
    "remove_on_tick, 0.5 s of sleep": (
        "[world.remove_on_tick(number) for number in numbers]\ntime.sleep(0.5)"
    ),
    "os._exit": "os._exit(0)",
}


def run() -> list[tuple[str, str]]:
    """Start clients of an asynchronous world one after another, and count those that died."""
    rows = []
    with Carlite() as server:
        for name, ending in ENDINGS.items():
            command = [sys.executable, "-c", CLIENT + ending, server.host, str(server.port)]
            codes = [
                subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode
                for _ in range(RUNS)
            ]
            rows.append((name, f"{sum(code != 0 for code in codes)} of {RUNS}"))
    return rows

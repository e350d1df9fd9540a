"""Clients that are behind with their snapshots, and the ticks they ask for."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import carla
import pytest

from tests.conftest import Carlite

BEGINNING = """
import os, sys, time, carla
client = carla.Client("127.0.0.1", int(sys.argv[1]), int(sys.argv[2]))
client.set_timeout(20.0)
world = client.get_world()
"""
ONE_TICK = """
world.tick()
print("ready", flush=True)
sys.stdin.readline()
try:
    world.tick(60.0)
    print("ticked", flush=True)
except RuntimeError as problem:
    print(problem, flush=True)
os._exit(0)
"""
MANY_TICKS = """
for _ in range(1000):
    world.tick()
print("enough", flush=True)
while True:
    world.tick()
"""
BEHIND_A_FROZEN_SERVER = """
world.apply_settings(carla.WorldSettings(synchronous_mode=True, fixed_delta_seconds=0.05))
manager = client.get_trafficmanager(8000)
manager.set_synchronous_mode(True)
frames = []
world.on_tick(lambda snapshot: frames.append(snapshot.frame))
for _ in range(3):
    world.tick()
print("ready", flush=True)
sys.stdin.readline()
try:
    for _ in range(20):
        world.tick(60.0)
        time.sleep(0.1)
    until = time.monotonic() + 60.0
    while len(set(frames)) < 23 and time.monotonic() < until:
        time.sleep(0.01)  # callbacks run in other threads
    print("ticked", len(set(frames)), flush=True)
except RuntimeError as problem:
    print(problem, flush=True)
os._exit(0)
"""
SLOW_CALLBACKS = """
lidar = world.get_blueprint_library().find("sensor.lidar.ray_cast")
sensors = [world.spawn_actor(lidar, carla.Transform(carla.Location(z=5))) for _ in range(3)]
for sensor in sensors:
    sensor.listen(lambda scan: time.sleep(0.2))
until = time.monotonic() + 4.0
while time.monotonic() < until:
    world.tick(60.0)
print("ticked", flush=True)
os._exit(0)
"""


@contextmanager
def program(server: Carlite, text: str, threads: int = 0) -> Iterator[subprocess.Popen[str]]:
    """Run a client in a process of its own."""
    process = subprocess.Popen(
        [sys.executable, "-c", BEGINNING + text, str(server.port), str(threads)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def said(process: subprocess.Popen[str]) -> str:
    """Return the next line a program prints."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.mark.thorough
def test_a_client_far_behind_gets_the_snapshot_of_its_tick() -> None:
    """It was frozen while another ticked, which is dead when it ticks; no other client does."""
    with Carlite() as server:
        client = server.client()
        world = client.get_world()
        world.apply_settings(carla.WorldSettings(synchronous_mode=True, fixed_delta_seconds=0.05))
        kiosk = world.get_blueprint_library().find("static.prop.kiosk_01")
        places = [carla.Location(10.0 * (k % 20), 10.0 * (k // 20), 60.0) for k in range(400)]
        spawning = [carla.command.SpawnActor(kiosk, carla.Transform(pose)) for pose in places]
        assert not any(answer.error for answer in client.apply_batch_sync(spawning))
        with program(server, ONE_TICK) as frozen:
            assert said(frozen) == "ready"
            frozen.send_signal(signal.SIGSTOP)
            with program(server, MANY_TICKS) as busy:
                assert said(busy) == "enough"
            assert frozen.stdin is not None
            frozen.stdin.write("\n")
            frozen.stdin.flush()
            frozen.send_signal(signal.SIGCONT)
            assert said(frozen) == "ticked"


@pytest.mark.thorough
def test_slow_callbacks_leave_ticks_alone_where_threads_are_left(carlite: Carlite) -> None:
    """Three sensors in an asynchronous world occupy three threads of the client; one is left."""
    with program(carlite, SLOW_CALLBACKS, threads=4) as busy:
        assert said(busy) == "ticked"
    carlite.begin_episode()


@pytest.mark.thorough
def test_a_snapshot_that_is_dropped_for_a_late_health_check_comes_again() -> None:
    """The library drops one when the Traffic Manager is late; the tick would wait for ever."""
    with Carlite() as server, program(server, BEHIND_A_FROZEN_SERVER) as client:
        assert said(client) == "ready"
        os.kill(server.process.pid, signal.SIGSTOP)
        time.sleep(5.0)
        os.kill(server.process.pid, signal.SIGCONT)
        assert client.stdin is not None
        client.stdin.write("\n")
        client.stdin.flush()
        assert said(client) == "ticked 23"

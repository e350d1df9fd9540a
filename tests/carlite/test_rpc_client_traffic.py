"""The wheel's own Traffic Manager, in a process apart: it can hang, and only killing helps."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest

from tests.conftest import Carlite
from tests.dying import died

DRIVE = """
import os, sys, carla
client = carla.Client("127.0.0.1", int(sys.argv[1]))
client.set_timeout(10.0)
world = client.reload_world()
world.apply_settings(carla.WorldSettings(synchronous_mode=True, fixed_delta_seconds=0.05))
manager = client.get_trafficmanager(int(sys.argv[2]))
manager.set_synchronous_mode(True)
model = world.get_blueprint_library().find("vehicle.tesla.model3")
cars = [world.spawn_actor(model, pose) for pose in world.get_map().get_spawn_points()[:5]]
world.tick()
starts = [car.get_location() for car in cars]
for car in cars:
    car.set_autopilot(True, manager.get_port())
for _ in range(200):
    world.tick()
moved = [car.get_location().distance(start) for car, start in zip(cars, starts)]
print(sum(metres > 10.0 for metres in moved), flush=True)
os._exit(0)
"""


@pytest.mark.thorough
def test_a_client_may_bring_a_traffic_manager() -> None:
    with Carlite("--traffic-manager", "client") as server:
        for _ in range(3):
            with socket.create_server(("127.0.0.1", 0)) as free:
                port = free.getsockname()[1]
            try:
                done = subprocess.run(
                    [sys.executable, "-c", DRIVE, str(server.port), str(port)],
                    capture_output=True,
                    text=True,
                    timeout=120,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                continue
            if died(done.returncode):  # its port was taken meanwhile, or the library failed
                continue
            assert done.returncode == 0, done.stderr
            assert int(done.stdout) >= 3
            return
    pytest.fail("the client's Traffic Manager failed three times in a row")

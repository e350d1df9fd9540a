"""Next to MetaDrive with as much traffic: simulated seconds for one of all processors.

MetaDrive needs other versions of what Crucible needs, so it lives in an environment of its own;
CRUCIBLE_METADRIVE names its interpreter (`pip install metadrive-simulator` there). The rounds of
all programs are taken in turn. Each counts its whole processes once they are warm: carlite's are
the server and the client that waits for every tick.
"""

from __future__ import annotations

import json
import os
import subprocess
from statistics import median

import carla
import psutil

from tests.benchmarks.bench_ticks import populate
from tests.conftest import Carlite, synchronous

VEHICLES = 25
ROUNDS, SECONDS = 5, 30.0
TICK = 0.05
SETTLE = 100
LIDAR = {
    "channels": "64",
    "points_per_second": "690000",  # 34 500 a tick
    "rotation_frequency": "20",
    "range": "100",
    "upper_fov": "10",
    "lower_fov": "-25",
}
NAME = "CRUCIBLE_METADRIVE"
METADRIVE = f"""
import json, logging, os, sys
logging.disable(logging.CRITICAL)
from metadrive import MetaDriveEnv
rays = int(sys.argv[1])
env = MetaDriveEnv(dict(
    use_render=False, image_observation=False, log_level=50, num_scenarios=1, start_seed=7, map=7,
    traffic_density=0.15, traffic_mode="respawn", horizon=None,
    crash_vehicle_done=False, crash_object_done=False, out_of_road_done=False,
    vehicle_config=dict(lidar=dict(num_lasers=rays, num_others=0)),
))
env.reset()
step = env.config["physics_world_step_size"] * env.config["decision_repeat"]
for line in sys.stdin:
    before = os.times()
    for _ in range(round({SECONDS} / step)):
        _, _, ended, _, _ = env.step([0.0, 0.0])
        if ended:
            env.reset()
    after = os.times()
    busy = after.user + after.system - before.user - before.system
    vehicles = len(env.engine.traffic_manager.vehicles)
    print(json.dumps([{SECONDS} / busy, vehicles]), flush=True)
"""


class MetaDrive:
    """A MetaDrive in a process of its own, with some rays of its two-dimensional LiDAR."""

    def __init__(self, python: str, rays: int) -> None:
        self._process = subprocess.Popen(
            [python, "-c", METADRIVE, str(rays)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.vehicles = 0

    def round(self) -> float:
        """Drive on; return the simulated seconds for each of the processor."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write("on\n")
        self._process.stdin.flush()
        while not (line := self._process.stdout.readline()).startswith("["):
            assert line, "MetaDrive ended"
        pace, self.vehicles = json.loads(line)
        return float(pace)

    def end(self) -> None:
        self._process.kill()
        self._process.wait()


def pace(server: Carlite, world: carla.World) -> float:
    """Let carlite drive on; return the simulated seconds for each of the processor."""
    processes = [psutil.Process(server.process.pid), psutil.Process()]
    before = sum(sum(process.cpu_times()[:2]) for process in processes)
    for _ in range(round(SECONDS / TICK)):
        world.tick()
    return SECONDS / (sum(sum(process.cpu_times()[:2]) for process in processes) - before)


def populated(server: Carlite) -> carla.World:
    """Return a world with that traffic, driving."""
    client = server.fresh_client()
    world = synchronous(client)
    manager = client.get_trafficmanager()
    manager.set_synchronous_mode(True)
    for vehicle in populate(world, VEHICLES):
        vehicle.set_autopilot(True, manager.get_port())
    for _ in range(SETTLE):
        world.tick()
    return world


def with_lidar(world: carla.World) -> carla.Sensor:
    """Put a LiDAR on a vehicle; its points come to this process."""
    blueprint = world.get_blueprint_library().find("sensor.lidar.ray_cast")
    for name, value in LIDAR.items():
        blueprint.set_attribute(name, value)
    vehicle = world.get_actors().filter("vehicle.*")[0]
    sensor = world.spawn_actor(blueprint, carla.Transform(carla.Location(z=2.1)), attach_to=vehicle)
    sensor.listen(lambda points: None)
    return sensor


def run() -> list[tuple[str, str]]:
    """Take the rounds in turn; medians and their ratios."""
    python = os.environ.get(NAME)
    if not python:
        return [("MetaDrive", f"not compared: {NAME} names no interpreter that has it")]
    peers = {"no rays": MetaDrive(python, 0), "240 rays": MetaDrive(python, 240)}
    paces: dict[str, list[float]] = {}
    with Carlite() as server:
        for _ in range(ROUNDS):
            for name, peer in peers.items():
                paces.setdefault(f"MetaDrive, {name}", []).append(peer.round())
            world = populated(server)
            paces.setdefault("carlite", []).append(pace(server, world))
            sensor = with_lidar(world)
            paces.setdefault("carlite, LiDAR", []).append(pace(server, world))
            sensor.destroy()
    for peer in peers.values():
        peer.end()
    middle = {name: median(values) for name, values in paces.items()}
    rows = [
        (name, f"{middle[name]:.1f} ({min(values):.1f} to {max(values):.1f})")
        for name, values in paces.items()
    ]
    counts = ", ".join(str(peer.vehicles) for peer in peers.values())
    return [
        ("vehicles of carlite, of MetaDrive", f"{VEHICLES}, {counts}"),
        *rows,
        ("carlite to MetaDrive", f"{middle['carlite'] / middle['MetaDrive, no rays']:.1f} times"),
        (
            "with 34 500 points of 64 channels to MetaDrive with 240 rays in a plane",
            f"{middle['carlite, LiDAR'] / middle['MetaDrive, 240 rays']:.1f} times",
        ),
    ]

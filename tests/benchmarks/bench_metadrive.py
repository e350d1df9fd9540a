"""Ticks per second with and without a LiDAR, next to MetaDrive with about as much traffic.

A second is one of all processors, so that other work on the machine counts little; the best of
three rounds is taken. The rounds of both programs follow one another. Each counts its whole
processes once they are warm: carlite's are the server and the client that waits for every tick. A
tick of carlite is half as long as a step of MetaDrive, so the ratios are those of simulated
seconds.

MetaDrive needs other versions of what Crucible needs, so it lives in an environment of its own;
CRUCIBLE_METADRIVE names its interpreter (`pip install metadrive-simulator` there). It draws
nothing here and does without its models and textures, which it would otherwise download.
"""

from __future__ import annotations

import json
import os
import subprocess

import carla
import psutil

from tests.benchmarks.bench_ticks import populate
from tests.conftest import Carlite, synchronous

FLEETS = {25: (7, 0.15), 100: (20, 0.35), 200: (30, 0.45)}
"""Vehicles of carlite, and MetaDrive's map (pieces) and density for about as many."""

ROUNDS, SECONDS = 3, 10.0
TICK, STEP = 0.05, 0.1
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
from metadrive.engine.base_engine import BaseEngine
BaseEngine.try_pull_asset = staticmethod(lambda: None)
pieces, density, rays = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
env = MetaDriveEnv(dict(
    use_render=False, image_observation=False, log_level=50, num_scenarios=1, start_seed=7,
    map=pieces, traffic_density=density, traffic_mode="respawn", horizon=None,
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

    def __init__(self, python: str, *, pieces: int, density: float, rays: int) -> None:
        self._process = subprocess.Popen(
            [python, "-c", METADRIVE, str(pieces), str(density), str(rays)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.vehicles = 0

    def drive_round(self) -> float:
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


def measure_pace(server: Carlite, world: carla.World) -> float:
    """Let carlite drive on; return the simulated seconds for each of the processor."""
    processes = [psutil.Process(server.process.pid), psutil.Process()]
    before = sum(sum(process.cpu_times()[:2]) for process in processes)
    for _ in range(round(SECONDS / TICK)):
        world.tick()
    return SECONDS / (sum(sum(process.cpu_times()[:2]) for process in processes) - before)


def populated(server: Carlite, vehicles: int) -> carla.World:
    """Return a world with that traffic, driving."""
    client = server.fresh_client()
    world = synchronous(client)
    manager = client.get_trafficmanager()
    manager.set_synchronous_mode(True)
    for vehicle in populate(world, vehicles):
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


def compare_fleet(server: Carlite, python: str | None, vehicles: int) -> list[tuple[str, str]]:
    """Take the rounds of one fleet in turn; the best of each program and their ratios."""
    pieces, density = FLEETS[vehicles]
    peers = {
        name: MetaDrive(python, pieces=pieces, density=density, rays=rays)
        for name, rays in (("no rays", 0), ("240 rays", 240))
        if python
    }
    paces: dict[str, list[float]] = {}
    world = populated(server, vehicles)
    for _ in range(ROUNDS):
        for name, peer in peers.items():
            paces.setdefault(name, []).append(peer.drive_round())
        paces.setdefault("carlite", []).append(measure_pace(server, world))
        sensor = with_lidar(world)
        paces.setdefault("LiDAR", []).append(measure_pace(server, world))
        sensor.destroy()
    counts = ", ".join(str(peer.vehicles) for peer in peers.values())
    for peer in peers.values():
        peer.end()
    best = {name: max(values) for name, values in paces.items()}
    rows = [
        (f"{vehicles} vehicles, no sensor: ticks a second", f"{best['carlite'] / TICK:.0f}"),
        (f"{vehicles} vehicles, 64-channel LiDAR: ticks a second", f"{best['LiDAR'] / TICK:.0f}"),
    ]
    if not peers:
        return rows
    return [
        *rows,
        (f"MetaDrive with {counts} vehicles: steps a second, no rays and 240 rays in a plane",
         f"{best['no rays'] / STEP:.0f} and {best['240 rays'] / STEP:.0f}"),
        ("carlite to MetaDrive, simulated seconds: no sensor",
         f"{best['carlite'] / best['no rays']:.1f} times"),
        ("carlite with 34 500 points to MetaDrive with 240 rays",
         f"{best['LiDAR'] / best['240 rays']:.1f} times"),
    ]  # fmt: skip


def run() -> list[tuple[str, str]]:
    """Measure all fleets."""
    python = os.environ.get(NAME)
    # one server for all: the client library keeps a Traffic Manager for every port
    with Carlite() as server:
        rows = [row for vehicles in FLEETS for row in compare_fleet(server, python, vehicles)]
    if not python:
        rows.append(("MetaDrive", f"not compared: {NAME} names no interpreter that has it"))
    return rows

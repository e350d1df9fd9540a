"""Once round the block: carlite, the real CARLA client, a car with a LiDAR, and traffic.

Starts a server of its own, drives, and prints what happened.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import carla
import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from harness.demo.driver import Driver
from harness.demo.way import choose_lap
from harness.subprocesses import module_command

READY = re.compile(r"ready on (\S+):(\d+), town (\S+)")
SEED = 1
STEP = 0.05
OTHERS = 30
LONGEST_DRIVE = 600.0
LIDAR = {
    "channels": "64",
    "range": "100",
    "points_per_second": "500000",
    "rotation_frequency": "20",
}


@dataclass
class Log:
    """What is reported afterwards."""

    town: str
    lights: int = 0
    others: int = 0
    metres: float = 0.0
    wall: float = 0.0
    waited: float = 0.0
    home: bool = False
    speeds: list[float] = field(default_factory=list)
    offsets: list[float] = field(default_factory=list)
    scans: list[int] = field(default_factory=list)
    collisions: list[str] = field(default_factory=list)


@contextmanager
def server() -> Iterator[tuple[str, int]]:
    """Run carlite on free ports and yield where it is."""
    command = module_command("harness.carlite", "--port", "0", "--seed", str(SEED))
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        ready = READY.search(process.stdout.readline())
        if ready is None:
            raise SystemExit("carlite did not start")
        yield ready[1], int(ready[2])
    finally:
        process.terminate()
        process.wait(10)


def spawn_car(world: carla.World, start: carla.Transform) -> carla.Actor:
    """Put the car on the road."""
    blueprint = world.get_blueprint_library().find("vehicle.tesla.model3")
    blueprint.set_attribute("role_name", "hero")
    start.location.z += 0.3
    return world.spawn_actor(blueprint, start)


def listen(world: carla.World, car: carla.Actor, log: Log) -> list[carla.Actor]:
    """Mount a LiDAR and a collision sensor that write to the log."""
    library = world.get_blueprint_library()
    blueprint = library.find("sensor.lidar.ray_cast")
    for name, value in LIDAR.items():
        blueprint.set_attribute(name, value)
    roof = carla.Transform(carla.Location(z=2.4))
    lidar = world.spawn_actor(blueprint, roof, attach_to=car)
    lidar.listen(lambda scan: log.scans.append(len(scan)))
    bumper = world.spawn_actor(
        library.find("sensor.other.collision"), carla.Transform(), attach_to=car
    )
    bumper.listen(lambda event: log.collisions.append(event.other_actor.type_id))
    return [lidar, bumper]


def add_traffic(client: carla.Client, world: carla.World, car: carla.Actor) -> list[int]:
    """Let others drive about, and return their ids."""
    manager = client.get_trafficmanager()
    manager.set_synchronous_mode(True)
    manager.set_random_device_seed(SEED)
    cars = world.get_blueprint_library().filter("vehicle.*")
    cars = [one for one in cars if one.get_attribute("base_type") == "car"]
    away = [
        pose
        for pose in world.get_map().get_spawn_points()
        if pose.location.distance(car.get_location()) > 20.0
    ]
    step = max(len(away) // OTHERS, 1)
    autopilot = carla.command.SetAutopilot(carla.command.FutureActor, True, manager.get_port())
    batch = [
        carla.command.SpawnActor(cars[n % len(cars)], pose).then(autopilot)
        for n, pose in enumerate(away[::step][:OTHERS])
    ]
    return [answer.actor_id for answer in client.apply_batch_sync(batch) if not answer.error]


def drive(client: carla.Client, log: Log) -> None:
    """Drive one lap and write down what happens."""
    world = client.get_world()
    world.apply_settings(carla.WorldSettings(synchronous_mode=True, fixed_delta_seconds=STEP))
    way = choose_lap(world.get_map())
    car = spawn_car(world, way[0].transform)
    world.tick()
    sensors = listen(world, car, log)
    log.others = len(add_traffic(client, world, car))
    world.tick()
    driver = Driver(world, car, way)
    log.lights = driver.lights
    began = time.perf_counter()
    with Progress(transient=True) as progress:
        task = progress.add_task(f"{log.town}: once round the block", total=driver.length)
        while not log.home and len(log.speeds) * STEP < LONGEST_DRIVE:
            car.apply_control(driver.drive())
            world.tick()
            log.speeds.append(car.get_velocity().length())
            log.offsets.append(abs(driver.offset))
            log.waited += STEP * driver.held_by_light
            log.home = driver.done >= driver.length - 1.0
            progress.update(task, completed=driver.done)
    log.wall = time.perf_counter() - began
    log.metres = sum(log.speeds) * STEP
    for sensor in sensors:
        sensor.destroy()


def report(log: Log) -> Table:
    """Lay out what happened."""
    simulated = len(log.speeds) * STEP
    table = Table(title=f"Once round a block in {log.town}", show_header=False)
    rows = {
        "back at the start": "yes" if log.home else f"no, stopped after {simulated:.0f} s",
        "distance": f"{log.metres:.0f} m",
        "time simulated": f"{simulated:.1f} s",
        "wall time": f"{log.wall:.1f} s",
        "real-time factor": f"{simulated / log.wall:.1f}",
        "top speed": f"{3.6 * max(log.speeds):.1f} km/h",
        "mean distance from the lane's centre": f"{100 * np.mean(log.offsets):.0f} cm",
        "LiDAR points a scan": f"{np.mean(log.scans):.0f} in {len(log.scans)} scans"
        if log.scans
        else "no scans",
        "collisions": ", ".join(sorted(set(log.collisions))) or "none",
        "traffic lights on the way": f"{log.lights}, {log.waited:.0f} s waited",
        "other vehicles": str(log.others),
    }
    for name, value in rows.items():
        table.add_row(name, value)
    return table


def main() -> int:
    """Run the demo; 0 when the car came home without a scratch."""
    with server() as (host, port):
        client = carla.Client(host, port)
        client.set_timeout(20.0)
        log = Log(client.get_world().get_map().name.rsplit("/", 1)[-1])
        drive(client, log)
    Console().print(report(log))
    return 0 if log.home and not log.collisions else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)

"""The whole server: ticks a second seen by the real client, and the time until it is ready.

Vehicles are driven by the Traffic Manager from the town's spawn points; every tick the client waits
for its snapshot. No sensor has a listener. `asleep` is the same world with traffic that stands:
what it costs to have the vehicles rather than to drive them.
"""

from __future__ import annotations

import time

import carla

from tests.conftest import Carlite

FLEETS = (0, 20, 50, 100)
SETTLE, TICKS = 200, 1000


def rate(world: carla.World, ticks: int) -> float:
    """Ticks a second."""
    start = time.perf_counter()
    for _ in range(ticks):
        world.tick()
    return ticks / (time.perf_counter() - start)


def populate(world: carla.World, count: int) -> list[carla.Actor]:
    """Spawn vehicles of all kinds, spread over the town, wherever there is room for them."""
    points = world.get_map().get_spawn_points()
    spread = [points[k * 7 % len(points)] for k in range(len(points))]
    models = world.get_blueprint_library().filter("vehicle.*")
    vehicles: list[carla.Actor] = []
    for k, point in enumerate(spread):
        vehicle = world.try_spawn_actor(models[k % len(models)], point)
        if vehicle is not None:
            vehicles.append(vehicle)
        if len(vehicles) == count:
            return vehicles
    raise RuntimeError(f"no room for {count} vehicles")


def driven(client: carla.Client, count: int) -> tuple[float, float]:
    """Ticks a second with a fleet that stands, then with the fleet driving."""
    client.reload_world()
    world = client.get_world()
    world.apply_settings(carla.WorldSettings(synchronous_mode=True, fixed_delta_seconds=0.05))
    manager = client.get_trafficmanager()
    manager.set_synchronous_mode(True)
    manager.set_random_device_seed(7)
    vehicles = populate(world, count) if count else []
    rate(world, SETTLE)
    asleep = rate(world, TICKS)
    for vehicle in vehicles:
        vehicle.set_autopilot(True, manager.get_port())
    rate(world, SETTLE)
    return asleep, rate(world, TICKS)


def start_up() -> float:
    """Seconds from the command to the ready line."""
    start = time.perf_counter()
    with Carlite():
        return time.perf_counter() - start


def run() -> list[tuple[str, str]]:
    """Measure; returns what was measured and the result."""
    with Carlite():
        pass
    rows = [("from the command to the ready line, caches warm", f"{start_up():.2f} s")]
    with Carlite() as server:
        client = server.client()
        for count in FLEETS:
            asleep, awake = driven(client, count)
            rows.append(
                (
                    f"{count} Traffic-Manager vehicles",
                    f"{awake:.0f} ticks/s, {awake / 20:.0f} times real time"
                    + (f" (asleep {asleep:.0f})" if count else ""),
                )
            )
    return rows

"""Whether a town's traffic flows: vehicles for some minutes on carlite, and who stood for long."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import carla

from harness.world.attempt_context import AttemptContext, make_empty_route
from harness.world.session import CarlaSession, open_session
from harness.world.simulators import CarliteSimulator
from harness.world.traffic import Traffic

TICK = 0.05
LOOK_EVERY = 20
"""Ticks between two looks at all vehicles."""
STANDS = 0.1
"""m/s, the speed below which a vehicle stands."""
JAM = 120.0
"""Seconds that a vehicle stands in a jam: twice the longest cycle of lights in towns of our own."""
TOGETHER = 40.0
"""Metres from the first vehicle of a jam within which others belong to it."""


@dataclass(frozen=True, kw_only=True)
class StandingVehicle:
    """A vehicle that stood for too long: when that was noticed, and where."""

    seconds: float
    x: float
    y: float


@dataclass(frozen=True, kw_only=True)
class TrafficFlow:
    """How traffic went: one line of numbers, and one for each jam."""

    summary: str
    jams: list[str]


def measure_traffic_flow(
    town: str, maps: Path | None, *, minutes: float, vehicles: int, seed: int
) -> TrafficFlow:
    """Drive vehicles of all kinds through a town, and return what stood still.

    Args:
        town: its name.
        maps: folder of OpenDRIVE files; None for shipped towns.
        minutes: of simulated time.
        vehicles: how many.
        seed: of the traffic.
    """
    simulator = CarliteSimulator(None if maps is None else str(maps))
    with (
        simulator.lease_server(town) as server,
        open_session(server.host, server.port, town=town, tick_seconds=TICK, seed=seed) as session,
    ):
        traffic = Traffic(vehicles=vehicles, walkers=0, mixed=True)
        population = traffic.spawn_population(make_traffic_context(session, town, seed), [])
        flow = record_standing_vehicles(session, population.vehicles, minutes)
        population.destroy_population()
    return flow


def make_traffic_context(session: CarlaSession, town: str, seed: int) -> AttemptContext:
    """Return the context of traffic that goes about its business: no route is kept free."""
    return AttemptContext(
        client=session.client,
        world=session.world,
        map=session.map,
        traffic_manager=session.traffic_manager,
        route=make_empty_route(town),
        seed=seed,
        tick_seconds=TICK,
    )


def record_standing_vehicles(
    session: CarlaSession, vehicles: list[carla.Actor], minutes: float
) -> TrafficFlow:
    """Let the world tick, and note which vehicles stand for too long."""
    still = dict.fromkeys((vehicle.id for vehicle in vehicles), 0.0)
    seen: list[StandingVehicle] = []
    metres = 0.0
    step = LOOK_EVERY * TICK
    # a look every second: a vehicle counts once, when it has stood for JAM seconds
    for look in range(1, math.floor(60 * minutes / step) + 1):
        for _ in range(LOOK_EVERY):
            session.world.tick()
        for actor in session.world.get_snapshot():
            if actor.id not in still:
                continue
            speed = actor.get_velocity().length()
            metres += speed * step
            before = still[actor.id]
            still[actor.id] = before + step if speed < STANDS else 0.0
            if before < JAM <= still[actor.id]:
                place = actor.get_transform().location
                seen.append(StandingVehicle(seconds=look * step, x=place.x, y=place.y))
    pace = metres / max(len(vehicles), 1) / max(minutes, step / 60)
    jams = [describe_jam(group) for group in group_into_jams(seen)]
    summary = f"{len(vehicles)} vehicles, {pace:.0f} m a minute each, {len(jams)} jams"
    return TrafficFlow(summary=summary, jams=jams)


def group_into_jams(seen: list[StandingVehicle]) -> list[list[StandingVehicle]]:
    """Return those that stood near each other together, in order of time."""
    groups: list[list[StandingVehicle]] = []
    for event in seen:
        near = (g for g in groups if math.dist((g[0].x, g[0].y), (event.x, event.y)) < TOGETHER)
        group = next(near, None)
        if group is None:
            groups.append([event])
        else:
            group.append(event)
    return groups


def describe_jam(group: list[StandingVehicle]) -> str:
    """Return where a jam was, since when, and of how many."""
    first = group[0]
    return (
        f"jam at ({first.x:.0f}, {first.y:.0f}): {len(group)} vehicles stood {JAM:.0f} s,"
        f" the first from {first.seconds - JAM:.0f} s on"
    )

"""Traffic without sockets: a town, an actor table and the rooms that move it, tick by tick."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from harness.carlite import blueprints, towns
from harness.carlite.actors import ActorKind, ActorTable
from harness.carlite.arrays import Bools, Floats
from harness.carlite.dynamics import collisions, vehicles, walkers
from harness.carlite.dynamics.physics import PhysicsTable, build_default_physics
from harness.carlite.randomness import make_random_stream
from harness.carlite.towns.lookup import find_ground_height
from harness.carlite.towns.model import Town
from harness.carlite.traffic.lights import TrafficLights
from harness.carlite.traffic.manager import TrafficManager
from harness.carlite.traffic.records import as_columns

FLEET = tuple(
    b.id for b in blueprints.build_blueprint_library().values() if b.kind == ActorKind.VEHICLE
)


@cache
def load(name: str) -> Town:
    """Load a shipped town, or another one of CARLA's from the folder `CRUCIBLE_MAPS`."""
    maps = os.environ.get("CRUCIBLE_MAPS")
    if name not in towns.list_available_towns(None) and not maps:
        pytest.skip(f"{name}: CRUCIBLE_MAPS names no folder of CARLA towns")
    return towns.load_town(name, Path(maps) if maps else None)


class Scenario:
    """A world of traffic only. `contacts` holds what hit what in the last tick."""

    def __init__(self, town: Town, seed: int = 0, dt: float = 0.05) -> None:
        self.town, self.dt, self.frame = town, dt, 0
        self.table, self.physics = ActorTable(), PhysicsTable()
        self.lights = TrafficLights(town.signals, range(1, len(town.signals) + 1))
        self.manager = TrafficManager(
            town, table=self.table, lights=self.lights, physics=self.physics, seed=seed
        )
        self.contacts: list[collisions.CollisionContact] = []
        self._obstacles = collisions.ObstacleGrid(town.scenery)
        self._next_id = 1000

    @property
    def time(self) -> float:
        return self.frame * self.dt

    def tick(self) -> None:
        """Do what the server does in a tick, in its order."""
        table, ground, dt = self.table, self.town.ground, self.dt
        driven, afoot = table.list_slots(ActorKind.VEHICLE), table.list_slots(ActorKind.WALKER)
        self.lights.step(dt)
        self.lights.note_held_vehicles(table, driven)
        self.decide()
        vehicles.step_vehicles(table, driven, physics=self.physics, ground=ground, dt=dt)
        walkers.step_walkers(table, afoot, ground, dt)
        self.contacts = collisions.resolve_collisions(table, self._obstacles, dt)
        self.frame += 1

    def decide(self) -> None:
        """Let the drivers set their controls."""
        self.manager.step(self.dt)

    def run(self, seconds: float) -> None:
        """Tick for so long."""
        for _ in range(round(seconds / self.dt)):
            self.tick()

    def spawn(self, blueprint_id: str, place: Sequence[float] | Floats) -> int:
        """Put an actor at (x, y, z, pitch, yaw, roll) and return its id."""
        blueprint = blueprints.build_blueprint_library()[blueprint_id]
        actor, self._next_id = self._next_id, self._next_id + 1
        self.table.add_actor(
            actor,
            kind=blueprint.kind,
            label=blueprint.label,
            position=place[:3],
            rotation=place[3:],
            extent=blueprint.extent,
            mirrors=blueprint.mirrors,
            box_centre=blueprint.box_centre,
            mass=blueprint.mass,
            simulated=True,
            solid=True,
            gravity=True,
        )
        if blueprint.kind == ActorKind.VEHICLE:
            control = build_default_physics(
                blueprint_id, blueprint.touching, blueprint.wheels, blueprint.mass
            )
            self.physics.set_control(self.table, actor, control)
        return actor

    def spawn_walker(self, x: float, y: float) -> int:
        """Put a walker on its feet."""
        ground = self.town.ground
        z = find_ground_height(
            ground.x, ground.y, ground.cell, ground.lower, ground.upper, x, y, 100.0
        )
        tall = blueprints.build_blueprint_library()["walker.pedestrian.0001"].extent[2]
        return self.spawn("walker.pedestrian.0001", (x, y, z + tall + 0.02, 0.0, 0.0, 0.0))

    def destroy(self, actor: int) -> None:
        """Take an actor out of the world."""
        if self.table.kind[self.table.find_slot(actor)] == ActorKind.VEHICLE:
            self.physics.forget_actor(actor)
        self.table.remove_actor(actor)

    def drive(self, blueprint_id: str, place: Sequence[float] | Floats) -> int:
        """Spawn a vehicle and hand it to the manager."""
        actor = self.spawn(blueprint_id, place)
        self.manager.register_vehicle([actor])
        return actor

    def on_link(self, link: int, station: float, lateral: float = 0.0) -> Floats:
        """Return the pose on a link, metres from its start and right of its centre line."""
        points = self.manager.fleet.network.get_link_points(link)
        step = as_columns(self.manager.fleet.network.links)["step"][link]
        x, y, z, yaw = (
            float(np.interp(station / step, np.arange(len(points)), points[name]))
            for name in ("x", "y", "z", "yaw")
        )
        return np.array((x - lateral * np.sin(yaw), y + lateral * np.cos(yaw), z, 0.0, yaw, 0.0))

    def links_where(self, length: float, neighbour: bool | None = None) -> list[int]:
        """List straight links outside junctions, this long, with or without a lane to the right."""
        network, links = self.manager.fleet.network, []
        for link, row in enumerate(as_columns(network.links)):
            points = network.get_link_points(link)
            straight = np.abs(points["curvature"]).max() < 5e-3 and row["junction"] < 0
            fits = neighbour is None or bool((points["right"] >= 0).all()) == neighbour
            if straight and fits and row["length"] > length:
                links.append(link)
        return links

    def populate(self, count: int, seed: int, fleet: Sequence[str] = FLEET) -> list[int]:
        """Spawn and register mixed vehicles at random spawn points where they fit."""
        random = make_random_stream(seed, "population")
        actors: list[int] = []
        for place in random.permutation(len(self.town.spawn_points)):
            name = fleet[int(random.integers(len(fleet)))]
            if len(actors) < count and self._fits(name, self.town.spawn_points[place]):
                actors.append(self.spawn(name, self.town.spawn_points[place]))
        self.manager.register_vehicle(actors)
        return actors

    def speed(self, actor: int) -> float:
        return float(np.linalg.norm(self.table.velocity[self.table.find_slot(actor), :2]))

    def driver(self, actor: int) -> np.void:
        """What the manager's driver of a vehicle has in mind."""
        driver: np.void = self.manager.fleet.drivers[self.manager.vehicles.index(actor)]
        return driver

    def _fits(self, blueprint_id: str, place: Floats) -> bool:
        blueprint, table = blueprints.build_blueprint_library()[blueprint_id], self.table
        position = np.vstack([table.position, place[:3]])
        yaw = np.append(table.rotation[:, 1], place[4])
        half_sizes = np.vstack([table.extent, blueprint.extent])
        half_sizes[:, 1] -= np.append(table.mirrors, blueprint.mirrors)
        return not overlapping(position, yaw, half_sizes)[-1].any()


def overlapping(position: Floats, yaw: Floats, extent: Floats) -> Bools:
    """Return the symmetric matrix of which boxes overlap, by separating axes; plainly slow."""
    delta = position[None, :, :] - position[:, None, :]
    apart = np.abs(delta[..., 2]) > 2.5
    cos, sin = np.cos(yaw), np.sin(yaw)
    for ux, uy in ((cos, sin), (-sin, cos)):
        reach = np.abs(ux[:, None] * cos + uy[:, None] * sin) * extent[:, 0]
        reach += np.abs(uy[:, None] * cos - ux[:, None] * sin) * extent[:, 1]
        gap = np.abs(delta[..., 0] * ux[:, None] + delta[..., 1] * uy[:, None])
        over = gap > reach + np.diag(reach)[:, None]
        apart |= over | over.T
    np.fill_diagonal(apart, True)
    return ~apart

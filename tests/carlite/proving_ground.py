"""Grounds, cars and drives for the tests of the dynamics."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from harness.carlite import blueprints
from harness.carlite.actors import ActorKind, ActorTable
from harness.carlite.arrays import Bools, Floats
from harness.carlite.dynamics import collisions, vehicles, walkers
from harness.carlite.dynamics.collisions import CollisionContact, ObstacleGrid
from harness.carlite.dynamics.physics import PhysicsControl, PhysicsTable, build_default_physics
from harness.carlite.dynamics.state import FRONT_SPIN, REAR_SPIN
from harness.carlite.towns.model import TownGround, TownScenery

TESLA = "vehicle.tesla.model3"
LINCOLN = "vehicle.lincoln.mkz_2017"
DT = 0.05


def ground(shape: Callable[[Floats, Floats], Floats] = lambda x, y: 0.0 * x) -> TownGround:
    """A ground of the given shape, 2000 m by 400 m, whose corner is (-200, -200)."""
    x, y = np.meshgrid(np.arange(-200.0, 1800.0), np.arange(-200.0, 200.0))
    lower = np.ascontiguousarray(shape(x, y), dtype=np.float32)
    return TownGround(
        x=-200.0,
        y=-200.0,
        cell=1.0,
        lower=lower,
        upper=np.full_like(lower, np.nan),
        label=np.ones(lower.shape, np.uint8),
    )


FLAT = ground()


def scenery(*boxes: tuple[float, float, float, float, float, float, float]) -> TownScenery:
    """Boxes given as centre, half sizes and yaw."""
    rows = np.array(boxes, dtype=np.float64).reshape(len(boxes), 7)
    solid: Bools = np.ones(len(boxes), np.bool_)
    return TownScenery(
        centre=rows[:, :3].copy(),
        extent=rows[:, 3:6].copy(),
        yaw=rows[:, 6].copy(),
        shape=np.zeros(len(boxes), np.uint8),
        body=np.full(len(boxes), -1, np.int32),
        label=np.zeros(len(boxes), np.uint8),
        solid=solid,
    )


class Place:
    """A table of actors on a ground, advanced as the server advances them."""

    def __init__(
        self, floor: TownGround = FLAT, obstacles: TownScenery | None = None, dt: float = DT
    ) -> None:
        self.table = ActorTable()
        self.physics = PhysicsTable()
        self.ground = floor
        self.obstacles = ObstacleGrid(obstacles or scenery())
        self.dt = dt

    def car(
        self,
        blueprint_id: str = TESLA,
        at: tuple[float, float, float] = (0.0, 0.0, 0.0),
        yaw: float = 0.0,
        velocity: tuple[float, float] = (0.0, 0.0),
    ) -> int:
        """Add a vehicle; return its slot."""
        blueprint = blueprints.build_blueprint_library()[blueprint_id]
        actor_id = int(self.table.id.max(initial=0)) + 1
        slot = self.table.add_actor(
            actor_id,
            kind=ActorKind.VEHICLE,
            position=at,
            rotation=(0.0, yaw, 0.0),
            velocity=(*velocity, 0.0),
            extent=blueprint.extent,
            box_centre=blueprint.box_centre,
            simulated=True,
            solid=True,
            gravity=True,
        )
        control = build_default_physics(
            blueprint_id, blueprint.extent, blueprint.wheels, blueprint.mass
        )
        self.physics.set_control(self.table, actor_id, control)
        ahead = velocity[0] * math.cos(yaw) + velocity[1] * math.sin(yaw)
        for spin, wheel in ((FRONT_SPIN, control.wheels[0]), (REAR_SPIN, control.wheels[-1])):
            self.table.drivetrain[slot, spin] = ahead / wheel.radius
        return slot

    def walker(self, at: tuple[float, float, float] = (0.0, 0.0, 0.93), yaw: float = 0.0) -> int:
        """Add a pedestrian; return its slot."""
        blueprint = blueprints.build_blueprint_library()["walker.pedestrian.0001"]
        return self.table.add_actor(
            int(self.table.id.max(initial=0)) + 1,
            kind=ActorKind.WALKER,
            position=at,
            rotation=(0.0, yaw, 0.0),
            extent=blueprint.extent,
            box_centre=blueprint.box_centre,
            mass=blueprint.mass,
            simulated=True,
            solid=True,
            gravity=True,
        )

    def control(self, slot: int = 0) -> PhysicsControl:
        """Return a vehicle's physics control."""
        return self.physics.find_control(int(self.table.id[slot]))

    def tick(self, count: int = 1) -> list[CollisionContact]:
        """Advance; return the contacts."""
        contacts: list[CollisionContact] = []
        for _ in range(count):
            cars, people = (
                self.table.list_slots(ActorKind.VEHICLE),
                self.table.list_slots(ActorKind.WALKER),
            )
            vehicles.step_vehicles(
                self.table, cars, physics=self.physics, ground=self.ground, dt=self.dt
            )
            walkers.step_walkers(self.table, people, self.ground, self.dt)
            contacts += collisions.resolve_collisions(self.table, self.obstacles, self.dt)
        return contacts

    def speed(self, slot: int = 0) -> float:
        """Return an actor's horizontal speed."""
        return math.hypot(*self.table.velocity[slot, :2])

    def find_centre(self, slot: int = 0) -> Floats:
        """Return where a vehicle's centre of mass is, at the height of its origin."""
        yaw = float(self.table.rotation[slot, 1])
        ahead = self.control(slot).center_of_mass[0]
        centre: Floats = self.table.position[slot] + ahead * np.array(
            [math.cos(yaw), math.sin(yaw), 0.0]
        )
        return centre

    def kinetic_energy(self) -> float:
        """Return the energy of the horizontal motion of all, joules."""
        table = self.table
        linear = 0.5 * table.mass * (table.velocity[:, :2] ** 2).sum(1)
        half = table.extent[:, :2]
        inertia = 0.8 * table.mass * (half**2).sum(1) / 3.0
        spinning = np.where(table.kind == ActorKind.VEHICLE, table.yaw_rate, 0.0)
        return float((linear + 0.5 * inertia * spinning**2).sum())

"""What moves actors and what they run into: the dynamics, with the town's ground and obstacles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness.carlite.actors import ActorTable
from harness.carlite.arrays import Floats, Ints
from harness.carlite.blueprints import ActorBlueprint
from harness.carlite.dynamics import collisions, pushes, vehicles, walkers
from harness.carlite.dynamics.collisions import CollisionContact
from harness.carlite.dynamics.friction import FrictionVolume, FrictionVolumes
from harness.carlite.dynamics.physics import PhysicsTable, build_default_physics
from harness.carlite.towns.model import Town, TownScenery, cache_latest_town
from harness.carlite.wire.codec import Vector
from harness.carlite.world.underground import find_buried_actors

obstacles_of = cache_latest_town(collisions.ObstacleGrid)
"""Of a town as it is when an episode begins."""


class ActorMotion:
    """The dynamics of one episode.

    Attributes:
        physics: what is under the bonnets.
        contacts: which actors touched during the latest step.
    """

    def __init__(self, town: Town, table: ActorTable) -> None:
        self.physics = PhysicsTable()
        self.contacts: list[CollisionContact] = []
        self._table = table
        self._ground = town.ground
        self._led: list[int] = []
        self._friction = FrictionVolumes()
        self._obstacles = obstacles_of(town.scenery)

    def replace_scenery(self, scenery: TownScenery) -> None:
        """Take this for what stands along the road."""
        self._obstacles = collisions.ObstacleGrid(scenery)

    def add_vehicle(self, actor_id: int, blueprint: ActorBlueprint) -> None:
        """Give a new vehicle its physics."""
        control = build_default_physics(
            blueprint.id, blueprint.touching, blueprint.wheels, blueprint.mass
        )
        self.physics.set_control(self._table, actor_id, control)

    def add_friction_volume(self, actor_id: int, extent: Vector, friction: float) -> None:
        """Let tyres within these half sizes of an actor have this friction."""
        self._friction.add_volume(actor_id, FrictionVolume(extent, friction))

    def forget_actor(self, actor_id: int) -> None:
        """Drop what is known of a destroyed actor."""
        self._friction.forget_actor(actor_id)
        self.physics.forget_actor(actor_id)

    def step(self, vehicle_slots: Ints, walker_slots: Ints, dt: float) -> None:
        """Move vehicles and walkers, and let them touch; those below the ground stay there."""
        vehicle_slots = self._select_above_ground(vehicle_slots)
        walker_slots = self._select_above_ground(walker_slots)
        self._friction.apply_volumes(self._table, vehicle_slots, self.physics)
        vehicles.step_vehicles(
            self._table, vehicle_slots, physics=self.physics, ground=self._ground, dt=dt
        )
        if len(walker_slots):
            walkers.step_walkers(self._table, walker_slots, self._ground, dt)
        self._stop_led_walkers()
        pushes.limit_velocities(self._table.velocity, self._table.yaw_rate)
        self.contacts = collisions.resolve_collisions(self._table, self._obstacles, dt)
        pushes.limit_velocities(self._table.velocity, self._table.yaw_rate)

    def is_free(self, centre: Vector, extent: Vector, yaw: float) -> bool:
        """Whether a box would touch nothing solid."""
        return not collisions.has_solid_overlap(
            self._table, self._obstacles, centre=centre, extent=extent, yaw=yaw
        )

    def lift_walkers(self, *slots: int) -> None:
        """Lift walkers that would stick in the ground; vehicles have springs for that."""
        rows = np.array(slots)
        walkers.lift_walkers(
            self._table, rows[~find_buried_actors(self._table, rows, self._ground)], self._ground
        )

    def set_simulated(self, slot: int, simulated: bool) -> None:
        """Leave an actor to the dynamics, or bring it to rest where it is."""
        self._table.simulated[slot] = simulated
        if not simulated:
            self.stop_actor(slot)

    def stop_actor(self, slot: int) -> None:
        """Take all motion out of an actor."""
        table = self._table
        for column in (table.velocity, table.acceleration, table.angular_velocity, table.force):
            column[slot] = 0.0
        table.torque[slot] = 0.0
        table.slip[slot] = table.yaw_rate[slot] = 0.0

    def lead_walkers(
        self, ids: Sequence[int], locations: Floats, rotations: Floats, speeds: Floats
    ) -> None:
        """Put walkers on the ground at places; until the next call they walk on for one tick.

        The dead stay where they lie.
        """
        table = self._table
        slots = [table.find_slot(actor_id) for actor_id in ids]
        alive = ~table.dead[slots]
        if not alive.all():
            living = [actor_id for actor_id, lives in zip(ids, alive, strict=True) if lives]
            self.lead_walkers(living, locations[alive], rotations[alive], speeds[alive])
            return
        table.position[slots] = locations
        self.lift_walkers(*slots)
        table.rotation[slots] = rotations
        yaw = rotations[:, 1]
        ahead = np.column_stack([np.cos(yaw), np.sin(yaw), np.zeros(len(yaw))])
        table.velocity[slots] = speeds[:, None] * ahead
        table.walk_direction[slots], table.walk_speed[slots] = ahead, speeds
        self._led += ids

    def _select_above_ground(self, slots: Ints) -> Ints:
        """Return the slots of those above the ground, and let the others rest."""
        if not len(slots):
            return slots
        below = find_buried_actors(self._table, slots, self._ground)
        if not below.any():
            return slots
        for slot in slots[below]:
            if self._table.simulated[slot]:
                self.stop_actor(int(slot))
        return slots[~below]

    def _stop_led_walkers(self) -> None:
        table = self._table
        slots = [table.find_slot(actor_id) for actor_id in self._led if actor_id in table]
        if slots:
            table.walk_speed[slots] = 0.0
        self._led.clear()

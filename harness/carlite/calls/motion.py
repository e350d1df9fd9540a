"""Calls that move actors, or change what moves them."""

from __future__ import annotations

from math import pi, remainder, tau

import numpy as np

from harness.carlite.actors import ActorKind
from harness.carlite.calls.family import CallFamily
from harness.carlite.dynamics import pushes
from harness.carlite.rpc import ClientSession
from harness.carlite.wire import codec
from harness.carlite.wire.codec import Vector
from harness.carlite.wire.records import Transform
from harness.carlite.world import ServerWorld

calls = CallFamily()
FARTHEST = 1e6
LARGEST_TURN = 1e15
METRES_RADIANS = pi / 180.0 / 100.0**2
"""Of a kg cm² degree, in kg m² radians."""


def read_pose(value: object) -> Transform:
    """Read a pose, its angles folded into half a turn each way: waypoints report a pitch of 360."""
    wanted = codec.decode_record(Transform, value)
    pitch, yaw, roll = wanted.rotation
    if max(abs(pitch), abs(yaw), abs(roll)) <= pi:
        return wanted
    folded = codec.Rotation((remainder(pitch, tau), remainder(yaw, tau), remainder(roll, tau)))
    return Transform(wanted.location, folded)


def place_actor(world: ServerWorld, actor: object, transform: Transform) -> None:
    """Put an actor somewhere, keeping its velocity; attached actors are placed on their parent."""
    population = world.episode.population
    resident = population.find_resident(codec.decode_integer(actor, "actor"))
    if resident.parent:
        population.place_attached(resident, transform.location, transform.rotation)
        return
    slot = population.table.find_slot(resident.id)
    population.table.position[slot] = np.clip(transform.location, -FARTHEST, FARTHEST)
    population.table.rotation[slot] = transform.rotation
    if resident.kind == ActorKind.WALKER:
        world.episode.motion.lift_walkers(slot)
    population.move_attached()


def find_actor_slot(world: ServerWorld, actor: object, *kinds: ActorKind) -> int:
    """Return the slot of the actor a client names; CallError for an unknown id.

    Args:
        world: of the server.
        actor: the id, as it came over the wire.
        kinds: what it may be; none: any.
    """
    return world.episode.population.find_slot(codec.decode_integer(actor, "actor"), *kinds)


@calls.register_void
def set_actor_transform(
    world: ServerWorld, session: ClientSession, actor: object, transform: object
) -> None:
    """Teleport an actor."""
    place_actor(world, actor, read_pose(transform))


@calls.register_void
def set_actor_location(
    world: ServerWorld, session: ClientSession, actor: object, location: object
) -> None:
    """Teleport an actor, leaving it turned as it is."""
    resident = world.episode.population.find_resident(codec.decode_integer(actor, "actor"))
    slot = world.episode.table.find_slot(resident.id)
    pitch, yaw, roll = resident.turn if resident.parent else world.episode.table.rotation[slot]
    turned = codec.Rotation((float(pitch), float(yaw), float(roll)))
    place_actor(world, actor, Transform(codec.decode_vector(location, "location"), turned))


@calls.register_void
def set_actor_target_velocity(
    world: ServerWorld, session: ClientSession, actor: object, velocity: object
) -> None:
    """Set the velocity an actor has now."""
    slot = find_actor_slot(world, actor)
    pushes.set_velocity(world.episode.table, slot, codec.decode_vector(velocity, "velocity"))


@calls.register_void
def set_actor_target_angular_velocity(
    world: ServerWorld, session: ClientSession, actor: object, velocity: object
) -> None:
    """Set the angular velocity an actor has now, given in degrees per second."""
    slot = find_actor_slot(world, actor)
    turning = np.radians(codec.decode_vector(velocity, "angular velocity"))
    world.episode.table.angular_velocity[slot] = turning
    pushes.set_yaw_rate(world.episode.table, slot, float(turning[2]))


@calls.register_void
def enable_actor_constant_velocity(
    world: ServerWorld, session: ClientSession, actor: object, velocity: object
) -> None:
    """Hold a vehicle's velocity in its own frame, whatever its pedals say."""
    slot = find_actor_slot(world, actor, ActorKind.VEHICLE)
    pushes.hold_velocity(world.episode.table, slot, codec.decode_vector(velocity, "velocity"))


@calls.register_void
def disable_actor_constant_velocity(
    world: ServerWorld, session: ClientSession, actor: object
) -> None:
    """Let go of a held velocity."""
    world.episode.table.held_velocity[find_actor_slot(world, actor, ActorKind.VEHICLE)] = np.nan


@calls.register_void
def add_actor_impulse(
    world: ServerWorld, session: ClientSession, actor: object, impulse: object
) -> None:
    """Push once, through the centre: newton seconds."""
    slot = find_actor_slot(world, actor)
    pushes.apply_impulse(world.episode.table, slot, codec.decode_vector(impulse, "impulse"))


@calls.register_void
def add_actor_impulse_at_location(
    world: ServerWorld, session: ClientSession, actor: object, impulse: object, location: object
) -> None:
    """Push once at a place in the world."""
    slot, at = find_actor_slot(world, actor), codec.decode_vector(location, "location")
    pushes.apply_impulse(world.episode.table, slot, codec.decode_vector(impulse, "impulse"), at)


@calls.register_void
def add_actor_force(
    world: ServerWorld, session: ClientSession, actor: object, force: object
) -> None:
    """Push during the next tick, through the centre: newtons."""
    pushes.apply_force(
        world.episode.table, find_actor_slot(world, actor), codec.decode_vector(force, "force")
    )


@calls.register_void
def add_actor_force_at_location(
    world: ServerWorld, session: ClientSession, actor: object, force: object, location: object
) -> None:
    """Push during the next tick at a place in the world."""
    slot, at = find_actor_slot(world, actor), codec.decode_vector(location, "location")
    pushes.apply_force(world.episode.table, slot, codec.decode_vector(force, "force"), at)


def _decode_turn(value: object, what: str) -> Vector:
    """Return a torque or its impulse in newton metres.

    On the wire angles are in degrees and lengths in centimetres, since CARLA passes the numbers to
    Unreal's `AddTorqueInDegrees` and `AddAngularImpulseInDegrees` as they are.
    """
    items = codec.decode_items(value, what, 3)
    x, y, z = (codec.decode_number(item, what, LARGEST_TURN) for item in items)
    return x * METRES_RADIANS, y * METRES_RADIANS, z * METRES_RADIANS


@calls.register_void
def add_actor_angular_impulse(
    world: ServerWorld, session: ClientSession, actor: object, impulse: object
) -> None:
    """Turn once. The client library sends torques of actors by this call too, as with CARLA."""
    slot = find_actor_slot(world, actor)
    pushes.apply_angular_impulse(
        world.episode.table, slot, _decode_turn(impulse, "angular impulse")
    )


@calls.register_void
def add_actor_torque(
    world: ServerWorld, session: ClientSession, actor: object, torque: object
) -> None:
    """Turn during the next tick."""
    pushes.apply_torque(
        world.episode.table, find_actor_slot(world, actor), _decode_turn(torque, "torque")
    )


@calls.register_void
def set_actor_simulate_physics(
    world: ServerWorld, session: ClientSession, actor: object, enabled: object
) -> None:
    """Leave an actor to the dynamics, or keep it where it is put."""
    slot = find_actor_slot(world, actor)
    world.episode.motion.set_simulated(slot, codec.decode_flag(enabled, "enabled"))


@calls.register_void
def set_actor_collisions(
    world: ServerWorld, session: ClientSession, actor: object, enabled: object
) -> None:
    """Let an actor touch others, or pass through them."""
    world.episode.table.solid[find_actor_slot(world, actor)] = codec.decode_flag(enabled, "enabled")


@calls.register_void
def set_actor_enable_gravity(
    world: ServerWorld, session: ClientSession, actor: object, enabled: object
) -> None:
    """Let an actor fall, or not."""
    world.episode.table.gravity[find_actor_slot(world, actor)] = codec.decode_flag(
        enabled, "enabled"
    )


@calls.register_void
def set_actor_dead(world: ServerWorld, session: ClientSession, actor: object) -> None:
    """Let a walker die: the client's crowd asks for it when a vehicle has run into one."""
    world.episode.set_walker_dead(codec.decode_integer(actor, "actor"))

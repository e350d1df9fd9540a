"""Calls that move actors, or change what moves them."""

from __future__ import annotations

from math import pi, remainder, tau

import numpy as np

from harness.carlite.actors import Kind
from harness.carlite.calls.family import Family
from harness.carlite.dynamics import pushes
from harness.carlite.rpc import Session
from harness.carlite.wire import codec
from harness.carlite.wire.records import Transform
from harness.carlite.world import World

calls = Family()
FARTHEST = 1e6


def pose(value: object) -> Transform:
    """Read a pose, its angles folded into half a turn each way: waypoints report a pitch of 360."""
    wanted = codec.read(Transform, value)
    pitch, yaw, roll = wanted.rotation
    if max(abs(pitch), abs(yaw), abs(roll)) <= pi:
        return wanted
    folded = codec.Rotation((remainder(pitch, tau), remainder(yaw, tau), remainder(roll, tau)))
    return Transform(wanted.location, folded)


def place(world: World, actor: object, transform: Transform) -> None:
    """Put an actor somewhere, keeping its velocity; attached actors are placed on their parent."""
    population = world.episode.population
    resident = population.find(codec.integer(actor, "actor"))
    if resident.parent:
        population.attach_at(resident, transform.location, transform.rotation)
        return
    slot = population.table.slot(resident.id)
    population.table.position[slot] = np.clip(transform.location, -FARTHEST, FARTHEST)
    population.table.rotation[slot] = transform.rotation
    if resident.kind == Kind.WALKER:
        world.episode.motion.stand(slot)
    population.follow()


def slot_of(world: World, actor: object, *kinds: Kind) -> int:
    """Return the slot of the actor a client names; CallError for an unknown id."""
    return world.episode.population.slot(codec.integer(actor, "actor"), *kinds)


@calls.void
def set_actor_transform(world: World, session: Session, actor: object, transform: object) -> None:
    """Teleport an actor."""
    place(world, actor, pose(transform))


@calls.void
def set_actor_location(world: World, session: Session, actor: object, location: object) -> None:
    """Teleport an actor, leaving it turned as it is."""
    resident = world.episode.population.find(codec.integer(actor, "actor"))
    slot = world.episode.table.slot(resident.id)
    pitch, yaw, roll = resident.turn if resident.parent else world.episode.table.rotation[slot]
    turned = codec.Rotation((float(pitch), float(yaw), float(roll)))
    place(world, actor, Transform(codec.vector(location, "location"), turned))


@calls.void
def set_actor_target_velocity(
    world: World, session: Session, actor: object, velocity: object
) -> None:
    """Set the velocity an actor has now."""
    slot = slot_of(world, actor)
    pushes.set_going(world.episode.table, slot, codec.vector(velocity, "velocity"))


@calls.void
def set_actor_target_angular_velocity(
    world: World, session: Session, actor: object, velocity: object
) -> None:
    """Set the angular velocity an actor has now, given in degrees per second."""
    slot = slot_of(world, actor)
    turning = np.radians(codec.vector(velocity, "angular velocity"))
    world.episode.table.angular_velocity[slot] = turning
    pushes.spin(world.episode.table, slot, float(turning[2]))


@calls.void
def enable_actor_constant_velocity(
    world: World, session: Session, actor: object, velocity: object
) -> None:
    """Hold a vehicle's velocity in its own frame, whatever its pedals say."""
    slot = slot_of(world, actor, Kind.VEHICLE)
    pushes.keep_going(world.episode.table, slot, codec.vector(velocity, "velocity"))


@calls.void
def disable_actor_constant_velocity(world: World, session: Session, actor: object) -> None:
    """Let go of a held velocity."""
    world.episode.table.held_velocity[slot_of(world, actor, Kind.VEHICLE)] = np.nan


@calls.void
def add_actor_impulse(world: World, session: Session, actor: object, impulse: object) -> None:
    """Push once, through the centre: newton seconds."""
    slot = slot_of(world, actor)
    pushes.push(world.episode.table, slot, codec.vector(impulse, "impulse"))


@calls.void
def add_actor_impulse_at_location(
    world: World, session: Session, actor: object, impulse: object, location: object
) -> None:
    """Push once at a place in the world."""
    slot, at = slot_of(world, actor), codec.vector(location, "location")
    pushes.push(world.episode.table, slot, codec.vector(impulse, "impulse"), at)


@calls.void
def add_actor_force(world: World, session: Session, actor: object, force: object) -> None:
    """Push during the next tick, through the centre: newtons."""
    pushes.pull(world.episode.table, slot_of(world, actor), codec.vector(force, "force"))


@calls.void
def add_actor_force_at_location(
    world: World, session: Session, actor: object, force: object, location: object
) -> None:
    """Push during the next tick at a place in the world."""
    slot, at = slot_of(world, actor), codec.vector(location, "location")
    pushes.pull(world.episode.table, slot, codec.vector(force, "force"), at)


@calls.void
def add_actor_angular_impulse(
    world: World, session: Session, actor: object, impulse: object
) -> None:
    """Turn once: newton metre seconds."""
    slot = slot_of(world, actor)
    pushes.twist(world.episode.table, slot, codec.vector(impulse, "angular impulse"))


@calls.void
def add_actor_torque(world: World, session: Session, actor: object, torque: object) -> None:
    """Turn during the next tick: newton metres."""
    pushes.turn(world.episode.table, slot_of(world, actor), codec.vector(torque, "torque"))


@calls.void
def set_actor_simulate_physics(
    world: World, session: Session, actor: object, enabled: object
) -> None:
    """Leave an actor to the dynamics, or keep it where it is put."""
    slot = slot_of(world, actor)
    world.episode.motion.set_simulated(slot, codec.flag(enabled, "enabled"))


@calls.void
def set_actor_collisions(world: World, session: Session, actor: object, enabled: object) -> None:
    """Let an actor touch others, or pass through them."""
    world.episode.table.solid[slot_of(world, actor)] = codec.flag(enabled, "enabled")


@calls.void
def set_actor_enable_gravity(
    world: World, session: Session, actor: object, enabled: object
) -> None:
    """Let an actor fall, or not."""
    world.episode.table.gravity[slot_of(world, actor)] = codec.flag(enabled, "enabled")


@calls.void
def set_actor_dead(world: World, session: Session, actor: object) -> None:
    """Let a walker die: the client's crowd asks for it when a vehicle has run into one."""
    world.episode.let_die(codec.integer(actor, "actor"))

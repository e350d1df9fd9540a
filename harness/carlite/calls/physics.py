"""Calls about what is under a vehicle's bonnet.

The dynamics' own records have CARLA's fields in CARLA's order; only steering angles and wheel
positions differ: degrees, and centimetres in the world, which a client cannot change.
"""

from __future__ import annotations

from dataclasses import replace
from math import degrees, radians

from harness.carlite.actors import Kind
from harness.carlite.calls.family import Family
from harness.carlite.calls.motion import slot_of
from harness.carlite.dynamics.physics import PhysicsControl, Wheel
from harness.carlite.dynamics.telemetry import telemetry
from harness.carlite.errors import CallError
from harness.carlite.rpc import Session
from harness.carlite.wire import codec
from harness.carlite.wire.codec import Vector
from harness.carlite.world import World
from harness.carlite.world.geometry import moved

calls = Family()
CENTIMETRES = 100.0


@calls.value
def get_physics_control(world: World, session: Session, actor: object) -> object:
    """Return a vehicle's physics."""
    slot = slot_of(world, actor, Kind.VEHICLE)
    table = world.episode.table
    control = world.episode.motion.physics.get(int(table.id[slot]))
    pose = table.position[slot].tolist(), table.rotation[slot].tolist()
    wheels = [_sent(wheel, moved(*pose, wheel.position)) for wheel in control.wheels]
    return codec.write(replace(control, wheels=tuple(wheels)))


@calls.void
def apply_physics_control(world: World, session: Session, actor: object, control: object) -> None:
    """Change a vehicle's physics."""
    number = int(world.episode.table.id[slot_of(world, actor, Kind.VEHICLE)])
    store = world.episode.motion.physics
    wanted, present = codec.read(PhysicsControl, control), store.get(number)
    if len(wanted.wheels) != len(present.wheels):
        raise CallError(f"apply_physics_control: the vehicle has {len(present.wheels)} wheels")
    wheels = [_received(*pair) for pair in zip(wanted.wheels, present.wheels, strict=True)]
    try:
        store.apply(world.episode.table, number, replace(wanted, wheels=tuple(wheels)))
    except ValueError as problem:
        raise CallError(f"apply_physics_control: {problem}") from None


@calls.value
def get_telemetry_data(world: World, session: Session, actor: object) -> object:
    """Return how a vehicle is doing."""
    slot = slot_of(world, actor, Kind.VEHICLE)
    return codec.write(telemetry(world.episode.table, slot, world.episode.motion.physics))


def _sent(wheel: Wheel, position: Vector) -> Wheel:
    x, y, z = position
    return replace(
        wheel,
        max_steer_angle=degrees(wheel.max_steer_angle),
        position=(x * CENTIMETRES, y * CENTIMETRES, z * CENTIMETRES),
    )


def _received(wheel: Wheel, present: Wheel) -> Wheel:
    return replace(wheel, max_steer_angle=radians(wheel.max_steer_angle), position=present.position)

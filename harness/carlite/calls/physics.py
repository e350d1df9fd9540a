"""Calls about what is under a vehicle's bonnet.

The dynamics' own records have CARLA's fields in CARLA's order. Wheels differ in units: CARLA gives
steering angles in degrees, radii in centimetres, and positions in centimetres in the world, which a
client cannot change.
"""

from __future__ import annotations

from dataclasses import replace
from math import radians

from harness.carlite.actors import ActorKind
from harness.carlite.calls.family import CallFamily
from harness.carlite.calls.motion import find_actor_slot
from harness.carlite.dynamics.physics import PhysicsControl, WheelPhysicsControl
from harness.carlite.dynamics.telemetry import read_vehicle_telemetry
from harness.carlite.errors import CallError
from harness.carlite.rpc import ClientSession
from harness.carlite.wire import codec
from harness.carlite.world import ServerWorld
from harness.carlite.world.client_physics import CENTIMETRES, convert_physics_control

calls = CallFamily()


@calls.register_value
def get_physics_control(world: ServerWorld, session: ClientSession, actor: object) -> object:
    """Return a vehicle's physics."""
    slot = find_actor_slot(world, actor, ActorKind.VEHICLE)
    return codec.encode_record(convert_physics_control(world.episode, slot))


@calls.register_void
def apply_physics_control(
    world: ServerWorld, session: ClientSession, actor: object, control: object
) -> None:
    """Change a vehicle's physics."""
    number = int(world.episode.table.id[find_actor_slot(world, actor, ActorKind.VEHICLE)])
    store = world.episode.motion.physics
    wanted, present = codec.decode_record(PhysicsControl, control), store.find_control(number)
    if len(wanted.wheels) != len(present.wheels):
        raise CallError(f"apply_physics_control: the vehicle has {len(present.wheels)} wheels")
    wheels = [_decode_wheel(*pair) for pair in zip(wanted.wheels, present.wheels, strict=True)]
    try:
        store.set_control(world.episode.table, number, replace(wanted, wheels=tuple(wheels)))
    except ValueError as problem:
        raise CallError(f"apply_physics_control: {problem}") from None


@calls.register_value
def get_telemetry_data(world: ServerWorld, session: ClientSession, actor: object) -> object:
    """Return how a vehicle is doing."""
    slot = find_actor_slot(world, actor, ActorKind.VEHICLE)
    return codec.encode_record(
        read_vehicle_telemetry(world.episode.table, slot, world.episode.motion.physics)
    )


def _decode_wheel(wheel: WheelPhysicsControl, present: WheelPhysicsControl) -> WheelPhysicsControl:
    return replace(
        wheel,
        max_steer_angle=radians(wheel.max_steer_angle),
        radius=wheel.radius / CENTIMETRES,
        position=present.position,
    )

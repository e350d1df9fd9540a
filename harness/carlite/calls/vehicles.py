"""Calls that drive vehicles and look at them."""

from __future__ import annotations

from math import degrees

from harness.carlite.actors import ActorKind
from harness.carlite.calls.family import CallFamily
from harness.carlite.calls.motion import find_actor_slot
from harness.carlite.dynamics.parameters import compute_wheel_angle
from harness.carlite.rpc import ClientSession
from harness.carlite.wire import codec
from harness.carlite.wire.records import AckermannControl, AckermannSettings, VehicleControl
from harness.carlite.world import ServerWorld

calls = CallFamily()
LAMPS = 0x7FF


def set_vehicle_controls(world: ServerWorld, actor: object, control: VehicleControl) -> None:
    """Give a vehicle's pedals, wheel and gear new positions."""
    slot = find_actor_slot(world, actor, ActorKind.VEHICLE)
    table = world.episode.table
    table.throttle[slot] = min(max(control.throttle, 0.0), 1.0)
    table.steer[slot] = min(max(control.steer, -1.0), 1.0)
    table.brake[slot] = min(max(control.brake, 0.0), 1.0)
    table.hand_brake[slot] = control.hand_brake
    table.reverse[slot] = control.reverse
    table.manual_gear[slot] = control.manual_gear_shift
    if control.manual_gear_shift:
        table.gear[slot] = min(max(control.gear, -1), 100)
    actor_id = int(table.id[slot])
    world.episode.pedals.note_control(actor_id)
    world.episode.ackermann.release_vehicle(actor_id)


def set_vehicle_lamps(world: ServerWorld, actor: object, flags: object) -> None:
    """Switch a vehicle's lights."""
    slot = find_actor_slot(world, actor, ActorKind.VEHICLE)
    world.episode.table.lamps[slot] = codec.decode_integer(flags, "light state") & LAMPS


@calls.register_void
def apply_control_to_vehicle(
    world: ServerWorld, session: ClientSession, actor: object, control: object
) -> None:
    """Drive a vehicle by its pedals and wheel."""
    set_vehicle_controls(world, actor, codec.decode_record(VehicleControl, control))


@calls.register_void
def apply_ackermann_control_to_vehicle(
    world: ServerWorld, session: ClientSession, actor: object, control: object
) -> None:
    """Drive a vehicle by speed and steering angle."""
    slot = find_actor_slot(world, actor, ActorKind.VEHICLE)
    wanted = codec.decode_record(AckermannControl, control)
    world.episode.ackermann.take_over_vehicle(int(world.episode.table.id[slot]), wanted)


@calls.register_value
def get_ackermann_controller_settings(
    world: ServerWorld, session: ClientSession, actor: object
) -> object:
    """Return the gains of a vehicle's Ackermann controller."""
    slot = find_actor_slot(world, actor, ActorKind.VEHICLE)
    driver = world.episode.ackermann.get_driver(int(world.episode.table.id[slot]))
    return codec.encode_record(driver.settings)


@calls.register_void
def apply_ackermann_controller_settings(
    world: ServerWorld, session: ClientSession, actor: object, settings: object
) -> None:
    """Change the gains of a vehicle's Ackermann controller."""
    slot = find_actor_slot(world, actor, ActorKind.VEHICLE)
    driver = world.episode.ackermann.get_driver(int(world.episode.table.id[slot]))
    driver.settings = codec.decode_record(AckermannSettings, settings)


@calls.register_void
def set_actor_autopilot(
    world: ServerWorld, session: ClientSession, actor: object, enabled: object
) -> None:
    """Hand a vehicle to the server's Traffic Manager, or take it back; clients call their own."""
    find_actor_slot(world, actor, ActorKind.VEHICLE)
    number, wanted = codec.decode_integer(actor, "actor"), codec.decode_flag(enabled, "enabled")
    if session.traffic is None:
        return
    if wanted:
        world.traffic.register_vehicle([number])
    else:
        world.traffic.unregister_vehicle([number])


@calls.register_value
def get_vehicle_light_state(world: ServerWorld, session: ClientSession, actor: object) -> object:
    """Return a vehicle's lights."""
    return [int(world.episode.table.lamps[find_actor_slot(world, actor, ActorKind.VEHICLE)])]


@calls.register_void
def set_vehicle_light_state(
    world: ServerWorld, session: ClientSession, actor: object, state: object
) -> None:
    """Switch a vehicle's lights."""
    (flags,) = codec.decode_items(state, "light state", 1)
    set_vehicle_lamps(world, actor, flags)


@calls.register_value
def get_vehicle_light_states(world: ServerWorld, session: ClientSession) -> object:
    """Return the lights of all vehicles, as pairs of actor and flags."""
    table, slots = world.episode.table, world.episode.population.list_slots(ActorKind.VEHICLE)
    pairs = zip(table.id[slots].tolist(), table.lamps[slots].tolist(), strict=True)
    return [list(pair) for pair in pairs]


@calls.register_value
def get_wheel_steer_angle(
    world: ServerWorld, session: ClientSession, actor: object, wheel: object
) -> float:
    """Return the angle of one wheel in degrees: 0 and 1 are the front ones."""
    slot = find_actor_slot(world, actor, ActorKind.VEHICLE)
    number = codec.decode_integer(wheel, "wheel")
    if number >= 2:
        return 0.0
    table, physics = world.episode.table, world.episode.motion.physics
    row = physics.rows[table.physics[slot]]
    return degrees(compute_wheel_angle(row, float(table.wheel_angle[slot]), right=number == 1))


@calls.register_value
def get_wheel_pitch_angle(
    world: ServerWorld, session: ClientSession, actor: object, wheel: object
) -> float:
    """Return how far a wheel has turned on its axle: zero, wheels do not turn here."""
    find_actor_slot(world, actor, ActorKind.VEHICLE)
    return 0.0


calls.accept_calls(
    "open_vehicle_door",
    "close_vehicle_door",
    "set_wheel_steer_direction",
    "set_wheel_pitch_angle",
    "show_vehicle_debug_telemetry",
    "restore_physx_physics",
)

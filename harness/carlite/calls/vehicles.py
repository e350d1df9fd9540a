"""Calls that drive vehicles and look at them."""

from __future__ import annotations

from math import degrees

from harness.carlite.actors import Kind
from harness.carlite.calls.family import Family
from harness.carlite.calls.motion import slot_of
from harness.carlite.dynamics.parameters import wheel_angle
from harness.carlite.rpc import Session
from harness.carlite.wire import codec
from harness.carlite.wire.records import AckermannControl, AckermannSettings, VehicleControl
from harness.carlite.world import World

calls = Family()
LAMPS = 0x7FF


def steer(world: World, actor: object, control: VehicleControl) -> None:
    """Give a vehicle's pedals, wheel and gear new positions."""
    slot = slot_of(world, actor, Kind.VEHICLE)
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
    world.episode.pedals.press(actor_id)
    world.episode.ackermann.release(actor_id)


def light_up(world: World, actor: object, flags: object) -> None:
    """Switch a vehicle's lights."""
    slot = slot_of(world, actor, Kind.VEHICLE)
    world.episode.table.lamps[slot] = codec.integer(flags, "light state") & LAMPS


@calls.void
def apply_control_to_vehicle(
    world: World, session: Session, actor: object, control: object
) -> None:
    """Drive a vehicle by its pedals and wheel."""
    steer(world, actor, codec.read(VehicleControl, control))


@calls.void
def apply_ackermann_control_to_vehicle(
    world: World, session: Session, actor: object, control: object
) -> None:
    """Drive a vehicle by speed and steering angle."""
    slot = slot_of(world, actor, Kind.VEHICLE)
    wanted = codec.read(AckermannControl, control)
    world.episode.ackermann.apply(int(world.episode.table.id[slot]), wanted)


@calls.value
def get_ackermann_controller_settings(world: World, session: Session, actor: object) -> object:
    """Return the gains of a vehicle's Ackermann controller."""
    slot = slot_of(world, actor, Kind.VEHICLE)
    driver = world.episode.ackermann.driver(int(world.episode.table.id[slot]))
    return codec.write(driver.settings)


@calls.void
def apply_ackermann_controller_settings(
    world: World, session: Session, actor: object, settings: object
) -> None:
    """Change the gains of a vehicle's Ackermann controller."""
    slot = slot_of(world, actor, Kind.VEHICLE)
    driver = world.episode.ackermann.driver(int(world.episode.table.id[slot]))
    driver.settings = codec.read(AckermannSettings, settings)


@calls.void
def set_actor_autopilot(world: World, session: Session, actor: object, enabled: object) -> None:
    """Hand a vehicle to the server's Traffic Manager, or take it back; clients call their own."""
    slot_of(world, actor, Kind.VEHICLE)
    number, wanted = codec.integer(actor, "actor"), codec.flag(enabled, "enabled")
    if session.traffic is None:
        return
    if wanted:
        world.traffic.register_vehicle([number])
    else:
        world.traffic.unregister_vehicle([number])


@calls.value
def get_vehicle_light_state(world: World, session: Session, actor: object) -> object:
    """Return a vehicle's lights."""
    return [int(world.episode.table.lamps[slot_of(world, actor, Kind.VEHICLE)])]


@calls.void
def set_vehicle_light_state(world: World, session: Session, actor: object, state: object) -> None:
    """Switch a vehicle's lights."""
    (flags,) = codec.items(state, "light state", 1)
    light_up(world, actor, flags)


@calls.value
def get_vehicle_light_states(world: World, session: Session) -> object:
    """Return the lights of all vehicles, as pairs of actor and flags."""
    table, slots = world.episode.table, world.episode.population.slots_of(Kind.VEHICLE)
    pairs = zip(table.id[slots].tolist(), table.lamps[slots].tolist(), strict=True)
    return [list(pair) for pair in pairs]


@calls.value
def get_wheel_steer_angle(world: World, session: Session, actor: object, wheel: object) -> float:
    """Return the angle of one wheel in degrees: 0 and 1 are the front ones."""
    slot = slot_of(world, actor, Kind.VEHICLE)
    number = codec.integer(wheel, "wheel")
    if number >= 2:
        return 0.0
    table, physics = world.episode.table, world.episode.motion.physics
    row = physics.rows[table.physics[slot]]
    return degrees(wheel_angle(row, float(table.wheel_angle[slot]), right=number == 1))


@calls.value
def get_wheel_pitch_angle(world: World, session: Session, actor: object, wheel: object) -> float:
    """Return how far a wheel has turned on its axle: zero, wheels do not turn here."""
    slot_of(world, actor, Kind.VEHICLE)
    return 0.0


calls.accept(
    "open_vehicle_door",
    "close_vehicle_door",
    "set_wheel_steer_direction",
    "set_wheel_pitch_angle",
    "show_vehicle_debug_telemetry",
    "restore_physx_physics",
)

"""Calls about what is under a vehicle's bonnet."""

from __future__ import annotations

from dataclasses import fields

from harness.carlite.actors import Kind
from harness.carlite.calls.family import Family
from harness.carlite.calls.motion import slot_of
from harness.carlite.dynamics.physics import Gear, PhysicsControl, Wheel
from harness.carlite.errors import CallError
from harness.carlite.rpc import Session
from harness.carlite.sensors.frames import rotation_matrix
from harness.carlite.wire import codec, physics
from harness.carlite.wire.codec import Degrees, Vector
from harness.carlite.world import World

calls = Family()
CENTIMETRES = 100.0
"""Wheel positions travel in centimetres, in the world; whatever a client sends there is ignored."""

_SAME = {field.name for field in fields(Wheel)} - {"position", "max_steer_angle"}


def _sent(control: PhysicsControl, wheel_positions: list[Vector]) -> physics.PhysicsControl:
    """Return what a client is told of a vehicle's physics."""
    wheels = tuple(
        physics.Wheel(
            max_steer_angle=Degrees(wheel.max_steer_angle),
            position=position,
            **{name: getattr(wheel, name) for name in _SAME},
        )
        for wheel, position in zip(control.wheels, wheel_positions, strict=True)
    )
    return physics.PhysicsControl(
        control.torque_curve,
        control.max_rpm,
        control.moi,
        control.damping_full_throttle,
        control.damping_zero_throttle_clutch_engaged,
        control.damping_zero_throttle_clutch_disengaged,
        control.use_gear_autobox,
        control.gear_switch_time,
        control.clutch_strength,
        control.final_ratio,
        tuple(physics.Gear(gear.ratio, gear.down, gear.up) for gear in control.forward_gears),
        control.mass,
        control.drag_coefficient,
        control.center_of_mass,
        control.steering_curve,
        wheels,
        control.use_sweep_wheel_collision,
    )


def _received(sent: physics.PhysicsControl, present: PhysicsControl) -> PhysicsControl:
    """Return the physics a client asks for; wheels stay where they are."""
    if len(sent.wheels) != len(present.wheels):
        raise CallError(f"wheels: the vehicle has {len(present.wheels)}, not {len(sent.wheels)}")
    wheels = tuple(
        Wheel(
            max_steer_angle=float(wheel.max_steer_angle),
            position=old.position,
            **{name: getattr(wheel, name) for name in _SAME},
        )
        for wheel, old in zip(sent.wheels, present.wheels, strict=True)
    )
    return PhysicsControl(
        sent.torque_curve,
        sent.max_rpm,
        sent.moi,
        sent.damping_rate_full_throttle,
        sent.damping_rate_zero_throttle_clutch_engaged,
        sent.damping_rate_zero_throttle_clutch_disengaged,
        sent.use_gear_autobox,
        sent.gear_switch_time,
        sent.clutch_strength,
        sent.final_ratio,
        tuple(Gear(gear.ratio, gear.down_ratio, gear.up_ratio) for gear in sent.forward_gears),
        sent.mass,
        sent.drag_coefficient,
        sent.center_of_mass,
        sent.steering_curve,
        wheels,
        sent.use_sweep_wheel_collision,
    )


@calls.value
def get_physics_control(world: World, session: Session, actor: object) -> object:
    """Return a vehicle's physics."""
    slot = slot_of(world, actor, Kind.VEHICLE)
    table = world.episode.table
    control = world.episode.motion.physics.get(int(table.id[slot]))
    turn = rotation_matrix(*table.rotation[slot].tolist())
    places = [
        tuple(((table.position[slot] + turn @ wheel.position) * CENTIMETRES).tolist())
        for wheel in control.wheels
    ]
    return codec.write(_sent(control, places))


@calls.void
def apply_physics_control(world: World, session: Session, actor: object, control: object) -> None:
    """Change a vehicle's physics."""
    slot = slot_of(world, actor, Kind.VEHICLE)
    number = int(world.episode.table.id[slot])
    store = world.episode.motion.physics
    wanted = _received(codec.read(physics.PhysicsControl, control), store.get(number))
    try:
        store.apply(world.episode.table, number, wanted)
    except ValueError as problem:
        raise CallError(f"apply_physics_control: {problem}") from None


@calls.value
def get_telemetry_data(world: World, session: Session, actor: object) -> object:
    """Return how a vehicle is doing."""
    slot = slot_of(world, actor, Kind.VEHICLE)
    return codec.write(world.episode.motion.telemetry(slot))

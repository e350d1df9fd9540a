"""Probes of units in the contract: what a client reads against what the world does."""

from __future__ import annotations

from tests.carlite.surface.stage import TICK, Stage

ROUNDING = 0.02


def is_near(value: float, expected: float) -> bool:
    """Whether two numbers are equal up to two per cent."""
    return abs(value - expected) <= ROUNDING * abs(expected)


def drive_and_measure(stage: Stage) -> dict[str, tuple[float, float]]:
    """Drive straight, and return what the client reads and what it must be, by member.

    The speed is that of the car's places and the clock of its snapshots, so that it needs no other
    reading with a unit.
    """
    stage.car.enable_constant_velocity(type(stage.car.get_velocity())(x=8.0))
    stage.tick(40)
    before, since = stage.car.get_location(), stage.world.get_snapshot().timestamp.elapsed_seconds
    stage.tick(2)
    passed = stage.world.get_snapshot().timestamp.elapsed_seconds - since
    speed = stage.car.get_location().distance_2d(before) / passed
    telemetry = stage.car.get_telemetry_data()
    radius = stage.car.get_physics_control().wheels[0].radius
    return {
        "WorldSettings.fixed_delta_seconds": (stage.world.get_settings().fixed_delta_seconds, TICK),
        "Timestamp.elapsed_seconds": (passed, 2.0 * TICK),
        "Actor.get_velocity": (stage.car.get_velocity().length(), speed),
        "VehicleTelemetryData.speed": (telemetry.speed, speed),
        # centimetres: 100 of them are a metre
        "WheelPhysicsControl.radius": (radius, 100.0 * speed / abs(telemetry.wheels[0].omega)),
    }

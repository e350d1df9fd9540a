"""Probes of the contract: what a client reads against what the world does.

A probe yields comparisons; the rows of the contract name the probe that covers them.
"""

from __future__ import annotations

from tests.carlite.contract_bodies import BODY_PROBES
from tests.carlite.contract_commands import COMMAND_PROBES
from tests.carlite.contract_compare import Comparisons, Probe
from tests.carlite.contract_loads import LOAD_PROBES
from tests.carlite.contract_marks import MARK_PROBES
from tests.carlite.contract_motion import MOTION_PROBES, put_car_home
from tests.carlite.contract_returns import RETURN_PROBES
from tests.carlite.contract_roads import ROAD_PROBES
from tests.carlite.contract_sensors import SENSOR_PROBES
from tests.carlite.contract_traffic import TRAFFIC_PROBES
from tests.carlite.contract_worlds import WORLD_PROBES
from tests.carlite.surface.stage import TICK, Stage


def drive_and_measure(stage: Stage) -> Comparisons:
    """Drive straight: the speed is that of the car's places and the clock of its snapshots.

    So it needs no other reading with a unit.
    """
    stage.car.enable_constant_velocity(type(stage.car.get_velocity())(x=8.0))
    stage.tick(40)
    before, since = stage.car.get_location(), stage.world.get_snapshot().timestamp.elapsed_seconds
    stage.tick(2)
    passed = stage.world.get_snapshot().timestamp.elapsed_seconds - since
    speed = stage.car.get_location().distance_2d(before) / passed
    telemetry = stage.car.get_telemetry_data()
    radius = stage.car.get_physics_control().wheels[0].radius
    yield (
        "WorldSettings.fixed_delta_seconds",
        (stage.world.get_settings().fixed_delta_seconds),
        TICK,
        1e-6,
    )
    yield "Timestamp.elapsed_seconds", passed, 2.0 * TICK, 1e-6
    yield "Actor.get_velocity", stage.car.get_velocity().length(), speed, 0.02 * speed
    yield (
        "VehicleTelemetryData.speed Vehicle.get_telemetry_data",
        telemetry.speed,
        speed,
        0.02 * speed,
    )
    # centimetres: 100 of them are a metre
    by_turns = 100.0 * speed / abs(telemetry.wheels[0].omega)
    yield "WheelPhysicsControl.radius WheelTelemetryData.omega", (radius), by_turns, 0.02 * by_turns
    yield "WheelPhysicsControl.radius", 30.0 < radius < 40.0, True, 0
    put_car_home(stage)


PROBES: tuple[tuple[Probe, ...], ...] = (
    (
        drive_and_measure,
        *WORLD_PROBES,
        *MOTION_PROBES,
        *SENSOR_PROBES,
        *ROAD_PROBES,
        *RETURN_PROBES,
        *MARK_PROBES,
        *BODY_PROBES,
        *COMMAND_PROBES,
    ),
    TRAFFIC_PROBES,
    LOAD_PROBES,
)
"""In parts: each has a process of its own, since a client with a Traffic Manager may not load."""

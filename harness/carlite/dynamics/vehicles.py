"""Vehicles: two axles with engine, gearbox, brakes, tyres and springs, over all of them."""

from __future__ import annotations

import math
from typing import Any

from harness.carlite.actors import ActorTable
from harness.carlite.arrays import Ints
from harness.carlite.compiled import compiled
from harness.carlite.dynamics.columns import VehicleColumns, take_columns
from harness.carlite.dynamics.parameters import (
    GRAVITY,
    STEERING_SAMPLES,
    STEERING_STEP,
    PhysicsTable,
    Rows,
)
from harness.carlite.dynamics.powertrain import (
    HANDBRAKE_RATE,
    PEDAL_FALL,
    PEDAL_RISE,
    STEER_FALL,
    STEER_RISE,
    choose_gear,
    compute_centre_angle,
    compute_gear_ratio,
    limit_control_rate,
)
from harness.carlite.dynamics.rolling import step_planar_motion
from harness.carlite.dynamics.state import (
    BRAKE,
    FRONT_SPIN,
    HANDBRAKE,
    REAR_SPIN,
    SINCE_SHIFT,
    STEER,
    TARGET_GEAR,
    THROTTLE,
)
from harness.carlite.dynamics.surface import fit_wheel_plane
from harness.carlite.dynamics.suspension import DROOP, LEVELLING, step_body_angle, step_heave
from harness.carlite.towns.lookup import GroundArrays, to_ground_arrays
from harness.carlite.towns.model import TownGround

SUBSTEP = 0.01

STEEPEST = 0.4
"""Grade of the steepest ramp that throws a vehicle up; the edge of a deck is a step, no ramp."""


def step_vehicles(
    table: ActorTable, slots: Ints, *, physics: PhysicsTable, ground: TownGround, dt: float
) -> None:
    """Move the vehicles in `slots` by `dt`; unsimulated ones and those without physics stay."""
    substeps = max(1, math.ceil(dt / SUBSTEP - 1e-9))
    columns, heights = take_columns(table, VehicleColumns), to_ground_arrays(ground)
    _step_vehicle_kernel(slots, columns, physics.rows, heights, dt, substeps)


@compiled
def _step_vehicle_kernel(
    slots: Ints, table: VehicleColumns, rows: Rows, ground: GroundArrays, dt: float, substeps: int
) -> None:
    # rows: (kinds of physics,) records; columns: (actors, …), of which `slots` are moved
    h = dt / substeps
    settling = math.exp(-LEVELLING * h)
    for slot in slots:
        if not table.simulated[slot] or table.physics[slot] < 0:
            continue
        # Pose, velocity and pushes in the vehicle's frame; its controls and drivetrain.
        vehicle = rows[table.physics[slot]]
        x, y, z = table.position[slot, 0], table.position[slot, 1], table.position[slot, 2]
        pitch, yaw, roll = table.rotation[slot, 0], table.rotation[slot, 1], table.rotation[slot, 2]
        cos, sin = math.cos(yaw), math.sin(yaw)
        vx, vy, rising = table.velocity[slot, 0], table.velocity[slot, 1], table.velocity[slot, 2]
        start_x, start_y, start_rising, start_yaw = vx, vy, rising, yaw
        turn = table.yaw_rate[slot]
        centre = vehicle["centre"]
        along = vx * cos + vy * sin
        across = vy * cos - vx * sin
        push_along = (table.force[slot, 0] * cos + table.force[slot, 1] * sin) / vehicle["mass"]
        push_across = (table.force[slot, 1] * cos - table.force[slot, 0] * sin) / vehicle["mass"]
        lift = table.force[slot, 2] / vehicle["mass"]
        spin = table.torque[slot, 2] / vehicle["yaw_inertia"]
        state = table.drivetrain[slot]
        throttle = min(max(table.throttle[slot], 0.0), 1.0)
        brake = min(max(table.brake[slot], 0.0), 1.0)
        hand_brake = 1.0 if table.hand_brake[slot] else 0.0
        steer = min(max(table.steer[slot], -1.0), 1.0)
        wheel_angle, gear, shift = table.wheel_angle[slot], int(table.gear[slot]), table.shift[slot]
        target, since = int(state[TARGET_GEAR]), state[SINCE_SHIFT]
        engine_speed = table.engine_speed[slot]
        held = not math.isnan(table.held_velocity[slot, 0])
        front, rear = centre + vehicle["front"], centre - vehicle["rear"]
        track = vehicle["track"]
        plane, slope, bank = fit_wheel_plane(ground, x, y, z, cos, sin, front, rear, track)
        for _ in range(substeps):
            # Pedals and steering follow the client.
            grounded = table.gravity[slot] and z - plane < DROOP
            state[THROTTLE] = limit_control_rate(
                state[THROTTLE], throttle, PEDAL_RISE, PEDAL_FALL, h
            )
            state[BRAKE] = limit_control_rate(state[BRAKE], brake, PEDAL_RISE, PEDAL_FALL, h)
            state[HANDBRAKE] = limit_control_rate(
                state[HANDBRAKE], hand_brake, HANDBRAKE_RATE, HANDBRAKE_RATE, h
            )
            state[STEER] = limit_control_rate(state[STEER], steer, STEER_RISE, STEER_FALL, h)
            wheel_angle = _compute_steer_angle(vehicle, state[STEER], along)
            # Gearbox.
            accel = state[THROTTLE]
            if table.manual_gear[slot]:
                gear = target = min(max(gear, -1), vehicle["gears"])
            elif table.reverse[slot]:
                gear = target = -1
            elif gear < 0:
                gear = target = 1
            elif vehicle["automatic"]:
                gear = min(gear, vehicle["gears"])
                target = min(max(target, 0), vehicle["gears"])
                gear, target, shift, since = choose_gear(
                    vehicle, gear, target, shift, since, engine_speed, h
                )
                if gear != target:
                    accel = 0.0
            else:
                gear = target = min(max(gear, 1), vehicle["gears"])
            # Engine, tyres and forces: the next velocity, or the one that a client holds.
            along, across, turn, engine_speed, angle = step_planar_motion(
                vehicle, state, wheel_angle + vehicle["pull"], compute_gear_ratio(vehicle, gear),
                accel,
                along, across, turn, engine_speed,
                grounded, slope, bank, push_along, push_across, spin, h,
            )  # fmt: skip
            if held:
                along = table.held_velocity[slot, 0]
                turn = along * math.tan(wheel_angle) / (vehicle["front"] + vehicle["rear"])
                across, angle = table.held_velocity[slot, 1], h * turn
                state[FRONT_SPIN] = along / vehicle["front_radius"]
                state[REAR_SPIN] = along / vehicle["rear_radius"]
            # Onward in the plane, and the ground there.
            before = plane
            if along != 0.0 or across != 0.0 or turn != 0.0:
                # the centre of mass goes on with its new velocity, about which the origin turns
                yaw += angle
                old_cos, old_sin = cos, sin
                cos, sin = math.cos(yaw), math.sin(yaw)
                x += h * (along * cos - across * sin) - centre * (cos - old_cos)
                y += h * (along * sin + across * cos) - centre * (sin - old_sin)
                plane, slope, bank = fit_wheel_plane(ground, x, y, z, cos, sin, front, rear, track)
            # Height, pitch and roll: on the springs, or in the air.
            steepest = STEEPEST * abs(along) + 0.3
            ground_rising = min(max((plane - before) / h, -steepest), steepest)
            if grounded:
                z, rising = step_heave(z, rising, plane, ground_rising, lift, h)
                new_pitch, new_roll = (
                    step_body_angle(pitch, slope, settling),
                    step_body_angle(roll, bank, settling),
                )
            else:
                rising += h * (lift - (GRAVITY if table.gravity[slot] else 0.0))
                z += h * rising
                if z < plane:
                    z, rising = plane, max(rising, ground_rising)
                new_pitch, new_roll = pitch, roll
            pitch_rate, roll_rate = (new_pitch - pitch) / h, (new_roll - roll) / h
            pitch, roll = new_pitch, new_roll
        # Back into the table.
        vx, vy = along * cos - across * sin, along * sin + across * cos
        table.position[slot, 0], table.position[slot, 1], table.position[slot, 2] = x, y, z
        table.rotation[slot, 0], table.rotation[slot, 2] = pitch, roll
        table.rotation[slot, 1] = math.atan2(sin, cos) if abs(yaw) > math.pi else yaw
        table.velocity[slot, 0], table.velocity[slot, 1], table.velocity[slot, 2] = vx, vy, rising
        table.acceleration[slot, 0] = (vx - start_x) / dt
        table.acceleration[slot, 1] = (vy - start_y) / dt
        table.acceleration[slot, 2] = (rising - start_rising) / dt
        table.angular_velocity[slot, 0] = pitch_rate * sin - roll_rate * cos
        table.angular_velocity[slot, 1] = -pitch_rate * cos - roll_rate * sin
        table.angular_velocity[slot, 2] = (yaw - start_yaw) / dt
        table.wheel_angle[slot], table.slip[slot], table.yaw_rate[slot] = wheel_angle, across, turn
        table.gear[slot], table.shift[slot], table.engine_speed[slot] = gear, shift, engine_speed
        state[TARGET_GEAR], state[SINCE_SHIFT] = target, since
        table.force[slot] = 0.0
        table.torque[slot] = 0.0


@compiled
def _compute_steer_angle(vehicle: Any, steer: float, speed: float) -> float:
    """Return the angle midway between the front wheels: less of the full angle the faster it is."""
    place = min(abs(speed) / STEERING_STEP, STEERING_SAMPLES - 1.001)
    index = int(place)
    rest = place - index
    share = vehicle["steering"][index] * (1.0 - rest) + vehicle["steering"][index + 1] * rest
    wheelbase = vehicle["front"] + vehicle["rear"]
    angle: float = compute_centre_angle(
        steer * vehicle["max_steer"] * share, wheelbase, vehicle["width"]
    )
    return angle

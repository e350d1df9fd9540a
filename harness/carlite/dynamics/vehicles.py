"""Vehicles: a bicycle model with engine, gearbox, brakes, tyres and springs, over all of them."""

from __future__ import annotations

import math
from typing import Any

from harness.carlite.actors import ActorTable
from harness.carlite.arrays import Bools, Float32s, Floats, Int32s, Ints
from harness.carlite.compiled import compiled
from harness.carlite.dynamics.parameters import (
    STEERING_SAMPLES,
    STEERING_STEP,
    Physics,
    Rows,
)
from harness.carlite.dynamics.powertrain import choose_gear, drive
from harness.carlite.dynamics.surface import under_wheels
from harness.carlite.dynamics.suspension import DROOP, LEVELLING, level, ride
from harness.carlite.dynamics.tyres import side_damping
from harness.carlite.towns.model import Ground

GRAVITY = 9.81
SUBSTEP = 0.01
STEERING_RATE = 1.2
"""Radians per second at the front wheels."""

ANTI_LOCK = 0.95
"""Share of the friction limit that driving and braking may use; the rest steers."""

PLOUGH = 0.9
"""Share of their side force that front tyres give: cars are built to plough, not to spin."""

ROLLING = 0.012
"""Rolling resistance as a share of the load."""

STEEPEST = 0.4
"""Grade of the steepest ramp that throws a vehicle up; the edge of a deck is a step, no ramp."""

STILL = 0.03
"""Sideways metres per second below which a wheel that does not roll holds its ground."""


def step(table: ActorTable, slots: Ints, physics: Physics, ground: Ground, dt: float) -> None:
    """Move the vehicles in `slots` by `dt`; unsimulated ones and those without physics stay."""
    _step(
        slots, physics.rows, dt, max(1, math.ceil(dt / SUBSTEP - 1e-9)),
        ground.x, ground.y, ground.cell, ground.lower, ground.upper,
        table.physics, table.simulated, table.gravity,
        table.position, table.rotation, table.velocity, table.acceleration,
        table.angular_velocity, table.throttle, table.steer, table.brake, table.hand_brake,
        table.reverse, table.manual_gear, table.gear, table.wheel_angle, table.slip,
        table.yaw_rate, table.engine_speed, table.shift, table.held_velocity,
        table.force, table.torque,
    )  # fmt: skip


@compiled
def _step(
    slots: Ints, rows: Rows, dt: float, substeps: int,
    x0: float, y0: float, cell: float, lower: Float32s, upper: Float32s,
    physics: Int32s, simulated: Bools, gravity: Bools,
    position: Floats, rotation: Floats, velocity: Floats, acceleration: Floats,
    angular_velocity: Floats, throttles: Floats, steers: Floats, brakes: Floats,
    hand_brakes: Bools, reverses: Bools, manual_gears: Bools, gears: Int32s,
    wheel_angles: Floats, slips: Floats, yaw_rates: Floats, engine_speeds: Floats,
    shifts: Floats, held_velocity: Floats, force: Floats, torque: Floats,
) -> None:  # fmt: skip
    h = dt / substeps
    settling = math.exp(-LEVELLING * h)
    for slot in slots:
        if not simulated[slot] or physics[slot] < 0:
            continue
        vehicle = rows[physics[slot]]
        x, y, z = position[slot, 0], position[slot, 1], position[slot, 2]
        pitch, yaw, roll = rotation[slot, 0], rotation[slot, 1], rotation[slot, 2]
        cos, sin = math.cos(yaw), math.sin(yaw)
        vx, vy, rising = velocity[slot, 0], velocity[slot, 1], velocity[slot, 2]
        start_x, start_y, start_rising = vx, vy, rising
        turn = yaw_rates[slot]
        centre = vehicle["centre"]
        along = vx * cos + vy * sin
        across = vy * cos - vx * sin + turn * centre
        push_along = (force[slot, 0] * cos + force[slot, 1] * sin) / vehicle["mass"]
        push_across = (force[slot, 1] * cos - force[slot, 0] * sin) / vehicle["mass"]
        lift = force[slot, 2] / vehicle["mass"]
        spin = torque[slot, 2] / vehicle["yaw_inertia"]
        throttle = min(max(throttles[slot], 0.0), 1.0)
        brake = min(max(brakes[slot], 0.0), 1.0)
        wheel_angle, gear, shift = wheel_angles[slot], int(gears[slot]), shifts[slot]
        engine_speed = engine_speeds[slot]
        held = not math.isnan(held_velocity[slot, 0])
        front, rear = centre + vehicle["front"], centre - vehicle["rear"]
        track = vehicle["track"]
        plane, slope, bank = under_wheels(
            x0, y0, cell, lower, upper, x, y, z, cos, sin, front, rear, track
        )
        for _ in range(substeps):
            grounded = gravity[slot] and z - plane < DROOP
            wheel_angle = _steered(vehicle, wheel_angle, steers[slot], along, h)
            if manual_gears[slot]:
                gear = min(max(gear, -1), vehicle["gears"])
            elif vehicle["automatic"]:
                gear, shift = choose_gear(vehicle, gear, shift, along, throttle, reverses[slot])
            else:
                gear = -1 if reverses[slot] else min(max(gear, 1), vehicle["gears"])
            driving, engine_drag, engine_speed = drive(
                vehicle, gear, shift <= 0.0, along, throttle, engine_speed, h
            )
            shift = max(shift - h, 0.0)
            if held:
                along, across = held_velocity[slot, 0], held_velocity[slot, 1]
                turn = along * math.tan(wheel_angle) / (vehicle["front"] + vehicle["rear"])
            else:
                along, across, turn = _move(
                    vehicle, along, across, turn, wheel_angle + vehicle["pull"],
                    driving, engine_drag, brake, hand_brakes[slot], grounded, slope, bank,
                    push_along, push_across, spin, h,
                )  # fmt: skip
            before = plane
            if along != 0.0 or across != 0.0 or turn != 0.0:
                drift = across - turn * centre
                yaw += h * turn
                old_cos, old_sin = cos, sin
                cos, sin = math.cos(yaw), math.sin(yaw)
                x += 0.5 * h * (along * (old_cos + cos) - drift * (old_sin + sin))
                y += 0.5 * h * (along * (old_sin + sin) + drift * (old_cos + cos))
                plane, slope, bank = under_wheels(
                    x0, y0, cell, lower, upper, x, y, z, cos, sin, front, rear, track
                )
            steepest = STEEPEST * abs(along) + 0.3
            ground_rising = min(max((plane - before) / h, -steepest), steepest)
            if grounded:
                z, rising = ride(z, rising, plane, ground_rising, lift, h)
                new_pitch, new_roll = level(pitch, slope, settling), level(roll, bank, settling)
            else:
                rising += h * (lift - (GRAVITY if gravity[slot] else 0.0))
                z += h * rising
                if z < plane:
                    z, rising = plane, max(rising, ground_rising)
                new_pitch, new_roll = pitch, roll
            pitch_rate, roll_rate = (new_pitch - pitch) / h, (new_roll - roll) / h
            pitch, roll = new_pitch, new_roll
        drift = across - turn * centre
        vx, vy = along * cos - drift * sin, along * sin + drift * cos
        position[slot, 0], position[slot, 1], position[slot, 2] = x, y, z
        rotation[slot, 0], rotation[slot, 2] = pitch, roll
        rotation[slot, 1] = math.atan2(sin, cos) if abs(yaw) > math.pi else yaw
        velocity[slot, 0], velocity[slot, 1], velocity[slot, 2] = vx, vy, rising
        acceleration[slot, 0] = (vx - start_x) / dt
        acceleration[slot, 1] = (vy - start_y) / dt
        acceleration[slot, 2] = (rising - start_rising) / dt
        angular_velocity[slot, 0] = pitch_rate * sin - roll_rate * cos
        angular_velocity[slot, 1] = -pitch_rate * cos - roll_rate * sin
        angular_velocity[slot, 2] = turn
        wheel_angles[slot], slips[slot], yaw_rates[slot] = wheel_angle, drift, turn
        gears[slot], shifts[slot], engine_speeds[slot] = gear, shift, engine_speed
        force[slot] = 0.0
        torque[slot] = 0.0


@compiled
def _steered(vehicle: Any, angle: float, steer: float, speed: float, dt: float) -> float:
    """Return the wheel angle after `dt`, as fast as the steering turns."""
    place = min(abs(speed) / STEERING_STEP, STEERING_SAMPLES - 1.001)
    index = int(place)
    rest = place - index
    share = vehicle["steering"][index] * (1.0 - rest) + vehicle["steering"][index + 1] * rest
    target: float = min(max(steer, -1.0), 1.0) * vehicle["max_steer"] * share
    return angle + min(max(target - angle, -STEERING_RATE * dt), STEERING_RATE * dt)


@compiled
def _move(
    vehicle: Any, along: float, across: float, turn: float, wheel_angle: float,
    driving: float, engine_drag: float, brake: float, hand_brake: bool,
    grounded: bool, slope: float, bank: float,
    push_along: float, push_across: float, spin: float, dt: float,
) -> tuple[float, float, float]:  # fmt: skip
    """Return the speeds along and across the body and the yaw rate after `dt`.

    Side forces are solved implicitly: at speed this is the dynamic bicycle model, towards a
    standstill it becomes the kinematic one, stable at any step. Braking is dry friction: it stops
    the vehicle exactly.
    """
    mass, inertia = vehicle["mass"], vehicle["yaw_inertia"]
    a, b = vehicle["front"], vehicle["rear"]
    push_along -= vehicle["drag"] * along * abs(along) / mass
    if not grounded:
        along, across = along + dt * push_along, across + dt * push_across
        cos, sin = math.cos(dt * turn), math.sin(dt * turn)
        return along * cos + across * sin, across * cos - along * sin, turn + dt * spin
    push_along -= GRAVITY * math.sin(slope)
    push_across += GRAVITY * math.sin(bank)
    weight = mass * GRAVITY * math.cos(slope) * math.cos(bank)
    front_load, rear_load = weight * b / (a + b), weight * a / (a + b)
    front_grip = ANTI_LOCK * vehicle["front_friction"] * front_load
    rear_grip = ANTI_LOCK * vehicle["rear_friction"] * rear_load

    grip = front_grip + rear_grip
    driving = min(max(driving, -grip), grip)
    rolling = min(ROLLING * weight, grip)
    idle_drag = min(engine_drag + rolling, grip)
    front_share = front_grip / grip if grip > 0.0 else 0.5
    front_brake = min(brake * vehicle["front_brake"] + idle_drag * front_share, front_grip)
    rear_brake = min(
        brake * vehicle["rear_brake"]
        + (vehicle["hand_brake"] if hand_brake else 0.0)
        + idle_drag * (1.0 - front_share),
        rear_grip,
    )
    braking = front_brake + rear_brake

    cos, sin = math.cos(wheel_angle), math.sin(wheel_angle)
    lateral = across + a * turn
    front_used = min(abs(driving) * front_share + front_brake, front_grip)
    rear_used = min(abs(driving) * (1.0 - front_share) + rear_brake, rear_grip)
    front = side_damping(
        along * cos + lateral * sin, lateral * cos - along * sin,
        front_load, PLOUGH * vehicle["front_friction"], PLOUGH * vehicle["front_stiffness"],
        front_used,
    )  # fmt: skip
    rear = side_damping(
        along, across - b * turn,
        rear_load, vehicle["rear_friction"], vehicle["rear_stiffness"], rear_used,
    )  # fmt: skip

    free = along + dt * (push_along + driving / mass + turn * across)
    scrub = front * (lateral * cos - along * sin) * sin / mass
    free += dt * scrub
    hold = dt * braking / mass
    if abs(free) <= hold:
        new_along = 0.0
        if abs(across) < STILL and abs(turn) < STILL and abs(push_across) * mass < grip:
            return 0.0, 0.0, 0.0
    else:
        new_along = free - math.copysign(hold, free)

    front *= cos
    m11 = mass / dt + front * cos + rear
    m12 = front * cos * a - rear * b + mass * new_along
    m21 = front * cos * a - rear * b
    m22 = inertia / dt + front * cos * a * a + rear * b * b
    steered = front * sin * new_along
    r1 = mass * (across / dt + push_across) + steered
    r2 = inertia * (turn / dt + spin) + a * steered
    det = m11 * m22 - m12 * m21
    return new_along, (r1 * m22 - m12 * r2) / det, (m11 * r2 - m21 * r1) / det

"""How an axle's wheels and the body move each other: tyres, brakes, standstill. Compiled."""

from __future__ import annotations

import math
from typing import Any

from harness.carlite.arrays import Floats
from harness.carlite.compiled import compiled
from harness.carlite.dynamics.parameters import GRAVITY
from harness.carlite.dynamics.powertrain import FRONT_SHARE, step_drivetrain
from harness.carlite.dynamics.state import (
    BRAKE,
    FRONT_SPIN,
    HANDBRAKE,
    REAR_SPIN,
    STILL,
    TRANSFER,
)
from harness.carlite.dynamics.tyres import (
    compute_side_stiffness,
    compute_tyre_forces,
    filter_tyre_load,
)

SLOW = 5.0
"""Metres per second below which PhysX cuts a step of its vehicles in three."""

SLOW_STEPS = 3

TRANSFER_TIME = 0.1
"""Seconds in which the load follows the acceleration."""

STICKY_SPEED = 0.2
"""Metres per second below which tyres stick: on locked wheels at once, on others after a while."""

STICKY_AFTER = 1.0
STICKY_DAMPING = 0.01
AT_REST = 1e-3
"""Metres or radians per second that are none any more once tyres stick."""


@compiled
def step_planar_motion(
    vehicle: Any, state: Floats, wheel_angle: float, ratio: float, accel: float,
    along: float, across: float, turn: float, engine: float,
    grounded: bool, slope: float, bank: float,
    push_along: float, push_across: float, spin: float, dt: float,
) -> tuple[float, float, float, float, float]:  # fmt: skip
    """Return speeds along and across the body, yaw rate, engine speed and turned angle after `dt`.

    The speeds are the centre of mass's; the turned angle is what the heading changes by.

    Tyre forces are those of the slips before each step, as in PhysX: above 5 m/s, where its steps
    are long, stiff tyres on light wheels chatter, and CARLA's cars pull less well for it.
    """
    mass, inertia = vehicle["mass"], vehicle["yaw_inertia"]
    a, b = vehicle["front"], vehicle["rear"]
    cos, sin = math.cos(wheel_angle), math.sin(wheel_angle)
    # Brakes, drag of the engine, gravity on a slope: the same during all steps.
    brake, hand_brake = state[BRAKE], state[HANDBRAKE]
    front_brake = brake * vehicle["front_brake"] + hand_brake * vehicle["front_hand_brake"]
    rear_brake = brake * vehicle["rear_brake"] + hand_brake * vehicle["rear_hand_brake"]
    front_share = 1.0 if hand_brake > 0.0 else FRONT_SHARE
    closed = vehicle["drag_closed"] if ratio != 0.0 else vehicle["drag_open"]
    drag = closed + (vehicle["drag_full"] - closed) * accel
    driven = accel > 0.0 and ratio != 0.0
    setting_off = driven and brake == 0.0 and hand_brake == 0.0
    upright = math.cos(slope) * math.cos(bank) if grounded else 0.0
    if grounded:
        push_along -= GRAVITY * math.sin(slope)
        push_across += GRAVITY * math.sin(bank)
    front_rest, rear_rest = mass * GRAVITY * b / (a + b), mass * GRAVITY * a / (a + b)
    # a load transfer of 1 is the whole weight over the wheelbase; no axle gives more than it has
    most_ahead, most_behind = upright * b / (a + b), -upright * a / (a + b)
    front, rear, transfer = state[FRONT_SPIN], state[REAR_SPIN], state[TRANSFER]
    locked, angle = False, 0.0
    steps = SLOW_STEPS if abs(along) < SLOW else 1
    h = dt / steps
    for _ in range(steps):
        # Forces of the tyres under their present load.
        front_force = front_side = rear_force = rear_side = 0.0
        if grounded:
            front_load = filter_tyre_load(upright - transfer * (a + b) / b)
            rear_load = filter_tyre_load(upright + transfer * (a + b) / a)
            lateral = across + a * turn
            front_force, front_side = compute_tyre_forces(
                front, vehicle["front_radius"],
                along * cos + lateral * sin, lateral * cos - along * sin,
                driven or front_brake > 0.0,
                vehicle["front_friction"] * front_rest * front_load,
                vehicle["front_long_stiffness"],
                compute_side_stiffness(
                    front_rest, front_load, vehicle["front_stiffness"], vehicle["front_most_load"]
                ),
                vehicle["front_inertia"], h,
            )  # fmt: skip
            rear_force, rear_side = compute_tyre_forces(
                rear, vehicle["rear_radius"], along, across - b * turn,
                (driven and front_share < 1.0) or rear_brake > 0.0,
                vehicle["rear_friction"] * rear_rest * rear_load,
                vehicle["rear_long_stiffness"],
                compute_side_stiffness(
                    rear_rest, rear_load, vehicle["rear_stiffness"], vehicle["rear_most_load"]
                ),
                vehicle["rear_inertia"], h,
            )  # fmt: skip
        # Engine and wheels; brakes stop a wheel and do not turn it back.
        new_front, new_rear, engine = step_drivetrain(
            vehicle, ratio, accel, drag, front_share, front, rear, engine,
            -front_force * vehicle["front_radius"] - _compute_opposing_torque(front, front_brake),
            -rear_force * vehicle["rear_radius"] - _compute_opposing_torque(rear, rear_brake), h,
        )  # fmt: skip
        if front_brake > 0.0 and front * new_front <= 0.0:
            new_front = 0.0
        if rear_brake > 0.0 and rear * new_rear <= 0.0:
            new_rear = 0.0
        front, rear = new_front, new_rear
        # The body: speeds, yaw rate and the load that moves between the axles.
        x_force = front_force * cos - front_side * sin + rear_force
        front_push = front_force * sin + front_side * cos
        gain = x_force / mass - vehicle["drag"] * along * abs(along) / mass + push_along
        side = (front_push + rear_side) / mass + push_across
        pitching = x_force * vehicle["height"] / (mass * GRAVITY * (a + b))
        pitching = min(max(pitching, most_behind), most_ahead)
        transfer += (pitching - transfer) * min(h / TRANSFER_TIME, 1.0)
        turn += h * (spin + (a * front_push - b * rear_side) / inertia)
        angle += h * turn
        forward, aside = along + h * gain, across + h * side
        turned, swung = math.cos(h * turn), math.sin(h * turn)
        along, across = forward * turned + aside * swung, aside * turned - forward * swung
        # How long it has stood almost still.
        locked = (front == 0.0 and front_brake > 0.0) or (rear == 0.0 and rear_brake > 0.0)
        slow = abs(along) < STICKY_SPEED and not setting_off and grounded
        state[STILL] = state[STILL] + h if slow else 0.0
    # Tyres at rest stick to the road.
    grip = GRAVITY * min(vehicle["front_friction"], vehicle["rear_friction"]) * upright
    held = math.hypot(push_along, push_across) < grip
    # a car that turns on the spot slides on both axles
    sliding = max(abs(across + a * turn), abs(across - b * turn))
    if state[STILL] > (0.0 if locked else STICKY_AFTER) and held and sliding < STICKY_SPEED:
        along, across, turn = (
            _damp_sticky_speed(along),
            _damp_sticky_speed(across),
            _damp_sticky_speed(turn),
        )
        angle = dt * turn
        front = front if abs(front) > AT_REST and ratio != 0.0 else 0.0
        rear = rear if abs(rear) > AT_REST and ratio != 0.0 else 0.0
    state[FRONT_SPIN], state[REAR_SPIN], state[TRANSFER] = front, rear, transfer
    return along, across, turn, engine, angle


@compiled
def _compute_opposing_torque(spin: float, torque: float) -> float:
    return math.copysign(torque, spin) if spin != 0.0 else 0.0


@compiled
def _damp_sticky_speed(speed: float) -> float:
    slowed = speed * STICKY_DAMPING
    return slowed if abs(slowed) > AT_REST else 0.0

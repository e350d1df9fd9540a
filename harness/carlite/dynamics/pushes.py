"""What a client may do to an actor's motion: velocities, impulses, forces. World frame.

Requests beyond what anything in a town could do are cut to that: what moves ever faster takes
ever longer to follow, and in the end is no number any more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from harness.carlite.actors import ActorTable
from harness.carlite.arrays import Floats
from harness.carlite.compiled import compiled
from harness.carlite.dynamics.parameters import compute_yaw_inertia

Vector = Sequence[float]

FASTEST = 1000.0
"""Metres per second."""

QUICKEST_TURN = 100.0
"""Radians per second."""

SHORTEST_PUSH = 0.05
"""Seconds in which no force makes anything faster than that."""


@compiled
def limit_velocities(velocity: Floats, yaw_rate: Floats) -> None:
    """Cut what has become faster all the same, as by a blow."""
    for slot in range(len(velocity)):
        for axis in range(3):
            velocity[slot, axis] = min(max(velocity[slot, axis], -FASTEST), FASTEST)
        yaw_rate[slot] = min(max(yaw_rate[slot], -QUICKEST_TURN), QUICKEST_TURN)


def apply_impulse(table: ActorTable, slot: int, impulse: Vector, at: Vector | None = None) -> None:
    """Apply an impulse, N s, at a world position or through the centre."""
    if table.mass[slot] <= 0.0 or not table.simulated[slot]:
        return
    set_velocity(table, slot, table.velocity[slot] + np.asarray(impulse) / table.mass[slot])
    if at is not None:
        apply_angular_impulse(table, slot, _compute_moment(table, slot, impulse, at))


def apply_angular_impulse(table: ActorTable, slot: int, angular_impulse: Vector) -> None:
    """Apply an angular impulse, N m s; bodies here turn about the up axis alone."""
    inertia = _compute_actor_inertia(table, slot)
    if inertia > 0.0:
        set_yaw_rate(table, slot, table.yaw_rate[slot] + angular_impulse[2] / inertia)


def apply_force(table: ActorTable, slot: int, force: Vector, at: Vector | None = None) -> None:
    """Apply a force, N, during the next step, at a world position or through the centre."""
    most = table.mass[slot] * FASTEST / SHORTEST_PUSH
    table.force[slot] = _clip_components(table.force[slot] + np.asarray(force), most)
    if at is not None:
        apply_torque(table, slot, _compute_moment(table, slot, force, at))


def apply_torque(table: ActorTable, slot: int, torque: Vector) -> None:
    """Apply a torque, N m, during the next step."""
    most = _compute_actor_inertia(table, slot) * QUICKEST_TURN / SHORTEST_PUSH
    table.torque[slot] = _clip_components(table.torque[slot] + np.asarray(torque), most)


def set_velocity(table: ActorTable, slot: int, velocity: Vector) -> None:
    """Set the velocity, m/s."""
    table.velocity[slot] = _clip_components(velocity, FASTEST)


def hold_velocity(table: ActorTable, slot: int, velocity: Vector) -> None:
    """Hold a velocity, m/s, in the body's frame."""
    table.held_velocity[slot] = _clip_components(velocity, FASTEST)


def set_yaw_rate(table: ActorTable, slot: int, yaw_rate: float) -> None:
    """Set the yaw rate, rad/s."""
    rate = min(max(yaw_rate, -QUICKEST_TURN), QUICKEST_TURN)
    table.yaw_rate[slot] = rate
    table.angular_velocity[slot, 2] = rate


def _clip_components(values: Vector | Floats, most: float) -> Floats:
    kept: Floats = np.clip(values, -most, most)
    return kept


def _compute_actor_inertia(table: ActorTable, slot: int) -> float:
    half_length, half_width = table.extent[slot, :2]
    return compute_yaw_inertia(float(table.mass[slot]), float(half_length), float(half_width))


def _compute_moment(table: ActorTable, slot: int, force: Vector, at: Vector) -> Vector:
    yaw, ahead = float(table.rotation[slot, 1]), float(table.mass_centre[slot])
    centre = table.position[slot] + ahead * np.array([math.cos(yaw), math.sin(yaw), 0.0])
    arm = np.asarray(at) - centre
    return tuple(float(component) for component in np.cross(arm, np.asarray(force)))

"""What a client may do to an actor's motion: velocities, impulses, forces. World frame."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness.carlite.actors import ActorTable
from harness.carlite.dynamics.parameters import yaw_inertia

Vector = Sequence[float]


def push(table: ActorTable, slot: int, impulse: Vector, at: Vector | None = None) -> None:
    """Apply an impulse, N s, at a world position or through the centre."""
    if table.mass[slot] <= 0.0 or not table.simulated[slot]:
        return
    table.velocity[slot] += np.asarray(impulse) / table.mass[slot]
    if at is not None:
        twist(table, slot, _moment(table, slot, impulse, at))


def twist(table: ActorTable, slot: int, angular_impulse: Vector) -> None:
    """Apply an angular impulse, N m s; bodies here turn about the up axis alone."""
    half_length, half_width = table.extent[slot, :2]
    inertia = yaw_inertia(float(table.mass[slot]), float(half_length), float(half_width))
    if inertia > 0.0:
        spin(table, slot, table.yaw_rate[slot] + angular_impulse[2] / inertia)


def pull(table: ActorTable, slot: int, force: Vector, at: Vector | None = None) -> None:
    """Apply a force, N, during the next step, at a world position or through the centre."""
    table.force[slot] += force
    if at is not None:
        table.torque[slot] += _moment(table, slot, force, at)


def spin(table: ActorTable, slot: int, yaw_rate: float) -> None:
    """Set the yaw rate, rad/s."""
    table.yaw_rate[slot] = yaw_rate
    table.angular_velocity[slot, 2] = yaw_rate


def _moment(table: ActorTable, slot: int, force: Vector, at: Vector) -> Vector:
    arm = np.asarray(at) - table.position[slot]
    return tuple(float(component) for component in np.cross(arm, np.asarray(force)))

"""Walkers: they go where their control says, on their feet, facing where they go."""

from __future__ import annotations

import math

from harness.carlite.actors import ActorTable
from harness.carlite.angles import wrap_to_pi_in_kernel
from harness.carlite.arrays import Float32s, Floats, Ints
from harness.carlite.compiled import compiled
from harness.carlite.dynamics.columns import WalkerColumns, take_columns
from harness.carlite.towns.lookup import GroundArrays, find_ground_height, to_ground_arrays
from harness.carlite.towns.model import TownGround

GRAVITY = 9.81
EAGERNESS = 10.0
"""Metres per second squared: how hard a walker works towards the speed it wants; one that was
struck needs as long to come to rest."""

TURNING = 2.0 * math.pi
"""Radians per second."""

JUMP = 4.2
"""Metres per second upwards at a jump."""

STEP = 0.35
"""Metres of ground that a walker follows down without falling."""


def step_walkers(table: ActorTable, slots: Ints, ground: TownGround, dt: float) -> None:
    """Move the walkers in `slots` by `dt`; unsimulated ones stay."""
    _step_walker_kernel(slots, take_columns(table, WalkerColumns), to_ground_arrays(ground), dt)


def lift_walkers(table: ActorTable, slots: Ints, ground: TownGround) -> None:
    """Lift walkers that would stick in the ground."""
    _lift_walker_kernel(
        slots, *to_ground_arrays(ground), table.position, table.box_centre, table.extent
    )


@compiled
def _lift_walker_kernel(
    slots: Ints, x0: float, y0: float, cell: float, lower: Float32s, upper: Float32s,
    position: Floats, box_centre: Floats, extent: Floats,
) -> None:  # fmt: skip
    for slot in slots:
        x, y, z = position[slot]
        floor = find_ground_height(x0, y0, cell, lower, upper, x, y, z)
        position[slot, 2] = max(z, floor + (extent[slot, 2] - box_centre[slot, 2]))


@compiled
def _step_walker_kernel(slots: Ints, table: WalkerColumns, ground: GroundArrays, dt: float) -> None:
    x0, y0, cell, lower, upper = ground
    for slot in slots:
        if not table.simulated[slot]:
            continue
        # where the feet are, and whether they are on the ground
        feet = table.extent[slot, 2] - table.box_centre[slot, 2]
        x, y, z = table.position[slot, 0], table.position[slot, 1], table.position[slot, 2] - feet
        floor = find_ground_height(x0, y0, cell, lower, upper, x, y, z)
        rising = table.velocity[slot, 2]
        standing = table.gravity[slot] and (z <= floor or (z - floor < STEP and rising <= 0.0))
        # horizontal velocity: held by a client, walked, or kept while in the air
        vx, vy = table.velocity[slot, 0], table.velocity[slot, 1]
        if not math.isnan(table.held_velocity[slot, 0]):
            yaw = table.rotation[slot, 1]
            vx = table.held_velocity[slot, 0] * math.cos(yaw) - table.held_velocity[
                slot, 1
            ] * math.sin(yaw)
            vy = table.held_velocity[slot, 0] * math.sin(yaw) + table.held_velocity[
                slot, 1
            ] * math.cos(yaw)
        elif standing or not table.gravity[slot]:
            vx, vy = _step_walk_velocity(
                vx, vy, table.walk_direction[slot], table.walk_speed[slot], dt
            )
        # pushes, then the new place
        vx += dt * table.force[slot, 0] / table.mass[slot]
        vy += dt * table.force[slot, 1] / table.mass[slot]
        x += vx * dt
        y += vy * dt
        floor = find_ground_height(x0, y0, cell, lower, upper, x, y, z)
        # height: a jump, a step on the ground, or a fall
        if standing and table.jump[slot]:
            rising, standing = JUMP, False
            table.jump[slot] = False
        if standing and z - floor < STEP:
            rising, z = (floor - z) / dt, floor
        else:
            rising += dt * (
                table.force[slot, 2] / table.mass[slot] - (GRAVITY if table.gravity[slot] else 0.0)
            )
            z += rising * dt
            if z <= floor:
                z, rising = floor, 0.0
        # the body turns to where it walks
        turn = _compute_facing_turn(
            table.rotation[slot, 1], table.walk_direction[slot], table.walk_speed[slot], dt
        )
        yaw = table.rotation[slot, 1] + turn
        table.rotation[slot, 1] = wrap_to_pi_in_kernel(yaw) if abs(yaw) > math.pi else yaw
        table.yaw_rate[slot] = turn / dt
        # back into the table; pushes act for one tick
        table.angular_velocity[slot, 0] = table.angular_velocity[slot, 1] = 0.0
        table.angular_velocity[slot, 2] = turn / dt
        table.acceleration[slot, 0] = (vx - table.velocity[slot, 0]) / dt
        table.acceleration[slot, 1] = (vy - table.velocity[slot, 1]) / dt
        table.acceleration[slot, 2] = (rising - table.velocity[slot, 2]) / dt
        table.velocity[slot, 0], table.velocity[slot, 1], table.velocity[slot, 2] = vx, vy, rising
        table.position[slot, 0], table.position[slot, 1], table.position[slot, 2] = x, y, z + feet
        table.force[slot] = 0.0
        table.torque[slot] = 0.0


@compiled
def _step_walk_velocity(
    vx: float, vy: float, direction: Floats, speed: float, dt: float
) -> tuple[float, float]:
    """Return the velocity after `dt` of working towards the wanted one."""
    reach = math.hypot(direction[0], direction[1])
    share = speed / reach if reach > 1e-6 else 0.0
    # what is missing to the wanted velocity; as much of it as the walker can gain in a tick
    lack_x, lack_y = direction[0] * share - vx, direction[1] * share - vy
    lack = math.hypot(lack_x, lack_y)
    if lack <= EAGERNESS * dt:
        return vx + lack_x, vy + lack_y
    gain = EAGERNESS * dt / lack
    return vx + gain * lack_x, vy + gain * lack_y


@compiled
def _compute_facing_turn(yaw: float, direction: Floats, speed: float, dt: float) -> float:
    """Return how far to turn within `dt` to face the way one goes."""
    if speed == 0.0 or math.hypot(direction[0], direction[1]) <= 1e-6:
        return 0.0
    error = math.atan2(direction[1], direction[0]) - yaw
    error = math.atan2(math.sin(error), math.cos(error))
    return min(max(error, -TURNING * dt), TURNING * dt)

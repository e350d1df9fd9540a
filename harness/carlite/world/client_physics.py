"""A vehicle's physics in the units of CARLA's clients and logs.

Wheels differ from the dynamics: CARLA gives steering angles in degrees, radii in centimetres, and
positions in centimetres in the world.
"""

from __future__ import annotations

from dataclasses import replace
from math import degrees
from typing import TYPE_CHECKING

from harness.carlite.dynamics.physics import PhysicsControl, WheelPhysicsControl
from harness.carlite.wire.codec import Vector
from harness.carlite.world.geometry import transform_body_point

if TYPE_CHECKING:
    from harness.carlite.world.episode import WorldEpisode

CENTIMETRES = 100.0


def convert_physics_control(episode: WorldEpisode, slot: int) -> PhysicsControl:
    """Return a vehicle's physics as CARLA gives it.

    Args:
        episode: with the vehicle.
        slot: row of the vehicle in the table of actors.
    """
    table = episode.table
    control = episode.motion.physics.find_control(int(table.id[slot]))
    pose = table.position[slot].tolist(), table.rotation[slot].tolist()
    wheels = [
        _convert_wheel(wheel, transform_body_point(*pose, wheel.position))
        for wheel in control.wheels
    ]
    return replace(control, wheels=tuple(wheels))


def _convert_wheel(wheel: WheelPhysicsControl, position: Vector) -> WheelPhysicsControl:
    x, y, z = position
    return replace(
        wheel,
        max_steer_angle=degrees(wheel.max_steer_angle),
        radius=wheel.radius * CENTIMETRES,
        position=(x * CENTIMETRES, y * CENTIMETRES, z * CENTIMETRES),
    )

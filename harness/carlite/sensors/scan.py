"""What the rays of a LiDAR have found in a tick."""

from __future__ import annotations

from dataclasses import dataclass

from harness.carlite.arrays import Floats, Int32s
from harness.carlite.sensors.fan import RayFan


@dataclass(frozen=True, kw_only=True)
class RayScan:
    """What a sweep found, by column and row of its fan.

    Attributes:
        fan: the rays. place: (F,) the column of each firing. row: (channels,) of each channel.
        nearness: inverse horizontal distance. source: face drawn, GROUND or NOTHING.
        normals, things, faces: of each face drawn.
        rotation, origin: from the sensor's frame to the world.
    """

    fan: RayFan
    place: Int32s
    row: Int32s
    nearness: Floats
    source: Int32s
    normals: Floats
    things: Int32s
    faces: Int32s
    rotation: Floats
    origin: Floats

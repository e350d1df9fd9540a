"""What both LiDARs share: the pattern of rays, its turning, and drawing the scene into it."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.carlite.arrays import Floats, Int32s
from harness.carlite.sensors.fan import Fan, make_fan
from harness.carlite.sensors.frames import rotation_matrix
from harness.carlite.sensors.protocol import Pose
from harness.carlite.sensors.rasterise import NOTHING, rasterise_ground, rasterise_things
from harness.carlite.sensors.scene import Scene
from harness.carlite.sensors.settings import number, whole

MOST_RAYS = 4_000_000


@dataclass(frozen=True, kw_only=True)
class Scan:
    """What a sweep found, by column and row of its fan.

    Attributes:
        fan: the rays. place: (F,) the column of each firing. row: (channels,) of each channel.
        nearness: inverse horizontal distance. source: face drawn, GROUND or NOTHING.
        normals, things, faces: of each face drawn.
        rotation, origin: from the sensor's frame to the world.
    """

    fan: Fan
    place: Int32s
    row: Int32s
    nearness: Floats
    source: Int32s
    normals: Floats
    things: Int32s
    faces: Int32s
    rotation: Floats
    origin: Floats


class Sweep:
    """The ray pattern of a LiDAR and where in its turn it stands (degrees, as attributes are)."""

    def __init__(self, attributes: Mapping[str, str]) -> None:
        self.channels = whole(attributes, "channels", 32, low=1, high=4096)
        self.range = number(attributes, "range", 10.0, low=0.01, high=1e5)
        self._rate = whole(attributes, "points_per_second", 56000, low=0, high=1_000_000_000)
        self._turns = number(attributes, "rotation_frequency", 10.0, low=0, high=1e4)
        self._field = number(attributes, "horizontal_fov", 360.0, low=0.001, high=360)
        upper = number(attributes, "upper_fov", 10.0, low=-90, high=90)
        lower = number(attributes, "lower_fov", -30.0, low=-90, high=90)
        elevations = np.radians(np.linspace(upper, lower, self.channels))
        order = np.argsort(elevations, kind="stable")
        self._row = np.empty(self.channels, np.int32)
        self._row[order] = np.arange(self.channels, dtype=np.int32)
        self._slopes = np.tan(elevations[order])
        self._least = 1 / (self.range * np.maximum(np.cos(elevations[order]), 1e-15))
        self._angle = 0.0
        self._columns: tuple[tuple[float, float, int], Fan, Int32s] | None = None
        self._nearness = np.empty((0, self.channels))
        self._source = np.empty((0, self.channels), np.int32)

    def scan(self, scene: Scene, pose: Pose, frame: int, dt: float) -> Scan:
        """Draw the scene into the rays fired in `dt` and turn on."""
        scene.refresh(frame)
        fan, place = self._turn(dt)
        if len(self._nearness) != len(place):
            self._nearness = np.empty((len(place), self.channels))
            self._source = np.empty((len(place), self.channels), np.int32)
        self._nearness[:], self._source[:] = self._least, NOTHING
        rotation, origin = rotation_matrix(*pose.rotation), np.array(pose.position, np.float64)
        normals, things, faces = rasterise_things(
            scene.things, scene.meshes, rotation, origin, self.range, fan,
            self._nearness, self._source,
        )  # fmt: skip
        rasterise_ground(
            scene.relief, rotation, origin, self.range, fan, self._nearness, self._source
        )
        return Scan(
            fan=fan,
            place=place,
            row=self._row,
            nearness=self._nearness,
            source=self._source,
            normals=normals,
            things=things,
            faces=faces,
            rotation=rotation,
            origin=origin,
        )

    def header(self, counts: NDArray[np.uint32]) -> bytes:
        """Return the head of a frame: the angle reached, then how many points each channel has."""
        return struct.pack("<fI", math.radians(self._angle), self.channels) + counts.tobytes()

    def _turn(self, dt: float) -> tuple[Fan, Int32s]:
        firings = math.floor(min(self._rate * dt, MOST_RAYS) / self.channels + 0.5)
        arc = self._turns * self._field * dt
        key = (self._angle, arc, firings)
        if self._columns is None or self._columns[0] != key:
            angles = self._angle + arc * np.arange(firings) / max(firings, 1)
            azimuth = np.radians(np.fmod(angles, self._field) - self._field / 2)
            ones = np.ones(firings)
            fan, place = make_fan(np.cos(azimuth), np.sin(azimuth), ones, self._slopes)
            self._columns = (key, fan, place)
        self._angle = math.fmod(self._angle + arc, self._field)
        return self._columns[1], self._columns[2]

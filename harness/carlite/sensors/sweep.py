"""What both LiDARs share: the pattern of rays, its turning, and drawing the scene into it."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from harness.carlite.arrays import Int32s
from harness.carlite.sensors.fan import RayFan, make_ray_fan
from harness.carlite.sensors.frames import build_rotation_matrix
from harness.carlite.sensors.protocol import SensorPose
from harness.carlite.sensors.rasterise import NOTHING, rasterise_ground, rasterise_things
from harness.carlite.sensors.scan import RayScan
from harness.carlite.sensors.scene import SensorScene
from harness.carlite.sensors.settings import read_integer_attribute, read_number_attribute

MOST_RAYS = 4_000_000


class LidarSweep:
    """The ray pattern of a LiDAR and where in its turn it stands (degrees, as attributes are)."""

    def __init__(self, attributes: Mapping[str, str]) -> None:
        # attributes of the blueprint, within bounds
        self.channels = read_integer_attribute(attributes, "channels", 32, low=1, high=4096)
        self.range = read_number_attribute(attributes, "range", 10.0, low=0.01, high=1e5)
        self._rate = read_integer_attribute(
            attributes, "points_per_second", 56000, low=0, high=1_000_000_000
        )
        self._turns = read_number_attribute(attributes, "rotation_frequency", 10.0, low=0, high=1e4)
        self._field = read_number_attribute(
            attributes, "horizontal_fov", 360.0, low=0.001, high=360
        )
        upper = read_number_attribute(attributes, "upper_fov", 10.0, low=-90, high=90)
        lower = read_number_attribute(attributes, "lower_fov", -30.0, low=-90, high=90)
        self._pattern = (
            self.channels, self.range, self._rate, self._turns, self._field, upper, lower
        )  # fmt: skip
        # (channels,) from low to high, and the row of each in the sweep
        elevations = np.radians(np.linspace(upper, lower, self.channels))
        order = np.argsort(elevations, kind="stable")
        self._row = np.empty(self.channels, np.int32)
        self._row[order] = np.arange(self.channels, dtype=np.int32)
        self._slopes = np.tan(elevations[order])
        self._least = 1 / (self.range * np.maximum(np.cos(elevations[order]), 1e-15))
        self._angle = 0.0
        self._columns: tuple[tuple[float, float, int], RayFan, Int32s] | None = None
        self._nearness = np.empty((0, self.channels))
        self._source = np.empty((0, self.channels), np.int32)

    def scan_scene(self, scene: SensorScene, pose: SensorPose, frame: int, dt: float) -> RayScan:
        """Draw the scene into the rays fired in `dt` and turn on.

        Two LiDARs of one pattern at one place, as one with labels next to one without, share it.
        """
        scene.refresh_actors(frame)
        key = (self._pattern, self._angle, dt, pose.position, pose.rotation)
        if key not in scene.scans:
            self._drop_stale_scans(scene)
            scene.scans[key] = self._render_scan(scene, pose, dt)
        self._angle = math.fmod(self._angle + self._compute_arc(dt), self._field)
        return scene.scans[key]

    def _drop_stale_scans(self, scene: SensorScene) -> None:
        """Forget the scans whose arrays are about to be written again."""
        for key in [key for key, scan in scene.scans.items() if scan.source is self._source]:
            del scene.scans[key]

    def _render_scan(self, scene: SensorScene, pose: SensorPose, dt: float) -> RayScan:
        # nearness and source: (columns, channels), used again as long as their shape is the same
        fan, place = self._build_fired_fan(dt)
        if len(self._nearness) != len(place):
            self._nearness = np.empty((len(place), self.channels))
            self._source = np.empty((len(place), self.channels), np.int32)
        self._nearness[:], self._source[:] = self._least, NOTHING
        rotation, origin = (
            build_rotation_matrix(*pose.rotation),
            np.array(pose.position, np.float64),
        )
        # things first: the ground is drawn only where it is nearer
        normals, things, faces = rasterise_things(
            scene.things, scene.meshes, rotation, origin, self.range, fan,
            self._nearness, self._source,
        )  # fmt: skip
        rasterise_ground(
            scene.relief, rotation, origin, self.range, fan, self._nearness, self._source
        )
        return RayScan(
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

    def pack_header(self, counts: NDArray[np.uint32]) -> bytes:
        """Return the head of a frame: the angle reached, then how many points each channel has."""
        return struct.pack("<fI", math.radians(self._angle), self.channels) + counts.tobytes()

    def _compute_arc(self, dt: float) -> float:
        return self._turns * self._field * dt

    def _build_fired_fan(self, dt: float) -> tuple[RayFan, Int32s]:
        firings = math.floor(min(self._rate * dt, MOST_RAYS) / self.channels + 0.5)
        arc = self._compute_arc(dt)
        key = (self._angle, arc, firings)
        if self._columns is None or self._columns[0] != key:
            angles = self._angle + arc * np.arange(firings) / max(firings, 1)
            azimuth = np.radians(np.fmod(angles, self._field) - self._field / 2)
            ones = np.ones(firings)
            fan, place = make_ray_fan(np.cos(azimuth), np.sin(azimuth), ones, self._slopes)
            self._columns = (key, fan, place)
        return self._columns[1], self._columns[2]

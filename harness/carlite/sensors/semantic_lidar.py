"""`sensor.lidar.ray_cast_semantic`: what each laser hit, without losses or noise."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from harness.carlite.arrays import Bytes, Floats, Int32s, Ints
from harness.carlite.compiled import compiled
from harness.carlite.sensors.fan import RayFan
from harness.carlite.sensors.markings import GroundMarkings, find_painted_label
from harness.carlite.sensors.protocol import SensorPose
from harness.carlite.sensors.rasterise import NOTHING
from harness.carlite.sensors.relief import GroundRelief, compute_relief_slope, find_relief_label
from harness.carlite.sensors.scene import SensorScene
from harness.carlite.sensors.sweep import LidarSweep

POINT = np.dtype(
    [
        ("x", "<f4"),
        ("y", "<f4"),
        ("z", "<f4"),
        ("cosine", "<f4"),
        ("actor", "<u4"),
        ("label", "<u4"),
    ]
)


class SemanticLidar:
    """Turns sweeps into frames of x, y, z, cosine of incidence, actor id, label."""

    def __init__(self, attributes: Mapping[str, str], seed: int, sensor_id: int) -> None:
        self._sweep = LidarSweep(attributes)

    def capture(self, scene: SensorScene, pose: SensorPose, frame: int, dt: float) -> bytes | None:
        """Scan one tick's worth of the circle."""
        scan = self._sweep.scan_scene(scene, pose, frame, dt)
        points = np.empty(scan.nearness.size, POINT)
        counts = np.zeros(self._sweep.channels, np.uint32)
        total = _pack_semantic_points(
            scan.nearness, scan.source, scan.place, scan.row, scan.fan, scan.normals,
            scene.things.actor[scan.things], scene.find_face_labels(scan.things, scan.faces),
            scene.relief, scene.markings, scan.rotation, scan.origin, points, counts,
        )  # fmt: skip
        return self._sweep.pack_header(counts) + points[:total].tobytes()


@compiled
def _pack_semantic_points(
    nearness: Floats,
    source: Int32s,
    place: Int32s,
    row_of_channel: Int32s,
    fan: RayFan,
    normals: Floats,
    actor: Ints,
    label: Bytes,
    relief: GroundRelief,
    markings: GroundMarkings,
    rotation: Floats,
    origin: Floats,
    points: NDArray[np.void],
    counts: NDArray[np.uint32],
) -> int:
    """Write the hits, channel by channel in firing order."""
    total = 0
    # points: (hits,) records; counts: (channels,)
    for channel in range(len(row_of_channel)):
        row = row_of_channel[channel]
        slope = fan.slopes[row]
        before = total
        for column in place:
            # what the ray met, and where
            face = source[column, row]
            if face == NOTHING:
                continue
            flat = 1 / nearness[column, row]
            x, y, z = flat * fan.cosine[column], flat * fan.sine[column], flat * slope
            point = points[total]
            point["x"], point["y"], point["z"] = x, y, z
            # normal and label, of a face or of the ground
            if face >= 0:
                nx, ny, nz = normals[face, 0], normals[face, 1], normals[face, 2]
                owner, tag = actor[face], int(label[face])
            else:
                nx, ny, nz, tag = _find_normal_and_label(relief, rotation, origin, x, y, z)
                owner = 0
            point["actor"] = owner
            point["label"] = find_painted_label(markings, tag, rotation, origin, x, y, z)
            # cosine of the angle between ray and normal
            dot = nx * x + ny * y + nz * z
            size = (nx * nx + ny * ny + nz * nz) * (x * x + y * y + z * z)
            point["cosine"] = abs(dot) / np.sqrt(size) if size > 0 else 1.0
            total += 1
        counts[channel] = total - before
    return total


@compiled
def _find_normal_and_label(
    relief: GroundRelief, rotation: Floats, origin: Floats, x: float, y: float, z: float
) -> tuple[float, float, float, int]:
    """Normal of the ground in the sensor's frame, and its label, at a point of that frame."""
    # the point in the world, then in grid units
    column = origin[0] + rotation[0, 0] * x + rotation[0, 1] * y + rotation[0, 2] * z
    row = origin[1] + rotation[1, 0] * x + rotation[1, 1] * y + rotation[1, 2] * z
    column, row = (column - relief.x) / relief.cell, (row - relief.y) / relief.cell
    rise_x, rise_y = compute_relief_slope(relief.heights, relief.cell, column, row)
    # the normal (-rise_x, -rise_y, 1), turned into the sensor's frame
    return (
        rotation[2, 0] - rotation[0, 0] * rise_x - rotation[1, 0] * rise_y,
        rotation[2, 1] - rotation[0, 1] * rise_x - rotation[1, 1] * rise_y,
        rotation[2, 2] - rotation[0, 2] * rise_x - rotation[1, 2] * rise_y,
        find_relief_label(relief.labels, column, row),
    )

"""`sensor.camera.normals`: which way the surface behind each pixel faces, in the world's frame.

Red, green and blue are the world's x, y and z, from -1 as 0 to 1 as 255, as CARLA has them since
its pull request 8810: a level road is (128, 128, 255). The sky faces nowhere and is
(128, 128, 128).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from harness.carlite.arrays import Bytes, Floats, Int32s
from harness.carlite.compiled import compiled
from harness.carlite.sensors.fan import RayFan
from harness.carlite.sensors.picture import PinholeCamera
from harness.carlite.sensors.protocol import SensorPose
from harness.carlite.sensors.rasterise import GROUND
from harness.carlite.sensors.relief import GroundRelief, compute_relief_slope
from harness.carlite.sensors.scene import SensorScene


class NormalsCamera:
    """`camera.normals`: surface normals as colours."""

    def __init__(self, attributes: Mapping[str, str], seed: int, sensor_id: int) -> None:
        self._pinhole = PinholeCamera(attributes)

    def capture(self, scene: SensorScene, pose: SensorPose, frame: int, dt: float) -> bytes | None:
        """Return one image."""
        picture = self._pinhole.render_picture(scene, pose, frame)
        # (faces, 3) unit normals in the world
        normals = picture.normals @ picture.rotation.T
        normals /= np.maximum(np.linalg.norm(normals, axis=1), 1e-300)[:, None]
        image = np.empty((self._pinhole.height, self._pinhole.width, 4), np.uint8)
        _write_normals(
            picture.fan, picture.nearness, picture.source, normals, scene.relief,
            picture.rotation, picture.origin, image,
        )  # fmt: skip
        return self._pinhole.header + image.tobytes()


@compiled
def _write_normals(
    fan: RayFan,
    nearness: Floats,
    source: Int32s,
    normals: Floats,
    relief: GroundRelief,
    rotation: Floats,
    origin: Floats,
    image: Bytes,
) -> None:
    # nearness: (columns, rows), bottom row first; image: (rows, columns, 4), top row first
    width, height = nearness.shape
    for row in range(height):
        slope = fan.slopes[height - 1 - row]
        for column in range(width):
            face = source[column, height - 1 - row]
            nx = ny = nz = 0.0
            # the ray through the pixel, in the world
            x, y = fan.cosine[column], fan.sine[column]
            z = x * slope
            dx = rotation[0, 0] * x + rotation[0, 1] * y + rotation[0, 2] * z
            dy = rotation[1, 0] * x + rotation[1, 1] * y + rotation[1, 2] * z
            dz = rotation[2, 0] * x + rotation[2, 1] * y + rotation[2, 2] * z
            if face >= 0:
                nx, ny, nz = normals[face, 0], normals[face, 1], normals[face, 2]
            elif face == GROUND:
                flat = 1 / nearness[column, height - 1 - row]
                rise_x, rise_y = compute_relief_slope(
                    relief.heights,
                    relief.cell,
                    (origin[0] + flat * dx - relief.x) / relief.cell,
                    (origin[1] + flat * dy - relief.y) / relief.cell,
                )
                length = np.sqrt(1 + rise_x * rise_x + rise_y * rise_y)
                nx, ny, nz = -rise_x / length, -rise_y / length, 1 / length
            # a sheet is seen from either side: the side that is seen counts
            side = -1.0 if nx * dx + ny * dy + nz * dz > 0 else 1.0
            image[row, column, 0] = _encode_component(side * nz)
            image[row, column, 1] = _encode_component(side * ny)
            image[row, column, 2] = _encode_component(side * nx)
            image[row, column, 3] = 255


@compiled
def _encode_component(component: float) -> int:
    """Return a number from -1 to 1 as a byte; what is no number is 0 before."""
    if not -1.0 <= component <= 1.0:
        component = 0.0
    return int((component + 1) / 2 * 255 + 0.5)

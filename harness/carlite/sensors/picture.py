"""What all cameras share: a pinhole, and drawing the scene through it.

A pinhole is a fan of rays: each pixel column is a half-plane through the camera's up axis, and the
slopes of its pixels are those of the middle column times the cosine of its azimuth.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from harness.carlite.arrays import Bytes, Floats, Int32s
from harness.carlite.compiled import vectorised
from harness.carlite.sensors.fan import RayFan, make_ray_fan
from harness.carlite.sensors.frames import build_rotation_matrix
from harness.carlite.sensors.protocol import SensorPose
from harness.carlite.sensors.rasterise import NOTHING, rasterise_ground, rasterise_things
from harness.carlite.sensors.scene import SensorScene
from harness.carlite.sensors.settings import read_integer_attribute, read_number_attribute
from harness.carlite.sensors.things import round_to_wire

FAR = 1000.0
MOST_PIXELS = 8192


@dataclass(frozen=True, kw_only=True)
class CameraPicture:
    """The scene through the pinhole, by pixel column from the left and row from the bottom.

    Attributes:
        fan, nearness, source: the rays, their inverse horizontal distances, the faces they hit.
        normals, things, labels: of each face drawn.
        rotation, origin: from the camera's frame to the world.
    """

    fan: RayFan
    nearness: Floats
    source: Int32s
    normals: Floats
    things: Int32s
    labels: Bytes
    rotation: Floats
    origin: Floats


class PinholeCamera:
    """An image size and a field of view.

    Attributes:
        edges: tangents of the angles from the middle to the right edge and to the upper edge.
    """

    def __init__(self, attributes: Mapping[str, str]) -> None:
        self.width = read_integer_attribute(
            attributes, "image_size_x", 800, low=1, high=MOST_PIXELS
        )
        self.height = read_integer_attribute(
            attributes, "image_size_y", 600, low=1, high=MOST_PIXELS
        )
        field = read_number_attribute(attributes, "fov", 90.0, low=0.1, high=170)
        self.header = struct.pack("<IIf", self.width, self.height, field)
        # (columns,) and (rows,) tangents of the rays through the middles of pixels
        half = math.tan(math.radians(field) / 2)
        self.edges = half, half * self.height / self.width
        focal = self.width / (2 * half)
        across = (np.arange(self.width, dtype=np.float64) + 0.5 - self.width / 2) / focal
        upward = (np.arange(self.height, dtype=np.float64) + 0.5 - self.height / 2) / focal
        cosine = np.cos(np.arctan(across))
        self._fan, _ = make_ray_fan(cosine, across * cosine, cosine, upward)
        self._reach = FAR * math.hypot(1, float(across[-1]), float(upward[-1]))
        # (width, height) buffers, used again for every picture
        self._nearness = np.empty((self.width, self.height))
        self._source = np.empty((self.width, self.height), np.int32)

    def render_picture(self, scene: SensorScene, pose: SensorPose, frame: int) -> CameraPicture:
        """Draw the scene as seen from a pose."""
        # the depth buffer, (width, height): inverse distances, at first those of the far end
        scene.refresh_actors(frame)
        fan, nearness, source = self._fan, self._nearness, self._source
        _clear_picture(fan, nearness, source)
        # things, then the ground
        # where the snapshot has the camera
        origin, angles = round_to_wire(np.array(pose.position), np.array(pose.rotation))
        rotation = build_rotation_matrix(*angles.tolist())
        normals, things, faces = rasterise_things(
            scene.shown, scene.meshes, rotation, origin, self._reach, fan, nearness, source
        )
        rasterise_ground(scene.relief, rotation, origin, self._reach, fan, nearness, source)
        labels = scene.find_face_labels(things, faces)
        return CameraPicture(
            fan=fan,
            nearness=nearness,
            source=source,
            normals=normals,
            things=things,
            labels=labels,
            rotation=rotation,
            origin=origin,
        )


@vectorised
def _clear_picture(fan: RayFan, nearness: Floats, source: Int32s) -> None:
    """Fill a picture with nothing, as far away as can be seen."""
    for column in range(len(nearness)):
        least = fan.cosine[column] / FAR
        for row in range(nearness.shape[1]):
            nearness[column, row], source[column, row] = least, NOTHING

"""Camera mounts, and how a camera's image becomes part of what an agent observes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import carla
import numpy as np

from harness.common.errors import UserError
from harness.types.geometry import compute_relative_pose
from harness.types.vocabulary import CameraImage, Floats, Pose, Singles
from harness.world.attempt_context import AttemptContext
from harness.world.poses import to_carla_transform

RGB, DEPTH = "sensor.camera.rgb", "sensor.camera.depth"
DEEPEST = 1000.0
"""Metres that a depth camera's largest code stands for."""
LARGEST_CODE = 256**3 - 1
WIDEST = 170.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CameraMount:
    """A camera without lens distortion; `conf/rig` has the numbers."""

    safe_from_file = True
    x: float  # m forward, on the vehicle or from the top of the mast
    y: float  # m right
    z: float  # m up
    yaw: float = 0.0  # degrees, clockwise from above
    pitch: float = 0.0  # degrees, up
    width: int = 800  # pixels
    height: int = 600  # pixels
    fov: float = 100.0  # degrees from the left edge to the right edge

    def __post_init__(self) -> None:
        if min(self.width, self.height) < 1 or not 0.0 < self.fov <= WIDEST:
            raise UserError(
                f"rig: camera of {self.width} x {self.height} pixels and {self.fov:g} degrees: at"
                f" least one pixel and 0 < fov ≤ {WIDEST:g} are needed"
            )

    @property
    def pose_on_carrier(self) -> Pose:
        """Where the camera stands on what carries it, and which way it looks."""
        yaw, pitch = math.radians(self.yaw), math.radians(self.pitch)
        return Pose(self.x, self.y, self.z, yaw=yaw, pitch=pitch)

    def compute_intrinsics(self) -> Floats:
        """Return the (3, 3) matrix from x right, y down, z ahead to pixels: CARLA's pinhole."""
        focal = self.width / (2.0 * math.tan(math.radians(self.fov) / 2.0))
        return np.array(
            [[focal, 0.0, self.width / 2.0], [0.0, focal, self.height / 2.0], [0.0, 0.0, 1.0]]
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CameraPlace:
    """Where a camera stands for the agent that reads its images."""

    name: str  # such as front
    mount: CameraMount
    in_lidar: Pose  # the camera in its agent's LiDAR frame
    above_road: float  # m

    def make_image(self, data: carla.Image) -> CameraImage:
        """Return a camera's image with its intrinsics and extrinsics."""
        rows = np.frombuffer(data.raw_data, np.uint8).reshape(data.height, data.width, 4)
        return CameraImage(
            name=self.name,
            pixels=np.ascontiguousarray(rows[:, :, 2::-1]),
            intrinsics=self.mount.compute_intrinsics(),
            camera_in_lidar=self.in_lidar,
            above_road=self.above_road,
        )


def place_camera(
    name: str, mount: CameraMount, lidar_on_carrier: Pose, carrier_height: float
) -> CameraPlace:
    """Return where a camera stands for the LiDAR of its agent.

    Args:
        name: of the camera.
        mount: on the carrier.
        lidar_on_carrier: of the same agent.
        carrier_height: metres from the road up to the carrier's origin.
    """
    return CameraPlace(
        name=name,
        mount=mount,
        in_lidar=compute_relative_pose(mount.pose_on_carrier, lidar_on_carrier),
        above_road=carrier_height + mount.z,
    )


def spawn_camera(
    context: AttemptContext,
    kind: str,
    mount: CameraMount,
    *,
    period: float,
    carrier: carla.Actor | None,
    place: Pose,
) -> carla.Sensor:
    """Put a camera up.

    Args:
        context: of the attempt.
        kind: id of the blueprint.
        mount: pixels and angle of view.
        period: seconds between images.
        carrier: vehicle that carries it; None for a mast.
        place: on the carrier, or in the world where there is none.
    """
    blueprint = context.world.get_blueprint_library().find(kind)
    settings = {
        "image_size_x": mount.width,
        "image_size_y": mount.height,
        "fov": mount.fov,
        "sensor_tick": period,
    }
    for name, value in settings.items():
        blueprint.set_attribute(name, str(value))
    return context.world.spawn_actor(blueprint, to_carla_transform(place), carrier)


def decode_depth(data: carla.Image) -> Singles:
    """Return metres along the view axis: CARLA writes 24 bits, red lowest, 1000 m at most.

    Returns:
        (rows, columns) float32.
    """
    pixels = np.frombuffer(data.raw_data, np.uint8).reshape(data.height, data.width, 4)
    blue, green, red = (pixels[:, :, channel].astype(np.float64) for channel in range(3))
    code = red + 256.0 * green + 65536.0 * blue
    return np.asarray(code * (DEEPEST / LARGEST_CODE), np.float32)

"""Pictures of cameras in a recording: images, their depths, and where the cameras stood.

Files have the names of OPV2V, `000042_camera0.png`, and of HEAL's depths, `000042_depth0.png`. The
keys `camera0` of a look hold pose, intrinsics and extrinsics as OPV2V has them. Depths are 16-bit
centimetres along the view axis; `FARTHEST_DEPTH` stands for everything beyond.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, takewhile
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from harness.common.errors import UserError
from harness.common.safe_reading import PICTURE_FILE, open_regular
from harness.types.geometry import build_pose_matrix, compose_poses, compute_relative_pose
from harness.types.vocabulary import CameraImage, Pose, Singles

PictureFormat = Literal["png", "jpeg"]

LARGEST_PICTURE = 4096
"""Pixels of a side."""
KEPT_QUALITY = 85
"""Of JPEG in records and viewers: 20 to 40 kB for a picture of 400 x 300."""
DEPTH_UNIT = 0.01
FARTHEST_DEPTH = 655.35
ENDINGS: Mapping[PictureFormat, str] = {"png": ".png", "jpeg": ".jpg"}
NOT_A_PICTURE = (OSError, ValueError, KeyError, TypeError, SyntaxError, OverflowError)
"""What a file that is no picture can provoke."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureSettings:
    """How pictures are recorded."""

    width: int = 256  # pixels
    height: int = 192  # pixels
    format: PictureFormat = "png"
    quality: int = 90  # of JPEG, 1 to 95

    def __post_init__(self) -> None:
        if not (1 <= min(self.width, self.height) <= max(self.width, self.height) <= 4096):
            raise UserError(f"pictures of {self.width} x {self.height}: 1 to 4096 pixels a side")
        if not 1 <= self.quality <= 95:
            raise UserError(f"quality {self.quality}: 1 to 95")


def resize_image(image: CameraImage, width: int, height: int) -> CameraImage:
    """Return an image with other pixels: each is the mean of the area that it covers.

    Args:
        image: of a camera.
        width: pixels.
        height: pixels.
    """
    rows, columns = image.pixels.shape[:2]
    if (columns, rows) == (width, height):
        return image
    shown = Image.fromarray(image.pixels).resize((width, height), Image.Resampling.BOX)
    scales = np.diag([width / columns, height / rows, 1.0])
    return replace(image, pixels=np.asarray(shown), intrinsics=scales @ image.intrinsics)


def write_pictures(
    place: Path,
    images: Sequence[CameraImage],
    depths: Sequence[Singles],
    settings: PictureSettings,
) -> None:
    """Write the pictures of a look next to its points.

    Args:
        place: of the look, without an ending.
        images: of the agent's cameras.
        depths: (rows, columns) metres of each camera; none if they are not recorded.
        settings: format and size.
    """
    for number, image in enumerate(images):
        small = resize_image(image, settings.width, settings.height)
        file = place.with_name(f"{place.name}_camera{number}{ENDINGS[settings.format]}")
        options: dict[str, Any] = {"quality": settings.quality} if settings.format == "jpeg" else {}
        Image.fromarray(small.pixels).save(file, **options)
    for number, metres in enumerate(depths):
        units = np.rint(np.clip(metres, 0.0, FARTHEST_DEPTH) / DEPTH_UNIT).astype(np.uint16)
        Image.fromarray(units).save(place.with_name(f"{place.name}_depth{number}.png"))


def iter_camera_records(
    images: Sequence[CameraImage], lidar_in_world: Pose, size: tuple[int, int]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what a look says of its cameras, under OPV2V's names.

    Args:
        images: of the agent's cameras.
        lidar_in_world: of the agent.
        size: columns and rows of the pictures as they are written.
    """
    for number, image in enumerate(images):
        rows, columns = image.pixels.shape[:2]
        scales = np.diag([size[0] / columns, size[1] / rows, 1.0])
        pose = compose_poses(lidar_in_world, image.camera_in_lidar)
        turns = [math.degrees(angle) for angle in (pose.roll, pose.yaw, pose.pitch)]
        # OPV2V's extrinsics take points of the LiDAR into the camera
        extrinsic = np.linalg.inv(build_pose_matrix(image.camera_in_lidar))
        yield (
            f"camera{number}",
            {
                "name": image.name,
                "cords": [round(value, 6) for value in (pose.x, pose.y, pose.z, *turns)],
                "intrinsic": (scales @ image.intrinsics).tolist(),
                "extrinsic": extrinsic.round(9).tolist(),
                "above_road": image.above_road,
            },
        )


def read_pictures(place: Path, record: Mapping[str, Any], lidar: Pose) -> tuple[CameraImage, ...]:
    """Return the images of a look, which may have none.

    Args:
        place: of the look, without an ending.
        record: what the look says of itself.
        lidar: the LiDAR of the look in the world.

    Raises:
        UserError: a picture is missing or broken, or its camera is not described.
    """
    images = []
    number = 0
    while isinstance(known := record.get(f"camera{number}"), Mapping):
        name = f"{place.name}_camera{number}"
        try:
            file = next(
                path
                for path in (place.with_name(name + ending) for ending in ENDINGS.values())
                if path.is_file()
            )
            images.append(_parse_camera(known, read_pixels(file, place.parent.parent), lidar))
        except StopIteration:
            raise UserError(f"{place.with_name(name)}.png: missing") from None
        except NOT_A_PICTURE as problem:
            why = str(problem).partition("\n")[0]
            raise UserError(f"{place.with_name(name)}: not a picture ({why})") from None
        number += 1
    return tuple(images)


def read_depths(place: Path) -> tuple[Singles, ...]:
    """Return the depths of a look, (rows, columns) metres for each of its cameras."""
    files = (place.with_name(f"{place.name}_depth{number}.png") for number in count())
    return tuple(read_depth(file) for file in takewhile(Path.is_file, files))


def read_depth(file: Path) -> Singles:
    """Return (rows, columns) metres: of 16 bits in centimetres, or of 8 bits in metres (HEAL's).

    Raises:
        UserError: the file is no depth picture.
    """
    try:
        with open_regular(file, PICTURE_FILE, within=file.parent.parent) as opened:
            units = np.asarray(open_picture(opened))
        if units.ndim != 2:
            raise ValueError("one channel is needed")
    except NOT_A_PICTURE as problem:
        why = str(problem).partition("\n")[0]
        raise UserError(f"{file}: not a depth picture ({why})") from None
    return units.astype(np.float32) * np.float32(1.0 if units.dtype == np.uint8 else DEPTH_UNIT)


def read_pixels(file: Path, within: Path) -> NDArray[np.uint8]:
    """Return a picture's pixels, (rows, columns, 3)."""
    with open_regular(file, PICTURE_FILE, within=within) as opened:
        return np.asarray(open_picture(opened).convert("RGB"))


def encode_jpeg(pixels: NDArray[np.uint8]) -> bytes:
    """Return a picture as JPEG.

    Args:
        pixels: (rows, columns, 3).
    """
    coded = io.BytesIO()
    Image.fromarray(pixels).save(coded, "JPEG", quality=KEPT_QUALITY)
    return coded.getvalue()


def open_picture(opened: Any) -> Image.Image:
    """Return a picture in PNG or JPEG of a plausible size."""
    picture = Image.open(opened, formats=("PNG", "JPEG"))
    if max(picture.size) > LARGEST_PICTURE:
        raise ValueError(f"{picture.width} x {picture.height} pixels")
    picture.load()
    return picture


def _parse_camera(known: Mapping[str, Any], pixels: NDArray[np.uint8], lidar: Pose) -> CameraImage:
    x, y, z, roll, yaw, pitch = (float(value) for value in known["cords"])
    angles = (math.radians(angle) for angle in (yaw, pitch, roll))
    camera = compute_relative_pose(Pose(x, y, z, *angles), lidar)
    intrinsics = np.array(known["intrinsic"], np.float64)
    if intrinsics.shape != (3, 3) or not np.isfinite(intrinsics).all() or intrinsics[0, 0] <= 0:
        raise ValueError("intrinsic: a matrix of 3 x 3 with a focal length is needed")
    return CameraImage(
        name=str(known.get("name", "camera")),
        pixels=pixels,
        intrinsics=intrinsics,
        camera_in_lidar=camera,
        # other layouts do not give it: the LiDAR's height in the world is the nearest to it
        above_road=float(known.get("above_road", camera.z + lidar.z)),
    )

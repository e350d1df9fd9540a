"""Pictures of an attempt's cameras as they are kept: JPEG, with where the camera is."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from harness.common.errors import UserError
from harness.common.pictures import NOT_A_PICTURE, encode_jpeg, open_picture
from harness.records.reading import read_stored_table
from harness.types.vocabulary import CameraImage, Pose

POSE = ("x", "y", "z", "yaw", "pitch", "roll")


def pack_picture(image: CameraImage) -> dict[str, Any]:
    """Return the columns of a picture."""
    return {
        "camera": image.name,
        **{name: getattr(image.camera_in_lidar, name) for name in POSE},
        "focal": float(image.intrinsics[0, 0]),
        "centre_column": float(image.intrinsics[0, 2]),
        "centre_row": float(image.intrinsics[1, 2]),
        "jpeg": encode_jpeg(image.pixels),
    }


def read_kept_pictures(
    attempt: Path, camera: str, within: Path | None = None
) -> dict[tuple[int, str], CameraImage]:
    """Return one camera's pictures of all agents by frame and sender.

    Args:
        attempt: the folder of a try.
        camera: such as `front`.
        within: the folder that the user named, as in `open_regular`.

    Returns:
        None at all where the campaign kept no pictures.

    Raises:
        UserError: what is kept is no picture.
    """
    file = attempt / "pictures.parquet"
    if not os.path.lexists(file):
        return {}
    table = read_stored_table(file, "pictures", within)
    try:
        return {
            (int(row["frame"]), str(row["sender"])): unpack_picture(row)
            for row in table[table["camera"].astype(str) == camera].to_dict("records")
        }
    except NOT_A_PICTURE as problem:
        raise UserError(f"{file}: not a picture ({str(problem).splitlines()[0]})") from None


def unpack_picture(row: Mapping[Any, Any]) -> CameraImage:
    """Return the picture of some columns; it is a camera above a road of unknown height."""
    focal = float(row["focal"])
    if not focal > 0:
        raise ValueError(f"a focal length of {focal:g}")
    intrinsics = np.array(
        [
            [focal, 0.0, float(row["centre_column"])],
            [0.0, focal, float(row["centre_row"])],
            [0.0, 0.0, 1.0],
        ]
    )
    pose = Pose(**{name: float(row[name]) for name in POSE})
    if not np.isfinite([*intrinsics.ravel(), *(getattr(pose, name) for name in POSE)]).all():
        raise ValueError("a camera at a place that is no number")
    return CameraImage(
        name=str(row["camera"]),
        pixels=np.asarray(open_picture(io.BytesIO(row["jpeg"])).convert("RGB")),
        intrinsics=intrinsics,
        camera_in_lidar=pose,
        above_road=math.nan,
    )

"""Pictures as OPV2V has them: front, right, left, rear, and HEAL's depths and visibility maps.

HEAL trains and tests cameras on vehicles that its map of visibility shows: 256 x 256 cells of
0.39 m round the LiDAR, x up and y to the right, not black where a vehicle is seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from PIL.ImageDraw import Draw as Pencil

from harness.common.pictures import iter_camera_records
from harness.common.recordings import AgentLook
from harness.types.geometry import build_pose_matrix
from harness.types.vocabulary import VEHICLE, CameraImage, Floats, Mask, Singles

ORDER = ("front", "right", "left", "rear")
"""Of OPV2V's `camera0` to `camera3`."""
DEEPEST = 255
"""Metres: HEAL's depths have one byte."""
CELLS, CELL = 256, 0.39
"""Of a map of visibility: cells of a side, metres of a cell."""
FARTHEST = 55.0
"""Metres beyond which a map of visibility shows nothing."""
CENTRE = 127
"""Row and column of the LiDAR."""
PIXELS_SEEN = 5
"""Pixels of all cameras that must show a vehicle, as the ground truth needs five returns."""
FINEST = 256
"""Columns of a picture that are looked at for it."""
ROUND_BOX = 0.1
"""Metres beyond a box within which a pixel's depth is of the vehicle."""


def order_cameras(images: Sequence[CameraImage]) -> list[int]:
    """Return the numbers of the images in OPV2V's order; as recorded if they have other names."""
    names = [image.name for image in images]
    if sorted(names) != sorted(ORDER):
        return list(range(len(names)))
    return [names.index(name) for name in ORDER]


def write_opv2v_pictures(
    place: Path, look: AgentLook, images: Sequence[CameraImage], depths: Sequence[Singles]
) -> dict[str, Any]:
    """Write the pictures of a look, and return what its `.yaml` says of them.

    Args:
        place: agent's folder and name of the moment, without an ending.
        look: of the same moment.
        images: of its cameras; none writes nothing.
        depths: (rows, columns) metres of each image; none if they were not recorded.
    """
    if not images:
        return {}
    order = order_cameras(images)
    images = [images[number] for number in order]
    depths = [depths[number] for number in order] if len(depths) == len(order) else []
    records: dict[str, Any] = {}
    for number, image in enumerate(images):
        Image.fromarray(image.pixels).save(place.with_name(f"{place.name}_camera{number}.png"))
        rows, columns = image.pixels.shape[:2]
        ((_, record),) = iter_camera_records([image], look.lidar_in_world, (columns, rows))
        records[f"camera{number}"] = record
    for number, metres in enumerate(depths):
        whole = np.rint(np.clip(metres, 0, DEEPEST)).astype(np.uint8)
        Image.fromarray(whole).save(place.with_name(f"{place.name}_depth{number}.png"))
    vehicles = look.truth.boxes_in_lidar.geometry[look.truth.boxes_in_lidar.classes == VEHICLE]
    hits = look.truth.hits[look.truth.boxes_in_lidar.classes == VEHICLE]
    seen = (
        find_boxes_in_depths(vehicles, images, depths)
        if depths
        else (hits > 0) & find_boxes_in_view(vehicles, images)
    )
    map_of_seen = Image.fromarray(rasterise_visible_boxes(vehicles[seen]))
    map_of_seen.save(place.with_name(f"{place.name}_bev_visibility.png"))
    return records


def rasterise_visible_boxes(boxes: Floats) -> NDArray[np.uint8]:
    """Return (256, 256, 3) cells that are white where one of the boxes is.

    Args:
        boxes: (N, 7) in the LiDAR's frame.
    """
    shown = Image.new("L", (CELLS, CELLS))
    pencil = Pencil(shown)
    for x, y, _, length, width, _, yaw in boxes.tolist():
        ahead = np.array([np.cos(yaw), np.sin(yaw)]) * length / 2
        aside = np.array([-np.sin(yaw), np.cos(yaw)]) * width / 2
        corners = [ahead + aside, ahead - aside, -ahead - aside, -ahead + aside]
        places = [(CENTRE + (y + c[1]) / CELL, CENTRE - (x + c[0]) / CELL) for c in corners]
        pencil.polygon(places, fill=255)
        # the cell that is asked for, by HEAL's rounding
        pencil.point((CENTRE + int(y / CELL), CENTRE - int(x / CELL)), fill=255)
    return np.repeat(np.asarray(shown)[..., None], 3, axis=2)


def find_boxes_in_depths(
    boxes: Floats, images: Sequence[CameraImage], depths: Sequence[Singles]
) -> Mask:
    """Return which boxes enough pixels lie in, by their depth.

    Args:
        boxes: (N, 7) in the LiDAR's frame.
        images: of the agent's cameras.
        depths: (rows, columns) metres along the view axis, of the same cameras.
    """
    places = np.concatenate(
        [locate_depth_pixels(image, metres) for image, metres in zip(images, depths, strict=True)]
    )
    places = places[(np.abs(places[:, :2]) < FARTHEST).all(axis=1)]
    counts = np.zeros(len(boxes), np.int64)
    for number, (x, y, z, length, width, height, yaw) in enumerate(boxes.tolist()):
        if max(abs(x), abs(y)) > FARTHEST:
            continue
        east, south = places[:, 0] - x, places[:, 1] - y
        ahead = east * np.cos(yaw) + south * np.sin(yaw)
        aside = south * np.cos(yaw) - east * np.sin(yaw)
        inside = np.abs(ahead) <= length / 2 + ROUND_BOX
        inside &= np.abs(aside) <= width / 2 + ROUND_BOX
        inside &= np.abs(places[:, 2] - z) <= height / 2 + ROUND_BOX
        counts[number] = inside.sum()
    return counts >= PIXELS_SEEN


def locate_depth_pixels(image: CameraImage, metres: Singles) -> Floats:
    """Return (N, 3) places of pixels in the LiDAR's frame, of those that are not too far.

    Args:
        image: of the camera; its size may be another one than the depths'.
        metres: (rows, columns) along the view axis.
    """
    rows, columns = metres.shape
    scales = np.diag([columns / image.pixels.shape[1], rows / image.pixels.shape[0], 1.0])
    inverse = np.linalg.inv(scales @ image.intrinsics)
    step = max(1, columns // FINEST)
    row, column = (step * part for part in np.nonzero(metres[::step, ::step] < FARTHEST))
    rays = np.column_stack([column + 0.5, row + 0.5, np.ones(len(row))]) @ inverse.T
    # (right, down, ahead) of unit depth to (ahead, right, up)
    depth = metres[row, column].astype(np.float64)[:, None]
    local = np.column_stack([rays[:, 2], rays[:, 0], -rays[:, 1]]) * depth
    stands = build_pose_matrix(image.camera_in_lidar)
    places: Floats = local @ stands[:3, :3].T + stands[:3, 3]
    return places


def find_boxes_in_view(boxes: Floats, images: Sequence[CameraImage]) -> Mask:
    """Return which boxes have their middle in one of the pictures.

    Args:
        boxes: (N, 7) in the LiDAR's frame.
        images: of the agent's cameras.
    """
    seen = np.zeros(len(boxes), np.bool_)
    for image in images:
        pixels = project_points(boxes[:, :3], image)
        rows, columns = image.pixels.shape[:2]
        inside = (pixels[:, :2] >= 0).all(axis=1) & (pixels[:, :2] < [columns, rows]).all(axis=1)
        seen |= inside & (pixels[:, 2] > 0)
    return seen


def project_points(points: Floats, image: CameraImage) -> Floats:
    """Return (N, 3) column, row and depth of points.

    Args:
        points: (N, 3) in the LiDAR's frame.
        image: of the camera.
    """
    inverse = np.linalg.inv(build_pose_matrix(image.camera_in_lidar))
    x, y, z = (points @ inverse[:3, :3].T + inverse[:3, 3]).T
    column, row, depth = image.intrinsics @ np.array([y, -z, x])
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.column_stack([column / depth, row / depth, depth])

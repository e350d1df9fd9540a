"""Boxes as the rectangles that they fill in the ego's pictures, and errors counted by these.

MultiTest counts its errors, and its fitness, for boxes in space and for boxes in pictures. Systems
here detect boxes in space; their rectangles in pictures are the smallest that hold the corners.
Two boxes overlap in pictures by the most that they do in any one picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.types.geometry import build_pose_matrix
from harness.types.vocabulary import Boxes, CameraImage, Floats, Mask
from studies.metamorphic.judging.checks import JudgedObjects, select_exposed_detections
from studies.metamorphic.judging.guidance import (
    FARTHEST,
    MultiTestParts,
    compute_parts_of_overlaps,
)
from studies.metamorphic.relations.matching import OVERLAP

NEAREST = 0.3
"""Metres ahead of a camera: what is nearer is cut off."""
LEAST_SIDE = 3.0
"""Pixels of a rectangle's width and height, in pictures of 256 pixels, to be seen at all."""
EDGES = np.array(
    [[0, 1], [1, 3], [3, 2], [2, 0], [4, 5], [5, 7], [7, 6], [6, 4], [0, 4], [1, 5], [2, 6], [3, 7]]
)
SIGNS = np.array([[a, b, c] for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)], np.float64)


def project_boxes(boxes: Boxes, image: CameraImage) -> Floats:
    """Return the rectangles of boxes in a picture: left, top, right, bottom in pixels.

    Args:
        boxes: in the LiDAR's frame of the agent that has the camera.
        image: of the camera.

    Returns:
        (boxes, 4); NaN where a box is not in the picture, or too small there.
    """
    rows, columns = image.pixels.shape[:2]
    rectangles = np.full((len(boxes), 4), np.nan)
    if not len(boxes):
        return rectangles
    into = np.linalg.inv(build_pose_matrix(image.camera_in_lidar))
    corners = compute_box_corners(boxes.geometry) @ into[:3, :3].T + into[:3, 3]
    for number, corner in enumerate(corners):
        rectangle = _bound_points(_cut_edges(corner), image)
        if rectangle is None:
            continue
        cut = np.clip(rectangle, 0, [columns, rows, columns, rows])
        if (cut[2:] - cut[:2] >= LEAST_SIDE * columns / 256).all():
            rectangles[number] = cut
    return rectangles


def compute_box_corners(geometry: Floats) -> Floats:
    """Return the (boxes, 8, 3) corners of boxes `x y z length width height yaw`."""
    local = SIGNS[None] * geometry[:, None, 3:6] / 2
    cos, sin = np.cos(geometry[:, 6:]), np.sin(geometry[:, 6:])
    x = geometry[:, :1] + cos * local[..., 0] - sin * local[..., 1]
    y = geometry[:, 1:2] + sin * local[..., 0] + cos * local[..., 1]
    return np.stack([x, y, geometry[:, 2:3] + local[..., 2]], axis=-1)


def _cut_edges(corners: Floats) -> Floats:
    """Return what of a box's (8, 3) corners and edges is ahead of the camera, as points."""
    start, end = corners[EDGES[:, 0]], corners[EDGES[:, 1]]
    ahead = corners[:, 0] >= NEAREST
    crossing = (start[:, 0] >= NEAREST) != (end[:, 0] >= NEAREST)
    start, end = start[crossing], end[crossing]
    share = (NEAREST - start[:, :1]) / (end[:, :1] - start[:, :1])
    return np.concatenate([corners[ahead], start + share * (end - start)])


def _bound_points(points: Floats, image: CameraImage) -> Floats | None:
    """Return the rectangle round points ahead of a camera; None without points."""
    if not len(points):
        return None
    x, y, z = points.T
    seen = np.column_stack([y / x, -z / x, np.ones(len(x))]) @ image.intrinsics.T
    bounds: Floats = np.concatenate([seen[:, :2].min(axis=0), seen[:, :2].max(axis=0)])
    return bounds


def compute_rectangle_ious(one: Floats, other: Floats) -> Floats:
    """Return the (N, M) overlap ratios of rectangles; 0 where one is NaN."""
    low = np.maximum(one[:, None, :2], other[None, :, :2])
    high = np.minimum(one[:, None, 2:], other[None, :, 2:])
    shared = np.maximum(high - low, 0.0).prod(axis=2)
    areas, others = ((r[:, 2:] - r[:, :2]).prod(axis=1) for r in (one, other))
    union = areas[:, None] + others[None] - shared
    ratios: Floats = np.nan_to_num(shared / np.maximum(union, 1e-9))
    return ratios


@dataclass(frozen=True, slots=True, eq=False)
class PictureOverlaps:
    """Overlap ratios of boxes in pictures, and which are seen in any."""

    overlaps: Floats  # (N, M), within a class
    seen: Mask  # (N,)
    other_seen: Mask  # (M,)


def compute_picture_overlaps(
    one: Boxes, other: Boxes, images: Sequence[CameraImage], *, any_class: bool = False
) -> PictureOverlaps:
    """Return by how much boxes overlap in pictures.

    Args:
        one: in the LiDAR's frame.
        other: in the same.
        images: of the agent's cameras.
        any_class: whether boxes of two classes may overlap.
    """
    overlaps = np.zeros((len(one), len(other)))
    seen, other_seen = np.zeros(len(one), np.bool_), np.zeros(len(other), np.bool_)
    for image in images:
        first, second = project_boxes(one, image), project_boxes(other, image)
        overlaps = np.maximum(overlaps, compute_rectangle_ious(first, second))
        seen |= np.isfinite(first[:, 0])
        other_seen |= np.isfinite(second[:, 0])
    if not any_class:
        overlaps *= one.classes[:, None] == other.classes[None]
    return PictureOverlaps(overlaps, seen, other_seen)


def compute_picture_parts(
    truth: Boxes, detections: Boxes, images: Sequence[CameraImage], farthest: float = FARTHEST
) -> MultiTestParts:
    """Return the parts of MultiTest's fitness of what is seen in pictures (3.3, eq. 6 to 8)."""
    known = compute_picture_overlaps(truth, detections, images)
    return compute_parts_of_overlaps(
        truth[known.seen],
        detections[known.other_seen],
        known.overlaps[known.seen][:, known.other_seen],
        farthest,
    )


def count_picture_errors(
    detections: Boxes, objects: JudgedObjects, images: Sequence[CameraImage], tau: float = OVERLAP
) -> dict[str, tuple[int, int]]:
    """Return MultiTest's errors in pictures: how many, and among how many.

    Args:
        detections: in the ego's LiDAR frame.
        objects: that are judged.
        images: of the ego's cameras.
        tau: overlap ratio of a detection.
    """
    known = compute_picture_overlaps(objects.judged, detections, images)
    best = known.overlaps[known.seen].max(axis=1, initial=0.0)
    # a detection of nothing overlaps no road user of any kind, and no scenery that looks like one
    everything = Boxes.join([objects.judged, objects.others, objects.parked])
    there = compute_picture_overlaps(detections, everything, images, any_class=True)
    exposed = select_exposed_detections(detections, objects) & there.seen
    nothing = there.overlaps.max(axis=1, initial=0.0) <= 0
    return {
        "missed": (int((best <= 0).sum()), len(best)),
        "mislocalised": (int(((best > 0) & (best <= tau)).sum()), int((best > 0).sum())),
        "additional": (int((exposed & nothing).sum()), int(exposed.sum())),
    }

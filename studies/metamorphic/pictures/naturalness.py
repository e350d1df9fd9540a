"""Do box, points and pixels of an inserted object agree, and do changed pictures look recorded?

Modality consistency is MultiTest's (equation 11): the overlap ratio of an object's rectangle in a
picture with the rectangle of its box. Next to it stand the share of the object's points that fall
on its pixels, and how far these points are from the depths there. Naturalness of pictures is a
Fréchet distance of plain statistics: not FID, which needs the activations of a trained network.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.types.geometry import build_pose_matrix
from harness.types.vocabulary import Boxes, CameraImage, Floats, Mask, Singles
from studies.metamorphic.judging.picture_boxes import compute_rectangle_ious, project_boxes
from studies.metamorphic.scenes.owners import transform_to_box_frame
from studies.metamorphic.scenes.scene import AgentView, CooperativeScene

NEARER = 0.05
"""Metres by which an object is nearer than what was there, to have its pixels."""
LEAST_PIXELS = 30
"""Of an object in a picture, to be measured there."""
FOOT = 0.1
"""Metres over the foot of a box below which a point is the ground's."""
PICTURE_STATISTICS = (
    *("red", "green", "blue"),  # means, 0 to 1
    "contrast",  # standard deviation of brightness
    "saturation",  # mean of the largest less the smallest channel
    "along",  # mean step of brightness to the right
    "down",  # and downwards
    "edges",  # share of steps larger than EDGE
    "roughness",  # mean bend of brightness
    "clipped",  # share of pixels with a channel at 0 or 255
)
EDGE = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectInPicture:
    """What one picture shows of an inserted object."""

    overlap: float  # of its rectangle with that of its box
    points: int  # of the agent's sweep on the object, that fall into the picture
    on_pixels: int  # of those, on pixels of the object or next to one
    depth_error: float  # m, median between these points and the depths of their pixels; or NaN


def measure_object(
    scene: CooperativeScene,
    actor: int,
    depths: Iterator[Singles],
    depths_before: Iterator[Singles],
) -> list[ObjectInPicture]:
    """Return what pictures show of an inserted object, in those where it has enough pixels.

    Args:
        scene: with the object.
        actor: its id.
        depths: (rows, columns) m of all pictures, views and cameras in order.
        depths_before: the same without the object.
    """
    measured = []
    for view in scene.views:
        truth = view.truth
        box = truth.boxes_in_lidar[truth.actor_ids == actor]
        for image in view.images:
            after, before = next(depths), next(depths_before)
            mask = after < before - NEARER
            if len(box) and mask.sum() >= LEAST_PIXELS:
                measured.append(measure_in_picture(view, box, image, mask=mask, depth=after))
    return measured


def measure_in_picture(
    view: AgentView, box: Boxes, image: CameraImage, *, mask: Mask, depth: Singles
) -> ObjectInPicture:
    """Return what one picture shows of an object.

    Args:
        view: of the agent.
        box: one, in its LiDAR's frame.
        image: of its camera.
        mask: (rows, columns) pixels of the object.
        depth: (rows, columns) m.
    """
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    shown = np.array([[columns[0], rows[0], columns[-1] + 1, rows[-1] + 1]], np.float64)
    overlap = compute_rectangle_ious(shown, project_boxes(box, image))[0, 0]
    # points on the object, and the pixels that they fall on
    at, ahead = project_points(select_points_in_box(view, box.geometry[0]), image)
    inside = ((at >= 0) & (at < mask.shape[::-1])).all(axis=1)
    column, row = at[inside].T
    error = np.abs(depth[row, column] - ahead[inside])
    on = mask[row, column]
    return ObjectInPicture(
        overlap=float(overlap),
        points=int(inside.sum()),
        on_pixels=int(grow_mask(mask)[row, column].sum()),
        depth_error=float(np.median(error[on])) if on.any() else float("nan"),
    )


def select_points_in_box(view: AgentView, box: Floats) -> Floats:
    """Return the points of a view in a box, above its foot."""
    points = view.points_in_lidar[:, :3].astype(np.float64)
    local = transform_to_box_frame(points, box)
    inside = (np.abs(local) <= box[3:6] / 2 + 0.01).all(axis=1) & (local[:, 2] > FOOT - box[5] / 2)
    return np.asarray(points[inside])


def project_points(points: Floats, image: CameraImage) -> tuple[NDArray[np.int64], Floats]:
    """Return (N, 2) column and row of points ahead of a camera, and m along its axis."""
    into = np.linalg.inv(build_pose_matrix(image.camera_in_lidar))
    local = points @ into[:3, :3].T + into[:3, 3]
    x, y, z = local[local[:, 0] > FOOT].T
    seen = np.column_stack([y / x, -z / x, np.ones(len(x))]) @ image.intrinsics.T
    return np.floor(seen[:, :2]).astype(np.int64), np.asarray(x)


def grow_mask(mask: Mask) -> Mask:
    """Return a mask with all neighbours of its pixels."""
    wide = np.pad(mask, 1)
    rows, columns = mask.shape
    return np.asarray(
        np.any(
            [
                wide[down : down + rows, right : right + columns]
                for down in range(3)
                for right in range(3)
            ],
            axis=0,
        )
    )


def measure_picture_statistics(pixels: NDArray[np.uint8]) -> Floats:
    """Return the statistics of a picture, by `PICTURE_STATISTICS`.

    Args:
        pixels: (rows, columns, 3).
    """
    colours = pixels.astype(np.float64) / 255
    light = colours.mean(axis=2)
    along, down = np.abs(np.diff(light, axis=1)), np.abs(np.diff(light, axis=0))
    bends = np.abs(np.diff(light, n=2, axis=1))
    edges = np.concatenate([along.ravel(), down.ravel()]) > EDGE
    return np.array(
        [
            *colours.mean(axis=(0, 1)),
            light.std(),
            (colours.max(axis=2) - colours.min(axis=2)).mean(),
            along.mean(),
            down.mean(),
            edges.mean(),
            bends.mean(),
            ((pixels == 0) | (pixels == 255)).any(axis=2).mean(),
        ]
    )


def corrupt_pixels(pixels: NDArray[np.uint8], random: np.random.Generator) -> NDArray[np.uint8]:
    """Return a picture with noise of a standard deviation of 5 %: the control of the distance."""
    noisy = pixels + random.normal(0.0, 0.05 * 255, pixels.shape)
    return np.clip(np.rint(noisy), 0, 255).astype(np.uint8)

"""Late fusion: partners' boxes brought into the ego's LiDAR frame, each road user once."""

from __future__ import annotations

import numpy as np

from harness.types.geometry import transform_boxes
from harness.types.vocabulary import Boxes, Mask, Message, Pose

EGO = Pose(0.0, 0.0)

CLOSEST, FARTHEST = 1.0, 2.5
"""Metres between the centres of two boxes that may be one road user, small or large."""

EGO_BODY = (2.9, 1.5)
"""Metres ahead or behind, and aside, of the ego's centre: a box there is the ego itself."""


def merge_partner_boxes(
    of_ego: Boxes, messages: tuple[Message, ...], lidar_in_world: Pose, lidar_in_ego: Pose
) -> Boxes:
    """Return the ego's boxes and what partners add to them, in the ego's LiDAR frame now.

    Partners' boxes are placed by the pose that the sender believed at capture. Where two may
    be one road user, the ego's box counts first, then that of the newest message.

    Args:
        of_ego: what the ego detects, in its LiDAR frame.
        messages: with boxes, each in its sender's LiDAR frame.
        lidar_in_world: the ego's LiDAR now, as it believes.
        lidar_in_ego: where the LiDAR is mounted on the vehicle.

    Returns:
        Boxes in the ego's LiDAR frame.

    Raises:
        TypeError: a message carries something else than boxes.
    """
    merged = of_ego
    newest_first = sorted(messages, key=lambda message: (-message.capture_time, message.sender))
    # a box is added unless it may be one that is there already, or the ego itself
    for message in newest_first:
        if not isinstance(message.payload, Boxes):
            raise TypeError(f"{message.sender} sent no boxes")
        theirs = transform_boxes(message.payload, message.lidar_in_world, lidar_in_world)
        theirs = theirs[~find_ego_boxes(theirs, lidar_in_ego)]
        merged = Boxes.join([merged, theirs[~find_known_boxes(theirs, merged)]])
    return merged


def find_known_boxes(boxes: Boxes, already: Boxes) -> Mask:
    """Return which boxes may be a road user that is among the others.

    Args:
        boxes: N boxes.
        already: M boxes in the same frame.

    Returns:
        (N,)
    """
    # (N, M) metres; the larger the known box, the farther a second one may be
    away = np.linalg.norm(boxes.geometry[:, None, :2] - already.geometry[None, :, :2], axis=2)
    reach = np.clip(0.5 * already.geometry[:, 3], CLOSEST, FARTHEST)
    same = (away < reach) & (boxes.classes[:, None] == already.classes)
    result: Mask = same.any(1)
    return result


def find_ego_boxes(boxes_in_lidar: Boxes, lidar_in_ego: Pose) -> Mask:
    """Return which boxes are where the ego is.

    Args:
        boxes_in_lidar: N boxes in the ego's LiDAR frame.
        lidar_in_ego: where the LiDAR is mounted on the vehicle.

    Returns:
        (N,) true for the ego's body.
    """
    boxes_in_ego = transform_boxes(boxes_in_lidar, lidar_in_ego, EGO).geometry
    ahead, aside = EGO_BODY
    result: Mask = (np.abs(boxes_in_ego[:, 0]) < ahead) & (np.abs(boxes_in_ego[:, 1]) < aside)
    return result

"""What a message holds, if it is what the system fuses."""

from __future__ import annotations

from harness.types.geometry import transform_boxes
from harness.types.vocabulary import Boxes, Message, Points, Pose, Singles


def get_sent_points(message: Message) -> Singles:
    """Return the sweep of a message."""
    if not isinstance(message.payload, Points):
        raise TypeError(f"{message.sender} sent no points")
    return message.payload.in_lidar


def transform_sent_boxes(message: Message, lidar_in_world: Pose) -> Boxes:
    """Return a partner's boxes in the ego's LiDAR frame, by the pose that the sender believed.

    Args:
        message: with boxes in the sender's LiDAR frame.
        lidar_in_world: the ego's LiDAR, as it believes.

    Raises:
        TypeError: the payload is not boxes.
    """
    if not isinstance(message.payload, Boxes):
        raise TypeError(f"{message.sender} sent no boxes")
    return transform_boxes(message.payload, message.lidar_in_world, lidar_in_world)

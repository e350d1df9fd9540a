"""False positives: a partner reports vehicles that are not there."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from harness.channel.disturbance import Disturbance, cannot_touch
from harness.channel.effects import Window
from harness.common.errors import UserError
from harness.types.vocabulary import VEHICLE, Boxes, Floats, Kind, Message, Points, Singles

SIZE = (4.5, 1.9, 1.6)
"""Metres: an ordinary car."""
SPACING = 0.2
"""Metres between returns on a ghost's skin."""
INTENSITY = 0.9
LIDAR_HEIGHT: Mapping[Kind, float] = {"roadside": 7.5, "vehicle": 1.85}


class Ghosts(Disturbance):
    """Cars that stand round a partner and go where it goes: boxes, or returns from their skins."""

    safe_from_file = True
    name = "ghosts"

    def __init__(
        self,
        count: int = 2,  # boxes in each message
        nearest: float = 6.0,  # m from the partner
        *,
        farthest: float = 30.0,  # m from the partner
        lidar_height: Mapping[Kind, float] = LIDAR_HEIGHT,  # m above the road
        score: float = 0.9,  # 0 to 1
    ) -> None:
        super().__init__(tuple(lidar_height))
        if count < 0 or not 0 <= nearest <= farthest:
            raise UserError(
                f"ghosts: {count} between {nearest} and {farthest} m: count must be"
                " ≥ 0, and nearest ≤ farthest"
            )
        self.count, self.nearest, self.farthest = count, nearest, farthest
        self.lidar_height = dict(lidar_height)
        self.score = score

    @property
    def size_zero(self) -> bool:
        """Whether there are no ghosts."""
        return self.count == 0

    def can_reach(self, distance: float, window: Window) -> bool:
        """Return whether a ghost, standing well, reaches into the window."""
        return self.nearest - math.hypot(*SIZE[:2]) / 2 <= distance + math.hypot(*window)

    def alter(self, message: Message) -> Message:
        """Return the message with the ghosts in it."""
        ghosts = self.sample_ghosts(message.sender, message.kind)
        if isinstance(message.payload, Boxes):
            return replace(message, payload=Boxes.join([message.payload, ghosts]))
        if isinstance(message.payload, Points):
            sweep = message.payload.in_lidar
            skins = [sample_box_surface(row) for row in ghosts.geometry]
            return replace(message, payload=Points(np.concatenate([sweep, *skins])))
        raise cannot_touch(self, message)

    def sample_ghosts(self, sender: str, kind: Kind) -> Boxes:
        """Return this episode's ghosts of a partner.

        Args:
            sender: name of the partner.
            kind: of the partner; it decides how high its LiDAR stands.

        Returns:
            `count` boxes in the partner's LiDAR frame.
        """
        random = self.random(sender)
        distance = random.uniform(self.nearest, self.farthest, self.count)
        bearing, yaw = random.uniform(-math.pi, math.pi, (2, self.count))
        # (count, 7) on the road: the LiDAR's height below the sensor
        geometry = np.empty((self.count, 7))
        geometry[:, 0] = distance * np.cos(bearing)
        geometry[:, 1] = distance * np.sin(bearing)
        geometry[:, 2] = SIZE[2] / 2 - self.lidar_height[kind]
        geometry[:, 3:6] = SIZE
        geometry[:, 6] = yaw
        classes = np.full(self.count, VEHICLE, np.int64)
        return Boxes(geometry, classes, np.full(self.count, self.score))


def sample_box_surface(box: Floats) -> Singles:
    """Return returns of a LiDAR at the origin from the faces of a box that look at it.

    Args:
        box: (7,) in the LiDAR's frame, metres and radians.

    Returns:
        (points, 4) x y z intensity in the LiDAR's frame; none if the LiDAR is inside the box.
    """
    x, y, z, *sizes, yaw = box.tolist()
    # (3, 3) from the box's frame to the LiDAR's
    turn = np.array(
        [
            [math.cos(yaw), -math.sin(yaw), 0.0],
            [math.sin(yaw), math.cos(yaw), 0.0],
            [0.0, 0.0, 1.0],
        ]
    )
    half = np.array(sizes) / 2
    # the faces that look at the LiDAR: it is beyond them along their axis
    lidar_in_box = -np.array([x, y, z]) @ turn
    faces = [
        make_face_grid(half, axis, float(np.sign(lidar_in_box[axis])))
        for axis in range(3)
        if abs(lidar_in_box[axis]) > half[axis]
    ]
    if not faces:
        return np.zeros((0, 4), np.float32)
    # (points, 3) back in the LiDAR's frame
    points = np.concatenate(faces) @ turn.T + [x, y, z]
    return np.column_stack([points, np.full(len(points), INTENSITY)]).astype(np.float32)


def make_face_grid(half: Floats, axis: int, side: float) -> Floats:
    """Return a grid of points on one face of a box, in the box's frame.

    Args:
        half: (3,) half sizes, m.
        axis: that the face is across: 0 length, 1 width, 2 height.
        side: 1 or -1 along the axis.

    Returns:
        (points, 3) in metres.
    """
    ticks = [
        np.linspace(-extent, extent, math.ceil(2 * extent / SPACING) + 1)
        for extent in half.tolist()
    ]
    ticks[axis] = np.array([side * half[axis]])
    return np.stack(np.meshgrid(*ticks), axis=-1).reshape(-1, 3)

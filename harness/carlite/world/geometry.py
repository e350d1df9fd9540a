"""Boxes of actors, in the world."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness.carlite.actors import ActorTable
from harness.carlite.sensors.frames import build_rotation_matrix
from harness.carlite.wire.codec import Rotation, Vector
from harness.carlite.wire.records import BoundingBox


def transform_body_point(
    position: Sequence[float], rotation: Sequence[float], point: Sequence[float]
) -> Vector:
    """Return where a point of a body's frame is, the body being at a pose.

    Args:
        position: m in the world.
        rotation: pitch, yaw and roll, rad.
        point: m in the frame of the body.
    """
    turned = build_rotation_matrix(*rotation) @ np.asarray(point, np.float64)
    x, y, z = (turned + position).tolist()
    return x, y, z


def build_actor_box(table: ActorTable, slot: int) -> BoundingBox:
    """Return an actor's bounding box in the world.

    Args:
        table: of all actors.
        slot: row of the actor.
    """
    pitch, yaw, roll = table.rotation[slot].tolist()
    long, wide, high = table.extent[slot].tolist()
    return BoundingBox(
        transform_body_point(
            table.position[slot].tolist(), (pitch, yaw, roll), table.box_centre[slot].tolist()
        ),
        (long, wide, high),
        Rotation((pitch, yaw, roll)),
        int(table.id[slot]),
    )

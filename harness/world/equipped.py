"""Which vehicles and corners of junctions are equipped, by the share that is."""

from __future__ import annotations

import carla
import numpy as np

from harness.types.vocabulary import VEHICLE, Mask
from harness.world.attempt_context import AttemptContext
from harness.world.rig import LidarMount
from harness.world.scene import get_road_user_class


def choose_connected(context: AttemptContext, count: int, share: float) -> Mask:
    """Return which background vehicles are connected, there or not: (count,).

    Each has a number of its own, so that those of a small share are among those of a larger one.
    """
    return np.asarray(context.random("connected").random(count) < share)


def choose_corners(context: AttemptContext, count: int, share: float) -> Mask:
    """Return which corners have a roadside unit, nested as connected vehicles are: (count,)."""
    return np.asarray(context.random("corners").random(count) < share)


def can_carry_lidar(vehicle: carla.Actor, mount: LidarMount) -> bool:
    """Return whether a LiDAR can be mounted: on a car's roof, and not inside a taller body.

    The mount is fixed, so it has to stand above the roof and within the outline.

    Args:
        vehicle: of the background traffic.
        mount: of connected vehicles; metres on the vehicle.
    """
    if get_road_user_class(vehicle) != VEHICLE:
        return False
    box = vehicle.bounding_box
    return bool(
        abs(mount.x - box.location.x) <= box.extent.x
        and abs(mount.y - box.location.y) <= box.extent.y
        and box.location.z + box.extent.z <= mount.z
    )

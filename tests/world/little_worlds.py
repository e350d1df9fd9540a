"""A small state of a world, as `crucible collect` writes it."""

from __future__ import annotations

import numpy as np

from harness.common.world_states import WorldState


def make_little_world() -> WorldState:
    """Return two cars and a walker, two lights, and the cameras of a car and of a unit."""
    poses = (np.arange(18).reshape(3, 6) / 7).astype(np.float32)
    return WorldState(
        actors=np.array([11, 12, 40]),
        blueprints=("vehicle.tesla.model3", "walker.pedestrian.0001", "vehicle.tesla.model3"),
        poses=poses,
        lamps=np.array([3, 0, 8]),
        signals=np.array([0, 2], np.uint8),
        weather={"sun_altitude_angle": 45.0, "cloudiness": 10.0},
        hidden=np.array([5]),
        cameras={-1: poses[2:], 11: poses[:2]},
    )

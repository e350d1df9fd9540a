"""The ground along a fan of rays, ray by ray: what the lanes of `ray_lanes` are held against."""

from __future__ import annotations

import numpy as np

from harness.carlite.arrays import Floats, Int32s
from harness.carlite.compiled import compiled
from harness.carlite.sensors.fan import RayFan
from harness.carlite.sensors.rasterise import GROUND
from harness.carlite.sensors.ray_march import NEAREST, trace_ray
from harness.carlite.sensors.relief import (
    GroundRelief,
    find_steepest_in_reach,
    interpolate_relief_height,
    is_over_grid,
)


@compiled
def trace_ground_slowly(
    relief: GroundRelief,
    rotation: Floats,
    origin: Floats,
    reach: float,
    fan: RayFan,
    nearness: Floats,
    source: Int32s,
) -> None:
    """Draw the ground as `rasterise_ground` does, with the same arguments."""
    cell = relief.cell
    x, y, z = (origin[0] - relief.x) / cell, (origin[1] - relief.y) / cell, origin[2]
    if is_over_grid(relief, x, y) and z < interpolate_relief_height(relief.heights, x, y):
        return
    lean = np.sqrt(rotation[0, 2] ** 2 + rotation[1, 2] ** 2)
    shared = rotation[2, 2] > lean * find_steepest_in_reach(relief, x, y, reach / cell)
    up_x, up_y, up_z = rotation[0, 2] / cell, rotation[1, 2] / cell, rotation[2, 2]
    for column in range(len(nearness)):
        cosine, sine, scale = fan.cosine[column], fan.sine[column], fan.scale[column]
        out_x = (rotation[0, 0] * cosine + rotation[0, 1] * sine) / cell
        out_y = (rotation[1, 0] * cosine + rotation[1, 1] * sine) / cell
        out_z = rotation[2, 0] * cosine + rotation[2, 1] * sine
        start = 0.0
        for ray in range(len(fan.slopes)):
            start = start if shared else 0.0
            if nearness[column, ray] * start >= 1:
                continue
            slope = fan.slopes[ray]
            hit, start = trace_ray(
                relief, x, y, z, out_x + slope * (up_x * scale), out_y + slope * (up_y * scale),
                out_z + slope * (up_z * scale), start, 1 / nearness[column, ray],
            )  # fmt: skip
            if hit < np.inf:
                nearness[column, ray], source[column, ray] = 1 / max(hit, NEAREST), GROUND

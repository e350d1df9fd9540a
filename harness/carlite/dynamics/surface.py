"""The ground as a vehicle feels it: height and slope of the plane under its wheels. Compiled."""

from __future__ import annotations

import math

from harness.carlite.compiled import compiled
from harness.carlite.towns.lookup import GroundArrays, find_ground_height


@compiled
def fit_wheel_plane(
    ground: GroundArrays,
    x: float, y: float, z: float, cos: float, sin: float, front: float, rear: float, track: float,
) -> tuple[float, float, float]:  # fmt: skip
    """Return height at the origin, pitch and roll of the plane nearest to the four wheel contacts.

    (cos, sin) is the heading, `front` and `rear` are the axles' places ahead of the origin;
    two-wheelers stay upright.
    """
    x0, y0, cell, lower, upper = ground
    # front and rear axle
    ax, ay = x + front * cos, y + front * sin
    bx, by = x + rear * cos, y + rear * sin
    if track < 0.3:
        ahead = find_ground_height(x0, y0, cell, lower, upper, ax, ay, z)
        behind = find_ground_height(x0, y0, cell, lower, upper, bx, by, z)
        roll = 0.0
    else:
        # four wheels; the plane is the mean of their heights, ahead and behind, left and right
        sx, sy = -0.5 * track * sin, 0.5 * track * cos
        front_right = find_ground_height(x0, y0, cell, lower, upper, ax + sx, ay + sy, z)
        front_left = find_ground_height(x0, y0, cell, lower, upper, ax - sx, ay - sy, z)
        rear_right = find_ground_height(x0, y0, cell, lower, upper, bx + sx, by + sy, z)
        rear_left = find_ground_height(x0, y0, cell, lower, upper, bx - sx, by - sy, z)
        ahead = 0.5 * (front_right + front_left)
        behind = 0.5 * (rear_right + rear_left)
        roll = math.atan(0.5 * (front_left + rear_left - front_right - rear_right) / track)
    share = rear / (rear - front)
    return behind + share * (ahead - behind), math.atan((ahead - behind) / (front - rear)), roll

"""Side forces of an axle's tyres. Compiled."""

from __future__ import annotations

import math

from harness.carlite.compiled import compiled

CREEP = 0.05
"""Metres per second added to a wheel's speed where slip is measured, so that it stays finite."""


@compiled
def side_damping(
    along: float, across: float, load: float, friction: float, stiffness: float, used: float
) -> float:
    """Return side force per side speed, N s/m, of an axle whose wheels move (along, across).

    A brush model: the force grows with the slip angle, `stiffness` per unit of load and radian,
    and saturates at what the friction circle leaves beside `used`, the force along the wheel.
    Given as a damping, so that the caller can solve for the new speeds implicitly.
    """
    grip = math.sqrt(max((friction * load) ** 2 - used * used, 0.0))
    if grip <= 0.0:
        return 0.0
    speed = math.sqrt(along * along + across * across) + CREEP
    slope = stiffness * load / (3.0 * grip * speed)
    bent = abs(across) * slope
    if bent < 1.0:
        return grip * slope * (3.0 - 3.0 * bent + bent * bent)
    return grip / abs(across)

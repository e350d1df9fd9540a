"""Compiled: how the nose of a turning vehicle swings out of its path."""

from __future__ import annotations

import numpy as np

from harness.carlite.compiled import compiled
from harness.carlite.traffic.drivers import SAMPLES, Driver
from harness.carlite.traffic.routes import path_yaw

AXLE = 0.5
"""Where the rear axle is, as a share of the way from the middle to the rear bumper."""


@compiled
def trail(heading: float, ahead: float, moved: float, half_length: float) -> float:
    """Return a vehicle's heading after its middle has moved on along a path.

    Its rear axle goes where it points, so it points less far round the bend than its path.
    """
    return float(heading + np.sin(ahead - heading) * min(moved / (AXLE * half_length), 1.0))


@compiled
def predict_overhang(me: Driver, yaw: float, half_length: float) -> None:
    """Note how far to the right of each point of the path the front bumper will pass it."""
    ahead = int(half_length / me.spacing + 0.5)
    heading = yaw
    me.path_overhang[:] = 0.0
    me.most_overhang = 0.0
    for n in range(SAMPLES - ahead):
        dx = me.path_x[n] + half_length * np.cos(heading) - me.path_x[n + ahead]
        dy = me.path_y[n] + half_length * np.sin(heading) - me.path_y[n + ahead]
        there = path_yaw(me, n + ahead)
        swing = dy * np.cos(there) - dx * np.sin(there)
        me.path_overhang[n + ahead] = swing
        me.most_overhang = max(me.most_overhang, abs(swing))
        heading = trail(heading, path_yaw(me, n), me.spacing, half_length)

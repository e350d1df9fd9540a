"""Compiled: how the nose of a turning vehicle swings out of its path."""

from __future__ import annotations

import numpy as np

from harness.carlite.compiled import compiled
from harness.carlite.traffic.drivers import SAMPLES, TrafficDriver
from harness.carlite.traffic.routes import compute_path_direction

AXLE = 0.5
"""Where the rear axle is, as a share of the way from the middle to the rear bumper."""

ROUNDING = 0.01
"""Metres added to a bound, far more than what is rounded off."""


@compiled
def step_trailing_heading(heading: float, ahead: float, moved: float, half_length: float) -> float:
    """Return a vehicle's heading after its middle has moved on along a path.

    Its rear axle goes where it points, so it points less far round the bend than its path.
    """
    return float(heading + np.sin(ahead - heading) * min(moved / (AXLE * half_length), 1.0))


@compiled
def note_course(me: TrafficDriver, yaw: float) -> None:
    """Keep what the overhang follows from; it is predicted when something comes near.

    Args:
        me: the driver, with its path.
        yaw: of the vehicle, rad.
    """
    me.overhang_due = True
    me.course_yaw, me.course_spacing = yaw, me.spacing
    for n in range(SAMPLES):
        me.course_x[n] = me.path_x[n]
    for n in range(SAMPLES):
        me.course_y[n] = me.path_y[n]
    for n in range(SAMPLES):
        me.course_lane_yaw[n] = me.lane_yaw[n]


@compiled
def predict_overhang(me: TrafficDriver, half_length: float) -> None:
    """Find how far to the right of each point of the noted course the front bumper passes it.

    Args:
        me: the driver, with its noted course.
        half_length: of the vehicle, m.
    """
    me.overhang_due = False
    x, y, directions, spacing = me.course_x, me.course_y, me.course_direction, me.course_spacing
    # samples from the middle to the front bumper
    ahead = int(half_length / spacing + 0.5)
    heading = me.course_yaw
    me.path_overhang[:] = 0.0
    me.most_overhang = 0.0
    for n in range(SAMPLES):
        directions[n] = compute_path_direction(x, y, me.course_lane_yaw, n)
    # the heading trails the course; the bumper is ahead of the middle along it
    for n in range(SAMPLES - ahead):
        dx = x[n] + half_length * np.cos(heading) - x[n + ahead]
        dy = y[n] + half_length * np.sin(heading) - y[n + ahead]
        there = directions[n + ahead]
        swing = dy * np.cos(there) - dx * np.sin(there)
        me.path_overhang[n + ahead] = swing
        me.most_overhang = max(me.most_overhang, abs(swing))
        heading = step_trailing_heading(heading, directions[n], spacing, half_length)


@compiled
def estimate_most_aside(me: TrafficDriver, half_length: float) -> float:
    """Bound how far aside of the path a vehicle's nose or corners may pass, without predicting it.

    The front bumper is no farther from a point of the path than half a vehicle and what lies
    between two of its points that far apart; where the path jumps, or bends sharply, there is no
    bound.

    Args:
        me: the driver, with its path.
        half_length: of the vehicle, m.

    Returns:
        m.
    """
    ahead = int(half_length / me.spacing + 0.5)
    apart = half_length + me.spacing
    # half a vehicle and the way between two points that far apart
    bound = half_length + apart
    exceptions = 0  # counted without a branch, several points at once
    for n in range(SAMPLES - ahead):
        dx, dy = me.path_x[n + ahead] - me.path_x[n], me.path_y[n + ahead] - me.path_y[n]
        exceptions += dx * dx + dy * dy > apart * apart
    for n in range(SAMPLES):
        exceptions += half_length * half_length * abs(me.path_curvature[n]) * 0.5 > bound
    return np.inf if exceptions else bound + ROUNDING


@compiled
def is_path_within(me: TrafficDriver, x: float, y: float, reach: float) -> bool:
    """Whether a point of the path is within reach of a place.

    Args:
        me: the driver, with its path.
        x: m.
        y: m.
        reach: m.
    """
    near = 0
    for n in range(SAMPLES):
        dx, dy = me.path_x[n] - x, me.path_y[n] - y
        near += dx * dx + dy * dy <= reach * reach
    return near > 0

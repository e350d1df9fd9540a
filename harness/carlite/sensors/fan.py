"""The rays of a scan, in the sensor's frame: columns of rays that share an azimuth.

Within a column a ray is given by its slope, height over horizontal distance. A camera is such a fan
too: its pixel columns are half-planes through the eye's vertical axis, the slopes of each column
scaled by the cosine of its azimuth.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from harness.carlite.arrays import Floats, Int32s
from harness.carlite.compiled import compiled

BUCKETS_PER_COLUMN = 2
SLACK = 1e-9


class RayFan(NamedTuple):
    """Columns by rising azimuth, and the rows they have in common.

    Attributes:
        angle: (C,) pseudo-azimuth in [-2, 2), rising as the azimuth rises from -pi to pi.
        cosine, sine: (C,) of the azimuth.
        scale: (C,) what the common slopes are multiplied with in a column.
        slopes: (R,) rising.
        least_scale: the smallest scale.
        bucket: (B + 1,) the first column whose angle is at least `4 b / B - 2`.
    """

    angle: Floats
    cosine: Floats
    sine: Floats
    scale: Floats
    slopes: Floats
    least_scale: float
    bucket: Int32s


def make_ray_fan(
    cosine: Floats, sine: Floats, scale: Floats, slopes: Floats
) -> tuple[RayFan, Int32s]:
    """Order columns by azimuth; also returns where each given column went."""
    # (columns,) a number that grows with the azimuth, from -2 to 2, without a trigonometric
    # function
    part = sine / (np.abs(cosine) + np.abs(sine))
    angle = np.where(cosine >= 0, part, np.where(sine >= 0, 2 - part, -2 - part))
    # (columns,) sorted, and where each went
    order = np.argsort(angle, kind="stable")
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    # (buckets + 1,) the first column of each, so that a search starts near its end
    buckets = BUCKETS_PER_COLUMN * len(order) + 1
    edges = np.arange(buckets + 1) * 4 / buckets - 2
    fan = RayFan(
        angle[order],
        cosine[order],
        sine[order],
        scale[order],
        slopes,
        float(scale.min(initial=1.0)),
        np.searchsorted(angle[order], edges).astype(np.int32),
    )
    return fan, place


@compiled
def compute_pseudo_angle(x: float, y: float) -> float:
    """Map a direction to [-2, 2), rising with the azimuth from -pi to pi.

    Args:
        x: of the direction, of any length.
        y: of the direction.
    """
    size = abs(x) + abs(y)
    part = y / size if size > 0 else 0.0
    if x >= 0:
        return part
    return 2 - part if y >= 0 else -2 - part


@compiled
def find_first_column(fan: RayFan, angle: float) -> int:
    """Return the first column at or beyond a pseudo-azimuth.

    Args:
        fan: the rays.
        angle: from -2 to 2.
    """
    columns = len(fan.angle)
    last = len(fan.bucket) - 1
    column: int = fan.bucket[min(max(int((angle + 2) * (last / 4)), 0), last)]
    while column < columns and fan.angle[column] < angle:
        column += 1
    return column

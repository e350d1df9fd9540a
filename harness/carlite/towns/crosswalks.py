"""Crosswalks as closed polygons, where the client's `Map.get_crosswalks` has them."""

from __future__ import annotations

import math

import numpy as np

from harness.carlite.arrays import Floats
from harness.carlite.towns.network import Network, Outline, Road
from harness.carlite.towns.reference_line import cubic, evaluate


def build(network: Network) -> tuple[Floats, ...]:
    """Return every crosswalk's corners, (C, 3), the first one repeated at the end."""
    return tuple(
        _polygon(road, crosswalk)
        for road in network.roads.values()
        for crosswalk in road.crosswalks
        if len(crosswalk.corners) >= 3
    )


def _polygon(road: Road, crosswalk: Outline) -> Floats:
    s = np.array([min(max(crosswalk.s, 0.0), road.length)])
    x, y, heading = (float(value[0]) for value in evaluate(road.plan, s))
    z = float(cubic(road.elevation, s)[0][0])
    t = crosswalk.t + float(cubic(road.lane_offset, s)[0][0])
    x, y = x - t * math.sin(heading), y + t * math.cos(heading)
    u, v, w = np.array(crosswalk.corners).T
    cos, sin = math.cos(heading + crosswalk.heading), math.sin(heading + crosswalk.heading)
    polygon = np.column_stack([x + u * cos - v * sin, -(y + u * sin + v * cos), z + w])
    return polygon if (polygon[0] == polygon[-1]).all() else np.vstack([polygon, polygon[:1]])

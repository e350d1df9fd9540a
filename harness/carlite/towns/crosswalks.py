"""Crosswalks as closed polygons, where the client's `Map.get_crosswalks` has them."""

from __future__ import annotations

import math

import numpy as np

from harness.carlite.arrays import Floats
from harness.carlite.towns.network import OpendriveNetwork, OutlineRecord, RoadRecord
from harness.carlite.towns.reference_line import evaluate_cubic, evaluate_reference_line


def build_crosswalks(network: OpendriveNetwork) -> tuple[Floats, ...]:
    """Return every crosswalk's corners, (C, 3), the first one repeated at the end."""
    return tuple(
        _place_crosswalk(road, crosswalk)
        for road in network.roads.values()
        for crosswalk in road.crosswalks
        if len(crosswalk.corners) >= 3
    )


def _place_crosswalk(road: RoadRecord, crosswalk: OutlineRecord) -> Floats:
    s = np.array([min(max(crosswalk.s, 0.0), road.length)])
    x, y, heading = (float(value[0]) for value in evaluate_reference_line(road.plan, s))
    z = float(evaluate_cubic(road.elevation, s)[0][0])
    t = crosswalk.t + float(evaluate_cubic(road.lane_offset, s)[0][0])
    x, y = x - t * math.sin(heading), y + t * math.cos(heading)
    u, v, w = np.array(crosswalk.corners).T
    cos, sin = math.cos(heading + crosswalk.heading), math.sin(heading + crosswalk.heading)
    polygon = np.column_stack([x + u * cos - v * sin, -(y + u * sin + v * cos), z + w])
    return polygon if (polygon[0] == polygon[-1]).all() else np.vstack([polygon, polygon[:1]])

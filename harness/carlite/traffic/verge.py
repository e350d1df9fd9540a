"""How far to the right of the network's points scenery stands."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.carlite.compiled import compiled
from harness.carlite.dynamics.boxes import Boxes
from harness.carlite.dynamics.obstacles import Obstacles
from harness.carlite.towns.model import Scenery
from harness.carlite.traffic.network import Network, Point
from harness.carlite.traffic.records import columns

REACH = 4.0
"""Metres from a point beyond which nothing is looked for."""

OVERHEAD = 4.0
"""Metres above the road from which on vehicles pass below."""

KERB = 0.15
STRIDE = 0.5


def survey(network: Network, scenery: Scenery) -> None:
    """Note the room at each point, in metres from the centre line."""
    boxes = Obstacles(scenery).boxes
    boxes = boxes[np.argsort(boxes["x"], kind="stable")]
    reach = float(np.hypot(boxes["reach_x"], boxes["reach_y"]).max()) if len(boxes) else 0.0
    columns(network.points)["room"] = REACH
    _survey(network, boxes, reach + REACH)


@compiled
def _survey(net: Network, boxes: Boxes, near: float) -> None:
    xs = boxes["x"].copy()
    for k in range(len(net.points)):
        point = net.points[k]
        first, last = np.searchsorted(xs, point.x - near), np.searchsorted(xs, point.x + near)
        for index in range(first, last):
            box = boxes[index]
            if abs(box["y"] - point.y) > box["reach_y"] + REACH:
                continue
            if abs(box["x"] - point.x) > box["reach_x"] + REACH:
                continue
            if box["bottom"] < point.z + OVERHEAD and box["top"] > point.z + KERB:
                point.room = min(point.room, _room_beside(point, box))


@compiled
def _room_beside(point: Point, box: Any) -> float:
    """Return how far to the right of a point the outline of a box begins, `REACH` if nowhere."""
    c, s = np.cos(box["yaw"]), np.sin(box["yaw"])
    tx, ty = np.cos(point.yaw), np.sin(point.yaw)
    long, wide = box["half_length"], box["half_width"]
    room = REACH
    for side in range(4):
        half, across = (long, wide) if side < 2 else (wide, long)
        steps = int(2.0 * half / STRIDE) + 1
        for step in range(steps + 1):
            along = half * (2.0 * step / steps - 1.0)
            u, v = (along, across) if side < 2 else (across, along)
            if side % 2:
                u, v = (u, -v) if side < 2 else (-u, v)
            dx = box["x"] + c * u - s * v - point.x
            dy = box["y"] + s * u + c * v - point.y
            aside = dy * tx - dx * ty
            if abs(dx * tx + dy * ty) < 1.0 and aside > 0.0:
                room = min(room, aside)
    return room

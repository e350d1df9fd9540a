"""How far to the right of the network's points scenery stands."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from harness.carlite.arrays import Floats
from harness.carlite.compiled import compiled
from harness.carlite.towns.model import SceneryShape, TownScenery
from harness.carlite.traffic.network import LinkPoint, TrafficNetwork
from harness.carlite.traffic.records import RecordRows, as_columns, make_record_dtype

REACH = 4.0
"""Metres from a point beyond which nothing is looked for."""

OVERHEAD = 4.0
"""Metres above the road from which on vehicles pass below."""

KERB, STRIDE = 0.15, 0.5
"""Metres of height that wheels roll over, and between two places of an outline."""


class VergePiece(Protocol):
    """A solid piece of scenery as an upright box; `reach` is its half diagonal."""

    x: float
    y: float
    yaw: float
    half_length: float
    half_width: float
    bottom: float
    top: float
    reach: float


PIECE = make_record_dtype(VergePiece)


def measure_verge_room(network: TrafficNetwork, scenery: TownScenery) -> None:
    """Note the room at each point, in metres from the centre line."""
    pieces = _sort_solid_pieces(scenery)
    as_columns(network.points)["room"] = REACH
    _measure_point_room(
        network, pieces, pieces["x"].copy(), float(pieces["reach"].max(initial=0.0))
    )


def _sort_solid_pieces(scenery: TownScenery) -> NDArray[np.void]:
    """Return the solid pieces in the order of their x."""
    solid = np.flatnonzero(scenery.solid)
    solid = solid[np.argsort(scenery.centre[solid, 0], kind="stable")]
    centre, extent = scenery.centre[solid], scenery.extent[solid]
    pieces = np.zeros(len(solid), PIECE)
    pieces["x"], pieces["y"], pieces["yaw"] = centre[:, 0], centre[:, 1], scenery.yaw[solid]
    round_ones = scenery.shape[solid] == SceneryShape.CYLINDER
    pieces["half_length"] = extent[:, 0]
    pieces["half_width"] = np.where(round_ones, extent[:, 0], extent[:, 1])
    pieces["bottom"], pieces["top"] = centre[:, 2] - extent[:, 2], centre[:, 2] + extent[:, 2]
    pieces["reach"] = np.hypot(pieces["half_length"], pieces["half_width"])
    return pieces


@compiled
def _measure_point_room(
    net: TrafficNetwork, pieces: RecordRows[VergePiece], xs: Floats, longest: float
) -> None:
    for k in range(len(net.points)):
        point = net.points[k]
        # pieces are sorted by x: only a stretch of them can be near
        near = longest + REACH
        first, last = np.searchsorted(xs, point.x - near), np.searchsorted(xs, point.x + near)
        for index in range(first, last):
            piece = pieces[index]
            away = max(abs(piece.x - point.x), abs(piece.y - point.y))
            # what stands at the height of a vehicle's body
            level = piece.bottom < point.z + OVERHEAD and piece.top > point.z + KERB
            if level and away < piece.reach + REACH:
                point.room = min(point.room, _measure_room_right(point, piece))


@compiled
def _measure_room_right(point: LinkPoint, piece: VergePiece) -> float:
    """Return how far to the right of a point the outline of a piece begins, at most `REACH`."""
    c, s = np.cos(piece.yaw), np.sin(piece.yaw)
    tx, ty = np.cos(point.yaw), np.sin(point.yaw)
    long, wide = piece.half_length, piece.half_width
    room = REACH
    # points along the four sides of the piece
    for side in range(4):
        half, across = (long, wide) if side < 2 else (wide, long)
        steps = int(2.0 * half / STRIDE) + 1
        for step in range(steps + 1):
            along = half * (2.0 * step / steps - 1.0)
            u, v = (along, across) if side < 2 else (across, along)
            if side % 2:
                u, v = (u, -v) if side < 2 else (-u, v)
            # those next to the point, within a metre along the lane
            dx = piece.x + c * u - s * v - point.x
            dy = piece.y + s * u + c * v - point.y
            aside = dy * tx - dx * ty
            if abs(dx * tx + dy * ty) < 1.0 and aside > 0.0:
                room = min(room, aside)
    return room

"""Where streets end and plots begin: the outer edges of sidewalks, followed in traffic's direction.

The street lies to the left of a frontage, the plots to its right.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from harness.carlite.angles import wrap_to_pi
from harness.carlite.arrays import Floats
from harness.carlite.towns.model import LaneKind, TownLanes

GroundPose = tuple[float, float, float]
"""x, y and heading."""


@dataclass(frozen=True, kw_only=True)
class StreetFrontage:
    """The outer edge of a street from one junction to the next.

    Attributes:
        edge: (P, 2) points of the edge.
        yaw, station: (P,) heading and metres from the start.
        walk: width of the sidewalk inside the edge, 0 where there is none.
        speed: limit on the street, metres per second.
    """

    edge: Floats
    yaw: Floats
    station: Floats
    walk: Floats
    speed: float

    @property
    def length(self) -> float:
        """Metres from end to end."""
        return float(self.station[-1])

    def interpolate_pose(self, station: float, right: float = 0.0) -> GroundPose:
        """Return the pose `right` metres beyond the edge; negative is on the street's side."""
        k = int(np.searchsorted(self.station, station, side="right")) - 1
        k = min(max(k, 0), len(self.station) - 2)
        part = (station - self.station[k]) / (self.station[k + 1] - self.station[k])
        x, y = self.edge[k] + part * (self.edge[k + 1] - self.edge[k])
        dx, dy = self.edge[k + 1] - self.edge[k]
        yaw = math.atan2(dy, dx)
        return float(x - right * math.sin(yaw)), float(y + right * math.cos(yaw)), yaw

    def interpolate_walk_width(self, station: float) -> float:
        """Return the sidewalk's width at a station."""
        return float(np.interp(station, self.station, self.walk))


@dataclass(frozen=True)
class StreetCorner:
    """A street corner: where two frontages would meet, and the headings before and after it."""

    x: float
    y: float
    before: float
    after: float


def shift_ground_pose(pose: GroundPose, ahead: float, right: float) -> GroundPose:
    """Move a pose ahead and to the right of its heading.

    Args:
        pose: x and y in m, yaw in rad.
        ahead: m.
        right: m.
    """
    x, y, yaw = pose
    c, s = math.cos(yaw), math.sin(yaw)
    return x + ahead * c - right * s, y + ahead * s + right * c, yaw


def find_frontages(lanes: TownLanes) -> list[StreetFrontage]:
    """Follow the outermost lanes of all streets between junctions."""
    outer = find_outermost_lanes(lanes)
    street = {lane for lane in outer if lanes.junction[lane] < 0}
    onward = {
        lane: following
        for lane in sorted(street)
        for following in _find_next_lane(lanes, lane, street)
    }
    entered = set(onward.values())
    result = []
    for lane in sorted(street - entered):
        chain = [lane]
        while chain[-1] in onward and onward[chain[-1]] not in chain:
            chain.append(onward[chain[-1]])
        frontage = _build_frontage(lanes, chain)
        if frontage is not None:
            result.append(frontage)
    return result


def find_outermost_lanes(lanes: TownLanes) -> list[int]:
    """Find the lanes with nothing but ground to their right."""
    outermost: dict[tuple[int, int, bool], int] = {}
    for lane, (road, section, number) in enumerate(lanes.key.tolist()):
        side = (road, section, number > 0)
        held = outermost.get(side)
        if held is None or abs(number) > abs(int(lanes.key[held, 2])):
            outermost[side] = lane
    return sorted(outermost.values())


def _find_next_lane(lanes: TownLanes, lane: int, among: set[int]) -> list[int]:
    first, count = int(lanes.next_first[lane]), int(lanes.next_count[lane])
    return [int(k) for k in lanes.next[first : first + count] if int(k) in among][:1]


def compute_right_edge(lanes: TownLanes, lane: int) -> Floats:
    """Return the points along a lane's right edge.

    Args:
        lanes: of the town.
        lane: its number.

    Returns:
        (samples, 2) m.
    """
    span = slice(lanes.first[lane], lanes.first[lane] + lanes.count[lane])
    yaw, half = lanes.yaw[span], lanes.width[span] / 2
    return lanes.points[span, :2] + np.column_stack([-np.sin(yaw) * half, np.cos(yaw) * half])


def _build_frontage(lanes: TownLanes, chain: list[int]) -> StreetFrontage | None:
    parts, walks = [], []
    # the right edge along the chain, and the width of the sidewalk, (samples, 2) and (samples,)
    for lane in chain:
        span = slice(lanes.first[lane], lanes.first[lane] + lanes.count[lane])
        parts.append(compute_right_edge(lanes, lane))
        is_walk = lanes.kind[lane] == LaneKind.SIDEWALK
        walks.append(lanes.width[span] if is_walk else np.zeros(int(lanes.count[lane])))
    edge, walk = np.concatenate(parts), np.concatenate(walks)
    # without points on top of each other
    kept = np.concatenate([[True], np.hypot(*np.diff(edge, axis=0).T) > 0.05])
    edge, walk = edge[kept], walk[kept]
    if len(edge) < 3:
        return None
    # stations in m, and directions
    steps = np.diff(edge, axis=0)
    station = np.concatenate([[0.0], np.cumsum(np.hypot(*steps.T))])
    yaw = np.arctan2(steps[:, 1], steps[:, 0])
    speed = float(max(lanes.speed_limit[lane] for lane in chain))
    return StreetFrontage(
        edge=edge, yaw=np.append(yaw, yaw[-1]), station=station, walk=walk, speed=speed
    )


def find_street_corners(lanes: TownLanes) -> list[StreetCorner]:
    """Find where sidewalks turn right round a plot."""
    inside = (lanes.junction >= 0) & (lanes.kind == LaneKind.SIDEWALK)
    result = []
    for lane in np.flatnonzero(inside).tolist():
        edge = compute_right_edge(lanes, lane)
        # the turn of the walk, in rad
        span = slice(lanes.first[lane], lanes.first[lane] + lanes.count[lane])
        before, after = float(lanes.yaw[span][0]), float(lanes.yaw[span][-1])
        turn = wrap_to_pi(after - before)
        if not math.radians(50) < turn < math.radians(130):
            continue
        # where the tangents at both ends meet: the corner of the plot
        dx, dy = edge[-1] - edge[0]
        ahead = (dx * math.sin(after) - dy * math.cos(after)) / math.sin(turn)
        x, y = edge[0] + ahead * np.array([math.cos(before), math.sin(before)])
        result.append(StreetCorner(float(x), float(y), before, after))
    return result

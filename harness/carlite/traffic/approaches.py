"""What stands at the end of each link: lights, signs and the line to stop at."""

from __future__ import annotations

from enum import IntEnum
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from harness.carlite.compiled import compiled
from harness.carlite.towns.model import TownSignal
from harness.carlite.traffic.lights import TrafficLights
from harness.carlite.traffic.network import LanePlacement, LinkPoint, TrafficNetwork
from harness.carlite.traffic.records import RecordRows, as_columns, make_record_dtype

TIGHT = 0.15
"""Radians per metre; no vehicle turns like that, so all swing out, over SWING metres."""

SWING = 8.5
SET_BACK = 8.0
"""Metres before the end of a link where no vehicle need ever wait for the sake of others' turns."""


class PrioritySign(IntEnum):
    """Who goes first without a light."""

    NONE = 0
    YIELD = 1
    STOP = 2


class LinkApproach(Protocol):
    """The end of a link: its light (-1 none), its `PrioritySign`, the station of its stop line."""

    light: int
    sign: int
    line: float


Approaches: TypeAlias = RecordRows[LinkApproach]
APPROACH = make_record_dtype(LinkApproach)


def find_approaches(
    network: TrafficNetwork,
    placement: LanePlacement,
    signals: tuple[TownSignal, ...],
    lights: TrafficLights,
) -> NDArray[np.void]:
    """Match the stop lines of all signals with links."""
    # (links,): no light, no sign, a line at the end of the link
    approaches = np.zeros(len(network.links), APPROACH)
    links = as_columns(network.links)
    approaches["light"], approaches["line"] = -1, links["length"]
    element = {int(signal): k for k, signal in enumerate(lights.signal)}
    kinds = {"traffic.stop": PrioritySign.STOP, "traffic.yield": PrioritySign.YIELD}
    for number, signal in enumerate(signals):
        for stop in signal.stop_lines:
            # a line inside a junction is not where one stops
            link = int(placement.link[stop.lane])
            if link < 0 or links["junction"][link] >= 0:
                continue
            if number in element:
                approaches["light"][link] = element[number]
            elif signal.type_id in kinds:
                approaches["sign"][link] = max(approaches["sign"][link], kinds[signal.type_id])
            else:
                continue
            # the first line of several
            station = _find_link_station(network, link, stop.position)
            approaches["line"][link] = min(approaches["line"][link], station)
    _clear_tight_turns(network, approaches)
    return approaches


def _find_link_station(
    network: TrafficNetwork, link: int, position: tuple[float, float, float]
) -> float:
    """Find where along a link a place lies, never before its last twenty metres."""
    row, points = as_columns(network.links)[link], network.get_link_points(link)
    away = np.hypot(points["x"] - position[0], points["y"] - position[1])
    along = float(np.argmin(away)) * float(row["step"])
    return max(along, float(row["length"]) - 20.0, 0.0)


@compiled
def _clear_tight_turns(net: TrafficNetwork, approaches: Approaches) -> None:
    """Move lines back to where those who wait are out of the way of others' tight turns."""
    # every point of a tight turn inside a junction
    for q in range(len(net.points)):
        turn = net.points[q]
        if net.links[turn.link].junction < 0 or abs(turn.curvature) < TIGHT:
            continue
        for a in range(len(net.links)):
            # lines near it, of approaches that come against its direction
            last = net.points[net.links[a].first + net.links[a].count - 1]
            near = max(abs(turn.x - last.x), abs(turn.y - last.y)) < SET_BACK + SWING
            if net.links[a].junction >= 0 or not near or abs(turn.z - last.z) > 3.0:
                continue
            if np.cos(turn.yaw - last.yaw) < -0.2:
                _move_line_back(net, approaches, a, turn)


@compiled
def _move_line_back(net: TrafficNetwork, approaches: Approaches, a: int, turn: LinkPoint) -> None:
    link = net.links[a]
    for k in range(link.count - 1, -1, -1):
        back = link.length - k * link.step
        p = net.points[link.first + k]
        if back > SET_BACK:
            return
        if np.hypot(turn.x - p.x, turn.y - p.y) < SWING:
            approaches[a].line = max(min(approaches[a].line, k * link.step - 0.5), 0.0)

"""What stands at the end of each link: lights, signs and the line to stop at."""

from __future__ import annotations

from enum import IntEnum
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from harness.carlite.towns.model import Signal
from harness.carlite.traffic.lights import TrafficLights
from harness.carlite.traffic.network import Network, Placement
from harness.carlite.traffic.records import Rows, columns, record_dtype


class Sign(IntEnum):
    """Who goes first without a light."""

    NONE = 0
    YIELD = 1
    STOP = 2


class Approach(Protocol):
    """The end of a link: its light (-1 none), its `Sign`, the station of its stop line."""

    light: int
    sign: int
    line: float


Approaches: TypeAlias = Rows[Approach]
APPROACH = record_dtype(Approach)


def find(
    network: Network, placement: Placement, signals: tuple[Signal, ...], lights: TrafficLights
) -> NDArray[np.void]:
    """Match the stop lines of all signals with links."""
    found = np.zeros(len(network.links), APPROACH)
    links = columns(network.links)
    found["light"], found["line"] = -1, links["length"]
    element = {int(signal): k for k, signal in enumerate(lights.signal)}
    kinds = {"traffic.stop": Sign.STOP, "traffic.yield": Sign.YIELD}
    for number, signal in enumerate(signals):
        for stop in signal.stop_lines:
            link = int(placement.link[stop.lane])
            if link < 0 or links["junction"][link] >= 0:
                continue
            if number in element:
                found["light"][link] = element[number]
            elif signal.type_id in kinds:
                found["sign"][link] = max(found["sign"][link], kinds[signal.type_id])
            else:
                continue
            station = _station(network, link, stop.position)
            found["line"][link] = min(found["line"][link], station)
    return found


def _station(network: Network, link: int, position: tuple[float, float, float]) -> float:
    """Find where along a link a place lies, never before its last twenty metres."""
    row, points = columns(network.links)[link], network.points_of(link)
    away = np.hypot(points["x"] - position[0], points["y"] - position[1])
    along = float(np.argmin(away)) * float(row["step"])
    return max(along, float(row["length"]) - 20.0, 0.0)

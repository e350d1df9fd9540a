"""Which traffic lights cycle together, and which of them are green at the same time."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from harness.carlite.towns.model import Lanes, StopLine
from harness.carlite.towns.network import Network

OPPOSITE = math.radians(45)
"""Approaches whose axes differ by less than this are green together."""

Lines = Mapping[str, Sequence[StopLine]]


class Phase(NamedTuple):
    """A light's place in its junction's cycle."""

    group: int
    phase: int


def assign(network: Network, lanes: Lanes, lights: Lines) -> dict[str, Phase]:
    """Return the group and phase of every light.

    Junctions switch their lights by controllers, one controller at a time. Lights that no
    controller runs are grouped by the junction they lead to, opposite approaches together; a
    light with no junction at all cycles by itself.
    """
    phases: dict[str, Phase] = {}
    groups: dict[int, int] = {}
    stages: dict[int, int] = defaultdict(int)
    for junction in network.junctions.values():
        for controller in junction.controllers:
            run = [
                light
                for light in network.controllers.get(controller, ())
                if light in lights and light not in phases
            ]
            if run:
                group = groups.setdefault(junction.id, len(groups))
                phases.update((light, Phase(group, stages[group])) for light in run)
                stages[group] += 1
    stray: dict[int, list[str]] = defaultdict(list)
    for number, light in enumerate(lights):
        if light not in phases:
            stray[_junction_ahead(lanes, lights[light], -2 - number)].append(light)
    for junction_id, members in stray.items():
        group = groups.setdefault(junction_id, len(groups))
        for approach in _by_axis(members, lights):
            phases.update((light, Phase(group, stages[group])) for light in approach)
            stages[group] += 1
    return phases


def _junction_ahead(lanes: Lanes, lines: Sequence[StopLine], default: int) -> int:
    for line in lines:
        for ahead in lanes.next[lanes.next_first[line.lane] :][: lanes.next_count[line.lane]]:
            if lanes.junction[ahead] >= 0:
                return int(lanes.junction[ahead])
    return default


def _by_axis(members: Sequence[str], lights: Lines) -> list[list[str]]:
    """Put lights together whose approaches run along one axis, either way."""
    sets: list[tuple[float, list[str]]] = []
    for light in members:
        axis = lights[light][0].yaw if lights[light] else 0.0
        for other, together in sets:
            if abs(math.remainder(axis - other, math.pi)) < OPPOSITE:
                together.append(light)
                break
        else:
            sets.append((axis, [light]))
    return [together for _, together in sets]

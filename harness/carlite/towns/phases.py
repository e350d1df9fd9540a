"""Which traffic lights cycle together, and which of them are green at the same time.

Why a road has one light: decision 0003.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from harness.carlite.towns.model import LaneStopLine, TownLanes
from harness.carlite.towns.network import OpendriveNetwork

OPPOSITE = math.radians(45)
"""Approaches whose axes differ by less than this are green together."""

Lines = Mapping[str, Sequence[LaneStopLine]]


class LightPhase(NamedTuple):
    """A light's place in its junction's cycle."""

    group: int
    phase: int


def assign_light_phases(
    network: OpendriveNetwork, lanes: TownLanes, lights: Lines, *, last_phase_first: bool = False
) -> dict[str, LightPhase]:
    """Return the group and phase of every light.

    Junctions switch their lights by controllers, one controller at a time. Lights that no
    controller runs are grouped by the junction they lead to, opposite approaches together; a
    light with no junction at all cycles by itself.

    Args:
        network: the town's map.
        lanes: sampled from it.
        lights: stop lines of each light.
        last_phase_first: whether a junction's last controller is phase 0; the others follow it in
            their order.
    """
    phases: dict[str, LightPhase] = {}
    groups: dict[int, int] = {}
    stages: dict[int, int] = defaultdict(int)
    # first the controllers of the map, one stage each
    for junction in network.junctions.values():
        for controller in junction.controllers:
            run = [
                light
                for light in network.controllers.get(controller, ())
                if light in lights and light not in phases
            ]
            if run:
                group = groups.setdefault(junction.id, len(groups))
                phases.update((light, LightPhase(group, stages[group])) for light in run)
                stages[group] += 1
    if last_phase_first:
        phases = {
            light: LightPhase(group, (phase + 1) % stages[group])
            for light, (group, phase) in phases.items()
        }
    # the others: by the junction ahead, a stage for each axis of approaches
    stray: dict[int, list[str]] = defaultdict(list)
    for number, light in enumerate(lights):
        if light not in phases:
            stray[_find_junction_ahead(lanes, lights[light], -2 - number)].append(light)
    for junction_id, members in stray.items():
        group = groups.setdefault(junction_id, len(groups))
        for approach in _group_by_axis(members, lights):
            phases.update((light, LightPhase(group, stages[group])) for light in approach)
            stages[group] += 1
    return phases


def _find_junction_ahead(lanes: TownLanes, lines: Sequence[LaneStopLine], default: int) -> int:
    for line in lines:
        for ahead in lanes.next[lanes.next_first[line.lane] :][: lanes.next_count[line.lane]]:
            if lanes.junction[ahead] >= 0:
                return int(lanes.junction[ahead])
    return default


def _group_by_axis(members: Sequence[str], lights: Lines) -> list[list[str]]:
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

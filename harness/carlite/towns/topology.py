"""Which lane leads into which, by the rules the client's `carla.Map` follows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TypeAlias

from harness.carlite.towns.network import Contact, Network, Road

LaneKey: TypeAlias = tuple[int, int, int]
"""Road id, section index, lane id."""


def successors(network: Network, kept: Sequence[LaneKey]) -> list[list[LaneKey]]:
    """Return what follows each kept lane in its direction of travel, in the file's order.

    Lanes that were not kept are passed through, so leaving them out cuts nothing.
    """
    links = _Links(network)
    present = set(kept)
    return [_resolve(links, key, present) for key in kept]


def _resolve(links: _Links, key: LaneKey, present: set[LaneKey]) -> list[LaneKey]:
    kept: dict[LaneKey, None] = {}
    seen = {key}
    waiting = links.after(key)
    while waiting:
        candidate = waiting.pop(0)
        if candidate in seen:
            continue
        seen.add(candidate)
        if candidate in present:
            kept[candidate] = None
        else:
            waiting = links.after(candidate) + waiting
    return list(kept)


def _enters(contact: Contact, lane_id: int) -> bool:
    return lane_id < 0 if contact == "start" else lane_id > 0


class _Links:
    """Answers what comes directly after a lane.

    A link counts only if it enters the other road where the linked lane starts: sidewalks are
    often linked against their nominal direction.
    """

    def __init__(self, network: Network) -> None:
        self._roads = network.roads
        self._ways: dict[tuple[int, int, int], list[tuple[int, int]]] = defaultdict(list)
        for junction in network.junctions.values():
            for connection in junction.connections:
                for origin, target in connection.links:
                    if _enters(connection.contact, target):
                        way = (junction.id, connection.incoming, origin)
                        self._ways[way].append((connection.connecting, target))

    def after(self, key: LaneKey) -> list[LaneKey]:
        road_id, section, lane_id = key
        road = self._roads[road_id]
        forward = lane_id < 0
        record = road.sections[section].lanes[lane_id]
        linked = record.successor if forward else record.predecessor
        beyond = section + 1 if forward else section - 1
        if 0 <= beyond < len(road.sections):
            return self._inside(road, beyond, 1 if forward else -1, linked)
        link = road.successor if forward else road.predecessor
        if link is None:
            return []
        if link.junction:
            ways = self._ways.get((link.id, road_id, lane_id), [])
            return [self._edge(target, lane, road_id) for target, lane in ways]
        if linked and _enters(link.contact, linked):
            return [self._edge(link.id, linked, road_id)]
        return []

    @staticmethod
    def _inside(road: Road, section: int, step: int, linked: int | None) -> list[LaneKey]:
        """Find the linked lane in the next section that has it."""
        while linked and 0 <= section < len(road.sections):
            if linked in road.sections[section].lanes:
                return [(road.id, section, linked)]
            section += step
        return []

    def _edge(self, road_id: int, lane_id: int, origin: int) -> LaneKey:
        """Return the lane where traffic in its direction enters the road."""
        sections = self._roads[road_id].sections
        order = range(len(sections)) if lane_id < 0 else reversed(range(len(sections)))
        for section in order:
            if lane_id in sections[section].lanes:
                return road_id, section, lane_id
        raise ValueError(
            f"road {origin}: leads to lane {lane_id} of road {road_id}, which is not there"
        )

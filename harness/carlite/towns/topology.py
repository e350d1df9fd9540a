"""Which lane leads into which, by the rules the client's `carla.Map` follows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TypeAlias

from harness.carlite.towns.network import Contact, OpendriveNetwork, RoadRecord

LaneKey: TypeAlias = tuple[int, int, int]
"""Road id, section index, lane id."""


def find_successors(network: OpendriveNetwork, kept: Sequence[LaneKey]) -> list[list[LaneKey]]:
    """Return what follows each kept lane in its direction of travel, in the file's order.

    Lanes that were not kept are passed through, so leaving them out cuts nothing.

    Args:
        network: of roads and junctions.
        kept: lanes in question.

    Returns:
        Lanes that follow, for each kept one.
    """
    links = _LaneLinks(network)
    present = set(kept)
    return [_resolve_successors(links, key, present) for key in kept]


def _resolve_successors(links: _LaneLinks, key: LaneKey, present: set[LaneKey]) -> list[LaneKey]:
    kept: dict[LaneKey, None] = {}
    seen = {key}
    waiting = links.find_next_lanes(key)
    while waiting:
        candidate = waiting.pop(0)
        if candidate in seen:
            continue
        seen.add(candidate)
        if candidate in present:
            kept[candidate] = None
        else:
            waiting = links.find_next_lanes(candidate) + waiting
    return list(kept)


def _is_entry_lane(contact: Contact, lane_id: int) -> bool:
    return lane_id < 0 if contact == "start" else lane_id > 0


class _LaneLinks:
    """Answers what comes directly after a lane.

    A link counts only if it enters the other road where the linked lane starts: sidewalks are
    often linked against their nominal direction.
    """

    def __init__(self, network: OpendriveNetwork) -> None:
        self._roads = network.roads
        self._ways: dict[tuple[int, int, int], list[tuple[int, int]]] = defaultdict(list)
        for junction in network.junctions.values():
            for connection in junction.connections:
                for origin, target in connection.links:
                    if _is_entry_lane(connection.contact, target):
                        way = (junction.id, connection.incoming, origin)
                        self._ways[way].append((connection.connecting, target))

    def find_next_lanes(self, key: LaneKey) -> list[LaneKey]:
        road_id, section, lane_id = key
        road = self._roads[road_id]
        forward = lane_id < 0
        record = road.sections[section].lanes[lane_id]
        linked = record.successor if forward else record.predecessor
        beyond = section + 1 if forward else section - 1
        if 0 <= beyond < len(road.sections):
            return self._find_in_next_section(road, beyond, 1 if forward else -1, linked)
        link = road.successor if forward else road.predecessor
        if link is None:
            return []
        if link.junction:
            ways = self._ways.get((link.id, road_id, lane_id), [])
            return [self._find_entry_lane(target, lane, road_id) for target, lane in ways]
        if linked and _is_entry_lane(link.contact, linked):
            return [self._find_entry_lane(link.id, linked, road_id)]
        return []

    @staticmethod
    def _find_in_next_section(
        road: RoadRecord, section: int, step: int, linked: int | None
    ) -> list[LaneKey]:
        """Find the linked lane in the next section that has it."""
        while linked and 0 <= section < len(road.sections):
            if linked in road.sections[section].lanes:
                return [(road.id, section, linked)]
            section += step
        return []

    def _find_entry_lane(self, road_id: int, lane_id: int, origin: int) -> LaneKey:
        """Return the lane where traffic in its direction enters the road."""
        sections = self._roads[road_id].sections
        order = range(len(sections)) if lane_id < 0 else reversed(range(len(sections)))
        for section in order:
            if lane_id in sections[section].lanes:
                return road_id, section, lane_id
        raise ValueError(
            f"road {origin}: leads to lane {lane_id} of road {road_id}, which is not there"
        )

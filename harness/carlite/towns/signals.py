"""Traffic lights and signs: where they stand, which lanes they hold, and where those stop.

Poses, type codes and default validity follow the client's `carla.Map`; as in CARLA, the actor's
forward axis is the signal's turned by 90 degrees, so a light looks across the lanes it holds.
"""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from harness.carlite.angles import wrap_to_pi
from harness.carlite.towns.model import LaneKind, LaneStopLine, TownLanes, TownSignal
from harness.carlite.towns.network import (
    OpendriveNetwork,
    RoadRecord,
    SignalRecord,
    SignalReference,
)
from harness.carlite.towns.phases import LightPhase, assign_light_phases
from harness.carlite.towns.reference_line import evaluate_cubic, evaluate_reference_line

LIGHT_TYPES = frozenset(
    [f"10000{number:02d}" for number in (1, 2, *range(7, 21))] + ["F", "W", "A"]
)
STOP, YIELD, SPEED_LIMIT = "206", "205", "274"
BEFORE_JUNCTION = 20.0
"""A sign this near to the lane's end holds traffic at the end, not where it stands."""
TRIGGER_SETBACK = 2.0
TRIGGER_DEPTH, TRIGGER_HEIGHT = 1.5, 1.0
SQUARE_ENOUGH = math.cos(math.radians(70))


@dataclass(frozen=True)
class _LanePlace:
    """A station on a lane."""

    lane: int
    station: float


def build_signals(
    network: OpendriveNetwork, lanes: TownLanes, *, last_phase_first: bool = False
) -> tuple[TownSignal, ...]:
    """Return the lights and signs of a town, in the file's order.

    Args:
        network: the town's map.
        lanes: sampled from it.
        last_phase_first: whether junctions begin an episode with their last controller.
    """
    records = _drop_twin_signs(
        record
        for road in network.roads.values()
        for record in road.signals
        if _resolve_type_id(record) is not None
    )
    held = _find_held_places(network, lanes)
    lines = {record.id: _build_stop_lines(lanes, held.get(record.id, [])) for record in records}
    lights = [record.id for record in records if record.type in LIGHT_TYPES]
    phases = assign_light_phases(
        network, lanes, {light: lines[light] for light in lights}, last_phase_first=last_phase_first
    )
    return tuple(_build_signal(network, record, lines[record.id], phases) for record in records)


def _drop_twin_signs(records: Iterable[SignalRecord]) -> list[SignalRecord]:
    """Drop speed limits that the file lists twice in one place: CARLA has one actor for them."""
    kept: list[SignalRecord] = []
    places: set[tuple[str | float, ...]] = set()
    for record in records:
        place = (record.subtype, record.road, record.s, record.t, record.orientation)
        if record.type == SPEED_LIMIT and place in places:
            continue
        places.add(place)
        kept.append(record)
    return kept


def _resolve_type_id(record: SignalRecord) -> str | None:
    """Return CARLA's actor type for a signal, None for signs that CARLA does not bring to life."""
    if record.type in LIGHT_TYPES:
        return "traffic.traffic_light"
    if record.type == STOP:
        return "traffic.stop"
    if record.type == YIELD:
        return "traffic.yield"
    if record.type == SPEED_LIMIT:
        limit = record.subtype if record.subtype.isdecimal() else f"{max(record.value, 0):.0f}"
        return f"traffic.speed_limit.{limit}" if int(limit) > 0 else None
    return None


def _build_signal(
    network: OpendriveNetwork,
    record: SignalRecord,
    lines: Sequence[LaneStopLine],
    phases: Mapping[str, LightPhase],
) -> TownSignal:
    x, y, z, yaw = _compute_signal_pose(network.roads[record.road], record)
    yaw = _square_to_lanes(yaw + math.pi / 2, lines)
    centre, extent = _compute_trigger_box((x, y, z), yaw, lines)
    phase = phases.get(record.id, LightPhase(-1, 0))
    return TownSignal(
        id=record.id,
        type_id=_resolve_type_id(record) or "",
        position=(x, y, z),
        yaw=yaw,
        group=phase.group,
        phase=phase.phase,
        stop_lines=tuple(lines),
        trigger_centre=centre,
        trigger_extent=extent,
    )


def _compute_signal_pose(
    road: RoadRecord, record: SignalRecord
) -> tuple[float, float, float, float]:
    """Return position and yaw as the client's landmarks have them."""
    s = np.array([min(max(record.s, 0.0), road.length)])
    x, y, heading = (float(value[0]) for value in evaluate_reference_line(road.plan, s))
    z = float(evaluate_cubic(road.elevation, s)[0][0]) + record.z_offset
    x, y = x - record.t * math.sin(heading), y + record.t * math.cos(heading)
    yaw = -(heading + record.h_offset)
    if record.type in LIGHT_TYPES:
        x, y = x + 0.25 * math.cos(yaw), -y + 0.25 * math.sin(yaw)
        return x, y, z, yaw
    return x, -y, z, yaw


def _square_to_lanes(yaw: float, lines: Sequence[LaneStopLine]) -> float:
    """Return the actor's yaw; where the file has it far from square to the lanes, square it."""
    if lines:
        off = math.cos(yaw - lines[0].yaw)
        if abs(off) > SQUARE_ENOUGH:
            square = lines[0].yaw + math.pi / 2
            yaw = square if math.cos(yaw - square) >= 0 else square + math.pi
    return wrap_to_pi(yaw)


def _find_held_places(network: OpendriveNetwork, lanes: TownLanes) -> dict[str, list[_LanePlace]]:
    """Return, for each signal id, where on which driving lanes outside junctions it holds."""
    lane_at = {tuple(key): lane for lane, key in enumerate(lanes.key.tolist())}
    held: dict[str, dict[int, _LanePlace]] = defaultdict(dict)
    for road in network.roads.values():
        for reference in road.references:
            for key in _list_valid_lanes(road, reference):
                lane = lane_at.get(key)
                if lane is None or lanes.kind[lane] != LaneKind.DRIVING:
                    continue
                for place in _find_waiting_places(lanes, lane, reference.s):
                    held[reference.id].setdefault(place.lane, place)
    return {signal: list(places.values()) for signal, places in held.items()}


def _list_valid_lanes(
    road: RoadRecord, reference: SignalReference
) -> Iterable[tuple[int, int, int]]:
    """Return the lanes a reference counts for; by default those on the side it faces."""
    starts = [section.s for section in road.sections]
    index = max(int(np.searchsorted(starts, reference.s, side="right")) - 1, 0)
    for lane_id in road.sections[index].lanes:
        if reference.validity:
            valid = any(min(r) <= lane_id <= max(r) for r in reference.validity)
        else:
            valid = {"+": lane_id > 0, "-": lane_id < 0}.get(reference.orientation, True)
        if valid and lane_id != 0:
            yield road.id, index, lane_id


def _find_waiting_places(lanes: TownLanes, lane: int, s: float) -> list[_LanePlace]:
    """Return where traffic bound for a lane is held: before the junction the lane lies in."""
    if lanes.junction[lane] >= 0:
        entrances = _find_entrances(lanes, lane)
        return [_LanePlace(entrance, float(lanes.length[entrance])) for entrance in entrances]
    span = slice(lanes.first[lane], lanes.first[lane] + lanes.count[lane])
    road_s, station = lanes.road_s[span], lanes.station[span]
    if road_s[0] > road_s[-1]:
        road_s, station = road_s[::-1], station[::-1]
    at = float(np.interp(s, road_s, station))
    return [
        _find_junction_mouth(lanes, lane, float(lanes.length[lane]) - at) or _LanePlace(lane, at)
    ]


def _find_junction_mouth(lanes: TownLanes, lane: int, remaining: float) -> _LanePlace | None:
    """Return the end of the last lane before a junction, if that is near."""
    while remaining < BEFORE_JUNCTION:
        ahead = lanes.next[lanes.next_first[lane] :][: lanes.next_count[lane]]
        if (lanes.junction[ahead] >= 0).any():
            return _LanePlace(lane, float(lanes.length[lane]))
        if len(ahead) != 1:
            return None
        lane = int(ahead[0])
        remaining += float(lanes.length[lane])
    return None


def _find_entrances(lanes: TownLanes, lane: int) -> list[int]:
    """Return the lanes outside junctions from which one reaches `lane`."""
    entrances, seen, waiting = [], {lane}, deque([lane])
    while waiting:
        here = waiting.popleft()
        for before in lanes.previous[lanes.previous_first[here] :][: lanes.previous_count[here]]:
            if int(before) in seen:
                continue
            seen.add(int(before))
            if lanes.junction[before] >= 0:
                waiting.append(int(before))
            else:
                entrances.append(int(before))
    return entrances


def _build_stop_lines(lanes: TownLanes, places: Sequence[_LanePlace]) -> tuple[LaneStopLine, ...]:
    return tuple(_build_stop_line(lanes, place) for place in places)


def _build_stop_line(lanes: TownLanes, place: _LanePlace) -> LaneStopLine:
    span = slice(lanes.first[place.lane], lanes.first[place.lane] + lanes.count[place.lane])
    station = lanes.station[span]
    x, y, z = (float(np.interp(place.station, station, lanes.points[span, k])) for k in range(3))
    nearest = int(np.abs(station - place.station).argmin())
    yaw, width = float(lanes.yaw[span][nearest]), float(lanes.width[span][nearest])
    return LaneStopLine(place.lane, (x, y, z), yaw, width)


def _compute_trigger_box(
    position: tuple[float, float, float], yaw: float, lines: Sequence[LaneStopLine]
) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """Return the trigger box in the actor's frame: across the held lanes, just before the line."""
    if not lines:
        return (0.0, 0.0, 0.0), (TRIGGER_DEPTH, TRIGGER_DEPTH, TRIGGER_HEIGHT)
    forward = np.array([math.cos(yaw), math.sin(yaw)])
    right = np.array([-math.sin(yaw), math.cos(yaw)])
    travel = np.array([[math.cos(line.yaw), math.sin(line.yaw)] for line in lines])
    marks = np.array([line.position for line in lines])
    back = marks[:, :2] - TRIGGER_SETBACK * travel - np.array(position[:2])
    along, half = back @ forward, np.array([line.width / 2 for line in lines])
    low, high = float((along - half).min()), float((along + half).max())
    centre = (low + high) / 2, float((back @ right).mean()), float(marks[:, 2].mean()) - position[2]
    return centre, ((high - low) / 2, TRIGGER_DEPTH, TRIGGER_HEIGHT)

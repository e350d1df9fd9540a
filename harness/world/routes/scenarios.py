"""Leaderboard scenarios laid on a route: which triggers it passes, and the hazards they become.

A trigger counts where a row of the route lies within 2 m and 10 degrees of it, as in the
Leaderboard; types that need a turn look at the junction the route is in or comes to next, and do
not count where it goes another way. Of types that share a place the highest-numbered is taken.
V2Xverse's files hold a trigger every 5 m, and it keeps only the fifth Scenario3 of a route: so do
we with `sampling="v2xverse"`, and every one with "leaderboard". Neither lets one kind follow itself
within 30 m.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from harness.types.geometry import wrap_angle
from harness.types.vocabulary import Floats, Mask, Route
from harness.world.hazards.spec import HazardSpec
from harness.world.routes.documents import (
    check_json_list,
    check_json_object,
    get_json_number,
    get_json_text,
)
from harness.world.routes.files import NestedScenario
from harness.world.routes.kinds import (
    NOT_RUN,
    NUMBERED,
    ScenarioMeaning,
    Turn,
    get_scenario_meaning,
    parse_scenario_number,
)

Sampling = Literal["v2xverse", "leaderboard"]
SAMPLINGS: tuple[Sampling, ...] = get_args(Sampling)
NEAR, ALIGNED = 2.0, math.radians(10.0)
NESTED_NEAR = 10.0
TURNS = math.radians(35.0)
APART = 30.0
FIFTH = 5


@dataclass(frozen=True, slots=True, eq=False)
class TownTriggers:
    """A town's triggers in the order of the file."""

    types: list[str]
    poses: Floats  # (N, 4) x y z yaw


@dataclass(frozen=True, slots=True, eq=False)
class TriggerMatch:
    """A trigger that a route passes."""

    type: str
    row: int
    pose: Floats  # (4,) x y z yaw


def read_town_triggers(content: dict[str, Any], path: Path) -> dict[str, TownTriggers]:
    """Return the triggers of a Leaderboard scenario file."""
    rows: dict[str, tuple[list[str], list[list[float]]]] = {}
    # types and poses of every town, with the place of each for messages
    for at, towns in enumerate(
        check_json_list(content["available_scenarios"], f"{path}: available_scenarios")
    ):
        place = f"{path}: available_scenarios[{at}]"
        for town, groups in check_json_object(towns, place).items():
            types, poses = rows.setdefault(town, ([], []))
            for number, group in enumerate(check_json_list(groups, f"{place}[{town[:40]!r}]")):
                where = f"{place}[{town[:40]!r}][{number}]"
                kind = get_json_text(check_json_object(group, where), "scenario_type", where)
                events = check_json_list(
                    group.get("available_event_configurations"), f"{where} events"
                )
                for event in events:
                    transform = event.get("transform") if isinstance(event, dict) else None
                    pose = check_json_object(transform, f"{where} transform")
                    poses.append(
                        [get_json_number(pose, name, where) for name in ("x", "y", "z", "yaw")]
                    )
                    types.append(kind)
    # (triggers, 4): m and rad
    return {
        town: TownTriggers(types, np.array(poses).reshape(-1, 4) * (1.0, 1.0, 1.0, math.pi / 180.0))
        for town, (types, poses) in rows.items()
    }


def make_trigger_hazards(
    route: Route, triggers: TownTriggers, kinds: Collection[str], sampling: Sampling
) -> list[HazardSpec]:
    """Return the hazards that a scenario file puts on a route, the ones not run with the reason.

    Args:
        route: as it was laid.
        triggers: of its town.
        kinds: names of hazards that are known.
        sampling: `v2xverse` runs only the fifth Scenario3.
    """
    possible: list[tuple[TriggerMatch, HazardSpec]] = []
    specs: list[HazardSpec] = []
    # those that the route's turns rule out keep their reason
    for match in match_triggers(route, triggers):
        spec = _make_scenario_spec(route, match.type, match.row, kinds)
        if _is_feasible_match(route, match):
            possible.append((match, spec))
        else:
            specs.append(spec)
    thirds = 0
    # one for each place, of the highest number
    for match, spec in _select_one_per_place(possible):
        if sampling == "v2xverse" and match.type == "Scenario3":
            thirds += 1
            if thirds != FIFTH:
                specs.append(
                    _mark_not_run(spec, "V2Xverse runs only the fifth Scenario3 of a route")
                )
                continue
        specs.append(spec)
    return _drop_crowded_hazards(specs)


def make_nested_hazards(
    route: Route, scenarios: Sequence[NestedScenario], kinds: Collection[str]
) -> list[HazardSpec]:
    """Return the hazards that a Leaderboard 2.x route carries itself."""
    specs: list[HazardSpec] = []
    for scenario in scenarios:
        gaps = np.linalg.norm(route.xyz - np.array(scenario.trigger[:3]), axis=1)
        row = int(gaps.argmin())
        spec = _make_scenario_spec(route, scenario.type, row, kinds)
        if gaps[row] > NESTED_NEAR:
            spec = _mark_not_run(spec, f"its trigger lies {gaps[row]:.0f} m from the route")
        specs.append(spec)
    return _drop_crowded_hazards(specs)


def match_triggers(route: Route, triggers: TownTriggers) -> list[TriggerMatch]:
    """Return the triggers that a route passes, each at the first row near it, in file order."""
    # sorted by x: only triggers near a row are compared with it
    order = np.argsort(triggers.poses[:, 0], kind="stable")
    poses = triggers.poses[order]
    starts = np.searchsorted(poses[:, 0], route.xyz[:, 0] - NEAR)
    ends = np.searchsorted(poses[:, 0], route.xyz[:, 0] + NEAR)
    rows = np.full(len(poses), -1)
    # each trigger at the first row that is near
    for row, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        some, first = poses[start:end], rows[start:end]
        near = ((some[:, :3] - route.xyz[row]) ** 2).sum(axis=1) < NEAR**2
        first[near & (first < 0) & _is_yaw_aligned(some[:, 3], route.yaw[row])] = row
    row_of = np.empty_like(rows)
    row_of[order] = rows
    return [
        TriggerMatch(triggers.types[index], int(row_of[index]), triggers.poses[index])
        for index in np.flatnonzero(row_of >= 0).tolist()
    ]


def _is_yaw_aligned(yaws: Floats, yaw: float) -> Mask:
    return np.abs(wrap_angle(yaws - yaw)) < ALIGNED


def _select_one_per_place(
    possible: Sequence[tuple[TriggerMatch, HazardSpec]],
) -> list[tuple[TriggerMatch, HazardSpec]]:
    """Return, for each place, the match whose type has the highest number."""
    # (matches, 4) poses of those that were chosen so far
    places = np.empty((len(possible), 4))
    chosen: list[tuple[TriggerMatch, HazardSpec]] = []
    for match, spec in possible:
        known = places[: len(chosen)]
        near = np.hypot(known[:, 0] - match.pose[0], known[:, 1] - match.pose[1]) < NEAR
        same = np.flatnonzero(near & _is_yaw_aligned(known[:, 3], float(match.pose[3])))
        if not len(same):
            places[len(chosen)] = match.pose
            chosen.append((match, spec))
        elif parse_scenario_number(match.type) >= parse_scenario_number(chosen[same[0]][0].type):
            chosen[same[0]] = (match, spec)
    return chosen


def _is_feasible_match(route: Route, match: TriggerMatch) -> bool:
    """Return whether the route turns as the type needs it, whether we have a hazard or not."""
    meaning = NUMBERED.get(match.type)
    return (
        meaning is None
        or meaning.turns is None
        or not _find_scenario_station(route, match.row, meaning)[1]
    )


def _make_scenario_spec(
    route: Route, scenario: str, row: int, kinds: Collection[str]
) -> HazardSpec:
    meaning = get_scenario_meaning(scenario, kinds)
    station, problem = _find_scenario_station(route, row, meaning)
    kind = f"{NOT_RUN}{problem}" if problem else meaning.kind
    return HazardSpec(route=route.name, kind=kind, station=station, source=scenario)


def _find_scenario_station(route: Route, row: int, meaning: ScenarioMeaning) -> tuple[float, str]:
    """Return where ego would meet the hazard, and what prevents it."""
    here = float(route.station[row])
    if meaning.turns is None:
        station = here + meaning.ahead
        return (station, "") if station <= route.length else (here, "the route ends before it")
    ahead = [(first, last) for first, last in list_route_junctions(route) if last >= row]
    if not ahead:
        return here, "no junction follows on the route"
    first, last = ahead[0]
    turn = classify_turn(route, first, last)
    if turn not in meaning.turns:
        return here, f"the route goes {turn} at the next junction"
    return float(route.station[(first + last) // 2]), ""


def list_route_junctions(route: Route) -> list[tuple[int, int]]:
    """Return the first and last row of every junction on a route."""
    steps = np.diff(np.concatenate([[0], route.in_junction.astype(np.int8), [0]]))
    first, beyond = np.flatnonzero(steps > 0), np.flatnonzero(steps < 0)
    return list(zip(first.tolist(), (beyond - 1).tolist(), strict=True))


def classify_turn(route: Route, first: int, last: int) -> Turn:
    """Return which way the route turns between two rows.

    Args:
        route: as it was laid.
        first: row.
        last: row.
    """
    turned = float(np.unwrap(route.yaw[first : last + 1])[-1] - route.yaw[first])
    if abs(turned) < TURNS:
        return "straight"
    return "right" if turned > 0.0 else "left"


def _mark_not_run(spec: HazardSpec, reason: str) -> HazardSpec:
    return replace(spec, kind=f"{NOT_RUN}{reason}")


def _drop_crowded_hazards(specs: Iterable[HazardSpec]) -> list[HazardSpec]:
    """Return the hazards in order along the route, none within 30 m of one of its kind.

    What is not run for the same reason is named once, with its count.
    """
    kept: list[HazardSpec] = []
    counts: dict[tuple[str, str], list[HazardSpec]] = {}
    last: dict[str, float] = {}
    for spec in sorted(specs, key=lambda spec: (spec.station, spec.source)):
        kind = spec.kind
        if not kind.startswith(NOT_RUN):
            if spec.station - last.get(kind, -math.inf) >= APART:
                last[kind] = spec.station
                kept.append(spec)
                continue
            kind = f"{NOT_RUN}less than {APART:g} m from another {kind}"
        counts.setdefault((spec.source, kind), []).append(spec)
    for (source, kind), group in counts.items():
        first, number = group[0], float(len(group))
        kept.append(
            HazardSpec(
                route=first.route,
                kind=kind,
                station=first.station,
                parameters={"count": number},
                source=source,
            )
        )
    return kept

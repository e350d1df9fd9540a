"""Leaderboard scenarios laid on a route: which triggers it passes, and the hazards they become.

A trigger counts where a row of the route lies within 2 m and 10 degrees of it, as in the
Leaderboard; types that need a turn look at the junction the route is in or comes to next. Of types
that share a place the highest-numbered is taken. V2Xverse's files hold a trigger every 5 m, and it
keeps only the fifth Scenario3 of a route: so do we with `sampling="v2xverse"`, and every one with
"leaderboard". Neither lets one kind follow itself within 30 m.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from harness.errors import UserError
from harness.vocabulary import Floats, Route
from harness.world.hazards.spec import HazardSpec
from harness.world.routes.documents import list_in, number_in, object_in, text_in
from harness.world.routes.files import NestedScenario
from harness.world.routes.kinds import NOT_RUN, Meaning, Turn, meaning_of, rank

Sampling = Literal["v2xverse", "leaderboard"]
NEAR, ALIGNED = 2.0, math.radians(10.0)
NESTED_NEAR = 10.0
TURNS = math.radians(35.0)
APART = 30.0
FIFTH = 5


@dataclass(frozen=True, slots=True, eq=False)
class Triggers:
    """A town's triggers in the order of the file."""

    types: list[str]
    poses: Floats  # (N, 4) x y z yaw


@dataclass(frozen=True, slots=True)
class Match:
    """A trigger that a route passes."""

    type: str
    row: int
    pose: tuple[float, ...]


def triggers_by_town(content: dict[str, Any], path: Path) -> dict[str, Triggers]:
    """Return the triggers of a Leaderboard scenario file."""
    rows: dict[str, tuple[list[str], list[list[float]]]] = {}
    for at, towns in enumerate(list_in(content["available_scenarios"], f"{path}")):
        place = f"{path}: available_scenarios[{at}]"
        for town, groups in object_in(towns, place).items():
            types, poses = rows.setdefault(town, ([], []))
            for number, group in enumerate(list_in(groups, f"{place}.{town}")):
                where = f"{place}.{town}[{number}]"
                kind = text_in(object_in(group, where), "scenario_type", where)
                events = list_in(group.get("available_event_configurations"), f"{where} events")
                for event in events:
                    transform = event.get("transform") if isinstance(event, dict) else None
                    pose = object_in(transform, f"{where} transform")
                    poses.append([number_in(pose, name, where) for name in ("x", "y", "z", "yaw")])
                    types.append(kind)
    return {
        town: Triggers(types, np.array(poses).reshape(-1, 4) * (1.0, 1.0, 1.0, math.pi / 180.0))
        for town, (types, poses) in rows.items()
    }


def hazards_from_triggers(
    route: Route, triggers: Triggers, kinds: Collection[str], sampling: Sampling
) -> list[HazardSpec]:
    """Return the hazards that a scenario file puts on a route, the ones not run with the reason."""
    chosen, dropped = _sampled(matches(route, triggers), sampling)
    specs = [_spec(route, match.type, match.row, kinds) for match in chosen]
    return _apart([*specs, *(_not_run(route, match, reason) for match, reason in dropped)])


def hazards_from_nested(
    route: Route, scenarios: Sequence[NestedScenario], kinds: Collection[str]
) -> list[HazardSpec]:
    """Return the hazards that a Leaderboard 2.x route carries itself."""
    specs: list[HazardSpec] = []
    for scenario in scenarios:
        gaps = np.linalg.norm(route.xyz - np.array(scenario.trigger[:3]), axis=1)
        row = int(gaps.argmin())
        if gaps[row] > NESTED_NEAR:
            reason = f"its trigger lies {gaps[row]:.0f} m from the route"
            specs.append(_not_run(route, Match(scenario.type, row, scenario.trigger), reason))
        else:
            specs.append(_spec(route, scenario.type, row, kinds))
    return _apart(specs)


def matches(route: Route, triggers: Triggers) -> list[Match]:
    """Return the triggers that a route passes, each at the first row near it, in file order."""
    poses = triggers.poses
    low, high = route.xyz.min(axis=0) - NEAR, route.xyz.max(axis=0) + NEAR
    close = np.flatnonzero(((poses[:, :3] >= low) & (poses[:, :3] <= high)).all(axis=1))
    found: list[Match] = []
    for index in close.tolist():
        pose = poses[index]
        near = np.linalg.norm(route.xyz - pose[:3], axis=1) < NEAR
        turned = np.abs((route.yaw - pose[3] + np.pi) % (2 * np.pi) - np.pi)
        rows = np.flatnonzero(near & (turned < ALIGNED))
        if len(rows):
            found.append(Match(triggers.types[index], int(rows[0]), tuple(pose.tolist())))
    return found


def _sampled(
    found: Iterable[Match], sampling: Sampling
) -> tuple[list[Match], list[tuple[Match, str]]]:
    """Return one match for each place, and those of the type that is thinned out."""
    places: list[list[Match]] = []
    for match in found:
        for place in places:
            if _same_place(place[0].pose, match.pose):
                place.append(match)
                break
        else:
            places.append([match])
    chosen: list[Match] = []
    dropped: list[tuple[Match, str]] = []
    thirds = 0
    for place in places:
        match = max(place, key=lambda one: rank(one.type))
        if sampling == "v2xverse" and match.type == "Scenario3":
            thirds += 1
            if thirds != FIFTH:
                dropped.append((match, "V2Xverse runs only the fifth Scenario3 of a route"))
                continue
        chosen.append(match)
    return chosen, dropped


def _same_place(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    turned = abs((a[3] - b[3] + math.pi) % (2 * math.pi) - math.pi)
    return math.dist(a[:2], b[:2]) < NEAR and turned < ALIGNED


def _spec(route: Route, scenario: str, row: int, kinds: Collection[str]) -> HazardSpec:
    meaning = meaning_of(scenario, kinds)
    station, problem = _meeting(route, row, meaning)
    kind = f"{NOT_RUN}{problem}" if problem else meaning.kind
    return HazardSpec(route.name, kind, station, source=scenario)


def _meeting(route: Route, row: int, meaning: Meaning) -> tuple[float, str]:
    """Return where ego would meet the hazard, and what prevents it."""
    here = float(route.station[row])
    if meaning.turns is None:
        station = here + meaning.ahead
        return (station, "") if station <= route.length else (here, "the route ends before it")
    inside = np.flatnonzero(route.in_junction[row:])
    if not len(inside):
        return here, "no junction follows on the route"
    first, last = junction_at(route, row + int(inside[0]))
    turn = turn_of(route, first, last)
    if turn not in meaning.turns:
        return here, f"the route goes {turn} at the next junction"
    return float(route.station[(first + last) // 2]), ""


def junction_at(route: Route, row: int) -> tuple[int, int]:
    """Return the first and last row of the junction that a row lies in."""
    outside = np.flatnonzero(~route.in_junction)
    before, after = outside[outside < row], outside[outside > row]
    first = int(before[-1]) + 1 if len(before) else 0
    last = int(after[0]) - 1 if len(after) else len(route.station) - 1
    return first, last


def turn_of(route: Route, first: int, last: int) -> Turn:
    """Return which way the route turns between two rows."""
    turned = float(np.unwrap(route.yaw[first : last + 1])[-1] - route.yaw[first])
    if abs(turned) < TURNS:
        return "straight"
    return "right" if turned > 0.0 else "left"


def _not_run(route: Route, match: Match, reason: str) -> HazardSpec:
    station = float(route.station[match.row])
    return HazardSpec(route.name, f"{NOT_RUN}{reason}", station, source=match.type)


def _apart(specs: Iterable[HazardSpec]) -> list[HazardSpec]:
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
        kept.append(HazardSpec(first.route, kind, first.station, {"count": number}, source))
    return kept


def sampling_named(name: str) -> Sampling:
    """Return a rule of sampling by its name."""
    for known in ("v2xverse", "leaderboard"):
        if name == known:
            return known
    raise UserError(f"sampling={name}: there is v2xverse and leaderboard; write one of them")

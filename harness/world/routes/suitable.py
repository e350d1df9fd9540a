"""What a generated route must be like."""

from __future__ import annotations

import numpy as np

from harness.types.vocabulary import Route
from harness.world.hazards.catalogue import build_hazard
from harness.world.hazards.encounter import Encounter
from harness.world.hazards.spec import HazardSpec
from harness.world.hazards.track import Track
from harness.world.routes.hazard_sites import CROSSING, EMERGING
from harness.world.routes.scenarios import classify_turn, list_route_junctions

SHORTEST, LONGEST = 80.0, 400.0
FROM_START, FROM_END = 38.0, 18.0
"""Metres between a meeting and the route's ends."""
RUN_UP = 20.0
"""Metres from the start to an actor that stands in the lane."""
TOWN_SPEED = 17.0
"""Limit, m/s, above which a road is none for slow traffic."""
AFTERWARDS = 25.0
"""Metres beyond a meeting that must be straight too: who is about to turn is slow already."""
RUN_IN = 10.0
"""Metres from the start and the goal to the nearest junction."""
SHARED = 0.7
"""Share of a route that another one may run along too."""
SAME_LANE = 2.0
"""Metres between two routes that run along the same lane."""


def is_worth_driving(route: Route) -> bool:
    """Return whether it turns at a junction, in town, and neither starts nor ends close to one."""
    crossed = list_route_junctions(route)
    return (
        SHORTEST <= route.length <= LONGEST
        and any(classify_turn(route, first, last) != "straight" for first, last in crossed)
        and crossed[0][0] >= RUN_IN
        and crossed[-1][1] <= route.length - RUN_IN
        and float(route.speed_limit.max()) <= TOWN_SPEED
    )


def is_well_placed(track: Track, hazard: HazardSpec) -> bool:
    """Return whether the ego meets it away from the route's ends, coming straight on to a kerb."""
    known = build_hazard(hazard)
    plan = next(iter(known.plans(track)), None) if isinstance(known, Encounter) else None
    if plan is None or (isinstance(known, Encounter) and plan.meeting.seconds < known.notice):
        return False
    hides = hazard.kind in EMERGING + CROSSING
    station = plan.meeting.station if hides else hazard.station
    if not FROM_START <= station <= track.route.length - FROM_END:
        return False
    if hazard.kind in CROSSING:
        return True
    if hazard.kind in EMERGING:
        return _is_straight_approach(track, station, 30.0, AFTERWARDS)
    return plan.meeting.station >= RUN_UP and _is_straight_approach(track, station, 42.0, 6.0)


def _is_straight_approach(track: Track, station: float, before: float, after: float) -> bool:
    """Return whether the ego comes straight on, through no junction."""
    rows = slice(max(int(station - before), 0), int(station + after))
    turned = np.ptp(np.unwrap(track.route.yaw[rows]))
    return bool(turned < 0.15 and not track.route.in_junction[rows].any())


def has_route_overlap(a: Route, b: Route) -> bool:
    """Return whether two routes share most of the shorter one."""
    short, long = (r.xyz[:, :2] for r in sorted((a, b), key=lambda route: route.length))
    low, high = long.min(axis=0) - SAME_LANE, long.max(axis=0) + SAME_LANE
    # a cheap test first: points inside the other's bounding box
    near = short[((low < short) & (short < high)).all(axis=1)]
    if len(near) <= SHARED * len(short):
        return False
    gaps = np.linalg.norm(near[:, None] - long[None], axis=2)
    return int((gaps.min(axis=1) < SAME_LANE).sum()) / len(short) > SHARED

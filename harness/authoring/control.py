"""Who goes first: lights with their phases, stop and yield signs, speed limits."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from harness.authoring.document import LightController, PlannedRoad, RoadSign, StopLine
from harness.authoring.junctions import JunctionArm, LaneMouth
from harness.authoring.plan import JunctionControl, Node
from harness.carlite.angles import wrap_to_pi

LIGHT, STOP, YIELD, LIMIT = "1000001", "206", "205", "274"
HOLDING = {LIGHT, STOP}
POLE_BEHIND_KERB, WIDE_WALK = 0.65, 2.15
"""Poles stand on wide sidewalks near the kerb, and behind narrow ones."""
OPPOSITE = math.radians(150)

Ids = Iterator[int]
"""Hands out a fresh id at each step."""


def _get_pole_distance(walk: LaneMouth) -> float:
    """Return where poles stand: on the sidewalk if it is wide enough to pass them."""
    if walk.width >= WIDE_WALK:
        return POLE_BEHIND_KERB
    return walk.width + 0.3


@dataclass(frozen=True)
class SignFace:
    """What a sign shows."""

    name: str
    type: str
    dynamic: bool = False


LAMPS = SignFace("Signal_3Light_Post01", LIGHT, dynamic=True)
STOP_SIGN, YIELD_SIGN = SignFace("Sign_Stop", STOP), SignFace("Sign_Yield", YIELD)


def _make_kerbside_sign(arm: JunctionArm, road: PlannedRoad, id_: int, face: SignFace) -> RoadSign:
    """Stand a sign at the kerb where an arm's traffic enters the junction."""
    against = arm.incoming[0].lane > 0
    lateral = arm.kerb_left + _get_pole_distance(arm.walk_in)
    lanes = [mouth.lane for mouth in arm.incoming]
    return RoadSign(
        id=id_,
        name=face.name,
        station=0.25 if against else road.path.length - 0.25,
        lateral=lateral if against else -lateral,
        against=against,
        type=face.type,
        lanes=(min(lanes), max(lanes)),
        dynamic=face.dynamic,
    )


def add_stop_lines(arms: list[JunctionArm], roads: dict[int, PlannedRoad], numbers: Ids) -> None:
    """Paint a line across the lanes of every arm whose traffic may have to stop."""
    for arm in arms:
        road, against = roads[arm.road], arm.incoming[0].lane > 0
        held = [sign for sign in road.signs if sign.against == against and sign.type in HOLDING]
        if not held:
            continue
        width = sum(mouth.width for mouth in arm.incoming)
        lateral = arm.kerb_left - width / 2
        station = 0.25 if against else road.path.length - 0.25
        road.stop_lines.append(
            StopLine(next(numbers), station, lateral if against else -lateral, width)
        )


def group_light_phases(arms: list[JunctionArm], node: Node) -> list[list[int]]:
    """Order the greens: the arms that go together.

    Opposite arms share a green, but with `turns` each has its own. A left-turn lane never has a
    light to itself: CARLA's agents take any red light of their road for theirs.
    """
    left = set(range(len(arms)))
    result: list[list[int]] = []
    while left:
        arm = min(left, key=lambda k: (-arms[k].rank, k))
        group = [arm]
        for other in sorted(left - {arm}):
            between = wrap_to_pi(arms[other].outward.heading - arms[arm].outward.heading)
            if abs(between) > OPPOSITE and not node.turns:
                group.append(other)
                break
        left -= set(group)
        result.append(group)
    return result


def add_lights(
    node: Node,
    arms: list[JunctionArm],
    roads: dict[int, PlannedRoad],
    *,
    signs: Ids,
    controllers: Ids,
) -> tuple[LightController, ...]:
    """Put up a junction's lights and time them."""
    result = []
    for sequence, group in enumerate(group_light_phases(arms, node)):
        ids = []
        for arm in (arms[index] for index in group):
            ids.append(next(signs))
            road = roads[arm.road]
            road.signs.append(_make_kerbside_sign(arm, road, ids[-1], LAMPS))
        result.append(LightController(next(controllers), sequence, tuple(ids)))
    return tuple(result)


def add_priority_signs(
    node: Node, arms: list[JunctionArm], roads: dict[int, PlannedRoad], signs: Ids
) -> None:
    """Put up stop and yield signs."""
    highest = max(arm.rank for arm in arms)
    face = YIELD_SIGN if node.control is JunctionControl.YIELD else STOP_SIGN
    for arm in arms:
        if node.control is JunctionControl.ALL_STOP or arm.rank < highest:
            road = roads[arm.road]
            road.signs.append(_make_kerbside_sign(arm, road, next(signs), face))


def add_speed_limit_signs(
    arms: list[JunctionArm], roads: dict[int, PlannedRoad], signs: Ids
) -> None:
    """Announce the speed limit to those who leave a junction."""
    for arm in arms:
        road = roads[arm.road]
        if road.path.length < 60:
            continue
        # the sign stands at the right of those who leave, who may drive against the road's
        # direction
        against = arm.outgoing[0].lane > 0
        lateral = arm.kerb_right + _get_pole_distance(arm.walk_out)
        lanes = [mouth.lane for mouth in arm.outgoing]
        road.signs.append(
            RoadSign(
                id=next(signs),
                name=f"Speed_{road.speed}",
                station=road.path.length - 4.0 if against else 4.0,
                lateral=lateral if against else -lateral,
                against=against,
                type=LIMIT,
                lanes=(min(lanes), max(lanes)),
                value=float(road.speed),
                subtype=str(road.speed),
            )
        )

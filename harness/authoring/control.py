"""Who goes first: lights with their phases, stop and yield signs, speed limits."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from harness.authoring.document import Controller, Road, Sign, StopLine
from harness.authoring.junctions import Arm, Mouth
from harness.authoring.plan import Control, Node
from harness.carlite.angles import wrapped

LIGHT, STOP, YIELD, LIMIT = "1000001", "206", "205", "274"
HOLDING = {LIGHT, STOP}
POLE_BEHIND_KERB, WIDE_WALK = 0.65, 2.15
"""Poles stand on wide sidewalks near the kerb, and behind narrow ones."""
OPPOSITE = math.radians(150)

Ids = Iterator[int]
"""Hands out a fresh id at each step."""


def _behind_kerb(walk: Mouth) -> float:
    """Return where poles stand: on the sidewalk if it is wide enough to pass them."""
    if walk.width >= WIDE_WALK:
        return POLE_BEHIND_KERB
    return walk.width + 0.3


@dataclass(frozen=True)
class Face:
    """What a sign shows."""

    name: str
    type: str
    dynamic: bool = False


LAMPS = Face("Signal_3Light_Post01", LIGHT, dynamic=True)
STOP_SIGN, YIELD_SIGN = Face("Sign_Stop", STOP), Face("Sign_Yield", YIELD)


def _kerbside_sign(arm: Arm, road: Road, id_: int, face: Face) -> Sign:
    """Stand a sign at the kerb where an arm's traffic enters the junction."""
    against = arm.incoming[0].lane > 0
    lateral = arm.kerb_left + _behind_kerb(arm.walk_in)
    lanes = [mouth.lane for mouth in arm.incoming]
    return Sign(
        id=id_,
        name=face.name,
        station=0.25 if against else road.path.length - 0.25,
        lateral=lateral if against else -lateral,
        against=against,
        type=face.type,
        lanes=(min(lanes), max(lanes)),
        dynamic=face.dynamic,
    )


def stop_lines(arms: list[Arm], roads: dict[int, Road], numbers: Ids) -> None:
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


def phases(arms: list[Arm], node: Node) -> list[list[int]]:
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
            between = wrapped(arms[other].outward.heading - arms[arm].outward.heading)
            if abs(between) > OPPOSITE and not node.turns:
                group.append(other)
                break
        left -= set(group)
        result.append(group)
    return result


def lights(
    node: Node, arms: list[Arm], roads: dict[int, Road], *, signs: Ids, controllers: Ids
) -> tuple[Controller, ...]:
    """Put up a junction's lights and time them."""
    result = []
    for sequence, group in enumerate(phases(arms, node)):
        ids = []
        for arm in (arms[index] for index in group):
            ids.append(next(signs))
            road = roads[arm.road]
            road.signs.append(_kerbside_sign(arm, road, ids[-1], LAMPS))
        result.append(Controller(next(controllers), sequence, tuple(ids)))
    return tuple(result)


def give_way(node: Node, arms: list[Arm], roads: dict[int, Road], signs: Ids) -> None:
    """Put up stop and yield signs."""
    highest = max(arm.rank for arm in arms)
    face = YIELD_SIGN if node.control is Control.YIELD else STOP_SIGN
    for arm in arms:
        if node.control is Control.ALL_STOP or arm.rank < highest:
            road = roads[arm.road]
            road.signs.append(_kerbside_sign(arm, road, next(signs), face))


def limits(arms: list[Arm], roads: dict[int, Road], signs: Ids) -> None:
    """Announce the speed limit to those who leave a junction."""
    for arm in arms:
        road = roads[arm.road]
        if road.path.length < 60:
            continue
        against = arm.outgoing[0].lane > 0
        lateral = arm.kerb_right + _behind_kerb(arm.walk_out)
        lanes = [mouth.lane for mouth in arm.outgoing]
        road.signs.append(
            Sign(
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

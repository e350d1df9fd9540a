"""Where streets meet: how far each is cut back, which lane leads where, and along which curve."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from harness.authoring.document import Cubic, Lane, Mark, Section
from harness.authoring.geometry import (
    TIE,
    Path,
    Pose,
    chained,
    join,
    tangent_legs,
)
from harness.authoring.plan import Node
from harness.authoring.sections import CrossSection, blend
from harness.carlite.angles import wrapped

CROSSWALK_DEPTH = 3.2
CROSSWALK_GAP = 1.0
LEAD = CROSSWALK_DEPTH + 1.8
"""How far the arms run straight on into the junction: room for the crosswalk."""
SHORTEST_CUT, LONGEST_CUT = 6.0, 60.0
CUT_STEP, CUT_PROBE = 0.25, 12.0
NEARLY_STRAIGHT = math.radians(12)


@dataclass(frozen=True)
class Mouth:
    """A lane where it meets a junction: the pose of its left edge, in the direction of travel."""

    lane: int
    name: str
    edge: Pose
    width: float


@dataclass(frozen=True, kw_only=True)
class Arm:
    """A street's end at a junction.

    Attributes:
        road: the street's road id.
        outward: the reference line at the cut, looking away from the junction.
        incoming, outgoing: driving lanes from the kerb to the centre.
        walk_in, walk_out: the sidewalks next to them.
        kerb_left, kerb_right: from the reference line to the kerbs, looking outward.
    """

    road: int
    rank: int
    outward: Pose
    incoming: tuple[Mouth, ...]
    outgoing: tuple[Mouth, ...]
    walk_in: Mouth
    walk_out: Mouth
    kerb_left: float
    kerb_right: float


@dataclass(frozen=True)
class Movement:
    """One lane's way through a junction, the sidewalk at its right hand included."""

    source: int
    target: int
    path: Path
    lanes: tuple[tuple[Mouth, Mouth], ...]


@dataclass(frozen=True)
class Ray:
    """A street's end while its cut-back is still open: course and kerbs, looking outward."""

    outward: Callable[[float], Pose]
    kerb_left: float
    kerb_right: float


def ray(outward: Callable[[float], Pose], cut: CrossSection, at_start: bool) -> Ray:
    """Look along a street away from the node at its start or end."""
    left, right = cut.kerb(left=True), cut.kerb(left=False)
    return Ray(outward, left, right) if at_start else Ray(outward, right, left)


def bearing(pose: Pose) -> float:
    """Return a heading from 0 to a full turn, to sort by: due east is 0, whatever the rounding."""
    return round(pose.heading, 6) % (2 * math.pi)


def cut_backs(node: Node, rays: list[Ray]) -> list[float]:
    """Cut each street back until the corners on both its sides can be round."""
    cuts = [SHORTEST_CUT + LEAD] * len(rays)
    order = sorted(range(len(rays)), key=lambda k: bearing(rays[k].outward(CUT_PROBE)))
    corners = list(zip(order, [*order[1:], order[0]], strict=True))
    growing = True
    while growing:
        growing = False
        for a, b in corners:
            short_a, short_b = _corner_lacks(node, (rays[a], cuts[a]), (rays[b], cuts[b]))
            cuts[a] += CUT_STEP * short_a
            cuts[b] += CUT_STEP * short_b
            growing |= short_a or short_b
        if max(cuts) > LONGEST_CUT:
            raise ValueError(f"the streets at ({node.x:g}, {node.y:g}) meet too sharply")
    return cuts


def _corner_lacks(
    node: Node, source: tuple[Ray, float], target: tuple[Ray, float]
) -> tuple[bool, bool]:
    """Return which of two neighbouring streets must end further off for a round kerb."""
    (a, cut_a), (b, cut_b) = source, target
    entry = a.outward(cut_a).left(a.kerb_left).reversed().ahead(LEAD)
    leave = b.outward(cut_b).left(-b.kerb_right).ahead(-LEAD)
    turn = wrapped(leave.heading - entry.heading)
    if turn > -NEARLY_STRAIGHT:
        return False, False
    legs = tangent_legs(entry, leave)
    tangent = node.corner * math.tan(-turn / 2)
    return legs[0] < tangent - TIE, legs[1] < tangent - TIE


def movements(node: Node, arms: list[Arm]) -> list[Movement]:
    """Connect every incoming lane, and every sidewalk round its corner."""
    order = sorted(range(len(arms)), key=lambda k: bearing(arms[k].outward))
    others_of = {
        source: [order[(place + k) % len(order)] for k in range(1, len(order))]
        for place, source in enumerate(order)
    }
    pairs_of = {source: _lane_pairs(arms, source, others) for source, others in others_of.items()}
    _enter_all(arms, pairs_of)
    result: list[Movement] = []
    for source, pairs in pairs_of.items():
        others = others_of[source]
        corner = (others[0], 0, 0)
        if corner not in pairs:
            result.append(_walk(node, arms, source, others[0]))
        for target, lane, into in pairs:
            walked = (target, lane, into) == corner
            result.append(
                _drive(node, arms, source, target, lane=lane, into=into, with_walk=walked)
            )
    return result


def _enter_all(arms: list[Arm], pairs_of: dict[int, list[tuple[int, int, int]]]) -> None:
    """Lead the straightest arm's innermost lane into outgoing lanes that none leads into."""
    entered = {(target, into) for pairs in pairs_of.values() for target, _, into in pairs}
    for target, arm in enumerate(arms):
        for into in range(len(arm.outgoing)):
            if (target, into) not in entered:
                sources = [source for source in pairs_of if source != target]
                source = min(sources, key=lambda k: round(abs(_turn(arms, k, target)), 6))
                lane = max(k for goal, k, _ in pairs_of[source] if goal == target)
                pairs_of[source].append((target, lane, into))


def _turn(arms: list[Arm], source: int, target: int) -> float:
    """Heading change from one arm to another, left positive."""
    return wrapped(arms[target].outward.heading - arms[source].outward.heading - math.pi)


def _lane_pairs(arms: list[Arm], source: int, others: list[int]) -> list[tuple[int, int, int]]:
    """Choose (target arm, incoming lane, outgoing lane), lanes counted from the kerb."""
    lanes = [k for k, mouth in enumerate(arms[source].incoming) if mouth.name != "pocket"]
    pocket = len(lanes) < len(arms[source].incoming)
    turns = {target: _turn(arms, source, target) for target in others}
    ahead = [t for t in others if abs(turns[t]) <= math.pi / 4]
    right = [t for t in others if turns[t] < -math.pi / 4]
    left = [t for t in others if turns[t] > math.pi / 4]
    pairs = []
    for target in right:
        pairs += [(target, 0, 0)]
        if not ahead:
            room = min(len(lanes) - (1 if left and not pocket else 0), len(arms[target].outgoing))
            pairs += [(target, k, k) for k in lanes[1:room]]
    for target in ahead:
        exits = len(arms[target].outgoing)
        turning = max(len(lanes) - exits, 0) if right and (pocket or not left) else 0
        pairs += [(target, k, k - turning) for k in lanes if 0 <= k - turning < exits]
    for target in left:
        exits = len(arms[target].outgoing)
        innermost = len(arms[source].incoming) - 1
        pairs += [(target, innermost, exits - 1)]
        if not ahead and not right:
            pairs += [(target, k, k) for k in lanes if k < innermost and k < exits - 1]
    return pairs


def _drive(
    node: Node,
    arms: list[Arm],
    source: int,
    target: int,
    *,
    lane: int,
    into: int,
    with_walk: bool,
) -> Movement:
    entry, leave = arms[source].incoming[lane], arms[target].outgoing[into]
    lanes = [(entry, leave)]
    if with_walk:
        lanes.append((arms[source].walk_in, arms[target].walk_out))
    radius = node.corner + entry.width if with_walk else math.inf
    return Movement(source, target, _path(entry.edge, leave.edge, radius), tuple(lanes))


def _walk(node: Node, arms: list[Arm], source: int, target: int) -> Movement:
    entry, leave = arms[source].walk_in, arms[target].walk_out
    path = _path(entry.edge, leave.edge, node.corner)
    return Movement(source, target, path, ((entry, leave),))


def _path(entry: Pose, leave: Pose, radius: float) -> Path:
    """Run straight over the crosswalks and round the corner in between."""
    first, last = entry.ahead(LEAD), leave.ahead(-LEAD)
    return chained(join(entry, first), join(first, last, radius), join(last, leave))


def section(movement: Movement) -> Section:
    """Write the single lane section of a connecting road."""
    length = movement.path.length
    lanes = [Lane(id=0, type="none", widths=(), marks=(Mark(0.0, "none"),))]
    for index, (entry, leave) in enumerate(movement.lanes, start=1):
        kind = "sidewalk" if entry.name == "sidewalk" else "driving"
        last = index == len(movement.lanes)
        width = _width(entry.width, leave.width, length)
        mark = Mark(0.0, "none" if last else "curb")
        lanes.append(
            Lane(
                id=-index,
                type=kind,
                widths=width,
                marks=(mark,),
                predecessor=entry.lane,
                successor=leave.lane,
            )
        )
    return Section(0.0, tuple(lanes))


def _width(start: float, end: float, length: float) -> tuple[Cubic, ...]:
    """Keep the widths over the crosswalks and change in between."""
    if abs(start - end) < 1e-9:
        return ((0.0, start, 0.0, 0.0, 0.0),)
    return (
        (0.0, start, 0.0, 0.0, 0.0),
        blend(start, end, length - 2 * LEAD, LEAD),
        (length - LEAD, end, 0.0, 0.0, 0.0),
    )

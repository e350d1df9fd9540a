"""Where streets meet: how far each is cut back, which lane leads where, and along which curve."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from harness.authoring.document import Cubic, LaneMark, LaneSection, RoadLane
from harness.authoring.geometry import (
    TIE,
    PlanePath,
    PlanePose,
    compute_tangent_legs,
    join_paths,
    join_poses,
)
from harness.authoring.plan import Node
from harness.authoring.sections import CrossSection, make_blend_cubic
from harness.carlite.angles import wrap_to_pi

CROSSWALK_DEPTH = 3.2
CROSSWALK_GAP = 1.0
LEAD = CROSSWALK_DEPTH + 1.8
"""How far the arms run straight on into the junction: room for the crosswalk."""
SHORTEST_CUT, LONGEST_CUT = 6.0, 60.0
CUT_STEP, CUT_PROBE = 0.25, 12.0
NEARLY_STRAIGHT = math.radians(12)


@dataclass(frozen=True)
class LaneMouth:
    """A lane where it meets a junction: the pose of its left edge, in the direction of travel."""

    lane: int
    name: str
    edge: PlanePose
    width: float


@dataclass(frozen=True, kw_only=True)
class JunctionArm:
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
    outward: PlanePose
    incoming: tuple[LaneMouth, ...]
    outgoing: tuple[LaneMouth, ...]
    walk_in: LaneMouth
    walk_out: LaneMouth
    kerb_left: float
    kerb_right: float


@dataclass(frozen=True)
class JunctionMovement:
    """One lane's way through a junction, the sidewalk at its right hand included."""

    source: int
    target: int
    path: PlanePath
    lanes: tuple[tuple[LaneMouth, LaneMouth], ...]


@dataclass(frozen=True)
class StreetRay:
    """A street's end while its cut-back is still open: course and kerbs, looking outward."""

    outward: Callable[[float], PlanePose]
    kerb_left: float
    kerb_right: float


def make_street_ray(
    outward: Callable[[float], PlanePose], cut: CrossSection, at_start: bool
) -> StreetRay:
    """Look along a street away from the node at its start or end."""
    left, right = cut.measure_kerb(left=True), cut.measure_kerb(left=False)
    return StreetRay(outward, left, right) if at_start else StreetRay(outward, right, left)


def compute_bearing(pose: PlanePose) -> float:
    """Return a heading from 0 to a full turn, to sort by: due east is 0, whatever the rounding."""
    return round(pose.heading, 6) % (2 * math.pi)


def compute_cut_backs(node: Node, rays: list[StreetRay]) -> list[float]:
    """Cut each street back until the corners on both its sides can be round."""
    cuts = [SHORTEST_CUT + LEAD] * len(rays)
    order = sorted(range(len(rays)), key=lambda k: compute_bearing(rays[k].outward(CUT_PROBE)))
    corners = list(zip(order, [*order[1:], order[0]], strict=True))
    growing = True
    while growing:
        growing = False
        for a, b in corners:
            short_a, short_b = _find_corner_lacks(node, (rays[a], cuts[a]), (rays[b], cuts[b]))
            cuts[a] += CUT_STEP * short_a
            cuts[b] += CUT_STEP * short_b
            growing |= short_a or short_b
        if max(cuts) > LONGEST_CUT:
            raise ValueError(f"the streets at ({node.x:g}, {node.y:g}) meet too sharply")
    return cuts


def _find_corner_lacks(
    node: Node, source: tuple[StreetRay, float], target: tuple[StreetRay, float]
) -> tuple[bool, bool]:
    """Return which of two neighbouring streets must end further off for a round kerb."""
    (a, cut_a), (b, cut_b) = source, target
    entry = a.outward(cut_a).move_left(a.kerb_left).turn_around().move_ahead(LEAD)
    leave = b.outward(cut_b).move_left(-b.kerb_right).move_ahead(-LEAD)
    turn = wrap_to_pi(leave.heading - entry.heading)
    if turn > -NEARLY_STRAIGHT:
        return False, False
    legs = compute_tangent_legs(entry, leave)
    tangent = node.corner * math.tan(-turn / 2)
    return legs[0] < tangent - TIE, legs[1] < tangent - TIE


def make_movements(node: Node, arms: list[JunctionArm]) -> list[JunctionMovement]:
    """Connect every incoming lane, and every sidewalk round its corner."""
    # the other arms of each arm, from its right round to its left
    order = sorted(range(len(arms)), key=lambda k: compute_bearing(arms[k].outward))
    others_of = {
        source: [order[(place + k) % len(order)] for k in range(1, len(order))]
        for place, source in enumerate(order)
    }
    # lanes to lanes
    pairs_of = {
        source: _choose_lane_pairs(arms, source, others) for source, others in others_of.items()
    }
    _fill_outgoing_lanes(arms, pairs_of)
    result: list[JunctionMovement] = []
    for source, pairs in pairs_of.items():
        others = others_of[source]
        # a sidewalk goes round the corner with the right turn, or on a road for itself
        corner = (others[0], 0, 0)
        if corner not in pairs:
            result.append(_make_walk_movement(node, arms, source, others[0]))
        for target, lane, into in pairs:
            walked = (target, lane, into) == corner
            result.append(
                _make_drive_movement(
                    node, arms, source, target, lane=lane, into=into, with_walk=walked
                )
            )
    return result


def _fill_outgoing_lanes(
    arms: list[JunctionArm], pairs_of: dict[int, list[tuple[int, int, int]]]
) -> None:
    """Lead the straightest arm's innermost lane into outgoing lanes that none leads into."""
    entered = {(target, into) for pairs in pairs_of.values() for target, _, into in pairs}
    for target, arm in enumerate(arms):
        for into in range(len(arm.outgoing)):
            if (target, into) not in entered:
                sources = [source for source in pairs_of if source != target]
                source = min(
                    sources, key=lambda k: round(abs(_compute_arm_turn(arms, k, target)), 6)
                )
                lane = max(k for goal, k, _ in pairs_of[source] if goal == target)
                pairs_of[source].append((target, lane, into))


def _compute_arm_turn(arms: list[JunctionArm], source: int, target: int) -> float:
    """Heading change from one arm to another, left positive."""
    return wrap_to_pi(arms[target].outward.heading - arms[source].outward.heading - math.pi)


def _choose_lane_pairs(
    arms: list[JunctionArm], source: int, others: list[int]
) -> list[tuple[int, int, int]]:
    """Choose (target arm, incoming lane, outgoing lane), lanes counted from the kerb."""
    # lanes of the arm, from the kerb; a pocket turns left only
    lanes = [k for k, mouth in enumerate(arms[source].incoming) if mouth.name != "pocket"]
    pocket = len(lanes) < len(arms[source].incoming)
    # where the other arms lie
    turns = {target: _compute_arm_turn(arms, source, target) for target in others}
    ahead = [t for t in others if abs(turns[t]) <= math.pi / 4]
    right = [t for t in others if turns[t] < -math.pi / 4]
    left = [t for t in others if turns[t] > math.pi / 4]
    pairs = []
    # right turns: from the kerb, from all lanes where no way leads ahead
    for target in right:
        pairs += [(target, 0, 0)]
        if not ahead:
            room = min(len(lanes) - (1 if left and not pocket else 0), len(arms[target].outgoing))
            pairs += [(target, k, k) for k in lanes[1:room]]
    # ahead: lane by lane, less those that must turn
    for target in ahead:
        exits = len(arms[target].outgoing)
        turning = max(len(lanes) - exits, 0) if right and (pocket or not left) else 0
        pairs += [(target, k, k - turning) for k in lanes if 0 <= k - turning < exits]
    # left turns: from the innermost lane
    for target in left:
        exits = len(arms[target].outgoing)
        innermost = len(arms[source].incoming) - 1
        pairs += [(target, innermost, exits - 1)]
        if not ahead and not right:
            pairs += [(target, k, k) for k in lanes if k < innermost and k < exits - 1]
    return pairs


def _make_drive_movement(
    node: Node,
    arms: list[JunctionArm],
    source: int,
    target: int,
    *,
    lane: int,
    into: int,
    with_walk: bool,
) -> JunctionMovement:
    entry, leave = arms[source].incoming[lane], arms[target].outgoing[into]
    lanes = [(entry, leave)]
    if with_walk:
        lanes.append((arms[source].walk_in, arms[target].walk_out))
    radius = node.corner + entry.width if with_walk else math.inf
    return JunctionMovement(
        source, target, _make_movement_path(entry.edge, leave.edge, radius), tuple(lanes)
    )


def _make_walk_movement(
    node: Node, arms: list[JunctionArm], source: int, target: int
) -> JunctionMovement:
    entry, leave = arms[source].walk_in, arms[target].walk_out
    path = _make_movement_path(entry.edge, leave.edge, node.corner)
    return JunctionMovement(source, target, path, ((entry, leave),))


def _make_movement_path(entry: PlanePose, leave: PlanePose, radius: float) -> PlanePath:
    """Run straight over the crosswalks and round the corner in between."""
    first, last = entry.move_ahead(LEAD), leave.move_ahead(-LEAD)
    return join_paths(
        join_poses(entry, first), join_poses(first, last, radius), join_poses(last, leave)
    )


def make_connecting_section(movement: JunctionMovement) -> LaneSection:
    """Write the single lane section of a connecting road."""
    length = movement.path.length
    lanes = [RoadLane(id=0, type="none", widths=(), marks=(LaneMark(0.0, "none"),))]
    for index, (entry, leave) in enumerate(movement.lanes, start=1):
        kind = "sidewalk" if entry.name == "sidewalk" else "driving"
        last = index == len(movement.lanes)
        width = _compute_lane_widths(entry.width, leave.width, length)
        mark = LaneMark(0.0, "none" if last else "curb")
        lanes.append(
            RoadLane(
                id=-index,
                type=kind,
                widths=width,
                marks=(mark,),
                predecessor=entry.lane,
                successor=leave.lane,
            )
        )
    return LaneSection(0.0, tuple(lanes))


def _compute_lane_widths(start: float, end: float, length: float) -> tuple[Cubic, ...]:
    """Keep the widths over the crosswalks and change in between."""
    if abs(start - end) < 1e-9:
        return ((0.0, start, 0.0, 0.0, 0.0),)
    return (
        (0.0, start, 0.0, 0.0, 0.0),
        make_blend_cubic(start, end, length - 2 * LEAD, LEAD),
        (length - LEAD, end, 0.0, 0.0, 0.0),
    )

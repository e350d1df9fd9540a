"""What a touch does: impulses at the point of contact, then room for both. Compiled."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from harness.carlite.arrays import Floats, Int32s
from harness.carlite.compiled import allocating, compiled
from harness.carlite.dynamics.boxes import (
    Boxes,
    compute_axis_overlap,
    compute_contact_point,
    find_first_touch,
    find_least_penetration,
)

Touches: TypeAlias = NDArray[np.void]

TOUCH = np.dtype(
    [
        ("a", np.int32),
        ("b", np.int32),
        ("scenery", np.bool_),
        ("normal_x", np.float64),
        ("normal_y", np.float64),
        ("arm_a_x", np.float64),
        ("arm_a_y", np.float64),
        ("arm_b_x", np.float64),
        ("arm_b_y", np.float64),
        ("impulse_x", np.float64),
        ("impulse_y", np.float64),
    ]
)
"""Box `a` meets box `b` of the movers, or of the scenery; the normal leads from `a` to `b`, the
arms from the centres of mass to the point of contact; the impulse is what `b` receives."""

RESTITUTION = 0.15
RESTING = 0.5
"""Metres per second of approach below which nothing bounces."""

FRICTION = 0.3
ROUNDS = 6
SLOP = 1e-3
"""Metres of overlap that are left alone."""


@allocating
def find_touches(boxes: Boxes, others: Boxes, pairs: Int32s, scenery: bool) -> Touches:
    """Return a touch for each pair that really meets during the tick."""
    # touches: (pairs,) records; (16, 2) is room for the corners of an intersection
    touches = np.zeros(len(pairs), TOUCH)
    here, there = np.empty((16, 2)), np.empty((16, 2))
    count = 0
    for index in range(len(pairs)):
        a, b = boxes[pairs[index, 0]], others[pairs[index, 1]]
        share = find_first_touch(a, b)
        if share < 0.0:
            continue
        record = touches[count]
        record["a"], record["b"], record["scenery"] = pairs[index, 0], pairs[index, 1], scenery
        # the normal, and the arms from both middles to the point of contact
        _, record["normal_x"], record["normal_y"] = find_least_penetration(a, b, share)
        x, y = compute_contact_point(a, b, share, here, there)
        record["arm_a_x"], record["arm_a_y"] = _compute_lever_arm(a, share, x, y)
        record["arm_b_x"], record["arm_b_y"] = _compute_lever_arm(b, share, x, y)
        count += 1
    return touches[:count]


@compiled
def _compute_lever_arm(box: Any, share: float, x: float, y: float) -> tuple[float, float]:
    back = -(1.0 - share) * box["turn"]
    cos, sin = math.cos(back), math.sin(back)
    arm_x = box["arm_x"] * cos - box["arm_y"] * sin
    arm_y = box["arm_x"] * sin + box["arm_y"] * cos
    rest = 1.0 - share
    return x - (box["x"] - rest * box["dx"]) + arm_x, y - (box["y"] - rest * box["dy"]) + arm_y


@allocating
def apply_contact_impulses(boxes: Boxes, scenery: Boxes, touches: Touches, motion: Floats) -> None:
    """Change the motion (vx, vy, yaw rate) of each mover until nothing approaches any more.

    Every single impulse loses energy or keeps it, so no order of them can add any.
    """
    # (3,) scenery does not move
    still = np.zeros(3)
    # over and over: an impulse on one contact changes others
    for round_ in range(ROUNDS):
        for index in range(len(touches)):
            record = touches[index]
            a = boxes[record["a"]]
            if record["scenery"]:
                _resolve_contact(
                    a, scenery[record["b"]], record, motion[record["a"]], still, round_ == 0
                )
            else:
                b = boxes[record["b"]]
                _resolve_contact(
                    a, b, record, motion[record["a"]], motion[record["b"]], round_ == 0
                )


@compiled
def _resolve_contact(
    a: Any, b: Any, record: Any, ours: Floats, theirs: Floats, bounce: bool
) -> None:
    nx, ny = record["normal_x"], record["normal_y"]
    ax, ay, bx, by = record["arm_a_x"], record["arm_a_y"], record["arm_b_x"], record["arm_b_y"]
    # speed at which the points of contact approach each other
    approach_x = (ours[0] - ours[2] * ay) - (theirs[0] - theirs[2] * by)
    approach_y = (ours[1] + ours[2] * ax) - (theirs[1] + theirs[2] * bx)
    approach = approach_x * nx + approach_y * ny
    if approach <= 0.0:
        return
    if a["lightness"] + b["lightness"] <= 0.0:
        return
    # impulse along the normal
    bounciness = RESTITUTION if bounce and approach > RESTING else 0.0
    impulse = (1.0 + bounciness) * approach / _compute_inverse_mass(a, b, record, nx, ny)
    _apply_impulse_pair(a, b, record, impulse * nx, impulse * ny, ours, theirs)
    # friction along the side, from the speeds after that
    tx, ty = -ny, nx
    slide_x = (ours[0] - ours[2] * ay) - (theirs[0] - theirs[2] * by)
    slide_y = (ours[1] + ours[2] * ax) - (theirs[1] + theirs[2] * bx)
    slide = slide_x * tx + slide_y * ty
    rub = slide / _compute_inverse_mass(a, b, record, tx, ty)
    rub = min(max(rub, -FRICTION * impulse), FRICTION * impulse)
    _apply_impulse_pair(a, b, record, rub * tx, rub * ty, ours, theirs)


@compiled
def _compute_inverse_mass(a: Any, b: Any, record: Any, nx: float, ny: float) -> float:
    """Return the approach speed that a unit impulse along n undoes."""
    turn_a = record["arm_a_x"] * ny - record["arm_a_y"] * nx
    turn_b = record["arm_b_x"] * ny - record["arm_b_y"] * nx
    speed: float = (
        a["lightness"]
        + b["lightness"]
        + a["nimbleness"] * turn_a * turn_a
        + b["nimbleness"] * turn_b * turn_b
    )
    return speed


@compiled
def _apply_impulse_pair(
    a: Any, b: Any, record: Any, x: float, y: float, ours: Floats, theirs: Floats
) -> None:
    ours[0] -= x * a["lightness"]
    ours[1] -= y * a["lightness"]
    ours[2] -= (record["arm_a_x"] * y - record["arm_a_y"] * x) * a["nimbleness"]
    theirs[0] += x * b["lightness"]
    theirs[1] += y * b["lightness"]
    theirs[2] += (record["arm_b_x"] * y - record["arm_b_y"] * x) * b["nimbleness"]
    record["impulse_x"] += x
    record["impulse_y"] += y


@compiled
def push_overlaps_apart(boxes: Boxes, scenery: Boxes, touches: Touches, moves: Floats) -> None:
    """Move overlapping movers apart along the normals, the light ones further; (N, 2) metres.

    Nothing gains speed by it. What passed through another within the tick is brought back.
    """
    for _ in range(ROUNDS):
        for index in range(len(touches)):
            record = touches[index]
            a = boxes[record["a"]]
            b = scenery[record["b"]] if record["scenery"] else boxes[record["b"]]
            both = a["lightness"] + b["lightness"]
            if both <= 0.0:
                continue
            # from one middle to the other, with the moves so far
            # places after what earlier rounds have moved
            x, y = b["x"] - a["x"] - moves[record["a"], 0], b["y"] - a["y"] - moves[record["a"], 1]
            if not record["scenery"]:
                x, y = x + moves[record["b"], 0], y + moves[record["b"], 1]
            nx, ny = record["normal_x"], record["normal_y"]
            # what is left of the overlap; a little of it is allowed
            depth = compute_axis_overlap(a, b, a["yaw"], b["yaw"], x, y, nx, ny) - SLOP
            if depth <= 0.0:
                continue
            # shared out by inverse mass
            ours = depth * a["lightness"] / both
            moves[record["a"], 0] -= ours * nx
            moves[record["a"], 1] -= ours * ny
            if not record["scenery"]:
                moves[record["b"], 0] += (depth - ours) * nx
                moves[record["b"], 1] += (depth - ours) * ny

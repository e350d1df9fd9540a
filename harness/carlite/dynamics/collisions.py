"""Collisions of vehicles, walkers, props and scenery, all of them upright boxes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.carlite.actors import ActorKind, ActorTable
from harness.carlite.arrays import Ints
from harness.carlite.compiled import allocating
from harness.carlite.dynamics.boxes import (
    BOX,
    Boxes,
    can_boxes_touch,
    fill_box_reach,
    find_least_penetration,
)
from harness.carlite.dynamics.columns import BodyColumns, take_columns
from harness.carlite.dynamics.obstacles import ObstacleGrid, SceneryCells
from harness.carlite.dynamics.pairs import find_moving_pairs, find_scenery_pairs
from harness.carlite.dynamics.parameters import compute_yaw_inertia
from harness.carlite.dynamics.response import (
    Touches,
    apply_contact_impulses,
    find_touches,
    push_overlaps_apart,
)

__all__ = ["CollisionContact", "ObstacleGrid", "has_solid_overlap", "resolve_collisions"]

CLEARANCE = 0.15
"""Metres above the ground below which vehicles roll over things."""

VEHICLE, WALKER, PROP = int(ActorKind.VEHICLE), int(ActorKind.WALKER), int(ActorKind.PROP)


@dataclass(frozen=True)
class CollisionContact:
    """Two parties that hit each other during a tick.

    Attributes:
        actor: id of the first party.
        other: id of the second party, -1 where it is scenery.
        piece: index of the second party in the town's scenery, -1 where it is an actor.
        impulse: what the first party received, N s, world frame; the second got the opposite.
    """

    actor: int
    other: int
    piece: int
    impulse: tuple[float, float, float]


def resolve_collisions(
    table: ActorTable, obstacles: ObstacleGrid, dt: float
) -> list[CollisionContact]:
    """Separate what collided during the last `dt`, and return the contacts, in slot order."""
    slots, touches = _resolve_touches(take_columns(table, BodyColumns), obstacles.cells, dt)
    if not len(touches):
        return []
    # slots to ids of actors, pieces to those of the scenery
    ids = table.id[slots]
    actors = ids[touches["a"]].tolist()
    scenery = touches["scenery"].tolist()
    partners = touches["b"].tolist()
    impulses = np.stack([-touches["impulse_x"], -touches["impulse_y"]], 1).tolist()
    return [
        CollisionContact(
            actor=actor,
            other=-1 if fixed else int(ids[partner]),
            piece=int(obstacles.piece[partner]) if fixed else -1,
            impulse=(x, y, 0.0),
        )
        for actor, fixed, partner, (x, y) in zip(actors, scenery, partners, impulses, strict=True)
    ]


def has_solid_overlap(
    table: ActorTable,
    obstacles: ObstacleGrid,
    *,
    centre: Sequence[float],
    extent: Sequence[float],
    yaw: float,
) -> bool:
    """Return whether a box, given by its middle and half sizes, would stand in something solid."""
    # (1,) the box that would stand there; not to be hit by what is flat on the ground
    box: Boxes = np.zeros(1, BOX)
    box["x"], box["y"], box["yaw"] = centre[0], centre[1], yaw
    box["half_length"], box["half_width"] = extent[0], extent[1]
    box["bottom"] = centre[2] - extent[2] + min(CLEARANCE, extent[2])
    box["top"] = centre[2] + extent[2]
    box["lightness"] = 1.0
    return bool(_has_box_overlap(box, take_columns(table, BodyColumns), obstacles.cells))


@allocating
def _list_solid_slots(table: BodyColumns) -> Ints:
    """Return the slots of what can be hit; what is attached to something moves along with it."""
    slots, count = np.empty(len(table.kind), np.int64), 0
    for slot in range(len(table.kind)):
        kind = table.kind[slot]
        body = kind == VEHICLE or kind == WALKER or kind == PROP  # noqa: PLR1714
        if body and table.solid[slot] and table.parent[slot] == 0:
            slots[count] = slot
            count += 1
    return slots[:count]


@allocating
def _resolve_touches(table: BodyColumns, cells: SceneryCells, dt: float) -> tuple[Ints, Touches]:
    """Return the slots of what can be hit, and who of them touched."""
    # boxes: (slots,) records, swept by the motion of this tick
    slots, scenery = _list_solid_slots(table), cells.boxes
    boxes = build_swept_boxes(slots, table, dt)
    # who touches: movers among themselves, and movers with scenery
    movers = find_touches(boxes, boxes, find_moving_pairs(boxes), False)
    pieces = find_touches(boxes, scenery, find_scenery_pairs(boxes, cells), True)
    touches = np.concatenate((movers, pieces))
    if len(touches) == 0:
        return slots, touches
    # velocity x, y and yaw rate of each body, (slots, 3), and how far it is pushed, (slots, 2)
    motion, moves = np.empty((len(slots), 3)), np.zeros((len(slots), 2))
    # gather
    for index in range(len(slots)):
        motion[index, 0], motion[index, 1] = (
            table.velocity[slots[index], 0],
            table.velocity[slots[index], 1],
        )
        motion[index, 2] = table.yaw_rate[slots[index]]
    # impulses change velocities; overlaps that are left are pushed apart
    apply_contact_impulses(boxes, scenery, touches, motion)
    push_overlaps_apart(boxes, scenery, touches, moves)
    # back into the table, for what can move
    for index in range(len(slots)):
        slot = slots[index]
        if boxes[index]["lightness"] <= 0.0:
            continue
        for axis in range(2):
            table.acceleration[slot, axis] += (
                motion[index, axis] - table.velocity[slot, axis]
            ) / dt
            table.velocity[slot, axis] = motion[index, axis]
            table.position[slot, axis] += moves[index, axis]
        table.yaw_rate[slot] = motion[index, 2]
        if table.kind[slot] == VEHICLE:
            table.angular_velocity[slot, 2] = motion[index, 2]
    # contacts without an impulse are not reported
    struck: Touches = touches[(touches["impulse_x"] != 0.0) | (touches["impulse_y"] != 0.0)]
    return slots, struck


@allocating
def build_swept_boxes(slots: Ints, table: BodyColumns, dt: float) -> Boxes:
    """Return the upright boxes, without mirrors, of those in `slots` as they moved during `dt`."""
    boxes = np.zeros(len(slots), BOX)
    for index in range(len(slots)):
        slot, box = slots[index], boxes[index]
        # the middle of the box, from the actor's origin
        yaw = table.rotation[slot, 1]
        cos, sin = np.cos(yaw), np.sin(yaw)
        box["arm_x"] = table.box_centre[slot, 0] * cos - table.box_centre[slot, 1] * sin
        box["arm_y"] = table.box_centre[slot, 0] * sin + table.box_centre[slot, 1] * cos
        box["x"], box["y"] = (
            table.position[slot, 0] + box["arm_x"],
            table.position[slot, 1] + box["arm_y"],
        )
        # a body moves and turns about its centre of mass
        box["arm_x"] -= table.mass_centre[slot] * cos
        box["arm_y"] -= table.mass_centre[slot] * sin
        box["half_length"], box["half_width"] = (
            table.extent[slot, 0],
            table.extent[slot, 1] - table.mirrors[slot],
        )
        box["yaw"] = yaw
        # from below to above, a leaning body taller; vehicles roll over what is low
        middle = table.position[slot, 2] + table.box_centre[slot, 2]
        lean = abs(np.sin(table.rotation[slot, 0])) * table.extent[slot, 0]
        lean += abs(np.sin(table.rotation[slot, 2])) * table.extent[slot, 1]
        clear = min(CLEARANCE, table.extent[slot, 2]) if table.kind[slot] == VEHICLE else 0.02
        box["bottom"] = middle - table.extent[slot, 2] - lean + clear
        box["top"] = middle + table.extent[slot, 2] + lean
        # what can move: inverse mass and inertia, and the motion of this tick
        if table.kind[slot] != PROP and table.simulated[slot] and table.mass[slot] > 0.0:
            box["lightness"] = 1.0 / table.mass[slot]
            box["dx"], box["dy"] = table.velocity[slot, 0] * dt, table.velocity[slot, 1] * dt
            if table.kind[slot] == VEHICLE:
                box["turn"] = table.yaw_rate[slot] * dt
                box["nimbleness"] = 1.0 / compute_yaw_inertia(
                    table.mass[slot], table.extent[slot, 0], table.extent[slot, 1]
                )
        fill_box_reach(box)
    return boxes


@allocating
def _has_box_overlap(asked: Boxes, table: BodyColumns, cells: SceneryCells) -> bool:
    box = asked[0]
    fill_box_reach(box)
    movers = build_swept_boxes(_list_solid_slots(table), table, 0.0)
    taken = False
    for mover in movers:
        taken |= can_boxes_touch(box, mover) and find_least_penetration(box, mover, 1.0)[0] > 0.0
    pairs = find_scenery_pairs(asked, cells)
    for index in range(len(pairs)):
        taken |= find_least_penetration(box, cells.boxes[pairs[index, 1]], 1.0)[0] > 0.0
    return taken

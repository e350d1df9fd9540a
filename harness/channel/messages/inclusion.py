"""Which objects a station puts into its next CPM, and since when.

Rules for vehicles are those of ETSI TS 103 324, as a public implementation cites them. Those for
persons and cyclists are meant to be those of TR 103 562, and have not been compared with its text.

Detections have no names: a station follows them from capture to capture. An object is the nearest
detection of its class to where its velocity takes it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.types.geometry import wrap_angle
from harness.types.vocabulary import CYCLIST, PEDESTRIAN, VEHICLE, Boxes, Floats

SHORTEST, LONGEST = 0.1, 1.0
"""Seconds between two CPMs of a station: T_GenCpmMin and T_GenCpmMax."""
VULNERABLE_LONGEST = 0.5
"""Seconds: a person or cyclist who was left out for so long brings all of them into the message."""
FARTHER, FASTER, TURNED = 4.0, 0.5, math.radians(4.0)
"""Metres, m/s and radians since an object was last included."""
STANDING = 0.5
"""m/s below which an object has no direction of motion."""
REACH = {VEHICLE: 4.0, PEDESTRIAN: 2.0, CYCLIST: 3.0}
"""Metres from the expected place at which a detection is still the same object, by class."""
FORGOTTEN = 1.0
"""Seconds after which an object that was not detected again is a new one."""
SMOOTHING = 0.5
"""Share of the newest displacement in a velocity."""
IDS = 65536
ROUNDING = 1e-6
"""Seconds: clocks of a simulator count in fractions."""


@dataclass(slots=True, kw_only=True)
class InclusionState:
    """An object as it was last included."""

    time: float  # s
    xy: tuple[float, float]
    speed: float  # m/s
    direction: float  # rad


@dataclass(slots=True, kw_only=True)
class FollowedObject:
    """A road user that a station detects again and again; metres and seconds, in the world."""

    object_id: int
    class_index: int
    first_seen: float
    seen: float
    xy: tuple[float, float]
    velocity: tuple[float, float] | None = None
    included: InclusionState | None = None

    @property
    def speed(self) -> float:
        """Metres a second; 0 where the velocity is not known."""
        return math.hypot(*self.velocity) if self.velocity else 0.0

    @property
    def direction(self) -> float:
        """Radians of the velocity."""
        return math.atan2(self.velocity[1], self.velocity[0]) if self.velocity else 0.0

    def expect_place(self, now: float) -> tuple[float, float]:
        """Return where it is if it kept its velocity."""
        x, y = self.velocity or (0.0, 0.0)
        return self.xy[0] + x * (now - self.seen), self.xy[1] + y * (now - self.seen)

    def note_detection(self, xy: tuple[float, float], now: float) -> None:
        """Take a detection as this object's place now."""
        passed = now - self.seen
        if passed > 0:
            moved = ((xy[0] - self.xy[0]) / passed, (xy[1] - self.xy[1]) / passed)
            old = self.velocity or moved
            share = SMOOTHING
            self.velocity = (
                old[0] + share * (moved[0] - old[0]),
                old[1] + share * (moved[1] - old[1]),
            )
        self.xy, self.seen = xy, now

    def has_changed(self, now: float) -> bool:
        """Return whether the rules for vehicles and other objects ask for it."""
        then = self.included
        if then is None or now - then.time >= LONGEST - ROUNDING:
            return True
        if math.dist(self.xy, then.xy) > FARTHER or abs(self.speed - then.speed) > FASTER:
            return True
        turned = abs(wrap_angle(self.direction - then.direction))
        return min(self.speed, then.speed) > STANDING and turned > TURNED

    def note_inclusion(self, now: float) -> None:
        """Remember the state that a message has."""
        self.included = InclusionState(
            time=now, xy=self.xy, speed=self.speed, direction=self.direction
        )


class ObjectFollower:
    """The objects of one station."""

    def __init__(self) -> None:
        self._objects: list[FollowedObject] = []
        self._next_id = 0

    def follow_boxes(self, boxes_in_world: Boxes, now: float) -> list[FollowedObject]:
        """Return the object of each box.

        Args:
            boxes_in_world: N boxes, metres.
            now: seconds, later than before.

        Returns:
            N objects; those that were not there before are new.
        """
        known = [one for one in self._objects if now - one.seen <= FORGOTTEN + ROUNDING]
        pairs = match_nearest(boxes_in_world, known, now)
        followed = []
        for row in range(len(boxes_in_world)):
            x, y = boxes_in_world.geometry[row, :2].tolist()
            if row in pairs:
                known[pairs[row]].note_detection((x, y), now)
                followed.append(known[pairs[row]])
            else:
                kind = int(boxes_in_world.classes[row])
                followed.append(self._make_object(kind, (x, y), now))
        self._objects = [*known, *(one for one in followed if one.first_seen == now)]
        return followed

    def _make_object(self, kind: int, xy: tuple[float, float], now: float) -> FollowedObject:
        number = self._next_id
        self._next_id = (number + 1) % IDS
        return FollowedObject(object_id=number, class_index=kind, first_seen=now, seen=now, xy=xy)


def match_nearest(boxes: Boxes, known: Sequence[FollowedObject], now: float) -> dict[int, int]:
    """Return which known object each box is, the nearest pairs first.

    Args:
        boxes: N boxes in the world.
        known: M objects.
        now: seconds.

    Returns:
        Numbers of known objects by numbers of boxes.
    """
    if not known or not len(boxes):
        return {}
    # (N, M) metres
    places: Floats = np.array([one.expect_place(now) for one in known])
    away = np.linalg.norm(boxes.geometry[:, None, :2] - places[None], axis=2)
    kinds = np.array([one.class_index for one in known])
    reach = np.array([REACH[one.class_index] for one in known])
    possible = (boxes.classes[:, None] == kinds) & (away <= reach)
    pairs: dict[int, int] = {}
    for flat in np.argsort(away, axis=None, kind="stable").tolist():
        row, column = divmod(flat, len(known))
        if possible[row, column]:
            pairs[row] = column
            possible[row, :] = possible[:, column] = False
    return pairs


def select_objects(objects: Sequence[FollowedObject], now: float) -> list[int]:
    """Return the numbers of the objects that the next message includes.

    Vehicles by distance, speed, direction and time; persons and cyclists all together, as soon as
    one of them is new or was left out for half a second.
    """
    vulnerable = [one for one in objects if one.class_index != VEHICLE]
    all_of_them = any(
        one.included is None or now - one.included.time >= VULNERABLE_LONGEST - ROUNDING
        for one in vulnerable
    )
    return [
        number
        for number, one in enumerate(objects)
        if (one.has_changed(now) if one.class_index == VEHICLE else all_of_them)
    ]

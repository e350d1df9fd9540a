"""Who goes first where planned paths conflict: rules that both vehicles apply alike.

A conflict is a place that two planned paths share, and that both vehicles would use at about the
same time. Traffic lights need no rule here: a vehicle that stops for one plans to stop.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from agents.driving.footprint import find_touching_pairs, make_grown_rectangles
from agents.driving.intended_motion import measure_way
from agents.driving.settings import DrivingSettings
from agents.driving.speed import StopPoint
from harness.types.geometry import wrap_angle
from harness.types.intentions import Precedence, PrecedenceReason
from harness.types.vocabulary import Floats, Intention, Mask, PlannedMotion

FRONT, REAR, SIDE = 2.0, 0.5, 0.4
"""Metres of room around both vehicles within which their paths share a place."""

TIME_GAP = 1.0
"""Seconds between one vehicle leaving a shared place and the other entering it, at least."""

ALIGNED, IN_THE_WAY = 0.8, 0.15
"""Radians between two directions up to which one vehicle follows the other, and the room around
both, in metres, within which one is in the other's way already: a vehicle at the side is not."""

SAME_TIME = 0.5
"""Seconds between two arrivals up to which they count as one."""

STANDS, HELD_SECONDS = 0.5, 1.0
"""m/s at the end of a plan that stops; seconds for which the larger number goes on yielding to a
vehicle that stops as well, so that the two do not set off together."""

WORTH_MOVING = 0.3
"""Metres; a vehicle whose plan is shorter stands."""

NUMBER = re.compile(r"\d+$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """How a vehicle would come to a shared place.

    Attributes:
        arrival: s from now until it is there.
        leaving: s from now until it has left; infinite if it has not by the end of its plan.
        place: number of the last time of the plan at which it is not there yet; 0 if it is.
        braking: m/s² with which it can stop before; infinite if it is there.
    """

    arrival: float
    leaving: float
    place: int
    braking: float


@dataclass(frozen=True, slots=True)
class Ruling:
    """What follows from the intentions of others.

    Attributes:
        stop: where to yield; None: nowhere.
        precedences: of the ego and each vehicle in conflict.
    """

    stop: StopPoint | None = None
    precedences: tuple[Precedence, ...] = ()

    @property
    def yielding(self) -> frozenset[str]:
        """The vehicles that yield to the ego."""
        return frozenset(one.other for one in self.precedences if one.ego_first)


class RightOfWay:
    """Decides at each step of a drive who goes first.

    Args:
        settings: braking, and seconds between two steps.
    """

    def __init__(self, settings: DrivingSettings) -> None:
        self._settings = settings
        self._yielded: dict[str, tuple[StopPoint, float]] = {}  # and seconds since the last rule
        self._abreast: dict[str, float] = {}  # seconds since the ego could set off next to them

    def decide_step(
        self, name: str, wish: PlannedMotion, stations: Floats, others: Sequence[Intention]
    ) -> Ruling:
        """Return where the ego yields, and who goes first.

        Args:
            name: of the ego; a number at its end is its number.
            wish: what the ego would drive if nothing crossed its way, its times from now.
            stations: (T,) metres along the ego's path, of its wish.
            others: planned paths of others, in the same frame.
        """
        precedences: list[Precedence] = []
        yielded: dict[str, tuple[StopPoint, float]] = {}
        stops: list[StopPoint] = []
        for other in sorted(others, key=lambda one: find_number(one.sender)):
            claims = find_conflict(wish, other.motion)
            if claims is None:
                held = self._hold_on(name, other)
                if held is not None:
                    yielded[other.sender] = held
                if held is not None or self._lets_set_off(name, wish, other):
                    stops.append(self._make_stop_here(stations) if held is None else held[0])
                    precedences.append(_make_precedence(other.sender, False, "waits", None))
                continue
            first, reason = decide_precedence(
                *claims,
                numbers=(find_number(name), find_number(other.sender)),
                most_braking=self._settings.yellow_braking,
            )
            precedences.append(_make_precedence(other.sender, first, reason, claims))
            if not first:
                stops.append(self._make_stop(claims[0], stations))
                yielded[other.sender] = (stops[-1], 0.0)
        self._yielded = yielded
        nearest = min(stops, key=lambda stop: stop.station, default=None)
        return Ruling(nearest, tuple(precedences))

    def _make_stop(self, claim: Claim, stations: Floats) -> StopPoint:
        """Return the last station before a shared place, and the braking for it."""
        settings = self._settings
        braking = float(np.clip(claim.braking, settings.comfort_braking, settings.hardest_braking))
        return StopPoint(float(stations[claim.place]), braking)

    def _make_stop_here(self, stations: Floats) -> StopPoint:
        """Return the stop of an ego that stands."""
        return StopPoint(float(stations[0]), self._settings.comfort_braking)

    def _hold_on(self, name: str, other: Intention) -> tuple[StopPoint, float] | None:
        """Return the stop of an ego that goes on yielding to a vehicle that stops as well."""
        stop, waited = self._yielded.get(other.sender, (None, 0.0))
        waited += self._settings.step
        stops = other.motion.speed[-1] < STANDS
        larger = find_number(name) > find_number(other.sender)
        return (stop, waited) if stop and stops and larger and waited < HELD_SECONDS else None

    def _lets_set_off(self, name: str, wish: PlannedMotion, other: Intention) -> bool:
        """Return whether the ego lets a vehicle with a smaller number set off first.

        Both stand, as at a light that has become green, and would set off into one place at once.
        """
        abreast = (
            find_number(name) > find_number(other.sender)
            and wish.speed[0] < STANDS
            and is_standing(other.motion)
            and not is_standing(wish)
            and bool(
                find_shared_places(wish, other.motion, front=FRONT, rear=REAR, side=SIDE).any()
            )
        )
        waited = self._abreast.get(other.sender, 0.0) + self._settings.step if abreast else 0.0
        self._abreast[other.sender] = waited
        return abreast and waited < HELD_SECONDS


def is_standing(motion: PlannedMotion) -> bool:
    """Return whether a vehicle stands, and plans to."""
    return bool(measure_way(motion)[-1] < WORTH_MOVING)


def find_number(name: str) -> int:
    """Return the number at the end of a vehicle's name; 0 without one."""
    number = NUMBER.search(name)
    return int(number[0]) if number else 0


def find_conflict(one: PlannedMotion, other: PlannedMotion) -> tuple[Claim, Claim] | None:
    """Return how two vehicles come to the place that both plan to use at about the same time.

    Two of which one follows the other are in no conflict: keeping a distance is not a matter of who
    goes first. One that stands, and plans to, is in none either: it is an obstacle, as others are.

    Args:
        one: a plan, its times from now.
        other: another one in the same frame, its times from now.

    Returns:
        Of both, in this order; None without one.
    """
    if is_standing(one) or is_standing(other):
        return None
    touching = find_shared_places(one, other, front=FRONT, rear=REAR, side=SIDE)
    rows: Mask = np.any(touching, axis=1)
    columns: Mask = np.any(touching, axis=0)
    if not rows.any():
        return None
    # one is in the other's way already, and both look the same way where they come together
    apart = wrap_angle(float(one.yaw[rows.argmax()] - other.yaw[columns.argmax()]))
    if abs(apart) < ALIGNED:
        room = dict.fromkeys(("front", "rear", "side"), IN_THE_WAY)
        bodies = find_shared_places(one, other, **room)
        if bodies[0].any() or bodies[:, 0].any():
            return None
    claims = make_claim(one, rows), make_claim(other, columns)
    # one has left before the other comes
    for earlier, later in (claims, claims[::-1]):
        if earlier.leaving + TIME_GAP <= later.arrival:
            return None
    return claims


def find_shared_places(
    one: PlannedMotion, other: PlannedMotion, *, front: float, rear: float, side: float
) -> Mask:
    """Return at which of their times two vehicles would be in one place, whenever that is.

    Args:
        one: a plan of T times.
        other: another one, of U times.
        front: metres of room ahead of both.
        rear: metres of room behind both.
        side: metres of room on either side of both.

    Returns:
        (T, U)
    """
    ours, theirs = (
        make_grown_rectangles(
            motion.centre,
            motion.yaw,
            size=(np.full(1, motion.length), np.full(1, motion.width)),
            front=np.array(front),
            rear=np.array(rear),
            side=np.array(side),
        )
        for motion in (one, other)
    )
    return find_touching_pairs(ours[:, None], theirs[None])


def make_claim(motion: PlannedMotion, there: Mask) -> Claim:
    """Return how a vehicle comes to a shared place.

    Args:
        motion: its plan.
        there: (T,) whether it is there.
    """
    enters = int(there.argmax())
    last = len(there) - 1 - int(there[::-1].argmax())
    way = measure_way(motion)
    place, speed = max(enters - 1, 0), float(motion.speed[0])
    # the border of the place lies between two times of the plan
    room = max(0.5 * float(way[place] + way[enters]), 1e-3)
    braking = speed**2 / (2.0 * room) if enters else np.inf
    return Claim(
        arrival=float(motion.times[enters]),
        leaving=float(motion.times[last + 1]) if last + 1 < len(there) else np.inf,
        place=place,
        braking=braking,
    )


def decide_precedence(
    ego: Claim, other: Claim, *, numbers: tuple[int, int], most_braking: float
) -> tuple[bool, PrecedenceReason]:
    """Return whether the ego goes first, and why: the first rule by which they differ.

    1. A vehicle that is in the shared place, or cannot stop before it, goes first.
    2. The one that arrives earlier goes first.
    3. The one with the smaller number goes first.

    Args:
        ego: how it comes to the shared place.
        other: the same of the other vehicle.
        numbers: of the ego and of the other.
        most_braking: m/s² of a vehicle that can stop.
    """
    bound = ego.braking > most_braking, other.braking > most_braking
    if bound[0] != bound[1]:
        return bound[0], "cannot_stop"
    if abs(ego.arrival - other.arrival) > SAME_TIME:
        return ego.arrival < other.arrival, "earlier"
    return numbers[0] < numbers[1], "number"


def _make_precedence(
    other: str, first: bool, reason: PrecedenceReason, claims: tuple[Claim, Claim] | None
) -> Precedence:
    """Return a decision as it is recorded; without claims, the paths do not meet."""
    arrivals = (np.nan, np.nan) if claims is None else [claim.arrival for claim in claims]
    return Precedence(
        other=other,
        ego_first=first,
        reason=reason,
        ego_arrival=arrivals[0],
        other_arrival=arrivals[1],
    )

"""Whom a plan would touch, with how much room and how soon."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agents.driving.footprint import Rectangles, grown, touching
from agents.driving.path import Path
from agents.driving.prediction import Future
from agents.driving.settings import Car
from agents.driving.speed import Profiles
from agents.driving.tracking import Tracks, sets_off
from harness.vocabulary import CYCLIST, PEDESTRIAN, Floats, Mask

SOFT_PRICE, HARD_PRICE, MOVING_PRICE = 20.0, 200.0, 20.0
"""For coming close; for touching; for each metre that we drive in touch."""

CERTAIN = 0.4
"""Of a contact at the end of the horizon, what is left of its price."""

GETTING_AWAY, RIDING = 3.0, 4.5
"""m/s² and m/s that a cyclist who sets off across our way may reach."""


@dataclass(frozen=True, slots=True, eq=False)
class Margins:
    """Room in metres that is kept around us and around them."""

    front: float
    rear: float
    side: Floats  # (T,) beside us
    their_front: Floats  # (N, T), or (N, 1) where it stays the same
    their_rear: Floats  # (N,)
    their_side: Floats  # (N,)


def liked(tracks: Tracks, future: Future, times: Floats) -> Margins:
    """Return the room one likes to keep: half a second before those who cross our way."""
    crossing = ~future.standing & (np.abs(np.sin(future.heading)) > 0.4)
    walking = ~future.standing & (tracks.classes == PEDESTRIAN)
    return Margins(
        front=2.0,
        rear=1.0,
        side=np.full(len(times), 0.3),
        their_front=(np.minimum(0.6 * future.speed, 5.0) * crossing)[:, None],
        their_rear=np.minimum(0.3 * future.speed, 2.0) * crossing,
        their_side=np.where(walking, 0.5, np.where(crossing, 0.2, 0.0)),
    )


def needed(tracks: Tracks, future: Future, times: Floats) -> Margins:
    """Return the room without which we count as touching; predictions blur with time."""
    return Margins(
        front=0.5,
        rear=0.3,
        side=0.2 + 0.03 * times,
        their_front=0.15 * future.speed[:, None] + gained(tracks, future, times),
        their_rear=np.zeros(len(tracks)),
        their_side=np.where(tracks.classes == PEDESTRIAN, 0.1, 0.0),
    )


def gained(tracks: Tracks, future: Future, times: Floats) -> Floats:
    """Return metres (N, T) by which cyclists who set off across our way may be farther on.

    Steady speed is what all others are foreseen with. Taken for somebody as slow as in the first
    moments, a cyclist seems to let us pass and then does not.
    """
    crossing = np.abs(np.sin(future.heading)) > 0.4
    may = sets_off(tracks) & crossing & ~future.standing & (tracks.classes == CYCLIST)
    more = np.where(may, np.maximum(RIDING - future.speed, 0.0), 0.0)[:, None]
    until = np.minimum(times, more / GETTING_AWAY)
    way: Floats = 0.5 * GETTING_AWAY * until**2 + more * (times - until)
    return way


def contact_cost(
    path: Path,
    profiles: Profiles,
    tracks: Tracks,
    futures: tuple[Future, Future],
    times: Floats,
    car: Car,
) -> Floats:
    """Return what each profile costs for whom it meets.

    The first future is what everybody seems to be about, the second what they can be relied on for:
    it alone counts for contact.
    """
    if not len(tracks):
        return np.zeros(len(profiles.speed))
    likely, reliable = futures
    close = meets(path, profiles, tracks, likely, liked(tracks, likely, times), car)
    contact = meets(path, profiles, tracks, reliable, needed(tracks, reliable, times), car)
    fading = 1.0 - (1.0 - CERTAIN) * times / times[-1]
    touch = (HARD_PRICE * fading * contact).max(1)
    moving = (profiles.speed * fading * contact).sum(1) * (times[1] - times[0])
    near = (SOFT_PRICE * (1.0 - times / (times[-1] + 1.0)) * close).max(1)
    cost: Floats = touch + MOVING_PRICE * moving + near
    return cost


def meets(
    path: Path, profiles: Profiles, tracks: Tracks, future: Future, margins: Margins, car: Car
) -> Mask:
    """Tell when each profile touches anybody, (C, T).

    Who is beside us closer than we like, but does not touch us, must not nail us down: for them no
    room is kept beside us.
    """
    theirs = grown(
        future.centre,
        future.yaw,
        (tracks.size[:, :1], tracks.size[:, 1:]),
        margins.their_front,
        margins.their_rear[:, None],
        margins.their_side[:, None],
    ).widened(0)
    centre, course = path.at(profiles.station)
    yaw = course - car.slip(path.bend(profiles.station))

    def ours(side: Floats) -> Rectangles:
        size = (np.array(car.length), np.array(car.width))
        front, rear = np.array(margins.front), np.array(margins.rear)
        return grown(centre, yaw, size, front, rear, side).widened(1)

    wide, slim = touching(ours(margins.side), theirs), touching(ours(np.zeros(1)), theirs)
    squeezed = wide[:, :, :1] & ~slim[:, :, :1]
    met: Mask = np.any(np.where(squeezed, slim, wide), axis=1)
    return met

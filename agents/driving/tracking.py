"""Who moves how: detections become tracks, and positions in time become velocities.

Each track is a Kalman filter with constant velocity. Both axes share one covariance, so that all
tracks are stepped at once. Nothing but positions, sizes and headings of detections comes in.

Networks invent and tremble. So nobody is believed before the second look, and who keeps close to
where he has been lately rests there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from agents.driving.angles import half_wrapped, wrapped
from harness.vocabulary import Boxes, Floats, Integers, Mask

POSITION_NOISE = 0.35
"""Metres by which a detection's centre may be off from one look to the next."""

UNRULY = np.array([3.0, 4.0, 3.0])
"""m/s² by which a vehicle, pedestrian, cyclist may surprise."""

FIRST_GUESS = np.array([8.0, 2.0, 5.0])
"""m/s: how fast one may turn out to be who was only seen once."""

TOP_SPEED = np.array([20.0, 6.0, 12.0])
"""m/s at which somebody of a class can still be the same one at the second look."""

GATE = np.array([2.0, 0.8, 1.5])
"""Metres between where a track should be and a detection of it."""

BELIEVED, CLOCKED = 2, 3
"""Looks from which somebody is taken to be there, and to move."""

PATIENCE = 3
"""Looks that a track outlives unseen, if it has had as many."""

LATELY = 1.5
"""Seconds that count for where somebody has been lately."""

AT_HOME = np.array([0.6, 0.3, 0.6])
"""Metres from there within which a vehicle, pedestrian, cyclist may only seem to move."""

TREMBLING = np.array([1.5, 0.8, 1.5])
"""m/s up to which that may be so."""

FASTEST_TURN = 0.8
"""rad/s"""

WELL_KNOWN, STEADY_SHARE = 10, 0.5
"""Looks from which it shows whether somebody is steady; the share of the steady's way from home."""


@dataclass(frozen=True, slots=True, eq=False)
class Tracks:
    """Road users in the world, one row each."""

    position: Floats  # (N, 2)
    velocity: Floats  # (N, 2); zero where seen only once
    variance: Floats  # (N, 3) of position, mixed, of velocity
    yaw: Floats  # (N,)
    turn_rate: Floats  # (N,) rad/s
    size: Floats  # (N, 2) length, width
    classes: Integers  # (N,)
    looks: Integers  # (N,) how often detected
    missed: Integers  # (N,) looks since then
    home: Floats  # (N, 2) where they have been lately

    def __len__(self) -> int:
        return len(self.classes)

    def __getitem__(self, chosen: Mask | Integers) -> Tracks:
        return Tracks(*(getattr(self, name)[chosen] for name in self.__slots__))

    @staticmethod
    def join(first: Tracks, second: Tracks) -> Tracks:
        """Return the rows of both."""
        return Tracks(
            *(
                np.concatenate([getattr(first, name), getattr(second, name)])
                for name in Tracks.__slots__
            )
        )

    @staticmethod
    def born(boxes_in_world: Boxes) -> Tracks:
        """Return a track for each detection nobody expected."""
        count, classes = len(boxes_in_world), boxes_in_world.classes
        variance = np.zeros((count, 3))
        variance[:, 0] = POSITION_NOISE**2
        variance[:, 2] = FIRST_GUESS[classes] ** 2
        return Tracks(
            position=boxes_in_world.geometry[:, :2].copy(),
            velocity=np.zeros((count, 2)),
            variance=variance,
            yaw=boxes_in_world.geometry[:, 6].copy(),
            turn_rate=np.zeros(count),
            size=boxes_in_world.geometry[:, 3:5].copy(),
            classes=classes.copy(),
            looks=np.ones(count, np.int64),
            missed=np.zeros(count, np.int64),
            home=boxes_in_world.geometry[:, :2].copy(),
        )


class Tracker:
    """Keeps the tracks of one attempt."""

    def __init__(self) -> None:
        self.tracks = Tracks.born(Boxes.none())
        self._time: float | None = None

    def step(self, time: float, boxes_in_world: Boxes) -> Tracks:
        """Take in what is detected now and return who is believed to be where."""
        elapsed = 0.0 if self._time is None else time - self._time
        self._time = time
        expected = moved_on(self.tracks, elapsed)
        mine, theirs = pairs(expected, boxes_in_world, elapsed)
        seen = updated(expected[mine], boxes_in_world[theirs], elapsed)
        unseen = np.setdiff1d(np.arange(len(expected)), mine)
        patience = np.minimum(expected.looks, PATIENCE)
        coasting = expected[unseen[expected.missed[unseen] <= patience[unseen]]]
        new = np.setdiff1d(np.arange(len(boxes_in_world)), theirs)
        self.tracks = Tracks.join(Tracks.join(seen, coasting), Tracks.born(boxes_in_world[new]))
        return settled(self.tracks[self.tracks.looks >= BELIEVED])


def moved_on(tracks: Tracks, elapsed: float) -> Tracks:
    """Return the tracks as they should be a moment later."""
    position, mixed, velocity = tracks.variance.T
    noise = UNRULY[tracks.classes] ** 2
    variance = np.stack(
        [
            position + 2 * elapsed * mixed + elapsed**2 * velocity + noise * elapsed**4 / 4,
            mixed + elapsed * velocity + noise * elapsed**3 / 2,
            velocity + noise * elapsed**2,
        ],
        axis=1,
    )
    return Tracks(
        position=tracks.position + elapsed * tracks.velocity,
        velocity=tracks.velocity,
        variance=variance,
        yaw=wrapped(tracks.yaw + elapsed * tracks.turn_rate),
        turn_rate=tracks.turn_rate,
        size=tracks.size,
        classes=tracks.classes,
        looks=tracks.looks,
        missed=tracks.missed + 1,
        home=tracks.home,
    )


def pairs(expected: Tracks, boxes_in_world: Boxes, elapsed: float) -> tuple[Integers, Integers]:
    """Return which track is which detection: nearest pairs first, each once, within a class."""
    away = np.linalg.norm(expected.position[:, None] - boxes_in_world.geometry[None, :, :2], axis=2)
    reach = GATE[expected.classes]
    unknown = expected.looks == 1
    reach = np.where(unknown, GATE[expected.classes] + TOP_SPEED[expected.classes] * elapsed, reach)
    possible = (away < reach[:, None]) & (expected.classes[:, None] == boxes_in_world.classes)
    rows, columns = np.nonzero(possible)
    mine: list[int] = []
    theirs: list[int] = []
    for k in np.argsort(away[rows, columns], kind="stable"):
        if rows[k] not in mine and columns[k] not in theirs:
            mine.append(int(rows[k]))
            theirs.append(int(columns[k]))
    return np.array(mine, np.int64), np.array(theirs, np.int64)


def updated(expected: Tracks, detected: Boxes, elapsed: float) -> Tracks:
    """Return tracks corrected by their detections."""
    position, mixed, velocity = expected.variance.T
    total = position + POSITION_NOISE**2
    pull, push = position / total, mixed / total
    off = detected.geometry[:, :2] - expected.position
    variance = np.stack(
        [(1 - pull) * position, (1 - pull) * mixed, velocity - push * mixed], axis=1
    )
    turned = half_wrapped(detected.geometry[:, 6] - expected.yaw)
    drift = 0.4 * turned / elapsed if elapsed > 0 else np.zeros(len(expected))
    looks = expected.looks + 1
    weight = np.maximum(1.0 / looks, min(elapsed / LATELY, 1.0))
    here = expected.position + pull[:, None] * off
    tracks = Tracks(
        position=here,
        velocity=expected.velocity + push[:, None] * off,
        variance=variance,
        yaw=detected.geometry[:, 6].copy(),
        turn_rate=np.clip(expected.turn_rate + drift, -FASTEST_TURN, FASTEST_TURN),
        size=expected.size + weight[:, None] * (detected.geometry[:, 3:5] - expected.size),
        classes=expected.classes,
        looks=looks,
        missed=np.zeros(len(expected), np.int64),
        home=expected.home + weight[:, None] * (here - expected.home),
    )
    steadied = wrapped(expected.yaw + weight * turned)
    rests = resting(tracks)
    return replace(
        tracks,
        yaw=np.where(rests, steadied, tracks.yaw),
        turn_rate=np.where(rests, 0.0, tracks.turn_rate),
    )


def settled(tracks: Tracks) -> Tracks:
    """Return the tracks with those who rest at home."""
    rests = resting(tracks)[:, None]
    return replace(
        tracks,
        position=np.where(rests, tracks.home, tracks.position),
        velocity=np.where(rests, 0.0, tracks.velocity),
    )


def resting(tracks: Tracks) -> Mask:
    """Tell who only seems to move: so close to home, or known so little."""
    away = np.linalg.norm(tracks.position - tracks.home, axis=1)
    speed = np.linalg.norm(tracks.velocity, axis=1)
    trembles = (away < AT_HOME[tracks.classes]) & (speed < TREMBLING[tracks.classes])
    rests: Mask = trembles | (tracks.looks < CLOCKED)
    return rests


def sets_off(tracks: Tracks) -> Mask:
    """Tell who has just left home: at a steady pace they would be farther away from there."""
    away = np.linalg.norm(tracks.position - tracks.home, axis=1)
    steady = LATELY * np.linalg.norm(tracks.velocity, axis=1)
    leaves: Mask = (tracks.looks >= WELL_KNOWN) & (away < STEADY_SHARE * steady)
    return leaves

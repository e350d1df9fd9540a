"""How boxes of one sender move, estimated by the ego from messages that follow each other.

Boxes have no names. A box belongs to the track whose expected place is nearest, within a gate and
a class. Each track is a Kalman filter with constant velocity; both axes share one covariance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from harness.types.geometry import wrap_line_angle
from harness.types.vocabulary import PEDESTRIAN, Boxes, Floats

POSITION_NOISE = (0.35, 0.15, 0.2)
"""Metres, standard deviation of the centre of a vehicle's, pedestrian's, cyclist's box."""
ACCELERATION_NOISE = (2.0, 1.0, 2.0)
"""m/s², standard deviation, by class."""
INITIAL_SPEED = (8.0, 1.5, 5.0)
"""m/s, standard deviation before there are two detections, by class."""
TOP_SPEED = (25.0, 4.0, 12.0)
"""m/s, by class; no box is moved faster."""
GATE = (2.5, 1.0, 2.0)
"""Metres from the expected place, by class."""
FORGOTTEN = 1.5
"""Seconds without a detection after which a track ends."""
TURN_SHARE, TURN_DETECTIONS, FASTEST_TURN = 0.3, 4, 0.8
"""Share of the newest change of yaw in a turn rate, detections from which it is known, rad/s."""
TURNING = 2.0
"""m/s from which a box turns; the yaw of slower ones jitters."""


@dataclass(frozen=True, slots=True)
class BoxMotion:
    """How a box moves in the world.

    Attributes:
        velocity: m/s in x and y.
        turn_rate: rad/s, clockwise from above; 0 where it is not known.
    """

    velocity: tuple[float, float]
    turn_rate: float = 0.0


@dataclass(slots=True, kw_only=True)
class BoxTrack:
    """One road user in the messages of one sender: metres, seconds and radians, in the world."""

    class_index: int
    xy: Floats  # (2,)
    velocity: Floats  # (2,)
    variances: tuple[float, float, float]  # of position, mixed, of velocity
    yaw: float
    seen: float
    turn_rate: float = 0.0
    detections: int = 1

    def expect_place(self, time: float) -> Floats:
        """Return where it is if it keeps its velocity, (2,)."""
        return self.xy + self.velocity * (time - self.seen)

    def compute_reach(self, time: float) -> float:
        """Return the metres within which a detection can be this one."""
        gate = GATE[self.class_index]
        # one detection has no velocity
        if self.detections == 1:
            gate += TOP_SPEED[self.class_index] * (time - self.seen)
        return gate

    def note_detection(self, xy: Floats, yaw: float, time: float) -> None:
        """Take a detection for this one: predict, then correct."""
        passed = time - self.seen
        position, mixed, speed = self.variances
        noise = ACCELERATION_NOISE[self.class_index] ** 2
        position += 2 * passed * mixed + passed**2 * speed + noise * passed**4 / 4
        mixed += passed * speed + noise * passed**3 / 2
        speed += noise * passed**2
        total = position + POSITION_NOISE[self.class_index] ** 2
        pull, push = position / total, mixed / total
        expected = self.expect_place(time)
        off = xy - expected
        self.xy, self.velocity = expected + pull * off, self.velocity + push * off
        self.variances = ((1 - pull) * position, (1 - pull) * mixed, speed - push * mixed)
        # front and back of a detection may be swapped: the turn is that of its axis
        if passed > 0:
            turned = float(wrap_line_angle(np.array([yaw - self.yaw]))[0]) / passed
            rate = self.turn_rate + TURN_SHARE * (turned - self.turn_rate)
            self.turn_rate = float(np.clip(rate, -FASTEST_TURN, FASTEST_TURN))
        self.yaw, self.seen = yaw, time
        self.detections += 1

    def estimate_motion(self, certainty: float) -> BoxMotion | None:
        """Return how it moves; None with one detection.

        Args:
            certainty: standard deviations; a velocity below is taken to be 0.
        """
        if self.detections == 1:
            return None
        speed = float(np.hypot(*self.velocity))
        if speed < certainty * math.sqrt(max(self.variances[2], 0.0)):
            return BoxMotion((0.0, 0.0))
        factor = min(1.0, TOP_SPEED[self.class_index] / speed) if speed else 1.0
        turns = (
            self.detections >= TURN_DETECTIONS
            and self.class_index != PEDESTRIAN
            and speed > TURNING
        )
        x, y = (factor * self.velocity).tolist()
        return BoxMotion((x, y), self.turn_rate if turns else 0.0)


@dataclass(slots=True)
class SenderMotion:
    """The tracks of one sender."""

    certainty: float  # standard deviations; an estimated velocity below is taken to be 0
    time: float = -math.inf  # s, of the newest message
    _tracks: list[BoxTrack] = field(default_factory=list)
    _known: dict[bytes, BoxMotion] = field(default_factory=dict)

    def estimate_motions(self, boxes_in_world: Boxes, time: float) -> list[BoxMotion | None]:
        """Return how each box of a message moves; None where that is not known.

        A message is given again until a newer one arrives, perhaps with fewer boxes: tracks are
        changed by newer messages only.

        Args:
            boxes_in_world: N boxes.
            time: s, of capture.
        """
        if time > self.time:
            self.time = time
            self._known = self._follow_boxes(boxes_in_world, time)
        return [self._known.get(row.tobytes()) for row in boxes_in_world.geometry]

    def _follow_boxes(self, boxes_in_world: Boxes, time: float) -> dict[bytes, BoxMotion]:
        """Return how boxes move, by their rows, and take them into the tracks."""
        self._tracks = [one for one in self._tracks if time - one.seen <= FORGOTTEN]
        pairs = match_tracks(boxes_in_world, self._tracks, time)
        known: dict[bytes, BoxMotion] = {}
        started = []
        for number, row in enumerate(boxes_in_world.geometry):
            if number in pairs:
                track = self._tracks[pairs[number]]
                track.note_detection(row[:2], float(row[6]), time)
                motion = track.estimate_motion(self.certainty)
                if motion is not None:
                    known[row.tobytes()] = motion
            else:
                started.append(start_track(row, int(boxes_in_world.classes[number]), time))
        self._tracks += started
        return known


def start_track(row: Floats, class_index: int, time: float) -> BoxTrack:
    """Return a track of one detection."""
    return BoxTrack(
        class_index=class_index,
        xy=row[:2].copy(),
        velocity=np.zeros(2),
        variances=(POSITION_NOISE[class_index] ** 2, 0.0, INITIAL_SPEED[class_index] ** 2),
        yaw=float(row[6]),
        seen=time,
    )


def match_tracks(boxes_in_world: Boxes, tracks: list[BoxTrack], time: float) -> dict[int, int]:
    """Return which track each box belongs to, the nearest pairs first.

    Args:
        boxes_in_world: N boxes.
        tracks: M tracks.
        time: s, of the boxes.

    Returns:
        Numbers of tracks by numbers of boxes.
    """
    if not tracks or not len(boxes_in_world):
        return {}
    # (N, M) metres
    places: Floats = np.array([one.expect_place(time) for one in tracks])
    away = np.linalg.norm(boxes_in_world.geometry[:, None, :2] - places[None], axis=2)
    kinds = np.array([one.class_index for one in tracks])
    reach = np.array([one.compute_reach(time) for one in tracks])
    possible = (boxes_in_world.classes[:, None] == kinds) & (away <= reach)
    pairs: dict[int, int] = {}
    for flat in np.argsort(away, axis=None, kind="stable").tolist():
        row, column = divmod(flat, len(tracks))
        if possible[row, column]:
            pairs[row] = column
            possible[row, :] = possible[:, column] = False
    return pairs

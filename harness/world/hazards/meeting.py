"""When a mover and the ego would meet, the ego driving its route as if nothing were the matter."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.vocabulary import Floats, Pose
from harness.world.hazards.courses import Course
from harness.world.hazards.figures import EGO_WIDTH, size
from harness.world.hazards.track import Track

TICK = 0.05
CRUISE = 8.0
"""Speed, m/s, of an ego that nothing hinders."""
LATE = 5.7
"""Metres within which an ego at that speed can hardly stop any more."""
OUTLINE = np.array([(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1)], float)


@dataclass(frozen=True, eq=False)
class Standing:
    """Something that only stands there."""

    blueprint: str
    pose: Pose


@dataclass(frozen=True, eq=False)
class Mover:
    """Somebody who waits at the start of a course and then follows it."""

    blueprint: str
    course: Course


@dataclass(frozen=True)
class Meeting:
    """Where and when the ego's front would touch a mover that nobody brakes for."""

    station: float  # of the ego's front
    seconds: float  # since the mover started


@dataclass(frozen=True, eq=False)
class Plan:
    """A hazard as it would stand: what hides the mover, the mover, and how it meets the ego."""

    mover: Mover
    meeting: Meeting
    standing: tuple[Standing, ...] = ()
    screens: tuple[Mover, ...] = ()  # drive off with the mover, and hide it
    gap_at_sight: float = np.inf  # metres the ego's front has left when the mover shows itself
    hidden: float = 0.0  # seconds the mover has moved unseen just before

    @property
    def glimpse(self) -> float:
        """Seconds for which the mover can be seen setting off, before it is hidden."""
        return self.meeting.seconds - self.gap_at_sight / CRUISE - self.hidden

    @property
    def sudden(self) -> bool:
        """Whether the ego sees nothing of the mover until it can hardly stop any more."""
        return self.gap_at_sight <= LATE and self.glimpse < 0.25


def outline(mover: Mover, times: Floats) -> Floats:
    """Return nine points (T, 9, 2) of a mover's body at some times."""
    length, width, _ = size(mover.blueprint)
    xyz, yaw = mover.course.poses(mover.course.distance_at(times))
    local = OUTLINE * (length / 2, width / 2)
    cos, sin = np.cos(yaw)[:, None], np.sin(yaw)[:, None]
    x = xyz[:, 0, None] + cos * local[:, 0] - sin * local[:, 1]
    y = xyz[:, 1, None] + sin * local[:, 0] + cos * local[:, 1]
    return np.stack([x, y], axis=-1)


def meet(track: Track, mover: Mover, near: float) -> Meeting | None:
    """Return how a mover meets the ego near a station: soon after it enters the ego's way."""
    times = np.arange(0.0, mover.course.duration, TICK)
    station, right = track.project(outline(mover, times))
    inside = (np.abs(right) < EGO_WIDTH / 2) & (np.abs(station - near) < 20.0)
    blocked = np.flatnonzero(inside.any(axis=1))
    if len(blocked) == 0:
        return None
    gone = np.flatnonzero(~inside.any(axis=1) & (np.arange(len(times)) > blocked[0]))
    last = gone[0] if len(gone) else len(times) - 1
    at = blocked[0] + round(min(0.3 * (last - blocked[0]), 0.2 / TICK))
    return Meeting(float(station[at][inside[at]].min()), float(times[at]))

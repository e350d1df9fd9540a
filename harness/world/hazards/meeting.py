"""Where and when a mover and the ego would meet, and how late the ego could see it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from harness import ego_body
from harness.vocabulary import Floats, Mask, Pose
from harness.world.hazards.courses import Course
from harness.world.hazards.sizes import EGO_LIDAR_FORWARD, size
from harness.world.hazards.track import Track

TICK = 0.05
CRUISE = 8.0
"""Speed, m/s, of an ego that nothing hinders."""
LATE = 5.7
"""Metres within which an ego at that speed can hardly stop any more."""
OUTLINE = np.array([(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1)], float)


@dataclass(frozen=True, eq=False)
class StaticActor:
    """Something that only stands there."""

    blueprint: str
    pose: Pose


@dataclass(frozen=True, eq=False)
class Mover:
    """An actor that waits at the start of a course and then follows it."""

    blueprint: str
    course: Course


@dataclass(frozen=True)
class Meeting:
    """Where and when the ego's front would touch a mover if neither brakes."""

    station: float  # of the ego's front
    seconds: float  # since the mover started


@dataclass(frozen=True, eq=False, kw_only=True)
class EncounterPlan:
    """A hazard as it would stand: what hides the mover, the mover, and how it meets the ego."""

    mover: Mover
    meeting: Meeting
    standing: tuple[StaticActor, ...] = ()
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
    inside = (np.abs(right) < ego_body.WIDTH / 2) & (np.abs(station - near) < 20.0)
    blocked = np.flatnonzero(inside.any(axis=1))
    if len(blocked) == 0:
        return None
    passed = np.flatnonzero(~inside.any(axis=1) & (np.arange(len(times)) > blocked[0]))
    last = passed[0] if len(passed) else len(times) - 1
    at = blocked[0] + round(min(0.3 * (last - blocked[0]), 0.2 / TICK))
    return Meeting(float(station[at][inside[at]].min()), float(times[at]))


class Sightline:
    """An ego at a steady speed and a mover on its timetable, until they would meet.

    Everything happens in the plane: what is in between is taken to be higher than the LiDAR.
    """

    def __init__(self, track: Track, mover: Mover, meeting: Meeting, speed: float = CRUISE) -> None:
        self.times = np.arange(0.0, meeting.seconds, TICK)
        self.gaps = speed * (meeting.seconds - self.times)
        at = meeting.station - ego_body.LENGTH / 2 + EGO_LIDAR_FORWARD - self.gaps
        self.eyes = track.points(at)[:, None, :2]
        body = outline(mover, self.times)
        self.targets = body[:, 4:5] + 0.8 * (body - body[:, 4:5])

    def past(self, between: Iterable[StaticActor | Mover]) -> tuple[float, float]:
        """Return the gap left when the ego sees the mover for good, and the seconds of motion
        that it has not seen just before."""  # fmt: skip
        hidden = np.zeros(self.targets.shape[:2], np.bool_)
        for body in between:
            hidden |= self._cut(body)
        unseen_at: Mask = np.asarray(hidden.all(axis=1))
        unseen = np.flatnonzero(unseen_at)
        if len(unseen) == 0:
            return float(self.gaps[0]), 0.0
        last = unseen[-1]
        seen_before = np.flatnonzero(~unseen_at[:last])
        since = seen_before[-1] + 1 if len(seen_before) else 0
        return float(self.gaps[last]), float(self.times[last] - self.times[since])

    def _cut(self, between: StaticActor | Mover) -> Mask:
        length, width, _ = size(between.blueprint)
        if isinstance(between, StaticActor):
            pose = between.pose
            return cut(
                self.eyes, self.targets, centre=np.array([pose.x, pose.y]), yaw=np.array(pose.yaw),
                length=length, width=width,
            )  # fmt: skip
        xyz, yaw = between.course.poses(between.course.distance_at(self.times))
        return cut(
            self.eyes,
            self.targets,
            centre=xyz[:, None, :2],
            yaw=yaw[:, None],
            length=length,
            width=width,
        )


def cut(
    eyes: Floats, targets: Floats, *, centre: Floats, yaw: Floats, length: float, width: float
) -> Mask:
    """Return which lines from eyes to targets (…, 2) pass through a rectangle."""
    cos, sin = np.cos(yaw), np.sin(yaw)

    def turned(offset: Floats) -> tuple[Floats, Floats]:
        x, y = offset[..., 0], offset[..., 1]
        return x * cos + y * sin, y * cos - x * sin

    enter, leave = np.array(0.0), np.array(1.0)
    starts, ends = turned(eyes - centre), turned(targets - centre)
    with np.errstate(divide="ignore", invalid="ignore"):
        for start, end, half in zip(starts, ends, (length / 2, width / 2), strict=True):
            one, other = (-half - start) / (end - start), (half - start) / (end - start)
            enter = np.fmax(enter, np.fmin(one, other))
            leave = np.fmin(leave, np.fmax(one, other))
    return np.asarray(enter < leave, np.bool_)

"""How late the ego could see a mover: lines of sight past what stands or moves in between."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from harness.vocabulary import Floats, Mask
from harness.world.hazards.figures import EGO_LENGTH, EGO_LIDAR_FORWARD, size
from harness.world.hazards.meeting import CRUISE, TICK, Meeting, Mover, Standing, outline
from harness.world.hazards.track import Track


class Sightline:
    """An ego at a steady speed and a mover on its timetable, until they would meet.

    Everything happens in the plane: what is in between is taken to be higher than the LiDAR.
    """

    def __init__(self, track: Track, mover: Mover, meeting: Meeting, speed: float = CRUISE) -> None:
        self.times = np.arange(0.0, meeting.seconds, TICK)
        self.gaps = speed * (meeting.seconds - self.times)
        at = meeting.station - EGO_LENGTH / 2 + EGO_LIDAR_FORWARD - self.gaps
        self.eyes = track.points(at)[:, None, :2]
        body = outline(mover, self.times)
        self.targets = body[:, 4:5] + 0.8 * (body - body[:, 4:5])

    def past(self, between: Iterable[Standing | Mover]) -> tuple[float, float]:
        """Return the gap left when the ego sees the mover for good, and the seconds of motion
        that it has not seen just before."""  # fmt: skip
        hidden = np.zeros(self.targets.shape[:2], np.bool_)
        for each in between:
            hidden |= self._cut(each)
        unseen_at: Mask = np.asarray(hidden.all(axis=1))
        unseen = np.flatnonzero(unseen_at)
        if len(unseen) == 0:
            return float(self.gaps[0]), 0.0
        last = unseen[-1]
        seen_before = np.flatnonzero(~unseen_at[:last])
        since = seen_before[-1] + 1 if len(seen_before) else 0
        return float(self.gaps[last]), float(self.times[last] - self.times[since])

    def _cut(self, between: Standing | Mover) -> Mask:
        length, width, _ = size(between.blueprint)
        if isinstance(between, Standing):
            pose = between.pose
            return cut(
                self.eyes, self.targets, np.array([pose.x, pose.y]), np.array(pose.yaw),
                length, width,
            )  # fmt: skip
        xyz, yaw = between.course.poses(between.course.distance_at(self.times))
        return cut(self.eyes, self.targets, xyz[:, None, :2], yaw[:, None], length, width)


def cut(
    eyes: Floats, targets: Floats, centre: Floats, yaw: Floats, length: float, width: float
) -> Mask:
    """Say which lines from eyes to targets (…, 2) pass through a rectangle."""
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

"""A way to be driven or walked on a timetable: where, and how fast at each point."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from harness.types.vocabulary import Floats, Pose

STEP = 0.25
"""Metres between the points of a course."""


@dataclass(frozen=True, eq=False, kw_only=True)
class MoverCourse:
    """Points, the speed wanted at each, and how hard the mover speeds up and slows down.

    It starts from rest, stands `pause` seconds at `pause_at` metres, and ends at rest or not.
    """

    xyz: Floats  # (N, 3) in the world
    speed: Floats  # (N,) m/s
    acceleration: float = 3.5  # m/s²
    braking: float = 4.0  # m/s²
    pause_at: float = np.inf  # metres along
    pause: float = 0.0  # seconds

    @cached_property
    def along(self) -> Floats:
        """Metres from the start at each point."""
        steps = np.linalg.norm(np.diff(self.xyz[:, :2], axis=0), axis=1)
        return np.concatenate([[0.0], np.cumsum(steps)])

    @cached_property
    def pace(self) -> Floats:
        """The speed really reached at each point."""
        pace, gaps = self.speed.copy(), np.diff(self.along)
        pace[0] = 0.0
        if np.isfinite(self.pause_at):
            pace[self._pausing] = 0.0
        # forwards: no faster than acceleration allows; backwards: than braking allows
        for i, gap in enumerate(gaps):
            pace[i + 1] = min(pace[i + 1], np.sqrt(pace[i] ** 2 + 2 * self.acceleration * gap))
        for i in range(len(gaps) - 1, -1, -1):
            pace[i] = min(pace[i], np.sqrt(pace[i + 1] ** 2 + 2 * self.braking * gaps[i]))
        return pace

    @cached_property
    def times(self) -> Floats:
        """Seconds from the start at each point, on arriving there."""
        mean = np.maximum((self.pace[1:] + self.pace[:-1]) / 2, 0.05)
        times = np.concatenate([[0.0], np.cumsum(np.diff(self.along) / mean)])
        times[self._pausing + 1 :] += self.pause
        return times

    @property
    def duration(self) -> float:
        """Seconds from start to end."""
        return float(self.times[-1])

    def compute_distance(self, time: float | Floats) -> Floats:
        """Return the metres done after some seconds.

        Args:
            time: seconds from the start.

        Returns:
            Metres along the course.
        """
        at = self._pausing + 1
        times = np.insert(self.times, at, self.times[at - 1] + self.pause)
        along = np.insert(self.along, at, self.along[at - 1])
        return np.asarray(np.interp(time, times, along))

    def compute_seconds(self, distance: float) -> float:
        """Return when a distance has been done."""
        return float(np.interp(distance, self.along, self.times))

    @property
    def pause_over(self) -> float:
        """Seconds from the start after which it goes on from its pause."""
        return float(self.times[self._pausing]) + self.pause

    def interpolate_poses(self, distance: float | Floats) -> tuple[Floats, Floats]:
        """Return places (…, 3) and yaws (…) at distances along.

        Args:
            distance: metres along the course.

        Returns:
            Metres in the world, and radians.
        """
        xyz = [np.interp(distance, self.along, self.xyz[:, axis]) for axis in range(3)]
        yaw = np.interp(distance, self.along, self._yaw)
        return np.stack(xyz, axis=-1), np.asarray(yaw)

    @property
    def start(self) -> Pose:
        """Where the mover waits."""
        x, y, z = self.xyz[0]
        return Pose(float(x), float(y), float(z), float(self._yaw[0]))

    @cached_property
    def _pausing(self) -> int:
        """The point at which it stands for a while: the last one if it does not."""
        return min(int(np.searchsorted(self.along, self.pause_at)), len(self.along) - 1)

    @cached_property
    def _yaw(self) -> Floats:
        forward = np.gradient(self.xyz[:, :2], axis=0)
        return np.unwrap(np.arctan2(forward[:, 1], forward[:, 0]))


def make_course(points: Floats, speed: float | Floats, **manners: float) -> MoverCourse:
    """Return the course through points; speeds are one for all, or one for each point.

    Args:
        points: (N, 3) metres in the world.
        speed: m/s that are wanted.
        manners: acceleration, braking, pause and where it pauses.

    Returns:
        Points every 0.25 m.
    """
    points = np.asarray(points, float)
    along = np.concatenate(
        [[0.0], np.cumsum(np.linalg.norm(np.diff(points[:, :2], axis=0), axis=1))]
    )
    even = np.linspace(0.0, along[-1], max(3, round(along[-1] / STEP) + 1))
    xyz = np.stack([np.interp(even, along, points[:, axis]) for axis in range(3)], axis=1)
    wanted = np.interp(even, along, np.broadcast_to(np.asarray(speed, float), along.shape))
    return MoverCourse(xyz=xyz, speed=wanted, **manners)

"""Who could see a mover, and when: lines of sight past what stands in between.

That is a hazard's own actors, and houses where a running world is asked. Other traffic can only
hide more.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import carla
import numpy as np

from harness import ego_body
from harness.vocabulary import Floats, Mask
from harness.world.hazards.meeting import Meeting, Mover, StaticActor, outline
from harness.world.hazards.nominal import NominalDrive
from harness.world.hazards.sizes import EGO_LIDAR_FORWARD, size
from harness.world.hazards.track import Track

TICK = 0.1
LIDAR_RANGE = 85.0
"""Metres that the LiDARs of the rig reach."""
EGO_EYE = 1.85
"""Metres above the road of the ego's LiDAR."""
CORNERS = (0, 2, 4, 6, 8)
"""Of the nine points of a body's outline, its corners and its middle."""
BROAD, TALL = 0.8, 0.9
"""Shares of a body's width and height at which a LiDAR still returns something of it."""
LONGEST = 20.0
"""Seconds before the mover starts from which on it is looked for."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Boxes:
    """Boxes over time: one for each row of eyes and targets."""

    xyz: Floats  # (T, 3), on the ground
    yaw: Floats  # (T,)
    size: tuple[float, float, float]


def boxes_of(actor: StaticActor | Mover, times: Floats) -> Boxes:
    """Return where an occluder is at some times."""
    if isinstance(actor, StaticActor):
        pose = actor.pose
        xyz = np.broadcast_to(np.array([pose.x, pose.y, pose.z]), (len(times), 3))
        return Boxes(xyz=xyz, yaw=np.full(len(times), pose.yaw), size=size(actor.blueprint))
    xyz, yaw = actor.course.poses(actor.course.distance_at(times))
    return Boxes(xyz=xyz, yaw=yaw, size=size(actor.blueprint))


def targets_of(mover: Mover, times: Floats) -> Floats:
    """Return five points (T, 5, 3) high on a mover's body at some times."""
    xyz, _ = mover.course.poses(mover.course.distance_at(times))
    body = outline(mover, times)
    shrunk = body[:, 4:5] + BROAD * (body[:, CORNERS] - body[:, 4:5])
    top = xyz[:, 2] + TALL * size(mover.blueprint)[2]
    return np.concatenate(
        [shrunk, np.broadcast_to(top[:, None, None], (*shrunk.shape[:2], 1))], axis=2
    )


def cut(eyes: Floats, targets: Floats, boxes: Boxes) -> Mask:
    """Return which lines (T, P) from eyes (T, 3) to targets (T, P, 3) pass through the boxes."""
    cos, sin = np.cos(boxes.yaw)[:, None], np.sin(boxes.yaw)[:, None]
    length, width, height = boxes.size

    def local(places: Floats) -> tuple[Floats, Floats]:
        x = places[..., 0] - boxes.xyz[:, None, 0]
        y = places[..., 1] - boxes.xyz[:, None, 1]
        return x * cos + y * sin, y * cos - x * sin

    enter, leave = np.array(0.0), np.array(1.0)
    starts, ends = local(eyes[:, None]), local(targets)
    with np.errstate(divide="ignore", invalid="ignore"):
        for start, end, half in zip(starts, ends, (length / 2, width / 2), strict=True):
            one, other = (-half - start) / (end - start), (half - start) / (end - start)
            enter = np.fmax(enter, np.fmin(one, other))
            leave = np.fmin(leave, np.fmax(one, other))
    rise = targets[..., 2] - eyes[:, None, 2]
    through = enter < leave
    lowest = eyes[:, None, 2] + rise * np.where(through, np.where(rise < 0.0, leave, enter), 0.0)
    return np.asarray(through & (lowest < boxes.xyz[:, None, 2] + height), np.bool_)


def in_sight(eyes: Floats, targets: Floats, between: Iterable[Boxes]) -> Mask:
    """Return which lines (T, P) are in range and pass through no box."""
    hidden = np.linalg.norm(targets - eyes[:, None], axis=2) > LIDAR_RANGE
    for boxes in between:
        hidden |= cut(eyes, targets, boxes)
    return np.asarray(~hidden, np.bool_)


class CastRays:
    """Asks a running world what stands between two places."""

    def __init__(self, world: carla.World) -> None:
        self._world = world

    def hides(self, eye: Floats, target: Floats) -> bool:
        """Return whether something stands between two places, away from both."""
        start, end = (carla.Location(*place.tolist()) for place in (eye, target))
        return any(
            point.location.distance(start) > CLEAR and point.location.distance(end) > CLEAR
            for point in self._world.cast_ray(start, end)
        )


CLEAR = 0.6
"""Metres round an eye and a target within which nothing counts as in between."""


UNIT_AHEAD, UNIT_HEIGHT = 12.0, 7.5
"""Metres by which a roadside unit stands ahead of the ego and above the road."""
UNIT_ASIDE = (0.0, 3.5)
"""Metres of a unit to the right of the middle of the rightmost lane."""
GRID = 4.0
"""Metres between the stations from which ego and unit look."""


def first_sight(
    track: Track, mover: Mover, between: Iterable[StaticActor | Mover], *, until: float
) -> float:
    """Return the ego's station up to which a mover that waits is not seen, at most `until`.

    The ego and a roadside unit ahead of it look, from every few metres of the route.
    """
    now = np.zeros(1)
    stations, eyes = observers(track, until)
    targets = np.broadcast_to(targets_of(mover, now), (len(eyes), len(CORNERS), 3))
    boxes = [_repeated(boxes_of(actor, now), len(eyes)) for actor in between]
    lines = in_sight(eyes, targets, boxes)
    for row in np.flatnonzero(lines.any(axis=1)).tolist():
        if _any_open(track, eyes[row], targets[row][lines[row]]):
            return float(min(stations[row] - GRID, until))
    return until


def observers(track: Track, until: float) -> tuple[Floats, Floats]:
    """Return the ego's stations and the eyes (N, 3) that look from there, in the route's order."""
    along = np.arange(0.0, until + GRID, GRID)
    ego = track.points(along + EGO_LIDAR_FORWARD)
    ego[:, 2] += EGO_EYE
    stations, eyes = [along], [ego]
    ahead = np.arange(0.0, min(until + UNIT_AHEAD, track.route.length) + GRID, GRID)
    rightmost = np.array([track.carriageway_right(at) - track.half_width(at) for at in ahead])
    for aside in UNIT_ASIDE:
        unit = track.points(ahead, rightmost + aside)
        unit[:, 2] += UNIT_HEIGHT
        stations.append(ahead - UNIT_AHEAD)
        eyes.append(unit)
    order = np.argsort(np.concatenate(stations), kind="stable")
    return np.concatenate(stations)[order], np.concatenate(eyes)[order]


def _any_open(track: Track, eye: Floats, targets: Floats) -> bool:
    scenery = track.scenery
    return scenery is None or not all(scenery.hides(eye, target) for target in targets)


def _repeated(boxes: Boxes, rows: int) -> Boxes:
    return Boxes(
        xyz=np.repeat(boxes.xyz, rows, axis=0), yaw=np.repeat(boxes.yaw, rows), size=boxes.size
    )


class Approach:
    """A nominal ego that comes towards the meeting, and the mover on its timetable.

    With a `leader`, which starts with the mover, the ego stays at its headway behind it.
    """

    def __init__(
        self, track: Track, mover: Mover, meeting: Meeting, leader: Mover | None = None
    ) -> None:
        nominal = NominalDrive(track.route)
        arrives = nominal.seconds(0.0, 0.0, meeting.station)
        self.seconds = meeting.seconds
        self.early = np.arange(-min(arrives - meeting.seconds, LONGEST), meeting.seconds, TICK)
        self.times = np.maximum(self.early, 0.0)
        front = nominal.stations_before(meeting.station, meeting.seconds - self.early)
        if leader is not None:
            front = np.minimum(front, _headway_behind(track, leader, self.times))
        self._front = front
        self.eyes = track.points(front - ego_body.LENGTH / 2 + EGO_LIDAR_FORWARD)
        self.eyes[:, 2] += EGO_EYE
        self.targets = targets_of(mover, self.times)
        self._scenery = track.scenery
        self._hidden, self._open = np.zeros((2, *self.targets.shape[:2]), np.bool_)

    def reveal(self, between: Iterable[StaticActor | Mover], *, since: float = 0.0) -> float:
        """Return the seconds from when the ego alone could first see the mover to the conflict.

        What is in between starts with the mover. The ego looks from station `since` on. 0 if
        nothing of the mover is seen before they meet.
        """
        boxes = [boxes_of(actor, self.times) for actor in between]
        lines = in_sight(self.eyes, self.targets, boxes) & (self._front >= since)[:, None]
        while (lines & ~self._hidden).any():
            row, point = divmod(int(np.argmax(lines & ~self._hidden)), lines.shape[1])
            if self._open[row, point]:
                return float(self.seconds - self.early[row])
            self._ask(row, point)
        return 0.0

    def _ask(self, row: int, point: int) -> None:
        """Ask whether houses hide a point; for some moments only, while the mover waits."""
        if self._scenery is None or self.early[row] >= 0.0:
            self._open[row:, point] = True
            return
        first = row - row % SPARSE
        hidden = self._scenery.hides(self.eyes[first], self.targets[first, point])
        (self._hidden if hidden else self._open)[first : first + SPARSE, point] = True


SPARSE = 3
"""Every so many moments houses are asked for."""
HEADWAY, STANDING_GAP = 1.2, 3.0
"""Seconds and metres that an ego keeps from a vehicle ahead."""


def _headway_behind(track: Track, leader: Mover, times: Floats) -> Floats:
    along = leader.course.distance_at(times)
    xyz, _ = leader.course.poses(along)
    station, _ = track.project(xyz[:, :2])
    pace = np.gradient(along, TICK)
    return np.asarray(station - size(leader.blueprint)[0] / 2 - STANDING_GAP - HEADWAY * pace)

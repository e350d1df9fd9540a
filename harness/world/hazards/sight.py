"""Who could see a mover, and when: lines of sight past what stands in between.

That is a hazard's own actors, and houses where a running world is asked. Other traffic can only
hide more.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import carla
import numpy as np

from harness.types import ego_body
from harness.types.vocabulary import Floats, Mask
from harness.world.hazards.meeting import (
    MovingActor,
    PlannedMeeting,
    StaticActor,
    compute_mover_outline,
)
from harness.world.hazards.nominal import NominalDrive
from harness.world.hazards.sizes import EGO_LIDAR_FORWARD, get_blueprint_size
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
class OccluderBoxes:
    """Boxes over time: one for each row of eyes and targets."""

    xyz: Floats  # (T, 3), on the ground
    yaw: Floats  # (T,)
    size: tuple[float, float, float]


def compute_occluder_boxes(actor: StaticActor | MovingActor, times: Floats) -> OccluderBoxes:
    """Return where an occluder is at some times."""
    if isinstance(actor, StaticActor):
        pose = actor.pose
        xyz = np.broadcast_to(np.array([pose.x, pose.y, pose.z]), (len(times), 3))
        return OccluderBoxes(
            xyz=xyz, yaw=np.full(len(times), pose.yaw), size=get_blueprint_size(actor.blueprint)
        )
    xyz, yaw = actor.course.interpolate_poses(actor.course.compute_distance(times))
    return OccluderBoxes(xyz=xyz, yaw=yaw, size=get_blueprint_size(actor.blueprint))


def sample_mover_targets(mover: MovingActor, times: Floats) -> Floats:
    """Return five points (T, 5, 3) high on a mover's body at some times."""
    xyz, _ = mover.course.interpolate_poses(mover.course.compute_distance(times))
    body = compute_mover_outline(mover, times)
    shrunk = body[:, 4:5] + BROAD * (body[:, CORNERS] - body[:, 4:5])
    top = xyz[:, 2] + TALL * get_blueprint_size(mover.blueprint)[2]
    return np.concatenate(
        [shrunk, np.broadcast_to(top[:, None, None], (*shrunk.shape[:2], 1))], axis=2
    )


def find_blocked_lines(eyes: Floats, targets: Floats, boxes: OccluderBoxes) -> Mask:
    """Return which lines (T, P) from eyes (T, 3) to targets (T, P, 3) pass through the boxes.

    Args:
        eyes: metres in the world.
        targets: metres in the world.
        boxes: T boxes on the ground.

    Returns:
        (T, P)
    """
    cos, sin = np.cos(boxes.yaw)[:, None], np.sin(boxes.yaw)[:, None]
    length, width, height = boxes.size

    def local(places: Floats) -> tuple[Floats, Floats]:
        x = places[..., 0] - boxes.xyz[:, None, 0]
        y = places[..., 1] - boxes.xyz[:, None, 1]
        return x * cos + y * sin, y * cos - x * sin

    # the share of each line that lies inside the box, seen from above (slabs)
    enter, leave = np.array(0.0), np.array(1.0)
    starts, ends = local(eyes[:, None]), local(targets)
    with np.errstate(divide="ignore", invalid="ignore"):
        for start, end, half in zip(starts, ends, (length / 2, width / 2), strict=True):
            one, other = (-half - start) / (end - start), (half - start) / (end - start)
            enter = np.fmax(enter, np.fmin(one, other))
            leave = np.fmin(leave, np.fmax(one, other))
    # a line above the top at its lowest point inside the box passes over it
    rise = targets[..., 2] - eyes[:, None, 2]
    through = enter < leave
    lowest = eyes[:, None, 2] + rise * np.where(through, np.where(rise < 0.0, leave, enter), 0.0)
    return np.asarray(through & (lowest < boxes.xyz[:, None, 2] + height), np.bool_)


def find_open_lines(eyes: Floats, targets: Floats, between: Iterable[OccluderBoxes]) -> Mask:
    """Return which lines (T, P) are in range and pass through no box."""
    hidden = np.linalg.norm(targets - eyes[:, None], axis=2) > LIDAR_RANGE
    for boxes in between:
        hidden |= find_blocked_lines(eyes, targets, boxes)
    return np.asarray(~hidden, np.bool_)


class RayCastScenery:
    """Asks a running world what stands between two places."""

    def __init__(self, world: carla.World) -> None:
        self._world = world

    def is_hidden(self, eye: Floats, target: Floats) -> bool:
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


def find_first_sight(
    track: Track, mover: MovingActor, between: Iterable[StaticActor | MovingActor], *, until: float
) -> float:
    """Return the ego's station up to which a mover that waits is not seen, at most `until`.

    The ego and a roadside unit ahead of it look, from every few metres of the route.

    Args:
        track: the ego's route, with scenery if a world runs.
        mover: waiting at its start.
        between: what may hide it.
        until: metres along the route.
    """
    now = np.zeros(1)
    stations, eyes = place_observers(track, until)
    # (observers, 5, 3) points of the body, and what stands between
    targets = np.broadcast_to(sample_mover_targets(mover, now), (len(eyes), len(CORNERS), 3))
    boxes = [_repeat_boxes(compute_occluder_boxes(actor, now), len(eyes)) for actor in between]
    lines = find_open_lines(eyes, targets, boxes)
    # in the route's order: the first observer that sees something of it
    for row in np.flatnonzero(lines.any(axis=1)).tolist():
        if _is_any_target_open(track, eyes[row], targets[row][lines[row]]):
            return float(min(stations[row] - GRID, until))
    return until


def place_observers(track: Track, until: float) -> tuple[Floats, Floats]:
    """Return the ego's stations and the eyes (N, 3) that look from there, in the route's order."""
    along = np.arange(0.0, until + GRID, GRID)
    # (N, 3) the ego's LiDAR; then units on the right of the road ahead of it
    ego = track.compute_points(along + EGO_LIDAR_FORWARD)
    ego[:, 2] += EGO_EYE
    stations, eyes = [along], [ego]
    ahead = np.arange(0.0, min(until + UNIT_AHEAD, track.route.length) + GRID, GRID)
    rightmost = np.array(
        [track.measure_carriageway_right(at) - track.get_half_width(at) for at in ahead]
    )
    for aside in UNIT_ASIDE:
        unit = track.compute_points(ahead, rightmost + aside)
        unit[:, 2] += UNIT_HEIGHT
        stations.append(ahead - UNIT_AHEAD)
        eyes.append(unit)
    order = np.argsort(np.concatenate(stations), kind="stable")
    return np.concatenate(stations)[order], np.concatenate(eyes)[order]


def _is_any_target_open(track: Track, eye: Floats, targets: Floats) -> bool:
    scenery = track.scenery
    return scenery is None or not all(scenery.is_hidden(eye, target) for target in targets)


def _repeat_boxes(boxes: OccluderBoxes, rows: int) -> OccluderBoxes:
    return OccluderBoxes(
        xyz=np.repeat(boxes.xyz, rows, axis=0), yaw=np.repeat(boxes.yaw, rows), size=boxes.size
    )


class SightApproach:
    """A nominal ego that comes towards the meeting, and the mover on its timetable.

    With a `leader`, which starts with the mover, the ego stays at its headway behind it.

    Attributes:
        seconds: from the mover's start to the meeting.
        early: (T,) seconds from the mover's start; negative while it waits.
        eyes: (T, 3) the ego's LiDAR, metres in the world.
        targets: (T, 5, 3) points of the mover's body.
    """

    def __init__(
        self,
        track: Track,
        mover: MovingActor,
        meeting: PlannedMeeting,
        leader: MovingActor | None = None,
    ) -> None:
        # (times,) seconds before the meeting; before it starts the mover stands
        nominal = NominalDrive(track.route)
        arrives = nominal.compute_seconds_between(0.0, 0.0, meeting.station)
        self.seconds = meeting.seconds
        self.early = np.arange(-min(arrives - meeting.seconds, LONGEST), meeting.seconds, TICK)
        self.times = np.maximum(self.early, 0.0)
        front = nominal.compute_earlier_stations(meeting.station, meeting.seconds - self.early)
        if leader is not None:
            front = np.minimum(front, _compute_headway_stations(track, leader, self.times))
        self._front = front
        # (times, 3) the ego's LiDAR, and (times, targets, 3) places on the mover
        self.eyes = track.compute_points(front - ego_body.LENGTH / 2 + EGO_LIDAR_FORWARD)
        self.eyes[:, 2] += EGO_EYE
        self.targets = sample_mover_targets(mover, self.times)
        self._scenery = track.scenery
        self._hidden, self._open = np.zeros((2, *self.targets.shape[:2]), np.bool_)

    def compute_reveal(
        self, between: Iterable[StaticActor | MovingActor], *, since: float = 0.0
    ) -> float:
        """Return the seconds from when the ego alone could first see the mover to the conflict.

        What is in between starts with the mover. The ego looks from station `since` on. 0 if
        nothing of the mover is seen before they meet.

        Args:
            between: what may hide the mover.
            since: metres along the route.
        """
        boxes = [compute_occluder_boxes(actor, self.times) for actor in between]
        lines = find_open_lines(self.eyes, self.targets, boxes) & (self._front >= since)[:, None]
        # houses are asked for only along lines that nothing else blocks, the earliest first
        while (lines & ~self._hidden).any():
            row, point = divmod(int(np.argmax(lines & ~self._hidden)), lines.shape[1])
            if self._open[row, point]:
                return float(self.seconds - self.early[row])
            self._query_scenery(row, point)
        return 0.0

    def _query_scenery(self, row: int, point: int) -> None:
        """Ask whether houses hide a point; for some moments only, while the mover waits."""
        if self._scenery is None or self.early[row] >= 0.0:
            self._open[row:, point] = True
            return
        first = row - row % SPARSE
        hidden = self._scenery.is_hidden(self.eyes[first], self.targets[first, point])
        (self._hidden if hidden else self._open)[first : first + SPARSE, point] = True


SPARSE = 3
"""Every so many moments houses are asked for."""
HEADWAY, STANDING_GAP = 1.2, 3.0
"""Seconds and metres that an ego keeps from a vehicle ahead."""


def _compute_headway_stations(track: Track, leader: MovingActor, times: Floats) -> Floats:
    along = leader.course.compute_distance(times)
    xyz, _ = leader.course.interpolate_poses(along)
    station, _ = track.project_points(xyz[:, :2])
    pace = np.gradient(along, TICK)
    return np.asarray(
        station - get_blueprint_size(leader.blueprint)[0] / 2 - STANDING_GAP - HEADWAY * pace
    )

"""Tracking: detections become tracks, and positions over time become velocities.

Each track is a Kalman filter with constant velocity. Both axes share one covariance, so that all
tracks are stepped at once. Its input is positions, sizes and headings of
detections, nothing else.

Detections of networks can be additional, and jitter. So a track is confirmed by its second
detection, and one that stays close to its mean position of the last seconds counts as resting.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from harness.types.geometry import compose_poses, transform_boxes, wrap_angle, wrap_line_angle
from harness.types.vocabulary import Boxes, EgoObservation, Floats, Integers, Mask, Pose

WORLD = Pose(0.0, 0.0)

POSITION_NOISE = 0.35
"""Standard deviation in metres of a detection's centre."""

ACCELERATION_NOISE = np.array([3.0, 4.0, 3.0])
"""Standard deviation in m/s² of the acceleration of a vehicle, pedestrian, cyclist."""

INITIAL_SPEED = np.array([8.0, 2.0, 5.0])
"""Standard deviation in m/s of the speed of a track with one detection."""

TOP_SPEED = np.array([20.0, 6.0, 12.0])
"""m/s up to which a second detection is matched with a first, by class."""

GATE = np.array([2.0, 0.8, 1.5])
"""Metres at most between a predicted track and its detection."""

CONFIRMED, MOVING = 2, 3
"""Detections from which a track is reported, and from which it can move."""

MAX_MISSED = 3
"""Steps without a detection that a track survives, if it has had as many with one."""

RECENT = 1.5
"""Seconds over which the recent position is a mean."""

JITTER_DISTANCE = np.array([0.6, 0.3, 0.6])
"""Metres from the recent position within which a vehicle, pedestrian, cyclist may only jitter."""

JITTER_SPEED = np.array([1.5, 0.8, 1.5])
"""m/s up to which motion may be jitter."""

FASTEST_TURN = 0.8
"""Turn rate of a track at most, in rad/s."""

STEADY_DETECTIONS, STEADY_SHARE = 10, 0.5
"""Detections from which steady motion shows; share of the distance that steady motion covers."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RoadUserTracks:
    """Road users in the world, one row each."""

    position: Floats  # (N, 2)
    velocity: Floats  # (N, 2); zero where seen only once
    variance: Floats  # (N, 3) of position, mixed, of velocity
    yaw: Floats  # (N,)
    turn_rate: Floats  # (N,) rad/s
    size: Floats  # (N, 2) length, width
    classes: Integers  # (N,)
    detections: Integers  # (N,) number of detections
    missed: Integers  # (N,) steps since the last one
    recent: Floats  # (N, 2) mean position of the last seconds

    def __len__(self) -> int:
        return len(self.classes)

    def __getitem__(self, chosen: Mask | Integers) -> RoadUserTracks:
        return RoadUserTracks(**{name: getattr(self, name)[chosen] for name in self.__slots__})

    @staticmethod
    def join_tracks(first: RoadUserTracks, second: RoadUserTracks) -> RoadUserTracks:
        """Return the rows of both."""
        return RoadUserTracks(
            **{
                name: np.concatenate([getattr(first, name), getattr(second, name)])
                for name in RoadUserTracks.__slots__
            }
        )

    @staticmethod
    def start_tracks(boxes_in_world: Boxes) -> RoadUserTracks:
        """Return a new track for each unmatched detection."""
        count, classes = len(boxes_in_world), boxes_in_world.classes
        # (N, 3) position, mixed, velocity: a speed is not known yet
        variance = np.zeros((count, 3))
        variance[:, 0] = POSITION_NOISE**2
        variance[:, 2] = INITIAL_SPEED[classes] ** 2
        return RoadUserTracks(
            position=boxes_in_world.geometry[:, :2].copy(),
            velocity=np.zeros((count, 2)),
            variance=variance,
            yaw=boxes_in_world.geometry[:, 6].copy(),
            turn_rate=np.zeros(count),
            size=boxes_in_world.geometry[:, 3:5].copy(),
            classes=classes.copy(),
            detections=np.ones(count, np.int64),
            missed=np.zeros(count, np.int64),
            recent=boxes_in_world.geometry[:, :2].copy(),
        )


class RoadUserTracker:
    """Keeps the tracks of one attempt."""

    def __init__(self) -> None:
        self.tracks = RoadUserTracks.start_tracks(Boxes.none())
        self._time: float | None = None

    def track_detections(
        self, observation: EgoObservation, detections_in_lidar: Boxes
    ) -> RoadUserTracks:
        """Update the tracks with what the ego detects now and return the confirmed ones.

        Args:
            observation: of the ego, with its true pose.
            detections_in_lidar: in the ego's LiDAR frame, metres and radians.

        Returns:
            Tracks in the world, see `update_tracks`.
        """
        lidar_in_world = compose_poses(observation.vehicle_in_world, observation.lidar_in_vehicle)
        boxes_in_world = transform_boxes(detections_in_lidar, lidar_in_world, WORLD)
        return self.update_tracks(observation.time, boxes_in_world)

    def update_tracks(self, time: float, boxes_in_world: Boxes) -> RoadUserTracks:
        """Update the tracks with the detections of now and return the confirmed ones.

        Args:
            time: seconds.
            boxes_in_world: all detections of this step.

        Returns:
            Tracks with two detections or more; resting ones have no velocity.
        """
        elapsed = 0.0 if self._time is None else time - self._time
        self._time = time
        # where tracks should be now, and which detections are theirs
        expected = predict_tracks(self.tracks, elapsed)
        matched, by = match_tracks(expected, boxes_in_world, elapsed)
        # tracks with a detection, and those that survive without one for a while
        seen = update_matched_tracks(expected[matched], boxes_in_world[by], elapsed)
        unseen = list_other_rows(matched, len(expected))
        patience = np.minimum(expected.detections, MAX_MISSED)
        coasting = expected[unseen[expected.missed[unseen] <= patience[unseen]]]
        new = list_other_rows(by, len(boxes_in_world))
        # detections without a track start one
        self.tracks = RoadUserTracks.join_tracks(
            RoadUserTracks.join_tracks(seen, coasting),
            RoadUserTracks.start_tracks(boxes_in_world[new]),
        )
        return hold_resting_tracks(self.tracks[self.tracks.detections >= CONFIRMED])


def list_other_rows(chosen: Integers, count: int) -> Integers:
    """Return which of so many rows are not among the chosen ones."""
    others = np.ones(count, np.bool_)
    others[chosen] = False
    return np.flatnonzero(others)


def predict_tracks(tracks: RoadUserTracks, elapsed: float) -> RoadUserTracks:
    """Return the tracks predicted by the elapsed seconds.

    Args:
        tracks: N tracks.
        elapsed: seconds.
    """
    # (N,) each
    position, mixed, velocity = tracks.variance.T
    noise = ACCELERATION_NOISE[tracks.classes] ** 2
    # (N, 3) constant velocity with noise of the acceleration: position, mixed, velocity
    variance = np.stack(
        [
            position + 2 * elapsed * mixed + elapsed**2 * velocity + noise * elapsed**4 / 4,
            mixed + elapsed * velocity + noise * elapsed**3 / 2,
            velocity + noise * elapsed**2,
        ],
        axis=1,
    )
    return RoadUserTracks(
        position=tracks.position + elapsed * tracks.velocity,
        velocity=tracks.velocity,
        variance=variance,
        yaw=wrap_angle(tracks.yaw + elapsed * tracks.turn_rate),
        turn_rate=tracks.turn_rate,
        size=tracks.size,
        classes=tracks.classes,
        detections=tracks.detections,
        missed=tracks.missed + 1,
        recent=tracks.recent,
    )


def match_tracks(
    expected: RoadUserTracks, boxes_in_world: Boxes, elapsed: float
) -> tuple[Integers, Integers]:
    """Match tracks and detections of a class: nearest pairs first, each once.

    Args:
        expected: N tracks, predicted to now.
        boxes_in_world: M detections.
        elapsed: seconds since the last step.

    Returns:
        (K,) rows of tracks and (K,) rows of detections.
    """
    # (N, M) metres
    away = np.linalg.norm(expected.position[:, None] - boxes_in_world.geometry[None, :, :2], axis=2)
    reach = GATE[expected.classes]
    # the velocity of a track with one detection is not known: it may be anywhere near
    unknown = expected.detections == 1
    reach = np.where(unknown, GATE[expected.classes] + TOP_SPEED[expected.classes] * elapsed, reach)
    possible = (away < reach[:, None]) & (expected.classes[:, None] == boxes_in_world.classes)
    rows, columns = np.nonzero(possible)
    matched: list[int] = []
    by: list[int] = []
    # greedy: the nearest pair first
    for k in np.argsort(away[rows, columns], kind="stable"):
        if rows[k] not in matched and columns[k] not in by:
            matched.append(int(rows[k]))
            by.append(int(columns[k]))
    return np.array(matched, np.int64), np.array(by, np.int64)


def update_matched_tracks(
    expected: RoadUserTracks, detected: Boxes, elapsed: float
) -> RoadUserTracks:
    """Return tracks updated with their detections.

    Args:
        expected: K tracks, predicted to now.
        detected: K detections, one for each.
        elapsed: seconds since the last step.

    Returns:
        K tracks.
    """
    # Kalman gains of position and velocity, (K,)
    position, mixed, velocity = expected.variance.T
    total = position + POSITION_NOISE**2
    pull, push = position / total, mixed / total
    off = detected.geometry[:, :2] - expected.position
    variance = np.stack(
        [(1 - pull) * position, (1 - pull) * mixed, velocity - push * mixed], axis=1
    )
    # front and back of a detection may be swapped: the turn is that of its axis
    turned = wrap_line_angle(detected.geometry[:, 6] - expected.yaw)
    drift = 0.4 * turned / elapsed if elapsed > 0 else np.zeros(len(expected))
    detections = expected.detections + 1
    # (K,) means over the last seconds: a true mean at first, then an exponential one
    weight = np.maximum(1.0 / detections, min(elapsed / RECENT, 1.0))
    here = expected.position + pull[:, None] * off
    tracks = RoadUserTracks(
        position=here,
        velocity=expected.velocity + push[:, None] * off,
        variance=variance,
        yaw=detected.geometry[:, 6].copy(),
        turn_rate=np.clip(expected.turn_rate + drift, -FASTEST_TURN, FASTEST_TURN),
        size=expected.size + weight[:, None] * (detected.geometry[:, 3:5] - expected.size),
        classes=expected.classes,
        detections=detections,
        missed=np.zeros(len(expected), np.int64),
        recent=expected.recent + weight[:, None] * (here - expected.recent),
    )
    # of what rests, headings are averaged as well
    steadied = wrap_angle(expected.yaw + weight * turned)
    rests = find_resting_tracks(tracks)
    return replace(
        tracks,
        yaw=np.where(rests, steadied, tracks.yaw),
        turn_rate=np.where(rests, 0.0, tracks.turn_rate),
    )


def hold_resting_tracks(tracks: RoadUserTracks) -> RoadUserTracks:
    """Return the tracks, resting ones standing at their recent position."""
    rests = find_resting_tracks(tracks)[:, None]
    return replace(
        tracks,
        position=np.where(rests, tracks.recent, tracks.position),
        velocity=np.where(rests, 0.0, tracks.velocity),
    )


def find_resting_tracks(tracks: RoadUserTracks) -> Mask:
    """Return which tracks only jitter, or have too few detections to move.

    Returns:
        (N,)
    """
    away = np.linalg.norm(tracks.position - tracks.recent, axis=1)
    speed = np.linalg.norm(tracks.velocity, axis=1)
    jitters = (away < JITTER_DISTANCE[tracks.classes]) & (speed < JITTER_SPEED[tracks.classes])
    rests: Mask = jitters | (tracks.detections < MOVING)
    return rests


def find_setting_off_tracks(tracks: RoadUserTracks) -> Mask:
    """Return who has just set off: steady motion would be farther from the recent position."""
    away = np.linalg.norm(tracks.position - tracks.recent, axis=1)
    steady = RECENT * np.linalg.norm(tracks.velocity, axis=1)
    started_now: Mask = (tracks.detections >= STEADY_DETECTIONS) & (away < STEADY_SHARE * steady)
    return started_now

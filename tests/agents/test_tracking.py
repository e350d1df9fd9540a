"""Tracks: velocities from positions alone."""

from __future__ import annotations

import math

import numpy as np
import pytest

from agents.driving.tracking import RoadUserTracker, find_setting_off_tracks
from harness.types.vocabulary import CYCLIST, PEDESTRIAN, VEHICLE, Boxes

STEP = 0.2


def boxes(*rows: tuple[int, float, float], yaw: float = 0.0) -> Boxes:
    """Return boxes of a class at a place."""
    geometry = np.array([[x, y, 1.0, 4.0, 2.0, 1.5, yaw] for _, x, y in rows]).reshape(-1, 7)
    return Boxes(geometry, np.array([kind for kind, _, _ in rows], np.int64), np.ones(len(rows)))


@pytest.mark.parametrize(("kind", "speed"), [(VEHICLE, 12.0), (PEDESTRIAN, 2.0), (CYCLIST, 6.0)])
def test_one_detection_is_not_reported_and_speed_is_near_at_the_third(
    kind: int, speed: float
) -> None:
    tracker = RoadUserTracker()
    assert len(tracker.update_tracks(0.0, boxes((kind, 0.0, 5.0)))) == 0
    tracks = tracker.update_tracks(STEP, boxes((kind, speed * STEP, 5.0)))
    assert tracks.velocity.tolist() == [[0.0, 0.0]]
    tracks = tracker.update_tracks(2 * STEP, boxes((kind, 2 * speed * STEP, 5.0)))
    assert tracks.velocity[0, 0] == pytest.approx(speed, rel=0.4)
    for k in range(3, 12):
        tracks = tracker.update_tracks(k * STEP, boxes((kind, k * speed * STEP, 5.0)))
    assert len(tracks) == 1
    np.testing.assert_allclose(tracks.velocity, [[speed, 0.0]], atol=0.1)


@pytest.mark.parametrize(("kind", "jitter"), [(VEHICLE, 0.3), (PEDESTRIAN, 0.1), (CYCLIST, 0.2)])
def test_jittering_boxes_rest(kind: int, jitter: float) -> None:
    chance, tracker = np.random.default_rng(7), RoadUserTracker()
    moving, places, yaws = [], [], []
    for k in range(200):
        x, y = jitter * chance.standard_normal(2)
        yaw = 0.2 * float(chance.standard_normal())
        tracks = tracker.update_tracks(k * STEP, boxes((kind, x, y), yaw=yaw))
        moving += (tracks.velocity != 0.0).any(1).tolist()
        places += tracks.position.tolist()
        yaws += tracks.yaw.tolist()
    assert len(tracks) == 1
    assert np.mean(moving) < 0.03
    assert np.std(places[10:]) < 0.6 * jitter
    assert np.std(yaws[10:]) < 0.1


@pytest.mark.parametrize(("kind", "rate"), [(VEHICLE, 3.0), (PEDESTRIAN, 4.0), (CYCLIST, 3.0)])
def test_who_sets_off_is_soon_seen_to_move(kind: int, rate: float) -> None:
    tracker = RoadUserTracker()
    for k in range(-15, 1):
        tracker.update_tracks(k * STEP, boxes((kind, 0.0, 0.0)))
    seconds = [k * STEP for k in range(1, 6)]
    speeds = [
        float(tracker.update_tracks(t, boxes((kind, 0.5 * rate * t**2, 0.0))).velocity[0, 0])
        for t in seconds
    ]
    assert min(t for t, speed in zip(seconds, speeds, strict=True) if speed > 0.0) <= 0.81


def test_a_track_hidden_for_two_steps_goes_on_and_is_matched_again() -> None:
    tracker = RoadUserTracker()
    for k in range(5):
        tracker.update_tracks(k * STEP, boxes((CYCLIST, k * 1.0, 0.0)))
    tracker.update_tracks(5 * STEP, Boxes.none())
    tracks = tracker.update_tracks(6 * STEP, Boxes.none())
    assert tracks.position[0, 0] == pytest.approx(6.0, abs=0.2)
    tracks = tracker.update_tracks(7 * STEP, boxes((CYCLIST, 7.0, 0.0)))
    assert tracks.detections.tolist() == [6]


@pytest.mark.parametrize(("detections", "lives"), [(1, 0), (2, 2), (3, 3), (9, 3)])
def test_a_track_without_detections_ends_the_sooner_the_fewer_it_had(
    detections: int, lives: int
) -> None:
    tracker = RoadUserTracker()
    for k in range(detections):
        tracker.update_tracks(k * STEP, boxes((VEHICLE, 0.0, 0.0)))
    unseen = [len(tracker.update_tracks((detections + k) * STEP, Boxes.none())) for k in range(6)]
    assert unseen == [1] * lives + [0] * (6 - lives)


def test_a_pedestrian_never_becomes_a_car() -> None:
    tracker = RoadUserTracker()
    for k in range(2):
        tracker.update_tracks(k * STEP, boxes((PEDESTRIAN, 0.0, 0.0), (VEHICLE, 0.6, 0.0)))
    tracks = tracker.update_tracks(2 * STEP, boxes((VEHICLE, 0.0, 0.0)))
    vehicle = tracks[tracks.classes == VEHICLE]
    assert vehicle.detections.tolist() == [3]
    assert tracks[tracks.classes == PEDESTRIAN].missed.tolist() == [1]


def test_neighbours_keep_their_tracks() -> None:
    tracker = RoadUserTracker()
    for k in range(12):
        way = 8.0 * STEP * k
        tracks = tracker.update_tracks(
            k * STEP, boxes((VEHICLE, way, 0.0), (VEHICLE, 18.0 - way, 3.5))
        )
    order = np.argsort(tracks.position[:, 1])
    np.testing.assert_allclose(tracks.velocity[order, 0], [8.0, -8.0], atol=0.2)


def test_turning_is_noticed() -> None:
    tracker, rate, speed = RoadUserTracker(), 0.4, 6.0
    for k in range(15):
        yaw = rate * k * STEP
        x, y = speed / rate * math.sin(yaw), speed / rate * (1.0 - math.cos(yaw))
        tracks = tracker.update_tracks(k * STEP, boxes((VEHICLE, x, y), yaw=yaw))
    assert tracks.turn_rate[0] == pytest.approx(rate, abs=0.05)


def test_setting_off_differs_from_steady_motion_and_from_jitter() -> None:
    chance, tracker = np.random.default_rng(3), RoadUserTracker()
    leaving = []
    for k in range(60):
        time = max(k * STEP - 6.0, 0.0)
        starts, steady = 1.5 * time**2, 4.0 * k * STEP
        jitters = float(np.clip(0.2 * chance.standard_normal(), -0.4, 0.4))
        rows = ((CYCLIST, 0.0, starts), (CYCLIST, 50.0, steady), (CYCLIST, 100.0, jitters))
        tracks = tracker.update_tracks(k * STEP, boxes(*rows))
        result = (
            find_setting_off_tracks(tracks)[np.argsort(tracks.position[:, 0])]
            if k > 1
            else [False] * 3
        )
        leaving.append(result)
    starts_at = 30
    left, steady_leaves, jitter_leaves = np.array(leaving).T
    assert not left[: starts_at + 1].any()
    assert left[starts_at + 4 : starts_at + 8].all()
    assert not steady_leaves.any()
    assert not jitter_leaves.any()

"""Tracks: velocities from positions alone."""

from __future__ import annotations

import math

import numpy as np
import pytest

from agents.driving.tracking import Tracker
from harness.vocabulary import CYCLIST, PEDESTRIAN, VEHICLE, Boxes

STEP = 0.2


def boxes(*rows: tuple[int, float, float], yaw: float = 0.0) -> Boxes:
    """Return boxes of a class at a place."""
    geometry = np.array([[x, y, 1.0, 4.0, 2.0, 1.5, yaw] for _, x, y in rows]).reshape(-1, 7)
    return Boxes(geometry, np.array([kind for kind, _, _ in rows], np.int64), np.ones(len(rows)))


@pytest.mark.parametrize(("kind", "speed"), [(VEHICLE, 12.0), (PEDESTRIAN, 2.0), (CYCLIST, 6.0)])
def test_speed_is_near_at_the_second_look_and_exact_soon(kind: int, speed: float) -> None:
    tracker = Tracker()
    tracks = tracker.step(0.0, boxes((kind, 0.0, 5.0)))
    assert tracks.velocity.tolist() == [[0.0, 0.0]]
    tracks = tracker.step(STEP, boxes((kind, speed * STEP, 5.0)))
    assert tracks.velocity[0, 0] > 0.5 * speed
    for k in range(2, 10):
        tracks = tracker.step(k * STEP, boxes((kind, k * speed * STEP, 5.0)))
    assert len(tracks) == 1
    np.testing.assert_allclose(tracks.velocity, [[speed, 0.0]], atol=0.1)


def test_boxes_that_tremble_give_no_wild_velocities() -> None:
    chance, tracker = np.random.default_rng(7), Tracker()
    speeds = []
    for k in range(100):
        x, y = 0.15 * chance.standard_normal(2)
        tracks = tracker.step(k * STEP, boxes((VEHICLE, x, y)))
        speeds.append(float(np.hypot(*tracks.velocity[0])))
    assert len(tracks) == 1
    assert max(speeds[5:]) < 2.0


def test_who_is_hidden_for_two_looks_goes_on_and_is_known_again() -> None:
    tracker = Tracker()
    for k in range(5):
        tracker.step(k * STEP, boxes((CYCLIST, k * 1.0, 0.0)))
    tracker.step(5 * STEP, Boxes.none())
    tracks = tracker.step(6 * STEP, Boxes.none())
    assert tracks.position[0, 0] == pytest.approx(6.0, abs=0.2)
    tracks = tracker.step(7 * STEP, boxes((CYCLIST, 7.0, 0.0)))
    assert tracks.looks.tolist() == [6]


def test_who_stays_away_is_forgotten() -> None:
    tracker = Tracker()
    tracker.step(0.0, boxes((VEHICLE, 0.0, 0.0)))
    lives = [len(tracker.step(k * STEP, Boxes.none())) for k in range(1, 7)]
    assert lives == [1, 1, 1, 0, 0, 0]


def test_a_pedestrian_never_becomes_a_car() -> None:
    tracker = Tracker()
    tracker.step(0.0, boxes((PEDESTRIAN, 0.0, 0.0), (VEHICLE, 0.6, 0.0)))
    tracks = tracker.step(STEP, boxes((VEHICLE, 0.0, 0.0)))
    vehicle = tracks[tracks.classes == VEHICLE]
    assert vehicle.looks.tolist() == [2]
    assert tracks[tracks.classes == PEDESTRIAN].missed.tolist() == [1]


def test_neighbours_keep_their_own_tracks() -> None:
    tracker = Tracker()
    for k in range(12):
        way = 8.0 * STEP * k
        tracks = tracker.step(k * STEP, boxes((VEHICLE, way, 0.0), (VEHICLE, 18.0 - way, 3.5)))
    order = np.argsort(tracks.position[:, 1])
    np.testing.assert_allclose(tracks.velocity[order, 0], [8.0, -8.0], atol=0.2)


def test_turning_is_noticed() -> None:
    tracker, rate, speed = Tracker(), 0.4, 6.0
    for k in range(15):
        yaw = rate * k * STEP
        x, y = speed / rate * math.sin(yaw), speed / rate * (1.0 - math.cos(yaw))
        tracks = tracker.step(k * STEP, boxes((VEHICLE, x, y), yaw=yaw))
    assert tracks.turn_rate[0] == pytest.approx(rate, abs=0.05)

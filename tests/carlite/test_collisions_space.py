"""Who is where: spawn checks and the search for pairs, against plain all-pairs references."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
import shapely

from harness.carlite.dynamics import collisions
from tests.carlite.proving_ground import Place, scenery


def polygon(x: float, y: float, ex: float, ey: float, yaw: float) -> shapely.Polygon:
    turn = np.array([[math.cos(yaw), -math.sin(yaw)], [math.sin(yaw), math.cos(yaw)]])
    signs = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])
    return shapely.Polygon(np.array([x, y]) + (signs * [ex, ey]) @ turn.T)


def crowd(seed: int, cars: int, pieces: int, side: float) -> Place:
    rng = np.random.default_rng(seed)
    rows = [
        (*rng.uniform(0, side, 2), 2.0, *rng.uniform(0.1, 6.0, 2), 2.0, rng.uniform(-3, 3))
        for _ in range(pieces)
    ]
    place = Place(obstacles=scenery(*rows))
    for _ in range(cars):
        x, y = rng.uniform(0, side, 2)
        place.car(at=(float(x), float(y), 0.0), yaw=float(rng.uniform(-3, 3)))
    return place


@pytest.mark.parametrize("seed", range(4))
def test_overlaps_agrees_with_polygons(seed: int) -> None:
    place = crowd(seed, 20, 60, 120.0)
    table, boxes = place.table, place.obstacles.cells.boxes
    taken = [
        polygon(x, y, half_length, half_width, yaw)
        for (x, y, _), (half_length, half_width, _), (_, yaw, _) in zip(
            table.position, table.extent, table.rotation, strict=True
        )
    ]
    taken += [
        polygon(box["x"], box["y"], box["half_length"], box["half_width"], box["yaw"])
        for box in boxes
    ]
    rng = np.random.default_rng(seed + 50)
    answers = set()
    for _ in range(200):
        x, y = rng.uniform(-20, 140, 2)
        ex, ey = rng.uniform(0.2, 5.0, 2)
        yaw = float(rng.uniform(-3, 3))
        asked = polygon(x, y, ex, ey, yaw)
        area = max(asked.intersection(other).area for other in taken)
        if 0.0 < area < 1e-6:
            continue
        overlapping = collisions.has_solid_overlap(
            table, place.obstacles, centre=(x, y, 1.0), extent=(ex, ey, 0.8), yaw=yaw
        )
        assert overlapping == (area > 0.0)
        answers.add(overlapping)
    assert answers == {True, False}


def test_overlaps_minds_the_height() -> None:
    place = Place(obstacles=scenery((0.0, 0.0, 5.0, 3.0, 3.0, 0.5, 0.0)))
    box = (2.0, 1.0, 0.7)
    assert not collisions.has_solid_overlap(
        place.table, place.obstacles, centre=(0.0, 0.0, 0.8), extent=box, yaw=0.0
    )
    assert collisions.has_solid_overlap(
        place.table, place.obstacles, centre=(0.0, 0.0, 4.5), extent=box, yaw=0.0
    )
    assert not collisions.has_solid_overlap(
        place.table, place.obstacles, centre=(0.0, 0.0, 6.3), extent=box, yaw=0.0
    )


def test_an_empty_town_has_no_obstacles() -> None:
    place = Place(obstacles=scenery())
    place.car(velocity=(10.0, 0.0))
    assert place.tick(10) == []
    assert place.obstacles.cells.columns == place.obstacles.cells.rows == 1


def test_no_overlap_is_missed_however_many_there_are() -> None:
    """A pile of cars in one place: more pairs than there are cars."""
    place = crowd(3, 60, 40, 15.0)
    place.table.velocity[:, :2] = np.random.default_rng(0).normal(0, 5, (60, 2))
    contacts = collisions.resolve_collisions(place.table, place.obstacles, 0.05)
    assert len(contacts) > 100
    pairs = [(c.actor, c.other, c.piece) for c in contacts]
    assert len(set(pairs)) == len(pairs)


def brawl() -> bytes:
    """Let fifty cars drive into each other for ten seconds; return all they did."""
    place = crowd(5, 50, 30, 90.0)
    place.table.throttle[:] = 0.7
    log = b""
    for tick in range(200):
        place.table.steer[:] = np.sin(0.1 * tick + place.table.id)
        for contact in place.tick():
            log += repr(contact).encode()
        log += place.table.position.tobytes() + place.table.velocity.tobytes()
    assert np.isfinite(place.table.position).all()
    return log


@pytest.mark.thorough
def test_same_calls_give_same_bytes_in_another_process() -> None:
    program = (
        "from tests.carlite.test_collisions_space import brawl; import hashlib; "
        "print(hashlib.sha256(brawl()).hexdigest())"
    )
    digests = {
        subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout
        for _ in range(2)
    }
    assert len(digests) == 1

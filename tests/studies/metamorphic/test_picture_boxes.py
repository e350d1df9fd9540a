"""Boxes as rectangles in pictures, and MultiTest's errors by these, against numbers by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from harness.types.vocabulary import Boxes, CameraImage, Floats, Pose
from studies.metamorphic.judging.checks import JudgedObjects, JudgingRules
from studies.metamorphic.judging.guidance import compute_multitest_parts
from studies.metamorphic.judging.picture_boxes import (
    compute_picture_overlaps,
    compute_picture_parts,
    compute_rectangle_ious,
    count_picture_errors,
    project_boxes,
)

FOCAL = 100.0
INTRINSICS = np.array([[FOCAL, 0.0, 128.0], [0.0, FOCAL, 96.0], [0.0, 0.0, 1.0]])


def camera(yaw: float = 0.0) -> CameraImage:
    """Return a camera at the LiDAR that looks by a yaw."""
    pixels = np.zeros((192, 256, 3), np.uint8)
    return CameraImage(
        name="front",
        pixels=pixels,
        intrinsics=INTRINSICS,
        camera_in_lidar=Pose(0.0, 0.0, yaw=yaw),
        above_road=2.0,
    )


def boxes(*rows: tuple[float, ...], scores: Floats | None = None) -> Boxes:
    """Return vehicles `x y z length width height yaw`."""
    geometry = np.array(rows, np.float64).reshape(-1, 7)
    chosen = np.ones(len(rows)) if scores is None else scores
    return Boxes(geometry, np.zeros(len(rows), np.int64), chosen)


def objects(judged: Boxes) -> JudgedObjects:
    none = Boxes.none()
    return JudgedObjects(
        judged=judged,
        actor_ids=np.arange(len(judged)),
        others=none,
        parked=none,
        places=none,
        judged_by=JudgingRules(),
    )


def test_a_box_ahead_fills_its_front_face() -> None:
    box = boxes((11.0, 1.0, -0.5, 2.0, 2.0, 1.0, 0.0))
    (rectangle,) = project_boxes(box, camera())
    # the near face is 10 m ahead: right from 0 to 2 m, down from 0 to 1 m
    left, top, right, bottom = rectangle
    assert (left, right) == pytest.approx((128.0, 128.0 + 20.0))
    assert top == pytest.approx(96.0)
    assert bottom == pytest.approx(96.0 + 10.0)


def test_what_is_behind_or_tiny_is_not_in_the_picture() -> None:
    behind = boxes((-11.0, 0.0, 0.0, 4.0, 2.0, 1.5, 0.0), (300.0, 0.0, 0.0, 4.0, 2.0, 1.5, 0.0))
    assert np.isnan(project_boxes(behind, camera())).all()
    # through the camera's plane: cut off there, and at the edge of the picture
    (through,) = project_boxes(boxes((1.0, 3.0, 0.0, 6.0, 2.0, 1.5, 0.0)), camera())
    assert np.isfinite(through).all()
    assert through[2] == 256.0
    assert project_boxes(Boxes.none(), camera()).shape == (0, 4)


def test_overlap_ratios_of_rectangles() -> None:
    one = np.array([[0.0, 0.0, 10.0, 10.0], [np.nan] * 4])
    other = np.array([[5.0, 0.0, 15.0, 10.0], [20.0, 20.0, 30.0, 30.0]])
    np.testing.assert_allclose(compute_rectangle_ious(one, other), [[50 / 150, 0.0], [0.0, 0.0]])


def test_the_best_picture_counts() -> None:
    box = boxes((0.0, 12.0, 0.0, 4.0, 2.0, 1.5, 0.0))
    known = compute_picture_overlaps(box, box, [camera(), camera(math.pi / 2)])
    assert known.seen.all()
    np.testing.assert_allclose(known.overlaps, [[1.0]])
    assert not compute_picture_overlaps(box, box, [camera()]).seen.any()


def test_errors_in_pictures() -> None:
    truth = boxes(
        (20.0, 0.0, 0.0, 4.0, 2.0, 1.5, 0.0),
        (20.0, 8.0, 0.0, 4.0, 2.0, 1.5, 0.0),
        (20.0, -9.0, 0.0, 4.0, 2.0, 1.5, 0.0),
    )
    detected = boxes(
        (20.0, 0.0, 0.0, 4.0, 2.0, 1.5, 0.0),  # right
        (20.0, 10.2, 0.0, 4.0, 2.0, 1.5, 0.0),  # next to it
        (30.0, 3.5, 0.0, 4.0, 2.0, 1.5, 0.0),  # of nothing
        scores=np.array([0.9, 0.8, 0.5]),
    )
    errors = count_picture_errors(detected, objects(truth), [camera()])
    assert errors == {"missed": (1, 3), "mislocalised": (1, 2), "additional": (1, 3)}
    parts = compute_picture_parts(truth, detected, [camera()])
    away = math.hypot(20.0, 9.0)
    assert parts.missed == pytest.approx(1 - away / 100.0)
    assert parts.false == pytest.approx((1 - math.hypot(30.0, 3.5) / 100.0) * 0.5)
    known = compute_picture_overlaps(truth, detected, [camera()]).overlaps
    assert parts.localisation == pytest.approx(1 - known[1].max())
    assert parts.fitness == pytest.approx(
        0.5 * parts.missed + 0.25 * parts.false + 0.25 * parts.localisation
    )


def test_what_is_not_seen_does_not_count() -> None:
    truth = boxes((20.0, 0.0, 0.0, 4.0, 2.0, 1.5, 0.0), (-20.0, 0.0, 0.0, 4.0, 2.0, 1.5, 0.0))
    parts = compute_picture_parts(truth, Boxes.none(), [camera()])
    assert parts.missed == pytest.approx(0.8)
    assert compute_multitest_parts(truth, Boxes.none()).missed == pytest.approx(1.6)

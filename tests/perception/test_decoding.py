"""Boxes to codes and back, and what becomes of raw output."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from agents.perception.decoding import (
    apply_nms,
    crop_boxes_to_grid,
    decode_candidates,
    weighted_box_fusion,
)
from agents.perception.designs import FULL_GRID, LITE_GRID, DecodingThresholds
from agents.perception.grid import CODE_CHANNELS, CODES, SCORE_CHANNELS, PillarGrid
from agents.perception.network import RawOutput
from harness.types.vocabulary import CYCLIST, PEDESTRIAN, VEHICLE, Boxes, Floats

PLACES = np.array(
    [
        [10.03, -4.2, 0.8, 4.5, 1.9, 1.6, 0.3],
        [-7.77, 3.3, 0.9, 0.6, 0.5, 1.8, -3.0],
        [0.01, 0.02, 1.0, 1.8, 0.7, 1.7, 1.57],
    ]
)
ABOUT = PLACES + np.pi * np.outer([0, 1, 0], np.eye(7)[6])
"""The same, by their axis: lite networks do not distinguish front and back."""
KINDS = np.array([VEHICLE, PEDESTRIAN, CYCLIST])


def planted(grid: PillarGrid, boxes: Boxes) -> RawOutput:
    """Return network output with these boxes and no others."""
    rows, columns = grid.output_shape
    logits = torch.full((1, SCORE_CHANNELS, rows, columns), -9.0)
    codes = torch.zeros((1, CODE_CHANNELS, rows, columns))
    cells, box_codes = grid.encode_boxes(boxes.geometry)
    for (row, column), code, kind, score in zip(
        cells.tolist(), box_codes, boxes.classes, boxes.scores, strict=True
    ):
        logits[0, kind, row, column] = float(np.log(score / (1 - score)))
        first = int(kind) * len(CODES)
        codes[0, first : first + len(CODES), row, column] = torch.from_numpy(code)
    return RawOutput(logits, codes)


@pytest.mark.parametrize(("grid", "expected"), [(FULL_GRID, PLACES), (LITE_GRID, ABOUT)])
def test_what_is_planted_is_detected(grid: PillarGrid, expected: Floats) -> None:
    boxes = Boxes(PLACES, KINDS, np.array([0.9, 0.8, 0.3]))
    detected = crop_boxes_to_grid(
        apply_nms(
            decode_candidates(planted(grid, boxes), grid, DecodingThresholds()),
            DecodingThresholds(),
        ),
        grid,
    )
    assert np.allclose(detected.geometry, expected, atol=1e-4)
    assert detected.classes.tolist() == KINDS.tolist()
    assert np.allclose(detected.scores, boxes.scores, atol=1e-6)


@pytest.mark.parametrize(("grid", "expected"), [(FULL_GRID, PLACES), (LITE_GRID, ABOUT)])
def test_codes_are_undone(grid: PillarGrid, expected: Floats) -> None:
    cells, codes = grid.encode_boxes(PLACES)
    assert (codes[:, :2] >= 0).all()
    assert (codes[:, :2] < 1).all()
    assert np.allclose(grid.decode_boxes(cells, codes), expected)


def test_low_scores_are_no_detections() -> None:
    boxes = Boxes(PLACES, KINDS, np.array([0.9, 0.19, 0.21]))
    detected = decode_candidates(planted(LITE_GRID, boxes), LITE_GRID, DecodingThresholds())
    assert detected.classes.tolist() == [VEHICLE, CYCLIST]


def test_of_overlapping_boxes_the_one_with_the_highest_score_stays() -> None:
    row = PLACES[0]
    close, apart = row.copy(), row.copy()
    close[0] += 0.4
    apart[1] += 2.5
    geometry = np.stack([row, close, apart, close])
    boxes = Boxes(geometry, np.array([0, 0, 0, 2]), np.array([0.5, 0.7, 0.6, 0.4]))
    detected = apply_nms(boxes, DecodingThresholds())
    assert detected.scores.tolist() == [0.7, 0.6, 0.4]


def test_all_detections_of_an_object_set_its_box() -> None:
    row = PLACES[0] * [1, 1, 1, 1, 1, 1, 0]
    across = np.pi / 2
    geometry = np.stack([row, row, row, row])
    geometry[:, 0] += [0.0, 0.6, 30.0, 0.0]
    geometry[:, 6] += [across - 0.1, 0.1 - across, 0.0, 0.0]
    kinds = np.array([VEHICLE, VEHICLE, VEHICLE, CYCLIST])
    sent = Boxes(geometry, kinds, np.array([0.6, 0.3, 0.9, 0.5]))
    best = apply_nms(sent, DecodingThresholds())
    detected = weighted_box_fusion(best, sent, DecodingThresholds(), 0.3)
    assert detected.scores.tolist() == best.scores.tolist() == [0.9, 0.6, 0.5]
    assert np.allclose(detected.geometry[:, 0] - row[0], [30.0, 0.2, 0.0])
    assert np.cos(detected.geometry[1, 6]) == pytest.approx(0.0, abs=0.1)
    assert np.array_equal(detected.geometry[[0, 2]], best.geometry[[0, 2]])


def test_a_suppressed_box_suppresses_no_other() -> None:
    steps = np.arange(3)[:, None] * [2.5, 0, 0, 0, 0, 0, 0]
    boxes = Boxes(
        PLACES[0] * [1, 1, 1, 1, 1, 1, 0] + steps, np.zeros(3, np.int64), np.array([0.9, 0.8, 0.7])
    )
    assert apply_nms(boxes, DecodingThresholds()).scores.tolist() == [0.9, 0.7]


def test_a_box_that_is_too_long_is_no_detection() -> None:
    lorry = PLACES[:1].copy()
    lorry[0, 3] = 9.0
    boxes = Boxes(lorry, KINDS[:1], np.ones(1))
    assert len(apply_nms(boxes, DecodingThresholds())) == 0
    assert len(apply_nms(boxes, DecodingThresholds(longest=14.0))) == 1


def test_who_reaches_out_of_the_window_is_left_out() -> None:
    edge = PLACES[:1].copy()
    edge[0, [0, 6]] = [LITE_GRID.high[0] - 2.0, 0.0]
    boxes = Boxes(edge, KINDS[:1], np.ones(1))
    assert len(crop_boxes_to_grid(boxes, LITE_GRID)) == 0
    assert len(crop_boxes_to_grid(boxes, replace(LITE_GRID, high=(60.0, 38.4, 5.0)))) == 1

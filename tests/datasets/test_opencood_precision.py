"""OpenCOOD's average precision against its definition, written out."""

from __future__ import annotations

import math

import numpy as np
import pytest

from harness.evaluation.opencood_precision import compute_opencood_precision, match_by_popping
from harness.types.precision import ClassMatches


def area(correct: list[bool], truths: int) -> float:
    """Pascal VOC 2010 step by step: recall against the best precision at that recall or beyond."""
    points = [
        (sum(correct[: n + 1]) / truths, sum(correct[: n + 1]) / (n + 1))
        for n in range(len(correct))
    ]
    total, before = 0.0, 0.0
    for recall in sorted({recall for recall, _ in points}):
        total += (recall - before) * max(p for r, p in points if r >= recall)
        before = recall
    return total


def test_a_second_detection_takes_the_neighbour() -> None:
    overlaps = np.array([[0.9, 0.6], [0.8, 0.6], [0.7, 0.1]])
    matches = match_by_popping(overlaps, np.array([0.5, 0.9, 0.1]), 0.5)
    # by score: the second row takes the first box, the first row what is left, the third none
    assert matches.correct.tolist() == [True, True, False]
    assert matches.scores.tolist() == [0.9, 0.5, 0.1]


def test_both_sortings() -> None:
    random = np.random.default_rng(3)
    frames = []
    for _ in range(7):
        scores = -np.sort(-random.uniform(0, 1, 6))
        frames.append(ClassMatches(scores, random.uniform(0, 1, 6) < 0.6, 6))
    by_frame = [bool(c) for frame in frames for c in frame.correct]
    pairs = [
        (s, bool(c)) for frame in frames for s, c in zip(frame.scores, frame.correct, strict=True)
    ]
    by_score = [c for _, c in sorted(pairs, key=lambda pair: -pair[0])]
    assert compute_opencood_precision(frames, "frame") == pytest.approx(area(by_frame, 42))
    assert compute_opencood_precision(frames, "global") == pytest.approx(area(by_score, 42))
    assert area(by_frame, 42) != pytest.approx(area(by_score, 42))


def test_without_a_true_box_there_is_none() -> None:
    frame = match_by_popping(np.zeros((2, 0)), np.array([0.5, 0.4]), 0.5)
    assert math.isnan(compute_opencood_precision([frame], "global"))
    assert (
        compute_opencood_precision([ClassMatches(np.zeros(0), np.zeros(0, bool), 3)], "frame") == 0
    )

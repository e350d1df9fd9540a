"""What a system detects at its operating point, and what its scores are worth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agents.training.detection_metrics import DetectionOutcomes, Visible
from harness.types.precision import OVERLAP, ClassMatches, pool_matches
from harness.types.vocabulary import CLASSES, Floats, Mask

BINS = 10
"""Of scores, for the calibration error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatingFigures:
    """One class, within the whole window."""

    false_a_frame: float  # detections that are of no road user, or of one that has a better one
    recall: float
    calibration_error: float  # mean gap between score and share of right detections
    truths: int


def compute_operating_figures(
    outcomes: DetectionOutcomes, thresholds: Floats, visible: Visible
) -> dict[str, OperatingFigures]:
    """Return the figures of each class."""
    frames = len(outcomes.scenarios)
    return {
        kind: compute_class_figures(
            pool_matches(outcomes.matches[visible, OVERLAP, kind, "all"]), threshold, frames
        )
        for kind, threshold in zip(CLASSES, thresholds.tolist(), strict=True)
    }


def compute_class_figures(matches: ClassMatches, threshold: float, frames: int) -> OperatingFigures:
    """Return the figures of a class."""
    counts = matches.scores >= threshold
    return OperatingFigures(
        false_a_frame=float((counts & ~matches.correct).sum() / frames),
        recall=float((counts & matches.correct).sum() / max(matches.truths, 1)),
        calibration_error=compute_calibration_error(
            matches.scores[counts], matches.correct[counts]
        ),
        truths=matches.truths,
    )


def compute_calibration_error(scores: Floats, correct: Mask) -> float:
    """Return the mean gap between score and share of right detections, over bins of scores."""
    bins = np.minimum((scores * BINS).astype(np.int64), BINS - 1)
    gaps = np.bincount(bins, scores - correct, minlength=BINS)
    return float(np.abs(gaps).sum() / max(len(scores), 1))

"""From which score on a detection counts, and what a score means.

A network's scores are in the right order but no shares: of detections with a score of 0.4, more are
right near by than far away. For each class and distance, a logistic curve turns scores into shares
of right detections; for each class, a threshold says which count. Both are fitted to held-out
recordings when training ends, for each scheme that uses the weights, and kept in their file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from safetensors import SafetensorError, safe_open

from harness.common.errors import UserError
from harness.common.safe_reading import CHECKPOINT, check_regular
from harness.types.vocabulary import CLASSES, Boxes, Floats, Integers

Record: TypeAlias = dict[str, Any]

BAND_ENDS = (30.0, 50.0)
"""Metres from the LiDAR at which bands of distances end; the last has no end."""
SHAPE = (len(CLASSES), len(BAND_ENDS) + 1)
SURE = 1e-6
"""How far a score stays away from 0 and 1 when it is calibrated."""
METADATA = "operating points"
"""Under which a file of weights has them, by scheme."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoreCalibration:
    """Logistic curves: the logit of a score becomes slope * logit + offset."""

    slopes: Floats  # (classes, bands)
    offsets: Floats  # (classes, bands)

    def calibrate_scores(self, boxes_in_lidar: Boxes) -> Floats:
        """Return the share of right detections among those like each box.

        Args:
            boxes_in_lidar: N boxes with the network's scores.

        Returns:
            (N,) 0 to 1.
        """
        kinds, bands = boxes_in_lidar.classes, find_distance_bands(boxes_in_lidar.geometry)
        logits = logit(boxes_in_lidar.scores)
        return expit(self.slopes[kinds, bands] * logits + self.offsets[kinds, bands])


@dataclass(frozen=True, slots=True, eq=False)
class OperatingPoint:
    """A threshold for each class, of scores after calibration."""

    thresholds: Floats  # (classes,)
    calibration: ScoreCalibration | None = None

    def calibrate_boxes(self, boxes_in_lidar: Boxes) -> Boxes:
        """Return boxes with calibrated scores."""
        if self.calibration is None:
            return boxes_in_lidar
        return replace(boxes_in_lidar, scores=self.calibration.calibrate_scores(boxes_in_lidar))

    def apply_thresholds(self, boxes_in_lidar: Boxes) -> Boxes:
        """Return the boxes that count, with calibrated scores."""
        boxes = self.calibrate_boxes(boxes_in_lidar)
        return boxes[boxes.scores >= self.thresholds[boxes.classes]]


def make_uniform_point(threshold: float) -> OperatingPoint:
    """Return the operating point of scores as they are."""
    return OperatingPoint(np.full(len(CLASSES), threshold))


def find_distance_bands(geometry: Floats) -> Integers:
    """Return the band of distances of each box."""
    return np.searchsorted(BAND_ENDS, np.hypot(geometry[:, 0], geometry[:, 1]), side="right")


def logit(scores: Floats) -> Floats:
    """Return the logarithm of the odds."""
    scores = scores.clip(SURE, 1 - SURE)
    return np.asarray(np.log(scores / (1 - scores)))


def expit(logits: Floats) -> Floats:
    """Return the scores that have these logits."""
    return np.asarray(1 / (1 + np.exp(-logits)))


def read_operating_point(file: Path, scheme: str) -> OperatingPoint | None:
    """Return the operating point of a scheme in a file of weights, if it has one.

    Args:
        file: of weights, `.safetensors`.
        scheme: name of the fusion scheme.

    Returns:
        None if the file has none for the scheme.

    Raises:
        UserError: the file holds no weights, or a broken operating point.
    """
    check_regular(file, CHECKPOINT, follow=True)
    try:
        with safe_open(file, "np") as weights:
            metadata: Mapping[str, str] = weights.metadata() or {}
    except (SafetensorError, OSError) as problem:
        raise UserError(f"{file}: holds no weights: {problem}") from None
    try:
        known = json.loads(metadata.get(METADATA, "{}"))
        return from_operating_record(known[scheme]) if scheme in known else None
    except (ValueError, KeyError, TypeError) as problem:
        raise UserError(f"{file}: has no valid operating point of {scheme}: {problem}") from None


def to_operating_record(point: OperatingPoint) -> Record:
    """Return an operating point for a file."""
    assert point.calibration is not None, "only calibrated ones are kept"
    return {
        "thresholds": point.thresholds.round(4).tolist(),
        "slopes": point.calibration.slopes.round(4).tolist(),
        "offsets": point.calibration.offsets.round(4).tolist(),
    }


def from_operating_record(record: Record) -> OperatingPoint:
    """Return what was written."""
    thresholds, slopes, offsets = (
        check_number_array(record[name], shape)
        for name, shape in (("thresholds", SHAPE[:1]), ("slopes", SHAPE), ("offsets", SHAPE))
    )
    return OperatingPoint(thresholds, ScoreCalibration(slopes, offsets))


def check_number_array(values: object, shape: tuple[int, ...]) -> Floats:
    """Return numbers from a file."""
    array = np.array(values, np.float64)
    if array.shape != shape or not np.isfinite(array).all():
        raise ValueError(f"{' by '.join(map(str, shape))} finite numbers are needed")
    return array

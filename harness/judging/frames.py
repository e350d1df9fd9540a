"""One planning step under judgement: which boxes count, and what cooperation got wrong.

True boxes count when they stand in the window and were hit often enough. Every detection may match
them; a cooperative box counts as invented only if it stands in the window and overlaps nobody at
all, also none of the true boxes that do not count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from harness.judging.patterns import PATTERNS, Rule, classify
from harness.overlap import bev_iou
from harness.vocabulary import CLASSES, VEHICLE, Boxes, Floats, Integers, Mask, Truth

TruthFilter: TypeAlias = Literal["anyone", "ego", "none"]

BAND_EDGES = (0.0, 30.0, 50.0, 100.0)
"""Distance from the ego's LiDAR in the plane, m."""
BANDS = ("0_30", "30_50", "50_100")


@dataclass(frozen=True, slots=True)
class Judgement:
    """The settings that the literature disagrees about."""

    tau_vehicle: float = 0.5
    tau_pedestrian: float = 0.5
    tau_cyclist: float = 0.5
    rule: Rule = "max"
    truth_filter: TruthFilter = "anyone"
    least_hits: int = 5
    ahead: float = 50.0  # m, of the ego's LiDAR: the window is a rectangle
    behind: float = 50.0  # m
    beside: float = 50.0  # m
    ego_box: bool = False  # the ego's own box among truth and cooperative boxes

    @property
    def taus(self) -> tuple[float, float, float]:
        """The overlap that counts as detected, by class."""
        return self.tau_vehicle, self.tau_pedestrian, self.tau_cyclist


EGO_BOX = Boxes(
    np.array([[-1.3, 0.0, -1.1, 4.9, 2.12, 1.5, 0.0]]), np.array([VEHICLE]), np.array([1.0])
)
"""Where the ego stands as seen from its own LiDAR; the study's code counted it."""


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """One source's boxes in one frame: whether each counts, its pattern and how often."""

    boxes: Boxes
    counted: Mask
    bands: Integers  # index into BANDS; len(BANDS) beyond
    pattern: Integers  # index into PATTERNS; -1 for none
    times: Integers


@dataclass(frozen=True, slots=True, eq=False)
class JudgedFrame:
    """Truth and detections of one planning step."""

    truth: Judged
    ego_alone: Judged
    cooperative: Judged

    def counts(self) -> dict[str, int]:
        """Return the six patterns, in total, by class and by band."""
        parts = (self.truth, self.cooperative)
        result = {}
        for number, name in enumerate(PATTERNS):
            times = [part.times * (part.pattern == number) for part in parts]
            result[name] = sum(int(each.sum()) for each in times)
            for index, class_name in enumerate(CLASSES):
                result[f"{name}_{class_name}"] = sum(
                    int(each[part.boxes.classes == index].sum())
                    for each, part in zip(times, parts, strict=True)
                )
            for index, band in enumerate(BANDS):
                result[f"{name}_{band}"] = sum(
                    int(each[part.bands == index].sum())
                    for each, part in zip(times, parts, strict=True)
                )
        return result

    def numbers(self) -> dict[str, int]:
        """Return how many boxes each source has in the window, in total, by class and by band."""
        result = {}
        for name in ("truth", "ego_alone", "cooperative"):
            part: Judged = getattr(self, name)
            result[f"{name}_all"] = int(part.counted.sum())
            for index, class_name in enumerate(CLASSES):
                result[f"{name}_{class_name}"] = int(
                    (part.counted & (part.boxes.classes == index)).sum()
                )
            for index, band in enumerate(BANDS):
                result[f"{name}_{band}"] = int((part.counted & (part.bands == index)).sum())
        return result


def judge(
    truth: Truth, hits_anyone: Integers, ego_alone: Boxes, cooperative: Boxes, settings: Judgement
) -> JudgedFrame:
    """Judge one planning step; truth and detections stand in the ego's LiDAR frame."""
    true_boxes = truth.boxes_in_lidar
    counted = visible(truth, hits_anyone, settings)
    if settings.ego_box:
        true_boxes = Boxes.join([true_boxes, EGO_BOX])
        cooperative = Boxes.join([cooperative, EGO_BOX])
        counted = np.append(counted, True)
    true = _blank(true_boxes, counted & in_window(true_boxes.geometry, settings))
    alone = _blank(ego_alone, in_window(ego_alone.geometry, settings))
    together = _blank(cooperative, in_window(cooperative.geometry, settings))
    for index in range(len(CLASSES)):
        in_truth = np.flatnonzero(true.counted & (true_boxes.classes == index))
        in_coop = np.flatnonzero(cooperative.classes == index)
        boxes = cooperative.geometry[in_coop]
        found = classify(
            true_boxes.geometry[in_truth],
            ego_alone.geometry[ego_alone.classes == index],
            boxes,
            settings.taus[index],
            settings.rule,
        )
        for name, times in found.truth.items():
            _mark(true, in_truth, name, times)
        others = true_boxes.geometry[~true.counted & (true_boxes.classes == index)]
        may_be_invented = together.counted[in_coop] & (bev_iou(boxes, others).sum(axis=1) == 0)
        for name, times in found.cooperative.items():
            _mark(together, in_coop, name, times * may_be_invented)
    return JudgedFrame(true, alone, together)


def visible(truth: Truth, hits_anyone: Integers, settings: Judgement) -> Mask:
    """Return which true boxes count by the truth filter."""
    if settings.truth_filter == "none":
        return np.ones(len(truth), np.bool_)
    hits = truth.hits if settings.truth_filter == "ego" else hits_anyone
    return np.asarray(hits >= settings.least_hits)


def in_window(boxes: Floats, settings: Judgement) -> Mask:
    """Return which boxes have their centre in the window."""
    x, y = boxes[:, 0], boxes[:, 1]
    return np.asarray(
        (x >= -settings.behind) & (x <= settings.ahead) & (np.abs(y) <= settings.beside)
    )


def bands_of(boxes: Floats) -> Integers:
    """Return the distance band of each box."""
    return np.digitize(np.hypot(boxes[:, 0], boxes[:, 1]), BAND_EDGES[1:]).astype(np.int64)


def _mark(part: Judged, rows: Integers, name: str, times: Integers) -> None:
    part.pattern[rows[times > 0]] = PATTERNS.index(name)
    part.times[rows] += times


def _blank(boxes: Boxes, counted: Mask) -> Judged:
    nothing = np.zeros(len(boxes), np.int64)
    return Judged(boxes, counted, bands_of(boxes.geometry), nothing - 1, nothing.copy())

"""Evaluation of one planning step: which boxes count, and which errors cooperation made.

Ground-truth boxes count when they are in the window and were hit often enough. Every detection may
match them, in the window or not; a cooperative box is an additional detection (false positive) only
if it is in the window and overlaps no ground-truth box, counted or not.

Towns have parked cars that are scenery: LiDARs see them, but they are not in the ground truth. By
default a detection of one is neither right nor wrong (`parked`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

import numpy as np

from harness.evaluation.patterns import RULES, Rule, classify_overlap_patterns
from harness.types.overlap import compute_class_overlaps
from harness.types.precision import find_parked_detections
from harness.types.record_names import BANDS, PATTERNS
from harness.types.vocabulary import CLASSES, VEHICLE, Boxes, Floats, GroundTruth, Integers, Mask

TruthFilter: TypeAlias = Literal["reference", "anyone", "ego", "none"]
Parked: TypeAlias = Literal["ignored", "wrong"]
PARKED: tuple[Parked, ...] = get_args(Parked)
TRUTH_FILTERS: tuple[TruthFilter, ...] = get_args(TruthFilter)

BAND_EDGES = (0.0, 30.0, 50.0, 100.0)
"""Distance from the ego's LiDAR in the plane, m."""
TABLE = (len(CLASSES), len(BANDS) + 1)
"""A number for each class and band; the last column is beyond the bands."""


NO_BOXES = Boxes.none()


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationSettings:
    """The settings that the literature disagrees about."""

    safe_from_file = True
    tau_vehicle: float = 0.5  # least overlap ratio (BEV IoU) of a match, 0 to 1
    tau_pedestrian: float = 0.5  # least overlap ratio (BEV IoU) of a match, 0 to 1
    tau_cyclist: float = 0.5  # least overlap ratio (BEV IoU) of a match, 0 to 1
    rule: Rule = "max"  # how boxes are matched: max, exists or pairs
    truth_filter: TruthFilter = "reference"  # whose LiDAR must hit: reference, anyone, ego, none
    least_hits: int = 5  # LiDAR returns
    ahead: float = 50.0  # m, of the ego's LiDAR: the window is a rectangle
    behind: float = 50.0  # m
    lateral: float = 50.0  # m
    ego_box: bool = False  # the ego's own box, wherever cooperation reports a vehicle
    parked: Parked = "ignored"  # detections of parked cars that are scenery

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise ValueError(f"rule = {self.rule!r}: unknown; valid: {', '.join(RULES)}")
        if self.truth_filter not in TRUTH_FILTERS:
            raise ValueError(
                f"truth_filter = {self.truth_filter!r}: unknown; valid: {', '.join(TRUTH_FILTERS)}"
            )
        if self.parked not in PARKED:
            raise ValueError(f"parked = {self.parked!r}: unknown; valid: {', '.join(PARKED)}")
        for name, tau in zip(CLASSES, self.taus, strict=True):
            if not 0 <= tau < 1:
                raise ValueError(f"tau_{name} = {tau}: must be ≥ 0 and < 1")

    @property
    def reach(self) -> float:
        """Metres from the ego's LiDAR to the farthest corner of the window."""
        return math.hypot(max(self.ahead, self.behind), self.lateral)

    @property
    def taus(self) -> tuple[float, float, float]:
        """The overlap that counts as detected, by class."""
        return self.tau_vehicle, self.tau_pedestrian, self.tau_cyclist


EGO_BOX = Boxes(
    np.array([[-1.3, 0.0, -1.1, 4.9, 2.12, 1.5, 0.0]]), np.array([VEHICLE]), np.array([1.0])
)
"""Where the ego stands as seen from its own LiDAR, as the study's code had it, which counted it."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class EvaluatedBoxes:
    """One source's boxes in one frame: whether each counts, its pattern and how often.

    Attributes:
        boxes: N boxes in the ego's LiDAR frame.
        counted: (N,) whether a box counts by the settings.
        bands: (N,) distance bands.
        pattern: (N,) error patterns.
        times: (N,) how often the pattern was counted.
    """

    boxes: Boxes
    counted: Mask
    bands: Integers  # index into BANDS; len(BANDS) beyond
    pattern: Integers  # index into PATTERNS; -1 for none
    times: Integers

    def build_table(self) -> Integers:
        """Return how many boxes count, by class and band.

        Returns:
            (classes, bands + 1); the last column is beyond the bands.
        """
        numbers = np.zeros(TABLE, np.int64)
        np.add.at(numbers, (self.boxes.classes[self.counted], self.bands[self.counted]), 1)
        return numbers


@dataclass(frozen=True, slots=True, eq=False)
class EvaluatedFrame:
    """Ground truth and detections of one planning step.

    Attributes:
        truth: ground-truth boxes; they show missed and mislocalised detections.
        ego_alone: detections without messages; they show no pattern.
        cooperative: detections with messages; they show additional detections.
    """

    truth: EvaluatedBoxes
    ego_alone: EvaluatedBoxes
    cooperative: EvaluatedBoxes

    def without_patterns(self) -> EvaluatedFrame:
        """Return the frame of a system that does not say what it detects: no box shows an error."""
        truth = self.truth
        none = np.full(len(truth.boxes), -1, np.int64), np.zeros(len(truth.boxes), np.int64)
        return replace(self, truth=replace(truth, pattern=none[0], times=none[1]))

    def count_patterns(self) -> dict[str, int]:
        """Return the six patterns, in total, by class and by band."""
        # (patterns, classes, bands + 1)
        shown = np.zeros((len(PATTERNS), *TABLE), np.int64)
        for part in (self.truth, self.cooperative):
            some = part.pattern >= 0
            where = part.pattern[some], part.boxes.classes[some], part.bands[some]
            np.add.at(shown, where, part.times[some])
        return {
            name if part == "all" else f"{name}_{part}": number
            for name, table in zip(PATTERNS, shown, strict=True)
            for part, number in _sum_parts(table).items()
        }

    def count_boxes(self) -> dict[str, int]:
        """Return how many boxes each source has in the window, in total, by class and by band."""
        result = {}
        for name in ("truth", "ego_alone", "cooperative"):
            part: EvaluatedBoxes = getattr(self, name)
            for key, number in _sum_parts(part.build_table()).items():
                result[f"{name}_{key}"] = number
        return result


def evaluate_frame(
    truth: GroundTruth,
    hits_observers: Integers,
    *,
    ego_alone: Boxes,
    cooperative: Boxes,
    settings: EvaluationSettings,
    parked: Boxes = NO_BOXES,
) -> EvaluatedFrame:
    """Evaluate one planning step; all boxes are in the ego's LiDAR frame, metres and radians.

    Args:
        truth: the road users of the scene, N boxes.
        hits_observers: (N,) for each, the most LiDAR returns that one of the observers has of it.
            The truth filter names the observers.
        ego_alone: K boxes that the system detects without messages.
        cooperative: M boxes that it detects with messages.
        settings: the window, overlaps, filters and the counting rule.
        parked: parked cars that are scenery.

    Returns:
        All N, K and M boxes, with which of them count and which patterns they show.
    """
    _refuse_strangers(ego_alone)
    _refuse_strangers(cooperative)
    # ground-truth boxes (N, 7), and which of them some observer has seen (N,)
    true_boxes = truth.boxes_in_lidar
    seen = find_visible_truth(truth, hits_observers, settings)
    # the ego among all boxes, where a system reports it
    if settings.ego_box and (cooperative.classes == VEHICLE).any():
        true_boxes = Boxes.join([true_boxes, EGO_BOX])
        cooperative, ego_alone = (
            Boxes.join([boxes, EGO_BOX]) for boxes in (cooperative, ego_alone)
        )
        seen = np.append(seen, True)
    # detections of parked scenery are neither right nor wrong
    detections, split = Boxes.join([ego_alone, cooperative]), len(ego_alone)
    on_scenery = find_parked_detections(detections, true_boxes, parked) & (
        settings.parked == "ignored"
    )
    alone, both = on_scenery[:split], on_scenery[split:]
    # (N + M, K + M): ground truth and cooperative boxes with the K boxes of the ego alone and
    # the M cooperative boxes; 0 across classes
    overlaps = compute_class_overlaps(Boxes.join([true_boxes, cooperative]), detections)
    of_truth, of_cooperative = overlaps[: len(true_boxes)], overlaps[len(true_boxes) :]
    # the six patterns
    patterns = classify_overlap_patterns(
        of_truth[:, :split] * ~alone,
        of_truth[:, split:] * ~both,
        coop_ego=of_cooperative[:, :split] * ~alone,
        tau=np.array(settings.taus)[true_boxes.classes],
        rule=settings.rule,
    )
    # all boxes are kept; which of them count is marked
    return EvaluatedFrame(
        _mark_patterns(
            true_boxes, seen & find_boxes_in_window(true_boxes.geometry, settings), patterns.truth
        ),
        _mark_patterns(ego_alone, ~alone & find_boxes_in_window(ego_alone.geometry, settings), {}),
        _mark_patterns(
            cooperative,
            ~both & find_boxes_in_window(cooperative.geometry, settings),
            patterns.cooperative,
        ),
    )


def _refuse_strangers(detections: Boxes) -> None:
    classes = detections.classes
    if ((classes < 0) | (classes >= len(CLASSES))).any():
        known = ", ".join(f"{number} {name}" for number, name in enumerate(CLASSES))
        raise ValueError(
            f"boxes of classes {classes.min()} to {classes.max()}; valid classes: {known}"
        )


def find_visible_truth(
    truth: GroundTruth, hits_observers: Integers, settings: EvaluationSettings
) -> Mask:
    """Return which ground-truth boxes count by the truth filter.

    Args:
        truth: the road users of the scene, N boxes.
        hits_observers: (N,) the most LiDAR returns that one of the observers has of each.
        settings: the filter, and the number of returns that it asks for.

    Returns:
        (N,) true where a box counts, in the window or not.
    """
    if settings.truth_filter == "none":
        return np.ones(len(truth), np.bool_)
    hits = truth.hits if settings.truth_filter == "ego" else hits_observers
    return np.asarray(hits >= settings.least_hits)


def find_boxes_in_window(boxes: Floats, settings: EvaluationSettings) -> Mask:
    """Return which boxes (N, 7), in the ego's LiDAR frame, have their centre in the window."""
    x, y = boxes[:, 0], boxes[:, 1]
    return np.asarray(
        (x >= -settings.behind) & (x <= settings.ahead) & (np.abs(y) <= settings.lateral)
    )


def compute_distance_bands(boxes: Floats) -> Integers:
    """Return the distance band of each box (N, 7) in the ego's LiDAR frame: (N,) indices."""
    return np.digitize(np.hypot(boxes[:, 0], boxes[:, 1]), BAND_EDGES[1:]).astype(np.int64)


def _mark_patterns(boxes: Boxes, counted: Mask, counts: dict[str, Integers]) -> EvaluatedBoxes:
    """Return boxes with the pattern that each shows; a box shows one at most.

    Args:
        boxes: N boxes in the ego's LiDAR frame.
        counted: (N,) whether each counts.
        counts: by pattern, (N,) how often a box was counted.

    Returns:
        N marked boxes.
    """
    pattern, times = np.full(len(boxes), -1), np.zeros(len(boxes), np.int64)
    for name, often in counts.items():
        shows = counted & (often > 0)
        pattern[shows], times[shows] = PATTERNS.index(name), often[shows]
    return EvaluatedBoxes(
        boxes=boxes,
        counted=counted,
        bands=compute_distance_bands(boxes.geometry),
        pattern=pattern,
        times=times,
    )


def _sum_parts(table: Integers) -> dict[str, int]:
    by_class, by_band = table.sum(axis=1), table.sum(axis=0)[:-1]
    return {
        "all": int(table.sum()),
        **dict(zip(CLASSES, by_class.tolist(), strict=True)),
        **dict(zip(BANDS, by_band.tolist(), strict=True)),
    }

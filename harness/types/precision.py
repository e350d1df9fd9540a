"""Which detections are right, and their average precision (paper, section IV-E).

Scores are sorted over all frames of a pool, never frame by frame: frames give `ClassMatches`,
matches of any frames join into a pool, and a pool has a precision. Eleven-point is the paper's
(Pascal VOC
2007); all-point is the area under the whole curve. An empty class has none: NaN, n = 0.

Equal scores stand and fall together: no threshold parts them, so the order of frames in a pool and
of boxes in a frame does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from harness.types.overlap import (
    check_boxes,
    compute_class_overlaps,
    compute_pair_overlaps,
    find_near_pairs,
)
from harness.types.vocabulary import CLASSES, Boxes, Floats, Integers, Mask

Interpolation: TypeAlias = Literal["eleven_point", "all_point"]

OVERLAP = 0.5
"""Intersection over union from which on a detection has found a true box."""
ON_PARKED = 0.1
"""Overlap with a parked car from which a detection is of it."""


@dataclass(frozen=True, slots=True, eq=False)
class ClassMatches:
    """Detections of one class, true or false, and how many true boxes there were.

    Attributes:
        scores: (N,) of the detections, 0 to 1.
        correct: (N,) whether a detection is the first on a ground-truth box.
        truths: ground-truth boxes, detected or not.
    """

    scores: Floats
    correct: Mask
    truths: int


def match_detections(
    detections: Boxes, truth: Boxes, overlap: float = OVERLAP
) -> tuple[Integers, Mask]:
    """Match one frame, class by class; return what `match_overlaps` does.

    Args:
        detections: N boxes with scores, metres and radians.
        truth: M ground-truth boxes in the same frame.
        overlap: the least overlap ratio of a match, 0 to 1.

    Returns:
        (N,) the row of a ground-truth box or -1, and (N,) whether the detection is the first there.
    """
    return match_overlaps(compute_class_overlaps(detections, truth), detections.scores, overlap)


def match_overlaps(
    overlaps: Floats, scores: Floats, overlap: float = OVERLAP
) -> tuple[Integers, Mask]:
    """Return the true box that each detection is of, -1 for none, and whether it is first there.

    A detection is of the true box that it overlaps most, if by as much as asked: the first of them
    by score is right, every further one wrong. Equal scores keep their order.

    Args:
        overlaps: (N, M) of detections and true boxes, 0 to 1.
        scores: (N,) of the detections.
        overlap: the least overlap ratio of a match, 0 to 1.

    Returns:
        (N,) the row of a true box or -1, and (N,) whether the detection is right.
    """
    # (N,) both
    best = np.full(len(overlaps), -1)
    correct = np.zeros(len(overlaps), np.bool_)
    if overlaps.shape[1]:
        most = overlaps.argmax(axis=1)
        best = np.where(overlaps[np.arange(len(most)), most] >= overlap, most, -1)
        # detections with a true box, the highest score first; the first of each box is right
        order = np.argsort(-scores, kind="stable")
        order = order[best[order] >= 0]
        correct[order[np.unique(best[order], return_index=True)[1]]] = True
    return best, correct


def match_many_frames(
    detections: Boxes,
    truth: Boxes,
    *,
    detection_frames: Integers,
    truth_frames: Integers,
    overlap: float = OVERLAP,
) -> tuple[Integers, Mask]:
    """Match the boxes of many frames at once; each frame is matched as by `match_detections`.

    Args:
        detections: N boxes with scores, of all frames, metres and radians.
        truth: M ground-truth boxes, each in the coordinates of its frame.
        detection_frames: (N,) numbers of frames.
        truth_frames: (M,) numbers of frames.
        overlap: the least overlap ratio of a match, above 0 and at most 1.

    Returns:
        (N,) the row of a ground-truth box or -1, and (N,) whether the detection is the first there.
    """
    best = np.full(len(detections), -1)
    correct = np.zeros(len(detections), np.bool_)
    # K pairs of one frame and class that are near each other, sorted by detection
    rows, columns = _list_equal_pairs(
        detection_frames * len(CLASSES) + detections.classes,
        truth_frames * len(CLASSES) + truth.classes,
    )
    boxes, true_boxes = check_boxes(detections.geometry), check_boxes(truth.geometry)
    near = find_near_pairs(boxes[rows], true_boxes[columns])
    rows, columns = rows[near], columns[near]
    shared = compute_pair_overlaps(boxes[rows], true_boxes[columns])
    # the true box that a detection overlaps most; of equal ones the first
    enough = np.flatnonzero(shared >= overlap)
    enough = enough[np.lexsort((columns[enough], -shared[enough], rows[enough]))]
    matched, first = np.unique(rows[enough], return_index=True)
    best[matched] = columns[enough[first]]
    # detections with a true box, the highest score first; the first of each box is right
    order = np.argsort(-detections.scores, kind="stable")
    order = order[best[order] >= 0]
    correct[order[np.unique(best[order], return_index=True)[1]]] = True
    return best, correct


def _list_equal_pairs(a: Integers, b: Integers) -> tuple[Integers, Integers]:
    """Return rows of `a` and rows of `b` with equal keys, each pair once, sorted by rows of `a`."""
    order = np.argsort(b, kind="stable")
    first = np.searchsorted(b[order], a, "left")
    sizes = np.searchsorted(b[order], a, "right") - first
    rows = np.repeat(np.arange(len(a)), sizes)
    # (pairs,) 0, 1, 2, ... within each row of `a`
    within = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return rows, order[np.repeat(first, sizes) + within]


def pool_matches(parts: Iterable[ClassMatches]) -> ClassMatches:
    """Return the matches of many frames as one."""
    parts = list(parts)
    if not parts:
        return ClassMatches(np.zeros(0), np.zeros(0, np.bool_), 0)
    return ClassMatches(
        np.concatenate([part.scores for part in parts]),
        np.concatenate([part.correct for part in parts]),
        sum(part.truths for part in parts),
    )


def compute_average_precision(
    matches: ClassMatches, interpolation: Interpolation = "eleven_point"
) -> float:
    """Return the precision averaged over recall; NaN where there was nothing to find.

    Args:
        matches: of one class or several; the order of their rows does not matter.
        interpolation: `eleven_point` as in Pascal VOC 2007, or `all_point`, the area under the
            curve.

    Returns:
        0 to 1.
    """
    if matches.truths == 0:
        return math.nan
    # sorted by score; equal scores have one point of the curve, the last of them
    order = np.argsort(-matches.scores, kind="stable")
    last_of_its_score = np.flatnonzero(np.diff(matches.scores[order], append=np.nan) != 0)
    # recall and precision at each threshold, (thresholds,)
    correct = np.cumsum(matches.correct[order])[last_of_its_score]
    recall = correct / matches.truths
    precision = correct / (last_of_its_score + 1)
    # the envelope: precision never rises with recall
    best_from_here = np.maximum.accumulate(precision[::-1])[::-1]
    if interpolation == "eleven_point":
        # the first threshold that reaches each recall of 0, 0.1, ... 1
        points = np.searchsorted(recall, np.arange(11) / 10)
        return float(sum(best_from_here[at] for at in points if at < len(recall)) / 11)
    if interpolation == "all_point":
        steps = np.diff(recall, prepend=0.0)
        return float((steps * best_from_here).sum())
    raise ValueError(f"interpolation {interpolation!r}: eleven_point or all_point")


def compute_mean_precision(
    classes: Sequence[ClassMatches], interpolation: Interpolation = "eleven_point"
) -> float:
    """Return the mean over the classes that occur.

    Args:
        classes: the matches of each class.
        interpolation: `eleven_point` or `all_point`.

    Returns:
        0 to 1; NaN if no class has a ground-truth box.
    """
    values = [
        compute_average_precision(matches, interpolation) for matches in classes if matches.truths
    ]
    return float(np.mean(values)) if values else math.nan


def find_parked_detections(detections: Boxes, truth: Boxes, parked: Boxes) -> Mask:
    """Return which detections are of parked cars: on one of their class, not on a road user.

    Args:
        detections: N boxes in any frame, metres and radians.
        truth: M ground-truth boxes in the same frame.
        parked: K parked cars that are scenery, in the same frame.

    Returns:
        (N,) true for a detection of a parked car.
    """
    # (N, K + M)
    overlaps = compute_class_overlaps(detections, Boxes.join([parked, truth]))
    of_parked, of_truth = overlaps[:, : len(parked)], overlaps[:, len(parked) :]
    # (N, K): a small box inside a parked car overlaps it little, but is of it
    same = detections.classes[:, None] == parked.classes[None, :]
    inside = same & find_centres_inside(detections.geometry, parked.geometry)
    best = of_parked.max(axis=1, initial=0.0)
    lies = (best >= ON_PARKED) | inside.any(axis=1)
    # a detection that overlaps a road user more is of the road user
    return np.asarray(lies & (best >= of_truth.max(axis=1, initial=0.0)))


def find_centres_inside(a: Floats, b: Floats) -> Mask:
    """Return which of `a` have their centres in which of `b`, seen from above: (N, M).

    Args:
        a: (N, 7) boxes.
        b: (M, 7) boxes in the same frame.
    """
    # (N, M) offsets of the centres, then turned into the frames of `b`
    x, y = np.moveaxis(a[:, None, :2] - b[None, :, :2], 2, 0)
    cos, sin = np.cos(b[:, 6]), np.sin(b[:, 6])
    ahead, aside = x * cos + y * sin, y * cos - x * sin
    return np.asarray((np.abs(ahead) <= b[:, 3] / 2) & (np.abs(aside) <= b[:, 4] / 2))

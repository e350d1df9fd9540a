"""Average precision of boxes seen from above (paper, section IV-E).

Scores are sorted over all frames of a pool, never frame by frame: frames give `Matches`, matches of
any frames join into a pool, and a pool has a precision. Eleven-point is the paper's (Pascal VOC
2007); all-point is the area under the whole curve. An empty class has none: NaN, n = 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from harness.overlap import bev_iou
from harness.vocabulary import Floats, Mask

Interpolation: TypeAlias = Literal["eleven_point", "all_point"]

OVERLAP = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Matches:
    """Detections of one class, true or false, and how many true boxes there were."""

    scores: Floats
    correct: Mask
    truths: int


def match(truth: Floats, detections: Floats, scores: Floats, overlap: float = OVERLAP) -> Matches:
    """Match one frame's boxes of one class greedily, best score first.

    A detection takes the true box it overlaps most; if that one is taken, or overlaps it by less
    than asked, it is false. Equal scores keep their order.
    """
    overlaps = bev_iou(detections, truth)
    correct = np.zeros(len(detections), np.bool_)
    taken = np.zeros(len(truth), np.bool_)
    if len(truth):
        best = overlaps.argmax(axis=1)
        enough = overlaps[np.arange(len(detections)), best] >= overlap
        for row in np.argsort(-scores, kind="stable"):
            if enough[row] and not taken[best[row]]:
                taken[best[row]] = correct[row] = True
    return Matches(np.asarray(scores, np.float64), correct, len(truth))


def pool(parts: Iterable[Matches]) -> Matches:
    """Return the matches of many frames as one."""
    parts = list(parts)
    if not parts:
        return Matches(np.zeros(0), np.zeros(0, np.bool_), 0)
    return Matches(
        np.concatenate([part.scores for part in parts]),
        np.concatenate([part.correct for part in parts]),
        sum(part.truths for part in parts),
    )


def average_precision(matches: Matches, interpolation: Interpolation = "eleven_point") -> float:
    """Return the precision averaged over recall; NaN where there was nothing to find."""
    if matches.truths == 0:
        return math.nan
    order = np.argsort(-matches.scores, kind="stable")
    found = np.cumsum(matches.correct[order])
    recall = found / matches.truths
    precision = found / np.arange(1, len(found) + 1)
    best_from_here = np.maximum.accumulate(precision[::-1])[::-1]
    if interpolation == "eleven_point":
        points = np.searchsorted(recall, np.arange(11) / 10 - 1e-12)
        return float(sum(best_from_here[at] for at in points if at < len(recall)) / 11)
    if interpolation == "all_point":
        steps = np.diff(recall, prepend=0.0)
        return float((steps * best_from_here).sum())
    raise ValueError(f"interpolation {interpolation!r}: eleven_point or all_point")


def mean_precision(
    classes: Sequence[Matches], interpolation: Interpolation = "eleven_point"
) -> float:
    """Return the mean over the classes that occur."""
    values = [average_precision(each, interpolation) for each in classes if each.truths]
    return float(np.mean(values)) if values else math.nan

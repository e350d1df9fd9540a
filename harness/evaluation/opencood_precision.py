"""Average precision as OpenCOOD computes it (Xu et al., ICRA 2022; `eval_utils` of its code).

It differs from `harness.types.precision` in three ways. A detection takes the true box that it
overlaps most among those not taken yet, so a second detection may take a neighbour. Detections are
sorted by score over all frames (`global`), or frame after frame in the order of the frames
(`frame`, OpenCOOD's default): then the curve depends on that order. Equal scores have a point each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np

from harness.types.precision import ClassMatches
from harness.types.vocabulary import Floats

Sorting: TypeAlias = Literal["global", "frame"]
OPENCOOD_OVERLAPS = (0.3, 0.5, 0.7)


def match_by_popping(overlaps: Floats, scores: Floats, overlap: float) -> ClassMatches:
    """Return which detections of a frame are right: each true box is given away once.

    Args:
        overlaps: (N, M) of detections and true boxes, 0 to 1.
        scores: (N,) of the detections.
        overlap: the least overlap ratio of a match, 0 to 1.

    Returns:
        Detections by falling score.
    """
    order = np.argsort(-scores, kind="stable")
    correct = np.zeros(len(order), np.bool_)
    left = list(range(overlaps.shape[1]))
    for place, detection in enumerate(order):
        if left:
            best = max(left, key=lambda truth: overlaps[detection, truth])
            if overlaps[detection, best] >= overlap:
                correct[place] = True
                left.remove(best)
    return ClassMatches(scores[order], correct, overlaps.shape[1])


def compute_opencood_precision(frames: Sequence[ClassMatches], sorting: Sorting) -> float:
    """Return the area under the curve (Pascal VOC 2010); NaN without a true box.

    Args:
        frames: what `match_by_popping` returns, in the order of the frames.
        sorting: over all frames, or frame after frame.
    """
    truths = sum(frame.truths for frame in frames)
    if not truths:
        return math.nan
    scores = np.concatenate([frame.scores for frame in frames])
    correct = np.concatenate([frame.correct for frame in frames])
    if sorting == "global":
        correct = correct[np.argsort(-scores, kind="stable")]
    # recall and the envelope of precision at each detection
    hits = np.cumsum(correct)
    precision = hits / np.arange(1, len(hits) + 1)
    envelope = np.maximum.accumulate(precision[::-1])[::-1]
    return float((np.diff(hits, prepend=0) / truths * envelope).sum())

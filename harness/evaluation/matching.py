"""Right and wrong detections of many frames, as rows to keep, join and ask about.

Precision is of a pool: the frames of an episode, or of all episodes of a system under a condition.
Frames are matched one by one, once, and the rows joined; scores are sorted only in the pool.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from harness.evaluation.frame_evaluation import TABLE, EvaluatedBoxes
from harness.types.precision import OVERLAP, ClassMatches, match_detections
from harness.types.vocabulary import Floats, Integers, Mask


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MatchTable:
    """A row for each detection, and how many true boxes there were to find.

    Attributes:
        scores: (N,) of the detections, 0 to 1.
        correct: (N,) whether each is right.
        classes: (N,) index into CLASSES.
        bands: (N,) index into BANDS.
    """

    scores: Floats
    correct: Mask
    classes: Integers
    bands: Integers  # of the true box where one was found, else of the detection
    truths: Integers  # (classes, bands), the last column beyond the bands

    @staticmethod
    def join_tables(parts: Iterable[MatchTable]) -> MatchTable:
        """Return the rows of all parts as one table."""
        parts = list(parts)
        return MatchTable(
            scores=np.concatenate([np.zeros(0), *(part.scores for part in parts)]),
            correct=np.concatenate([np.zeros(0, np.bool_), *(part.correct for part in parts)]),
            classes=np.concatenate([np.zeros(0, np.int64), *(part.classes for part in parts)]),
            bands=np.concatenate([np.zeros(0, np.int64), *(part.bands for part in parts)]),
            truths=sum((part.truths for part in parts), np.zeros(TABLE, np.int64)),
        )

    def select_matches(self, of_class: int | None = None, band: int | None = None) -> ClassMatches:
        """Return the matches of one class or of all, in one distance band or everywhere.

        Args:
            of_class: index into CLASSES; None for all classes.
            band: index into BANDS; None for all distances.

        Returns:
            Scores and correctness of the chosen rows, with the number of true boxes among which
            they lie.
        """
        rows = np.ones(len(self.scores), np.bool_)
        truths = self.truths
        if of_class is not None:
            rows &= self.classes == of_class
            truths = truths[of_class : of_class + 1]
        if band is not None:
            rows &= self.bands == band
            truths = truths[:, band]
        return ClassMatches(self.scores[rows], self.correct[rows], int(truths.sum()))


def match_frame(
    truth: EvaluatedBoxes, detections: EvaluatedBoxes, overlap: float = OVERLAP
) -> MatchTable:
    """Match one frame's detections with its true boxes, class by class.

    True boxes that do not count are neither to be found nor wrong to find: detections of them leave
    the table. Detections outside the window may find a true box inside it, and are not wrong else.

    Args:
        truth: the ground truth of one frame.
        detections: of one source in the same frame.
        overlap: the least overlap ratio of a match, 0 to 1.

    Returns:
        A row for each detection that counts.
    """
    best, correct = match_detections(detections.boxes, truth.boxes, overlap)
    keep, bands = select_counted_detections(truth, detections, best=best, correct=correct)
    return MatchTable(
        scores=detections.boxes.scores[keep],
        correct=correct[keep],
        classes=detections.boxes.classes[keep],
        bands=bands[keep],
        truths=truth.build_table(),
    )


def select_counted_detections(
    truth: EvaluatedBoxes, detections: EvaluatedBoxes, *, best: Integers, correct: Mask
) -> tuple[Mask, Integers]:
    """Return which detections count as right or wrong, and the band of each.

    Args:
        truth: M true boxes.
        detections: N detections.
        best: (N,) the row of a true box or -1.
        correct: (N,) whether the detection is the first there.

    Returns:
        (N,) both; bands are index into BANDS.
    """
    # an extra element at the end answers for "no true box", -1
    of_uncounted = np.append(~truth.counted, False)[best]
    keep = np.where(correct, ~of_uncounted, detections.counted & ~of_uncounted)
    return keep, np.where(correct, np.append(truth.bands, -1)[best], detections.bands)

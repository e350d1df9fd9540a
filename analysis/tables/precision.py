"""Average precision of pools of drives, with route-clustered intervals: figure 8, and by distance.

11-point, mean over the classes that occur. A pool is an arm, over its whole drives, along the route
or in a distance band. Scores are sorted over a pool, so a pool's precision is not a mean of its
drives': the boxes of `boxes.parquet` are matched again by the rule that matched them during the
drive, all frames of a drive at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.arms import list_arms, match_arms
from analysis.attempt import read_checked_table
from analysis.collection import CampaignCollection
from analysis.statistics.intervals import (
    IntervalEstimate,
    compute_expanded_percentiles,
    sample_bootstrap_weights,
)
from analysis.tables.table import ESTIMATE, EstimatesTable
from harness.common.errors import UserError
from harness.evaluation.frame_evaluation import TABLE, EvaluatedBoxes, compute_distance_bands
from harness.evaluation.matching import select_counted_detections
from harness.records.keys import AttemptKey
from harness.records.reading import CampaignRecords
from harness.types.precision import match_many_frames
from harness.types.record_names import BANDS
from harness.types.vocabulary import CLASSES, Boxes, Floats, Integers, Mask

SOURCES = ("cooperative", "ego_alone")
PARTS = 10
"""Equal parts of a route, in the figure along it."""
AXES = ["x", "y", "z", "length", "width", "height", "yaw"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PooledDetections:
    """A row for each detection of one source, and how many true boxes there were.

    Attributes:
        scores: (detections,) 0 to 1.
        correct: (detections,).
        classes: (detections,) index into CLASSES.
    """

    attempts: Integers  # row in the table of attempts
    scores: Floats
    correct: Mask
    classes: Integers
    bands: Integers  # index into BANDS; len(BANDS) beyond
    parts: Integers  # of the route, 0 to PARTS - 1
    truths: Integers  # (attempts, classes, bands and beyond, parts)


NOT_KNOWN = "cooperative_all"
"""A column of planning steps that is null where a system does not say what it detects."""


def read_detections(collection: CampaignCollection) -> dict[str, PooledDetections]:
    """Match the boxes of every attempt; return the detections by source."""
    pieces: dict[str, list[PooledDetections]] = {source: [] for source in SOURCES}
    truths = np.zeros((len(collection.attempts), *TABLE, PARTS), np.int64)
    for row, campaign, key in collection.iterate_attempts():
        length = float(collection.attempts["route_length"].iloc[row])
        matched = match_attempt(campaign, key, length=length, row=row, truths=truths)
        for source, detections in matched.items():
            pieces[source].append(detections)
    return {
        source: join_detections(source_pieces, truths) for source, source_pieces in pieces.items()
    }


def join_detections(pieces: list[PooledDetections], truths: Integers) -> PooledDetections:
    """Return the detections of many attempts as one."""

    def join(name: str, of_type: type[np.generic]) -> NDArray[Any]:
        return np.concatenate([np.zeros(0, of_type), *(getattr(piece, name) for piece in pieces)])

    return PooledDetections(
        attempts=join("attempts", np.int64),
        scores=join("scores", np.float64),
        correct=join("correct", np.bool_),
        classes=join("classes", np.int64),
        bands=join("bands", np.int64),
        parts=join("parts", np.int64),
        truths=truths,
    )


def match_attempt(
    campaign: CampaignRecords, key: AttemptKey, *, length: float, row: int, truths: Integers
) -> dict[str, PooledDetections]:
    """Return the detections of an attempt by source; nothing if the system does not say them.

    Args:
        campaign: its records.
        key: a finished attempt.
        length: of the route, m.
        row: of the attempt in the table of attempts.
        truths: (attempts, classes, bands and beyond, parts); the row is filled.
    """
    frames, boxes = (
        read_checked_table(campaign, "frames", key),
        read_checked_table(campaign, "boxes", key),
    )
    if frames[NOT_KNOWN].isna().any():
        return {}
    # (boxes,) the frame of each, and the part of the route where the ego was then
    numbers = boxes["frame"].to_numpy(np.int64)
    at = find_rows(frames["frame"].to_numpy(np.int64), numbers)
    if (at < 0).any():
        folder = campaign.get_result_path(key).parent
        raise UserError(f"{folder}: boxes of frame {numbers[at < 0].min()}, no such row")
    share = frames["station"].to_numpy(np.float64) / length
    parts = np.clip((share * PARTS).astype(np.int64), 0, PARTS - 1)[at]
    # true boxes, counted, and detections matched with them
    everything, sources = build_evaluated_boxes(boxes), boxes["source"].to_numpy(str)
    of_truth = np.flatnonzero(sources == "truth")
    truth = select_evaluated_boxes(everything, of_truth)
    where = truth.boxes.classes, truth.bands, parts[of_truth]
    np.add.at(truths[row], tuple(axis[truth.counted] for axis in where), 1)
    result = {}
    for source in SOURCES:
        rows = np.flatnonzero(sources == source)
        detections = select_evaluated_boxes(everything, rows)
        best, correct = match_many_frames(
            detections.boxes,
            truth.boxes,
            detection_frames=numbers[rows],
            truth_frames=numbers[of_truth],
        )
        keep, bands = select_counted_detections(truth, detections, best=best, correct=correct)
        result[source] = PooledDetections(
            attempts=np.full(int(keep.sum()), row),
            scores=detections.boxes.scores[keep],
            correct=correct[keep],
            classes=detections.boxes.classes[keep],
            bands=bands[keep],
            parts=parts[rows][keep],
            truths=truths,
        )
    return result


def find_rows(known: Integers, wanted: Integers) -> Integers:
    """Return the row of each wanted number among the known ones, -1 where there is none."""
    return np.asarray(pd.Index(known).get_indexer(pd.Index(wanted)), np.int64)


def build_evaluated_boxes(boxes: pd.DataFrame) -> EvaluatedBoxes:
    """Return boxes as the judges left them; their patterns are not asked for."""
    geometry = boxes[AXES].to_numpy(np.float64)
    number = {name: index for index, name in enumerate(CLASSES)}
    classes = np.asarray(boxes["class"].map(number), np.int64)
    nothing = np.zeros(len(boxes), np.int64)
    return EvaluatedBoxes(
        boxes=Boxes(geometry, classes, boxes["score"].to_numpy(np.float64)),
        counted=boxes["counted"].to_numpy(np.bool_),
        bands=compute_distance_bands(geometry),
        pattern=nothing - 1,
        times=nothing,
    )


def select_evaluated_boxes(judged: EvaluatedBoxes, rows: Integers) -> EvaluatedBoxes:
    """Return some of the boxes."""
    return EvaluatedBoxes(
        boxes=judged.boxes[rows],
        counted=judged.counted[rows],
        bands=judged.bands[rows],
        pattern=judged.pattern[rows],
        times=judged.times[rows],
    )


RESAMPLES = 400
AT_ONCE = 20
"""Resamples whose running sums are in memory together."""
NAMES = {"cooperative": "AP pooled", "ego_alone": "AP pooled, alone"}
DIGITS = dict.fromkeys(NAMES.values(), 2)


def build_precision_tables(
    collection: CampaignCollection, detections: dict[str, PooledDetections]
) -> list[EstimatesTable]:
    """Return the pools over whole drives, along the route, and by distance."""
    along = [
        f"{100 * part // PARTS:02d}-{100 * (part + 1) // PARTS:02d} %" for part in range(PARTS)
    ]
    makers = (
        ("precision", "Average precision of all drives together (11-point)", "", ("all",)),
        ("along_route", "Figure 8. Average precision along the route (11-point)", "part", along),
        ("precision_bands", "Average precision by distance, m (11-point)", "band", BANDS),
    )
    arm = collection.factors
    return [
        EstimatesTable(
            name=name,
            title=title,
            by=(*arm, by or "pool"),
            cells=estimate_arm_precisions(collection, detections, by, names),
            digits=DIGITS,
            arm=len(arm),
        )
        for name, title, by, names in makers
    ]


def estimate_arm_precisions(
    collection: CampaignCollection,
    detections: dict[str, PooledDetections],
    by: str,
    names: Sequence[str],
) -> pd.DataFrame:
    """Return the cells of every arm, undivided or divided by part of the route or by band."""
    cells = []
    factors = collection.factors
    for arm in list_arms(collection.attempts):
        # (attempts of the arm,) rows, and their routes as numbers
        rows = np.flatnonzero(match_arms(collection.attempts, [arm]))
        clusters = np.unique(
            collection.attempts["cluster"].to_numpy(str)[rows], return_inverse=True
        )[1]
        for index, name in enumerate(names):
            for source in SOURCES:
                estimate = estimate_pool_precision(
                    detections[source], rows, clusters=clusters, by=by, index=index
                )
                place = dict(
                    zip((*factors, by or "pool"), (*arm.get_values(factors), name), strict=True)
                )
                numbers = {key: getattr(estimate, key) for key in ESTIMATE}
                cells.append({**place, "measure": NAMES[source], **numbers})
    return pd.DataFrame(cells, columns=[*factors, by or "pool", "measure", *ESTIMATE])


def estimate_pool_precision(
    detections: PooledDetections, attempts: Integers, *, clusters: Integers, by: str, index: int
) -> IntervalEstimate:
    """Return the precision of some attempts, or of one part or band of them.

    Args:
        detections: of one source.
        attempts: (K,) rows of the attempts in the pool.
        clusters: (K,) numbers of their routes.
        by: `part`, `band`, or empty for whole drives.
        index: which part or band.

    Returns:
        0 to 1.
    """
    # (detections,) the route of each detection; -1 outside the pool
    of_attempt = np.full(len(detections.truths), -1)
    of_attempt[attempts] = clusters
    cluster = of_attempt[detections.attempts]
    rows = cluster >= 0
    truths = detections.truths[attempts]
    # true boxes (K, classes), of the part or band that is asked for
    if by == "part":
        rows &= detections.parts == index
        truths = truths[..., index]
    else:
        truths = truths.sum(axis=3)
    if by == "band":
        rows &= detections.bands == index
        truths = truths[..., index]
    else:
        truths = truths.sum(axis=2)
    routes = int(clusters.max()) + 1
    # (routes, classes)
    by_route = np.zeros((routes, len(CLASSES)))
    np.add.at(by_route, clusters, truths)
    n = int((truths.sum(axis=1) > 0).sum())
    return estimate_class_mean_precision(detections, rows, cluster=cluster, truths=by_route, n=n)


def estimate_class_mean_precision(
    detections: PooledDetections, rows: Mask, *, cluster: Integers, truths: Floats, n: int
) -> IntervalEstimate:
    """Return the mean over classes and its bootstrap interval; `truths` is (routes, classes).

    Args:
        detections: of one source.
        rows: (detections,) those in the pool.
        cluster: (detections,) number of the route.
        truths: ground-truth boxes.
        n: number of attempts.
    """
    there = int((truths.sum(axis=1) > 0).sum())
    routes = len(truths)
    # (1 + resamples, routes): the first row is the estimate itself
    weights = np.vstack([np.ones(routes), sample_bootstrap_weights(routes, RESAMPLES)])
    # (classes, 1 + resamples)
    values = np.full((len(CLASSES), len(weights)), np.nan)
    for number in range(len(CLASSES)):
        detected = np.flatnonzero(rows & (detections.classes == number))
        detected = detected[np.argsort(-detections.scores[detected], kind="stable")]
        values[number] = compute_eleven_point_precision(
            detections.scores[detected],
            detections.correct[detected],
            cluster=cluster[detected],
            truths=truths[:, number],
            weights=weights,
        )
    # the mean over the classes that occur in a resample
    some = np.isfinite(values)
    means = np.where(some, values, 0).sum(axis=0) / np.where(
        some.any(axis=0), some.sum(axis=0), np.nan
    )
    resamples = means[1:][np.isfinite(means[1:])]
    if there < 2 or not len(resamples):
        return IntervalEstimate(
            value=float(means[0]), low=math.nan, high=math.nan, n=n, routes=there, method="none"
        )
    low, high = np.quantile(resamples, compute_expanded_percentiles(routes))
    if low == high:
        return IntervalEstimate(
            value=float(means[0]), low=math.nan, high=math.nan, n=n, routes=there, method="none"
        )
    return IntervalEstimate(
        value=float(means[0]),
        low=float(low),
        high=float(high),
        n=n,
        routes=there,
        method="bootstrap",
    )


@dataclass(frozen=True)
class ThresholdCounts:
    """What each threshold adds to the one before it, by route: (routes, thresholds) each."""

    detected: Floats
    right: Floats


def count_thresholds(
    scores: Floats, correct: Mask, *, cluster: Integers, routes: int
) -> ThresholdCounts:
    """Return the detections that each threshold adds; the precision is highest at one of them.

    Below a correct detection, wrong ones lower the precision and leave the recall as it is. So the
    thresholds are the scores of correct detections, and no other ones.

    Args:
        scores: (detections,) descending; equal ones stand and fall together.
        correct: (detections,).
        cluster: (detections,) number of the route.
        routes: how many there are.
    """
    # a threshold cannot part equal scores: number the scores, the best is 0
    rank = np.cumsum(np.diff(scores, prepend=scores[:1]) != 0)
    thresholds = np.unique(rank[correct])
    # the threshold from which on a detection counts; those below the last one never do
    column = np.searchsorted(thresholds, rank)
    kept = column < len(thresholds)
    detected, right = np.zeros((2, routes, len(thresholds)))
    np.add.at(detected, (cluster[kept], column[kept]), 1.0)
    np.add.at(right, (cluster[correct], column[correct]), 1.0)
    return ThresholdCounts(detected=detected, right=right)


def compute_eleven_point_precision(
    scores: Floats, correct: Mask, *, cluster: Integers, truths: Floats, weights: Floats
) -> Floats:
    """Return the 11-point precision of one class under each row of route weights.

    Scores come sorted from the best; equal ones stand and fall together.

    Args:
        scores: (detections,) descending.
        correct: (detections,).
        cluster: (detections,) number of the route.
        truths: (routes,) ground-truth boxes.
        weights: (resamples, routes).

    Returns:
        (resamples,)
    """
    counts = count_thresholds(scores, correct, cluster=cluster, routes=len(truths))
    precisions = []
    for start in range(0, len(weights), AT_ONCE):
        some = weights[start : start + AT_ONCE]
        there = some @ truths
        # (AT_ONCE, thresholds): how many detections count in each resample
        right = np.cumsum(some @ counts.right, axis=1)
        detected = np.cumsum(some @ counts.detected, axis=1)
        precision = np.divide(right, detected, out=np.zeros_like(right), where=detected > 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            recall = right / there[:, None]
        # the highest precision at a recall of 0, 0.1, ... 1 or more
        points = [
            np.where(recall >= level, precision, 0).max(axis=1, initial=0)
            for level in np.arange(11) / 10
        ]
        precisions.append(np.where(there > 0, np.mean(points, axis=0), np.nan))
    return np.concatenate(precisions)

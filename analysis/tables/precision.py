"""Average precision of pools of drives, with route-clustered intervals: figure 8, and by distance.

11-point, mean over the classes that occur. A pool is an arm, over its whole drives,
along the route or in a distance band.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.arms import arms_in, of_arms
from analysis.collection import Collection
from analysis.statistics.intervals import Estimate, expanded, resampled
from analysis.tables.detections import PARTS, SOURCES, Detections
from analysis.tables.table import ESTIMATE, Table
from harness.vocabulary import BANDS, CLASSES, Floats, Integers, Mask

RESAMPLES = 400
AT_ONCE = 20
"""Resamples whose running sums are in memory together."""
NAMES = {"cooperative": "AP pooled", "ego_alone": "AP pooled, alone"}
DIGITS = dict.fromkeys(NAMES.values(), 2)


def precision_tables(found: Collection, detections: dict[str, Detections]) -> list[Table]:
    """Return the pools over whole drives, along the route, and by distance."""
    along = [
        f"{100 * part // PARTS:02d}-{100 * (part + 1) // PARTS:02d} %" for part in range(PARTS)
    ]
    makers = (
        ("precision", "Average precision of all drives together (11-point)", "", ("all",)),
        ("along_route", "Figure 8. Average precision along the route (11-point)", "part", along),
        ("precision_bands", "Average precision by distance, m (11-point)", "band", BANDS),
    )
    arm = found.factors
    return [
        Table(
            name, title, (*arm, by or "pool"), pools(found, detections, by, names), DIGITS, len(arm)
        )
        for name, title, by, names in makers
    ]


def pools(
    found: Collection, detections: dict[str, Detections], by: str, names: Sequence[str]
) -> pd.DataFrame:
    """Return the cells of every arm, undivided or divided by part of the route or by band."""
    cells = []
    factors = found.factors
    for arm in arms_in(found.attempts):
        own = np.flatnonzero(of_arms(found.attempts, [arm]))
        clusters = np.unique(found.attempts["cluster"].to_numpy(str)[own], return_inverse=True)[1]
        for index, name in enumerate(names):
            for source in SOURCES:
                estimate = pool(detections[source], own, clusters, by, index)
                place = dict(
                    zip((*factors, by or "pool"), (*arm.values(factors), name), strict=True)
                )
                numbers = {key: getattr(estimate, key) for key in ESTIMATE}
                cells.append({**place, "measure": NAMES[source], **numbers})
    return pd.DataFrame(cells, columns=[*factors, by or "pool", "measure", *ESTIMATE])


def pool(
    detections: Detections, attempts: Integers, clusters: Integers, by: str, index: int
) -> Estimate:
    """Return the precision of some attempts, or of one part or band of them."""
    of_attempt = np.full(len(detections.truths), -1)
    of_attempt[attempts] = clusters
    cluster = of_attempt[detections.attempts]
    rows = cluster >= 0
    truths = detections.truths[attempts]
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
    by_route = np.zeros((routes, len(CLASSES)))
    np.add.at(by_route, clusters, truths)
    n = int((truths.sum(axis=1) > 0).sum())
    return estimated(detections, rows, cluster, by_route, n)


def estimated(
    detections: Detections, rows: Mask, cluster: Integers, truths: Floats, n: int
) -> Estimate:
    """Return the mean over classes and its bootstrap interval; `truths` is (routes, classes)."""
    there = int((truths.sum(axis=1) > 0).sum())
    routes = len(truths)
    weights = np.vstack([np.ones(routes), resampled(routes, RESAMPLES)])
    values = np.full((len(CLASSES), len(weights)), np.nan)
    for each in range(len(CLASSES)):
        own = np.flatnonzero(rows & (detections.classes == each))
        own = own[np.argsort(-detections.scores[own], kind="stable")]
        values[each] = eleven_point(
            detections.scores[own],
            detections.correct[own],
            cluster[own],
            truths[:, each],
            weights,
        )
    some = np.isfinite(values)
    means = np.where(some, values, 0).sum(axis=0) / np.where(
        some.any(axis=0), some.sum(axis=0), np.nan
    )
    drawn = means[1:][np.isfinite(means[1:])]
    if there < 2 or not len(drawn):
        return Estimate(float(means[0]), math.nan, math.nan, n, there, "none")
    low, high = np.quantile(drawn, expanded(routes))
    if low == high:
        return Estimate(float(means[0]), math.nan, math.nan, n, there, "none")
    return Estimate(float(means[0]), float(low), float(high), n, there, "bootstrap")


def eleven_point(
    scores: Floats, correct: Mask, cluster: Integers, truths: Floats, weights: Floats
) -> Floats:
    """Return the 11-point precision of one class under each row of route weights.

    Scores come sorted from the best; equal ones stand and fall together.
    """
    last = np.flatnonzero(np.diff(scores, append=np.nan) != 0)
    found = []
    for start in range(0, len(weights), AT_ONCE):
        some = weights[start : start + AT_ONCE]
        there = some @ truths
        if not len(scores):
            found.append(np.where(there > 0, 0.0, np.nan))
            continue
        of_rows = some[:, cluster]
        right = np.cumsum(of_rows * correct, axis=1)[:, last]
        all_told = np.cumsum(of_rows, axis=1)[:, last]
        precision = np.divide(right, all_told, out=np.zeros_like(right), where=all_told > 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            recall = right / there[:, None]
        points = [
            np.where(recall >= level, precision, 0).max(axis=1) for level in np.arange(11) / 10
        ]
        found.append(np.where(there > 0, np.mean(points, axis=0), np.nan))
    return np.concatenate(found)

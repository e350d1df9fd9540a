"""How old messages were when they were delivered: quantiles over all messages of an arm."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from analysis.statistics.intervals import Estimate, expanded, resampled
from analysis.tables.table import ESTIMATE, Table, numbered
from harness.vocabulary import Floats

QUANTILES = {"5 %": 0.05, "25 %": 0.25, "median": 0.5, "75 %": 0.75, "95 %": 0.95}
RESAMPLES = 1000
EXACT = 6
"""Decimals of a second to which ages are told apart."""


def ages(
    attempts: pd.DataFrame, arm: tuple[str, ...], kinds: Sequence[Mapping[str, object]]
) -> Table:
    """Return the quantiles by arm and kind of sender, routes resampled whole."""
    by = (*arm, "kind")
    shared = attempts.reset_index(drop=True)
    groups: dict[tuple[str, ...], list[tuple[str, Floats]]] = {}
    for each in kinds:
        row = shared.iloc[int(str(each["row"]))]
        name = (*(str(row[factor]) for factor in arm), str(each["kind"]))
        heard: Floats = np.asarray(each["ages"], np.float64).round(EXACT)
        groups.setdefault(name, []).append((str(row["cluster"]), heard))
    cells = [
        {**dict(zip(by, name, strict=True)), "measure": measure, **numbers_of(found)}
        for name, drives in sorted(groups.items())
        for measure, found in quantiles(drives).items()
    ]
    frame = pd.DataFrame(cells, columns=[*by, "measure", *ESTIMATE])
    digits = dict.fromkeys(QUANTILES, 2)
    title = "Age of messages at delivery, s: quantiles"
    return Table("ages", title, by, frame, digits, len(arm))


def numbers_of(found: Estimate) -> dict[str, object]:
    """Return an estimate's columns."""
    return {name: getattr(found, name) for name in ESTIMATE}


def quantiles(drives: Sequence[tuple[str, Floats]]) -> dict[str, Estimate]:
    """Return the quantiles of the ages of all drives; each comes with its route."""
    routes = numbered(pd.Series([route for route, _ in drives])).astype(np.int64)
    everything = np.concatenate([own for _, own in drives])
    n = sum(len(own) > 0 for _, own in drives)
    known, place = np.unique(everything, return_inverse=True)
    of_route = np.repeat(routes, [len(own) for _, own in drives])
    counts = np.zeros((int(routes.max()) + 1, len(known)))
    np.add.at(counts, (of_route, place), 1)
    return {name: quantile(known, counts, share, n) for name, share in QUANTILES.items()}


def quantile(known: Floats, counts: Floats, share: float, n: int) -> Estimate:
    """Return a quantile of values that every route has so many of."""
    there = int((counts.sum(axis=1) > 0).sum())
    if not there:
        return Estimate(math.nan, math.nan, math.nan, 0, 0, "none")
    value = at_share(known, counts.sum(axis=0, keepdims=True), share)[0]
    if there < 2:
        return Estimate(float(value), math.nan, math.nan, n, there, "none")
    drawn = resampled(len(counts), RESAMPLES) @ counts
    values = at_share(known, drawn[drawn.sum(axis=1) > 0], share)
    low, high = np.quantile(values, expanded(len(counts)))
    if low == high:
        return Estimate(float(value), math.nan, math.nan, n, there, "none")
    return Estimate(float(value), float(low), float(high), n, there, "bootstrap")


def at_share(known: Floats, weights: Floats, share: float) -> Floats:
    """Return, for each row of weights, the least value that so large a share does not exceed."""
    running = np.cumsum(weights, axis=1)
    return np.asarray(known[(running < share * running[:, -1:] - 1e-9).sum(axis=1)])

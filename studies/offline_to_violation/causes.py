"""What repairing a pattern in closed loop does to violations: paired differences by route."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.statistics.intervals import IntervalEstimate, estimate_mean
from analysis.statistics.significance import run_sign_flip_test
from analysis.tables.table import encode_names
from harness.types.vocabulary import Floats

PAIR = ["route", "system", "condition"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairEffect:
    """Violations with a repair less violations without, as shares of drives."""

    difference: IntervalEstimate
    p: float
    pairs: int
    fewer: int  # pairs in which only the drive without the repair has a violation
    more: int  # pairs in which only the repaired drive has one


def estimate_repair_effect(without: pd.DataFrame, repaired: pd.DataFrame) -> RepairEffect | None:
    """Return the effect over all pairs of equal route, system and condition; None without any.

    Args:
        without: `route`, `system`, `condition`, `violated` of drives without the repair.
        repaired: the same of the drives with it.
    """
    pairs = without.merge(repaired, on=PAIR, suffixes=("_without", "_with"))
    if pairs.empty:
        return None
    difference = pairs["violated_with"].to_numpy(np.float64) - pairs["violated_without"].to_numpy(
        np.float64
    )
    clusters = np.asarray(encode_names(pairs["route"]), np.float64)
    return RepairEffect(
        difference=estimate_mean(difference, clusters),
        p=run_sign_flip_test(sum_by_route(difference, clusters)).p,
        pairs=len(pairs),
        fewer=int((difference < 0).sum()),
        more=int((difference > 0).sum()),
    )


def sum_by_route(difference: Floats, clusters: Floats) -> Floats:
    """Return the sum of each route's differences: (routes,)."""
    _, members = np.unique(clusters, return_inverse=True)
    return np.asarray(np.bincount(members, difference), np.float64)


def estimate_latency_effect(drives: pd.DataFrame) -> RepairEffect | None:
    """Return the effect of messages on time, in pairs of route and system."""
    sides = {
        name: drives[drives["condition"] == name].assign(condition="")
        for name in ("latency", "none")
    }
    return estimate_repair_effect(sides["latency"], sides["none"])

"""Critical sizes in strata of routes: by reveal time, kind of hazard, or town."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict

import numpy as np
import pandas as pd

from analysis.hazards import HAZARDS
from analysis.statistics.interval_censored import (
    estimate_restricted_mean,
    estimate_share_above,
    fit_resampled_turnbull,
)
from analysis.statistics.intervals import NO_ESTIMATE, IntervalEstimate
from analysis.subgroups import parse_grouping
from analysis.tables.staleness import MEAN_SPEEDS
from analysis.tables.table import ESTIMATE, EstimatesTable, encode_names, scale_estimate
from harness.common.errors import UserError
from harness.records.critical import CriticalSizes
from harness.types.vocabulary import Mask
from studies.critical.drives import NO_HAZARDS
from studies.critical.tables import (
    LEFT,
    RIGHT,
    format_size_label,
    get_interval_ends,
    select_confirmed_sizes,
)

STRATA = (
    "reveal=0.8,1.3,2.2",
    "kind=occluded_pedestrian+occluded_cyclist,crossing_vehicle+red_light_runner",
)
"""Strata that are reported unless others are asked for."""
ALL = "all"
Groups = Callable[[pd.DataFrame], dict[str, Mask]]


def parse_strata(by: Sequence[str]) -> dict[str, Groups]:
    """Return what divides attempts, by name: reveal, kind, town."""
    strata: dict[str, Groups] = {}
    for text in by or STRATA:
        name = text.partition("=")[0]
        groups = parse_grouping(text)
        if name in strata:
            raise UserError(f"--by {text}: {name} may be given once")
        strata[name] = groups
    return strata


def build_strata_tables(
    usable: pd.DataFrame, sizes: CriticalSizes, strata: Mapping[str, Groups]
) -> list[EstimatesTable]:
    """Return a table for each way to divide attempts."""
    return [build_strata_table(usable, sizes, name, groups) for name, groups in strata.items()]


def build_strata_table(
    usable: pd.DataFrame, sizes: CriticalSizes, name: str, groups: Groups
) -> EstimatesTable:
    """Return how many attempts flip, shares free of violations, means, speeds, by arm and stratum.

    Strata are of the hazards that were planned, by geometry: no drive has a part in them.
    """
    rows: list[dict[str, object]] = []
    # (attempts,) which are in each stratum, by the hazards that were planned
    as_pairs = usable.assign(hazards_a=usable[HAZARDS], hazards_b=NO_HAZARDS)
    chosen = {ALL: np.ones(len(usable), np.bool_), **groups(as_pairs)}
    for arm in dict.fromkeys(usable["called"]):
        for group, inside in chosen.items():
            attempts = usable[inside & (usable["called"] == arm).to_numpy(np.bool_)]
            if attempts.empty:
                continue
            for measure, estimate in compute_stratum_measures(attempts, sizes).items():
                rows.append({"arm of": arm, name: group, "measure": measure, **asdict(estimate)})
    return EstimatesTable(
        name=f"critical_{sizes.of}_{name}",
        title=f"Critical {format_size_label(sizes.of)}, by {name}",
        by=("arm of", name),
        cells=pd.DataFrame(rows, columns=["arm of", name, "measure", *ESTIMATE]),
        digits={**dict.fromkeys(COUNTS, 0), **dict.fromkeys(format_mean_names(sizes), 2)},
    )


VIOLATION_AT_ONCE, FLIPS, SURVIVES = "violation at the smallest", "flips", "survives the largest"
COUNTS = (VIOLATION_AT_ONCE, FLIPS, SURVIVES)


def format_mean_names(sizes: CriticalSizes) -> tuple[str, str]:
    """Return what the means up to the largest size are called: of all, of confirmed flips."""
    name = f"mean up to {max(sizes.coarse):g}"
    return name, f"{name}, confirmed"


def compute_stratum_measures(
    attempts: pd.DataFrame, sizes: CriticalSizes
) -> dict[str, IntervalEstimate]:
    """Return counts, shares still free at coarse sizes, means and speeds of attempts of an arm."""
    # counts: no estimates, so without intervals
    low, high = get_interval_ends(attempts)
    data, samples, routes = fit_resampled_turnbull(low, high, encode_names(attempts["cluster"]))
    n, censored = len(attempts), attempts["censored"]
    left, right = int((censored == LEFT).sum()), int((censored == RIGHT).sum())
    numbers = dict(zip(COUNTS, (left, n - left - right, right), strict=True))
    counts = {
        name: IntervalEstimate(
            value=float(number), low=math.nan, high=math.nan, n=n, routes=routes, method="none"
        )
        for name, number in numbers.items()
    }
    # shares above a size, from the survival curve of interval-censored sizes
    shares = {
        f"free at {size:g}, %": scale_estimate(
            estimate_share_above(data, samples, size=size, n=n, routes=routes), 100
        )
        for size in sizes.coarse
    }
    # means up to the largest size: of all, and of those that placebos confirm
    means = (
        estimate_mean_size(part, max(sizes.coarse))
        for part in (attempts, select_confirmed_sizes(attempts))
    )
    # mean speeds of the drives at the smallest size
    speeds = {name: measure(attempts) for name, measure in MEAN_SPEEDS.items()}
    return counts | shares | dict(zip(format_mean_names(sizes), means, strict=True)) | speeds


def estimate_mean_size(attempts: pd.DataFrame, largest: float) -> IntervalEstimate:
    """Return the mean critical size up to the largest one."""
    if attempts.empty:
        return NO_ESTIMATE
    return estimate_restricted_mean(
        get_interval_ends(attempts), encode_names(attempts["cluster"]), largest
    )

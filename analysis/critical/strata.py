"""Critical sizes in strata of routes: by reveal time, kind of hazard, or town."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict

import numpy as np
import pandas as pd

from analysis.critical.drives import NO_HAZARDS
from analysis.critical.tables import LEFT, RIGHT, confirmed, ends_of, labelled
from analysis.hazards import HAZARDS
from analysis.statistics.interval_censored import mean_up_to, resampled, share_above
from analysis.statistics.intervals import NO_ESTIMATE, Estimate
from analysis.subgroups import grouping
from analysis.tables.table import ESTIMATE, Table, codes_of, scaled
from harness.errors import UserError
from harness.records.critical import CriticalSizes
from harness.vocabulary import Mask

STRATA = (
    "reveal=0.8,1.3,2.2",
    "kind=occluded_pedestrian+occluded_cyclist,crossing_vehicle+red_light_runner",
)
"""Strata that are reported unless others are asked for."""
ALL = "all"
Groups = Callable[[pd.DataFrame], dict[str, Mask]]


def strata_in(by: Sequence[str]) -> dict[str, Groups]:
    """Return what divides attempts, by name: reveal, kind, town."""
    strata: dict[str, Groups] = {}
    for text in by or STRATA:
        name = text.partition("=")[0]
        groups = grouping(text)
        if name in strata:
            raise UserError(f"--by {text}: {name} may be given once")
        strata[name] = groups
    return strata


def strata_tables(
    usable: pd.DataFrame, sizes: CriticalSizes, strata: Mapping[str, Groups]
) -> list[Table]:
    """Return a table for each way to divide attempts."""
    return [strata_table(usable, sizes, name, groups) for name, groups in strata.items()]


def strata_table(usable: pd.DataFrame, sizes: CriticalSizes, name: str, groups: Groups) -> Table:
    """Return how many attempts flip, shares free of violations and means, by arm and stratum.

    Strata are of the hazards that were planned, by geometry: no drive has a part in them.
    """
    rows: list[dict[str, object]] = []
    as_pairs = usable.assign(hazards_a=usable[HAZARDS], hazards_b=NO_HAZARDS)
    chosen = {ALL: np.ones(len(usable), np.bool_), **groups(as_pairs)}
    for arm in dict.fromkeys(usable["called"]):
        for group, inside in chosen.items():
            attempts = usable[inside & (usable["called"] == arm).to_numpy(np.bool_)]
            if attempts.empty:
                continue
            for measure, estimate in stratum_measures(attempts, sizes).items():
                rows.append({"arm of": arm, name: group, "measure": measure, **asdict(estimate)})
    return Table(
        name=f"critical_{sizes.of}_{name}",
        title=f"Critical {labelled(sizes.of)}, by {name}",
        by=("arm of", name),
        cells=pd.DataFrame(rows, columns=["arm of", name, "measure", *ESTIMATE]),
        digits={**dict.fromkeys(COUNTS, 0), **dict.fromkeys(mean_names(sizes), 2)},
    )


VIOLATION_AT_ONCE, FLIPS, SURVIVES = "violation at the smallest", "flips", "survives the largest"
COUNTS = (VIOLATION_AT_ONCE, FLIPS, SURVIVES)


def mean_names(sizes: CriticalSizes) -> tuple[str, str]:
    """Return what the means up to the largest size are called: of all, of confirmed flips."""
    name = f"mean up to {max(sizes.coarse):g}"
    return name, f"{name}, confirmed"


def stratum_measures(attempts: pd.DataFrame, sizes: CriticalSizes) -> dict[str, Estimate]:
    """Return counts, shares still free at coarse sizes, and means of some attempts of an arm."""
    low, high = ends_of(attempts)
    data, samples, routes = resampled(low, high, codes_of(attempts["cluster"]))
    n, censored = len(attempts), attempts["censored"]
    left, right = int((censored == LEFT).sum()), int((censored == RIGHT).sum())
    numbers = dict(zip(COUNTS, (left, n - left - right, right), strict=True))
    counts = {
        name: Estimate(
            value=float(number), low=math.nan, high=math.nan, n=n, routes=routes, method="none"
        )
        for name, number in numbers.items()
    }
    shares = {
        f"free at {size:g}, %": scaled(
            share_above(data, samples, size=size, n=n, routes=routes), 100
        )
        for size in sizes.coarse
    }
    means = (mean_of(part, max(sizes.coarse)) for part in (attempts, confirmed(attempts)))
    return counts | shares | dict(zip(mean_names(sizes), means, strict=True))


def mean_of(attempts: pd.DataFrame, largest: float) -> Estimate:
    """Return the mean critical size up to the largest one."""
    if attempts.empty:
        return NO_ESTIMATE
    return mean_up_to(ends_of(attempts), codes_of(attempts["cluster"]), largest)

"""Tables of critical sizes: a row for each attempt, for each flip, for each pair of arms."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import combinations, groupby

import numpy as np
import pandas as pd

from analysis.arms import format_short_arm_name
from analysis.statistics.interval_censored import (
    compare_interval_pairs,
    estimate_restricted_mean_difference,
    estimate_share_above,
    fit_resampled_turnbull,
)
from analysis.statistics.intervals import NO_ESTIMATE, IntervalEstimate
from analysis.statistics.significance import (
    HypothesisTest,
    adjust_p_values,
    list_attainable_p_values,
    run_sign_flip_test,
)
from analysis.tables.staleness import MEAN_SPEEDS
from analysis.tables.table import ESTIMATE, EstimatesTable, encode_names, scale_estimate
from harness.records.arms import CONDITION, list_varying_factors
from harness.records.critical import (
    CriticalSizes,
    Interval,
    OutcomeFlip,
    PlaceboDrives,
    SearchedAttempt,
)
from harness.types.vocabulary import Floats
from studies.critical.drives import AS_DRIVEN, TIMES

FREE = "free of violations, %"
LEFT, RIGHT, BETWEEN = "left", "right", ""
"""Censored: a violation at the smallest size already, none up to the largest; not censored."""
FREE_AGAIN_COLUMN = "free again"
"""The column with the sizes above the first violation at which there is none."""
UNITS = {"latency": "s", "own_latency": "s", "pose_error": "m", "loss": "share"}
FLIP_COLUMNS = [
    *("arm", "route", "seed", "low", "high", "direction"),
    *("violated at low", "effective at low", "driven at low"),
    *("violated at high", "effective at high", "driven at high", "p", "confirmed"),
]
PAIR_COLUMNS = [
    *("a", "b", "difference", "low", "high", "larger in b", "larger in a"),
    *("pairs", "routes", "routes that differ", "p", "p family"),
    *(f"{name} confirmed" for name in ("difference", "low", "high", "pairs")),
]


def format_size_label(name: str) -> str:
    """Return a disturbance with the unit of its size."""
    unit = UNITS.get(name, "")
    return f"{name.replace('_', ' ')}{', ' * bool(unit)}{unit}"


def build_critical_table(sizes: CriticalSizes, clusters: Sequence[str]) -> pd.DataFrame:
    """Return the interval of each attempt's critical size, and whether placebos confirm it.

    Clusters are the geometries of the attempts' routes, in order.
    """
    factors = [
        name
        for name in list_varying_factors(one.of.arm for one in sizes.searched)
        if name != CONDITION
    ]
    pairs = zip(sizes.searched, clusters, strict=True)
    return pd.DataFrame([make_critical_row(one, factors, cluster) for one, cluster in pairs])


def make_critical_row(
    one: SearchedAttempt, factors: Sequence[str], cluster: str
) -> dict[str, object]:
    """Return one attempt's row."""
    low, high = one.interval or (math.nan, math.nan)
    into = one.into
    return {
        "arm": str(one.of.arm),
        "called": format_short_arm_name(one.of.arm, factors),
        "route": one.of.route,
        "seed": one.of.seed,
        "cluster": cluster,
        "low": low,
        "high": high,
        "censored": LEFT if low == -math.inf else RIGHT if high == math.inf else BETWEEN,
        "confirmed": "" if into is None else "yes" if into.confirmed else "no",
        "placebos at low": "" if into is None else format_placebo_count(into.at_low),
        "placebos at high": "" if into is None else format_placebo_count(into.at_high),
        "flips back": sum(not flip.into for flip in one.flips),
        FREE_AGAIN_COLUMN: format_size_runs(find_free_runs(one)),
        "sizes": len(one.outcomes),
        "without result": sum(kind is None for kind in one.outcomes.values()),
        "violation": one.outcomes.get(high) or "",
    }


def find_free_runs(one: SearchedAttempt) -> list[Interval]:
    """Return the ends of each run of sizes without a violation above the first size with one."""
    _, first = one.interval or (math.nan, math.inf)
    above = [
        size for size, kind in sorted(one.outcomes.items()) if size > first and kind is not None
    ]
    runs = groupby(above, key=lambda size: not one.outcomes[size])
    free = [list(run) for without, run in runs if without]
    return [(run[0], run[-1]) for run in free if run]


def format_size_runs(runs: Iterable[Interval]) -> str:
    """Return runs of sizes as tables have them: `0.4 to 0.6, 2 to 2`."""
    return ", ".join(f"{low:.12g} to {high:.12g}" for low, high in runs)


def parse_size_runs(text: str) -> list[Interval]:
    """Return the runs of sizes that a table has."""
    ends = (run.split(" to ") for run in text.split(", ") if run)
    return [(float(low), float(high)) for low, high in ends]


def select_confirmed_sizes(attempts: pd.DataFrame) -> pd.DataFrame:
    """Return the attempts without those whose flip the placebos did not confirm.

    The interval of an unconfirmed flip is unknown. An interval of all sizes would not change the
    estimate, so the attempt is left out. Censored attempts have no flip and stay.
    """
    return attempts[attempts["confirmed"] != "no"]


def format_placebo_count(placebos: PlaceboDrives) -> str:
    """Return the placebos of a side that ended in a violation, of those that had an effect."""
    return f"{placebos.violated} of {placebos.effective}"


def build_flips_table(sizes: CriticalSizes) -> pd.DataFrame:
    """Return a row for each flip, back ones too, with what placebos did on both sides."""
    rows = [
        (
            *(str(one.of.arm), one.of.route, one.of.seed, flip.low, flip.high),
            "into a violation" if flip.into else "back",
            *(flip.at_low.violated, flip.at_low.effective, flip.at_low.driven),
            *(flip.at_high.violated, flip.at_high.effective, flip.at_high.driven),
            compute_fisher_p(flip),
            flip.confirmed,
        )
        for one in sizes.searched
        for flip in one.flips
    ]
    return pd.DataFrame(rows, columns=FLIP_COLUMNS)


def compute_fisher_p(flip: OutcomeFlip) -> float:
    """Return the p-value that placebos fail more often on the failing side by chance, one-sided.

    Fisher's exact test (1935, Journal of the Royal Statistical Society 98, 1).
    """
    free, failing = (flip.at_low, flip.at_high) if flip.into else (flip.at_high, flip.at_low)
    if not free.effective or not failing.effective:
        return math.nan
    from scipy.stats import fisher_exact  # noqa: PLC0415 - a second

    table = [[side.violated, side.effective - side.violated] for side in (failing, free)]
    return float(fisher_exact(table, alternative="greater").pvalue)


def get_interval_ends(rows: pd.DataFrame, side: str = "") -> tuple[Floats, Floats]:
    """Return the lower and upper ends of intervals."""
    low, high = (rows[f"{name}{side}"].to_numpy(np.float64) for name in ("low", "high"))
    return low, high


def build_violation_free_table(
    usable: pd.DataFrame, drives: pd.DataFrame, sizes: CriticalSizes
) -> EstimatesTable:
    """Return the share of attempts still free of violations at each size, by arm.

    Next to it, at coarse sizes, stand the drives of that size alone: their share without a
    violation, which assumes nothing of other sizes, their cost in time, and mean speeds.
    """
    rows: list[dict[str, object]] = []
    for arm, of_arm in usable.groupby("called", sort=False):
        # (attempts,) ends of each interval; the curve and its resamples
        low, high = get_interval_ends(of_arm)
        data, samples, routes = fit_resampled_turnbull(low, high, encode_names(of_arm["cluster"]))
        there = drives[drives["called"] == arm]
        # the share by the curve, and by the drives of that size alone
        for size in list_reported_sizes(sizes):
            alone = there[there["size"] == size]
            share = estimate_share_above(data, samples, size=size, n=len(of_arm), routes=routes)
            estimates = {
                name: measure(alone) if len(alone) else NO_ESTIMATE
                for name, measure in AS_DRIVEN.items()
            }
            for name, estimate in (*estimates.items(), (FREE, scale_estimate(share, 100))):
                row = {"arm of": arm, "size": f"{size:.12g}", "measure": name}
                rows.append(row | asdict(estimate))
    return EstimatesTable(
        name=f"critical_{sizes.of}_free",
        title=f"Attempts still free of violations: {format_size_label(sizes.of)}",
        by=("arm of", "size"),
        cells=pd.DataFrame(rows, columns=["arm of", "size", "measure", *ESTIMATE]),
        digits=dict.fromkeys((*TIMES, *MEAN_SPEEDS), 2),
    )


def list_reported_sizes(sizes: CriticalSizes) -> list[float]:
    """Return the sizes at which shares are reported: the coarse grid, and where anything flips."""
    flips = [flip for one in sizes.searched for flip in one.flips]
    return sorted({*sizes.coarse, *(size for flip in flips for size in (flip.low, flip.high))})


def build_size_differences_table(usable: pd.DataFrame, sizes: CriticalSizes) -> pd.DataFrame:
    """Return each pair of arms on common routes and seeds; all tests are one family.

    The difference is that of mean critical sizes up to the largest one tried. The test flips the
    signs of routes, whose value is in how many more attempts b surely stands more than a.
    """
    rows, slots = [], []
    for a, b in combinations(dict.fromkeys(usable["called"]), 2):
        # pairs of equal route and seed
        left, right = (usable[usable["called"] == name] for name in (a, b))
        pairs = left.merge(right, on=["route", "seed", "cluster"], suffixes=("_a", "_b"))
        if pairs.empty:
            continue
        one, other, clusters = (
            get_interval_ends(pairs, "_a"),
            get_interval_ends(pairs, "_b"),
            encode_names(pairs["cluster"]),
        )
        # differences of means, with intervals over routes
        difference = estimate_restricted_mean_difference(one, other, clusters, max(sizes.coarse))
        sure = estimate_confirmed_difference(pairs, max(sizes.coarse))
        # (pairs,) 1 where b is surely larger, -1 where a is, 0 where intervals overlap
        order = compare_interval_pairs(one, other)
        # (routes,) sums: a route is one observation
        sums = np.bincount(clusters.astype(np.int64), order).astype(np.float64)
        test = run_sign_flip_test(sums)
        slots.append([HypothesisTest(test.p, list_attainable_p_values(sums))])
        counts = int((order > 0).sum()), int((order < 0).sum())
        estimate = difference.value, difference.low, difference.high
        basis = difference.n, difference.routes, test.routes
        again = sure.value, sure.low, sure.high, sure.n
        rows.append((a, b, *estimate, *counts, *basis, test.p, math.nan, *again))
    # one family of all pairs
    frame = pd.DataFrame(rows, columns=PAIR_COLUMNS)
    frame["p family"] = [level for (level,) in adjust_p_values(slots)] if slots else []
    return frame


def estimate_confirmed_difference(pairs: pd.DataFrame, largest: float) -> IntervalEstimate:
    """Return the difference of means of pairs in which both critical sizes are confirmed."""
    known = pairs[(pairs["confirmed_a"] != "no") & (pairs["confirmed_b"] != "no")]
    sides = get_interval_ends(known, "_a"), get_interval_ends(known, "_b")
    return estimate_restricted_mean_difference(*sides, encode_names(known["cluster"]), largest)

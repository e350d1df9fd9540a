"""Tables of critical sizes: a row for each attempt, for each flip, for each pair of arms."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import combinations, groupby

import numpy as np
import pandas as pd

from analysis.arms import short_name
from analysis.critical.drives import AS_DRIVEN, TIMES
from analysis.statistics.interval_censored import (
    mean_difference,
    order_of_pairs,
    resampled,
    share_above,
)
from analysis.statistics.intervals import NO_ESTIMATE, Estimate
from analysis.statistics.significance import Hypothesis, adjusted, attainable, sign_flip
from analysis.tables.table import ESTIMATE, Table, codes_of, scaled
from harness.records.arms import CONDITION, varying
from harness.records.critical import CriticalSizes, Flip, Interval, Placebos, Searched
from harness.vocabulary import Floats

FREE = "free of violations, %"
LEFT, RIGHT, BETWEEN = "left", "right", ""
"""Censored: a violation at the smallest size already, none up to the largest; not censored."""
AGAIN = "free again"
"""The column with the sizes above the first violation at which there is none."""
UNITS = {"latency": "s", "pose_error": "m", "loss": "share"}
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


def labelled(name: str) -> str:
    """Return a disturbance with the unit of its size."""
    unit = UNITS.get(name, "")
    return f"{name.replace('_', ' ')}{', ' * bool(unit)}{unit}"


def attempts_table(sizes: CriticalSizes, clusters: Sequence[str]) -> pd.DataFrame:
    """Return the interval of each attempt's critical size, and whether placebos confirm it.

    Clusters are the geometries of the attempts' routes, in order.
    """
    factors = [name for name in varying(one.of.arm for one in sizes.searched) if name != CONDITION]
    pairs = zip(sizes.searched, clusters, strict=True)
    return pd.DataFrame([attempt_row(one, factors, cluster) for one, cluster in pairs])


def attempt_row(one: Searched, factors: Sequence[str], cluster: str) -> dict[str, object]:
    """Return one attempt's row."""
    low, high = one.interval or (math.nan, math.nan)
    into = one.into
    return {
        "arm": str(one.of.arm),
        "called": short_name(one.of.arm, factors),
        "route": one.of.route,
        "seed": one.of.seed,
        "cluster": cluster,
        "low": low,
        "high": high,
        "censored": LEFT if low == -math.inf else RIGHT if high == math.inf else BETWEEN,
        "confirmed": "" if into is None else "yes" if into.confirmed else "no",
        "placebos at low": "" if into is None else counted(into.at_low),
        "placebos at high": "" if into is None else counted(into.at_high),
        "flips back": sum(not flip.into for flip in one.flips),
        AGAIN: described(free_again(one)),
        "sizes": len(one.outcomes),
        "without result": sum(kind is None for kind in one.outcomes.values()),
        "violation": one.outcomes.get(high) or "",
    }


def free_again(one: Searched) -> list[Interval]:
    """Return the ends of each run of sizes without a violation above the first size with one."""
    _, first = one.interval or (math.nan, math.inf)
    above = [
        size for size, kind in sorted(one.outcomes.items()) if size > first and kind is not None
    ]
    runs = groupby(above, key=lambda size: not one.outcomes[size])
    free = [list(run) for without, run in runs if without]
    return [(run[0], run[-1]) for run in free if run]


def described(runs: Iterable[Interval]) -> str:
    """Return runs of sizes as tables have them: `0.4 to 0.6, 2 to 2`."""
    return ", ".join(f"{low:.12g} to {high:.12g}" for low, high in runs)


def runs_in(text: str) -> list[Interval]:
    """Return the runs of sizes that a table has."""
    ends = (run.split(" to ") for run in text.split(", ") if run)
    return [(float(low), float(high)) for low, high in ends]


def confirmed(attempts: pd.DataFrame) -> pd.DataFrame:
    """Return the attempts whose critical size is no flip that placebos do not confirm.

    Of one that is not confirmed no interval is known, and an interval of all sizes would change
    nothing in the estimate: it is left out. Censored attempts have no flip, and stay.
    """
    return attempts[attempts["confirmed"] != "no"]


def counted(placebos: Placebos) -> str:
    """Return the placebos of a side that ended in a violation, of those that had an effect."""
    return f"{placebos.violated} of {placebos.effective}"


def flips_table(sizes: CriticalSizes) -> pd.DataFrame:
    """Return a row for each flip, back ones too, with what placebos did on both sides."""
    rows = [
        (
            *(str(one.of.arm), one.of.route, one.of.seed, flip.low, flip.high),
            "into a violation" if flip.into else "back",
            *(flip.at_low.violated, flip.at_low.effective, flip.at_low.driven),
            *(flip.at_high.violated, flip.at_high.effective, flip.at_high.driven),
            fisher(flip),
            flip.confirmed,
        )
        for one in sizes.searched
        for flip in one.flips
    ]
    return pd.DataFrame(rows, columns=FLIP_COLUMNS)


def fisher(flip: Flip) -> float:
    """Return the p-value that placebos fail more often on the failing side by chance, one-sided.

    Fisher's exact test (1935, Journal of the Royal Statistical Society 98, 1).
    """
    free, failing = (flip.at_low, flip.at_high) if flip.into else (flip.at_high, flip.at_low)
    if not free.effective or not failing.effective:
        return math.nan
    from scipy.stats import fisher_exact  # noqa: PLC0415 - a second

    table = [[side.violated, side.effective - side.violated] for side in (failing, free)]
    return float(fisher_exact(table, alternative="greater").pvalue)


def ends_of(rows: pd.DataFrame, side: str = "") -> tuple[Floats, Floats]:
    """Return the lower and upper ends of intervals."""
    low, high = (rows[f"{name}{side}"].to_numpy(np.float64) for name in ("low", "high"))
    return low, high


def free_table(usable: pd.DataFrame, drives: pd.DataFrame, sizes: CriticalSizes) -> Table:
    """Return the share of attempts still free of violations at each size, by arm.

    Next to it, at coarse sizes, stand the drives of that size alone: their share without a
    violation, which assumes nothing of other sizes, and their cost in time.
    """
    rows: list[dict[str, object]] = []
    for arm, of_arm in usable.groupby("called", sort=False):
        low, high = ends_of(of_arm)
        data, samples, routes = resampled(low, high, codes_of(of_arm["cluster"]))
        there = drives[drives["called"] == arm]
        for size in reported_sizes(sizes):
            alone = there[there["size"] == size]
            share = share_above(data, samples, size=size, n=len(of_arm), routes=routes)
            estimates = {
                name: measure(alone) if len(alone) else NO_ESTIMATE
                for name, measure in AS_DRIVEN.items()
            }
            for name, estimate in (*estimates.items(), (FREE, scaled(share, 100))):
                row = {"arm of": arm, "size": f"{size:.12g}", "measure": name}
                rows.append(row | asdict(estimate))
    return Table(
        name=f"critical_{sizes.of}_free",
        title=f"Attempts still free of violations: {labelled(sizes.of)}",
        by=("arm of", "size"),
        cells=pd.DataFrame(rows, columns=["arm of", "size", "measure", *ESTIMATE]),
        digits=dict.fromkeys(TIMES, 2),
    )


def reported_sizes(sizes: CriticalSizes) -> list[float]:
    """Return the sizes at which shares are reported: the coarse grid, and where anything flips."""
    flips = [flip for one in sizes.searched for flip in one.flips]
    return sorted({*sizes.coarse, *(size for flip in flips for size in (flip.low, flip.high))})


def differences_table(usable: pd.DataFrame, sizes: CriticalSizes) -> pd.DataFrame:
    """Return each pair of arms on common routes and seeds; all tests are one family.

    The difference is that of mean critical sizes up to the largest one tried. The test flips the
    signs of routes, whose value is in how many more attempts b surely stands more than a.
    """
    rows, slots = [], []
    for a, b in combinations(dict.fromkeys(usable["called"]), 2):
        left, right = (usable[usable["called"] == name] for name in (a, b))
        pairs = left.merge(right, on=["route", "seed", "cluster"], suffixes=("_a", "_b"))
        if pairs.empty:
            continue
        one, other, clusters = (
            ends_of(pairs, "_a"),
            ends_of(pairs, "_b"),
            codes_of(pairs["cluster"]),
        )
        difference = mean_difference(one, other, clusters, max(sizes.coarse))
        sure = difference_confirmed(pairs, max(sizes.coarse))
        order = order_of_pairs(one, other)
        sums = np.bincount(clusters.astype(np.int64), order).astype(np.float64)
        test = sign_flip(sums)
        slots.append([Hypothesis(test.p, attainable(sums))])
        counts = int((order > 0).sum()), int((order < 0).sum())
        estimate = difference.value, difference.low, difference.high
        basis = difference.n, difference.routes, test.routes
        again = sure.value, sure.low, sure.high, sure.n
        rows.append((a, b, *estimate, *counts, *basis, test.p, math.nan, *again))
    frame = pd.DataFrame(rows, columns=PAIR_COLUMNS)
    frame["p family"] = [level for (level,) in adjusted(slots)] if slots else []
    return frame


def difference_confirmed(pairs: pd.DataFrame, largest: float) -> Estimate:
    """Return the difference of means of pairs in which both critical sizes are confirmed."""
    known = pairs[(pairs["confirmed_a"] != "no") & (pairs["confirmed_b"] != "no")]
    sides = ends_of(known, "_a"), ends_of(known, "_b")
    return mean_difference(*sides, codes_of(known["cluster"]), largest)

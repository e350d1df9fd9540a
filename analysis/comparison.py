"""Two arms on the same routes with the same seeds: what differs, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from analysis import hazards, surrogates
from analysis.arms import format_short_arm_name, list_arms, match_arms
from analysis.collection import CampaignCollection
from analysis.statistics.intervals import estimate_mean
from analysis.statistics.significance import (
    compute_holm_p_values,
    compute_mcnemar_p,
    run_sign_flip_test,
)
from analysis.surrogates import EARLY, GOAL_TIME, TIME_COSTS
from analysis.tables.table import encode_names
from harness.common.errors import UserError
from harness.records.arms import Arm, find_meant_arms, list_varying_factors
from harness.types.vocabulary import Mask

COMPARED_MEASURES = {
    "driving score": ("driving_score", 1.0),
    "route completion, %": ("completion", 100.0),
    "violations, %": ("violated", 100.0),
    "collisions, %": ("collided", 100.0),
}
COMPARED_SURROGATES = {
    **{name: (column, 1.0) for name, column in surrogates.SURROGATE_MEASURES.items()},
    **TIME_COSTS,
}
"""Compared where they are known, and not tested on the page."""
PRECISION = "ap"
"""Average precision of an attempt: compared between campaigns, and not tested."""
YES_OR_NO = {"violated", "collided"}
PAIRED_BY = ["cluster", "route", "seed"]
"""Attempts of two arms are a pair on the same way, called the same, with the same seed."""


@dataclass(frozen=True, slots=True, eq=False)
class ComparisonSide:
    """An arm, as one side of a comparison.

    Attributes:
        arm: which.
        name: how it is called in tables.
    """

    arm: Arm
    name: str
    attempts: pd.DataFrame  # only what is compared


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ArmComparison:
    """One arm against another.

    Attributes:
        a: the arm that is compared with.
        b: the arm that is compared.
    """

    a: ComparisonSide
    b: ComparisonSide
    pairs: pd.DataFrame  # a row for each route and seed that both have
    unpaired: tuple[pd.DataFrame, pd.DataFrame]  # attempts of either that the other lacks
    differences: pd.DataFrame  # a row for each measure
    one_sided: pd.DataFrame  # hazards that ran in one arm of a pair only
    left_out: int  # pairs of those in which it had a place in one arm only
    sensitivity: pd.DataFrame  # the differences with all pairs, and with equal ones only


def find_named_arm(text: str, attempts: pd.DataFrame) -> Arm:
    """Return the arm of a name, in which factors may be left out where that leaves one arm.

    Args:
        text: what the user typed.
        attempts: a table with a row for each attempt.

    Raises:
        UserError: no arm, or several, are called so.
    """
    there = list_arms(attempts)
    matches = find_meant_arms(text, there)
    if len(matches) == 1:
        return matches[0]
    factors = list_varying_factors(there)
    what = f"{text}: not one arm with results" if not matches else f"{text}: several arms"
    known = ", ".join(format_short_arm_name(arm, factors) for arm in matches or there)
    raise UserError(f"{what}; there are {known or 'none'}")


def build_comparison_side(attempts: pd.DataFrame, arm: Arm, name: str) -> ComparisonSide:
    """Return an arm's attempts.

    Args:
        attempts: a table with a row for each attempt.
        arm: which of them.
        name: as it is shown.
    """
    numbers = [name for name, _ in (COMPARED_MEASURES | COMPARED_SURROGATES).values()]
    columns = [*numbers, surrogates.REACHED, surrogates.ALONG, PRECISION, *hazards.HAZARD_COLUMNS]
    attempts_of_arm = attempts.loc[match_arms(attempts, [arm]), [*PAIRED_BY, *columns]]
    return ComparisonSide(arm, name, attempts_of_arm.reset_index(drop=True))


def select_clean_attempts(side: ComparisonSide, other: ComparisonSide) -> ComparisonSide:
    """Return an arm's attempts on routes and seeds on which another arm has no violation.

    Args:
        side: whose attempts are selected.
        other: whose violations count.
    """
    clean = other.attempts.loc[~other.attempts["violated"].astype(bool), PAIRED_BY]
    return replace(side, attempts=side.attempts.merge(clean, on=PAIRED_BY))


def build_comparison_sides(
    collection: CampaignCollection, arms: Sequence[Arm]
) -> list[ComparisonSide]:
    """Return some arms of a collection, by their names there."""
    return [
        build_comparison_side(
            collection.attempts, arm, format_short_arm_name(arm, collection.factors)
        )
        for arm in arms
    ]


def compare_arms(collection: CampaignCollection, a: Arm, b: Arm) -> ArmComparison:
    """Pair two arms of a collection."""
    return compare_sides(*build_comparison_sides(collection, [a, b]))


def compare_sides(a: ComparisonSide, b: ComparisonSide) -> ArmComparison:
    """Pair two arms by route and seed; differences are b less a.

    Args:
        a: the arm that is compared with.
        b: the arm that is compared.

    Returns:
        Differences b less a, of the pairs in which the same hazards had a place.

    Raises:
        UserError: no common route and seed.
    """
    pairs = a.attempts.merge(b.attempts, on=PAIRED_BY, suffixes=("_a", "_b"))
    if pairs.empty:
        raise UserError(f"{a.name} and {b.name} have no common route and seed: nothing to pair")
    # a hazard without a place in one arm makes a pair unequal before the drive
    absent = hazards.find_unequal_pairs(pairs, hazards.ABSENT)
    kept = surrogates.add_shared_measures(surrogates.add_shared_speeds(pairs[~absent]))
    kept = surrogates.mark_early_ends(kept)
    if kept.empty:
        raise UserError(f"{a.name} and {b.name}: in every pair a hazard was placed in one arm only")
    return ArmComparison(
        a=a,
        b=b,
        pairs=kept,
        unpaired=(find_unpaired_attempts(a, pairs), find_unpaired_attempts(b, pairs)),
        differences=compute_differences(kept),
        one_sided=hazards.build_one_sided_table(pairs, a.name, b.name),
        left_out=int(absent.sum()),
        sensitivity=compute_pairing_sensitivity(pairs, absent),
    )


def compute_differences(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each measure, then for each surrogate that is known."""
    scores, dangers = compute_score_differences(pairs), compute_surrogate_differences(pairs)
    scores[EARLY] = int(pairs[EARLY].sum())
    return pd.concat([part for part in (scores, dangers) if len(part)], ignore_index=True)


def compute_score_differences(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each measure."""
    rows = [
        estimate_difference(pairs, measure, *source)
        for measure, source in COMPARED_MEASURES.items()
    ]
    return pd.DataFrame(rows)


def compute_surrogate_differences(
    pairs: pd.DataFrame, measures: Mapping[str, tuple[str, float]] = COMPARED_SURROGATES
) -> pd.DataFrame:
    """Return a row for each surrogate that some pair knows of both its drives.

    Args:
        pairs: a row for each pair, columns with `_a` and `_b`.
        measures: by name, a column and a factor.
    """
    rows = []
    for measure, (column, scale) in measures.items():
        known = pairs[pairs[f"{column}_a"].notna() & pairs[f"{column}_b"].notna()]
        if len(known):
            early = {EARLY: int(known[EARLY].sum())}
            rows.append(estimate_difference(known, measure, column, scale) | early)
    return pd.DataFrame(rows)


def compute_pairing_sensitivity(pairs: pd.DataFrame, absent: Mask) -> pd.DataFrame:
    """Return the differences by other choices of pairs, where those are other pairs.

    Args:
        pairs: a row for each pair.
        absent: (pairs,) those that the comparison leaves out.
    """
    same = ~absent & ~hazards.find_unequal_pairs(pairs, hazards.RAN)
    chosen = {"all pairs": pairs, "the same hazards ran in both": pairs[same]}
    parts = [
        compute_score_differences(chosen_pairs).assign(chosen=name)
        for name, chosen_pairs in chosen.items()
        if len(chosen_pairs) not in (0, len(pairs) - int(absent.sum()))
    ]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def find_unpaired_attempts(side: ComparisonSide, pairs: pd.DataFrame) -> pd.DataFrame:
    """Return the attempts of an arm that are in no pair: route and seed."""
    keys = pd.MultiIndex.from_frame(side.attempts[PAIRED_BY])
    rest = side.attempts[~keys.isin(pd.MultiIndex.from_frame(pairs[PAIRED_BY]))]
    return rest[PAIRED_BY].reset_index(drop=True)


def estimate_difference(
    pairs: pd.DataFrame, measure: str, column: str, scale: float
) -> dict[str, object]:
    """Return one measure's difference, its route-clustered interval and its test.

    Args:
        pairs: a row for each pair, columns with `_a` and `_b`.
        measure: the name that is shown.
        column: of the attempts.
        scale: from the column's unit to the shown one.

    Returns:
        A row of the table of differences.
    """
    # (pairs,); the interval resamples routes, and the test flips the signs of routes
    a, b = (pairs[f"{column}_{side}"].to_numpy(np.float64) * scale for side in "ab")
    clusters = encode_names(pairs["cluster"])
    estimate = estimate_mean(b - a, clusters)
    sums = np.bincount(clusters.astype(np.int64), b - a).astype(np.float64)
    test = run_sign_flip_test(sums)
    row: dict[str, object] = {
        "measure": measure,
        "a": a.mean(),
        "b": b.mean(),
        "difference": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "pairs": estimate.n,
        "routes": estimate.routes,
        "routes that differ": test.routes,
        "p": test.p,
        "test": "sign flips of routes, " + ("all" if test.exact else "20000 samples"),
        "p mcnemar": np.nan,
    }
    # McNemar's test needs independent pairs: each route once
    if column in YES_OR_NO and estimate.n == estimate.routes:
        row["p mcnemar"] = compute_mcnemar_p(int((a > b).sum()), int((b > a).sum()))
    return row


def compare_all_pairs(
    pairs: Sequence[tuple[ComparisonSide, ComparisonSide]],
) -> tuple[list[ArmComparison], pd.DataFrame]:
    """Compare pairs of arms; Holm's p is over all of them, measure by measure.

    Args:
        pairs: sides a and b of each comparison.

    Returns:
        The comparisons, and one table of all their differences.
    """
    comparisons = [compare_sides(first, second) for first, second in pairs]
    table = pd.concat(
        [
            comparison.differences.assign(arm_a=comparison.a.name, arm_b=comparison.b.name)
            for comparison in comparisons
        ],
        ignore_index=True,
    )
    table["p holm"] = np.nan
    for rows in table.groupby("measure").indices.values():
        table.loc[rows, "p holm"] = compute_holm_p_values(table["p"].to_numpy(np.float64)[rows])
    return comparisons, table


def add_time_difference(rows: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """Return differences, next to each that in the time to the goal of the same arms and group.

    Its columns are `time`, `time low`, `time high` and `time pairs`; NaN where no pair knows it.

    Args:
        rows: differences.
        table: where the differences in time are.
    """
    keys = [name for name in ("family", "arm_a", "arm_b", "by", "group") if name in rows]
    source = {"difference": "time", **{name: f"time {name}" for name in ("low", "high", "pairs")}}
    times = table.loc[table["measure"] == GOAL_TIME, [*keys, *source]]
    return rows.merge(times.rename(columns=source), on=keys, how="left")


def compute_route_means(comparison: ArmComparison, column: str) -> pd.DataFrame:
    """Return each route's mean of both arms, named as short as is unambiguous.

    Args:
        comparison: of two arms.
        column: of the attempts.

    Returns:
        A row for each route, with columns `_a` and `_b`.
    """
    means = comparison.pairs.groupby("cluster")[[f"{column}_a", f"{column}_b"]].mean()
    towns = {str(name).partition("/")[0] for name in means.index}
    short = [str(name).partition("/")[2] if len(towns) == 1 else str(name) for name in means.index]
    return means.set_axis(short, axis=0)

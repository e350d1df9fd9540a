"""The tables that `result.json` alone gives: tables II, III and IV of the paper, windows, seeds."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import pandas as pd

from analysis.arms import WITHOUT_MESSAGES
from analysis.attempt import METRIC_UNITS
from analysis.collection import CampaignCollection
from analysis.statistics.intervals import NO_ESTIMATE
from analysis.surrogates import GOAL, GOAL_TIME
from analysis.tables.hazards import build_hazard_tables
from analysis.tables.surrogates import build_surrogate_tables
from analysis.tables.table import (
    EstimatesTable,
    Measure,
    estimate_cells,
    make_count_measure,
    make_mean_measure,
    make_rate_measure,
)
from harness.evaluation.windows import WINDOWS
from harness.records.arms import NONE
from harness.types.record_names import PATTERNS

DRIVING: dict[str, Measure] = {
    "DS": make_mean_measure("driving_score"),
    "CR %": make_rate_measure("collided"),
    "CR users %": make_rate_measure("collided_with_road_user"),
    "RCR %": make_mean_measure("completion", 100),
    "violations %": make_rate_measure("violated"),
    GOAL_TIME: make_mean_measure(GOAL),
}
PRECISION: dict[str, Measure] = {
    "AP 10 s": make_mean_measure("ap_end_10s"),
    "AP 10 s alone": make_mean_measure("ap_ego_alone_end_10s"),
    "AP": make_mean_measure("ap"),
    "AP alone": make_mean_measure("ap_ego_alone"),
}
DIGITS = dict.fromkeys(PRECISION, 2)
METRIC_DIGITS = 3
FUSION = "fusion"
"""The column with the stage of fusion: none, early, intermediate, late."""


def build_result_tables(collection: CampaignCollection) -> list[EstimatesTable]:
    """Return all tables that need no Parquet file."""
    attempts, arm = add_outcome(collection.attempts), collection.factors
    return [
        build_driving_table(
            attempts, arm, sorted({row.get_values(arm) for row in collection.arms})
        ),
        *build_surrogate_tables(attempts, arm),
        *build_metric_tables(attempts, arm),
        *build_pattern_tables(attempts, arm),
        build_window_table(attempts, arm),
        build_seeds_table(attempts, arm),
        *build_hazard_tables(attempts, arm),
    ]


def add_outcome(attempts: pd.DataFrame) -> pd.DataFrame:
    """Return the attempts with the paper's two groups by name."""
    named = attempts["violated"].map({True: "violation", False: "clean"})
    return attempts.assign(outcome=named.astype(str))


def build_driving_table(
    attempts: pd.DataFrame, arm: tuple[str, ...], rows: Sequence[tuple[str, ...]]
) -> EstimatesTable:
    """Return table II: driving score, collisions, completion; arms without results have rows.

    Next to an arm stands the stage of fusion that its system declares.

    Args:
        attempts: a table with a row for each attempt.
        arm: names of the factors' columns.
        rows: values of the factors, of all arms.
    """
    *others, last = arm
    title = f"II. Driving: score, collision rate, completion, time, by {', '.join(others)}"
    silent: dict[str, Measure] = {"without messages": make_count_measure(WITHOUT_MESSAGES)}
    measures = DRIVING | (silent if attempts[WITHOUT_MESSAGES].any() else {})
    stages = dict(zip(attempts["system"], attempts[FUSION], strict=True))
    named = [(*row, stages.get(row[arm.index("system")], "")) for row in rows]
    by = (*arm, FUSION)
    driving_cells = estimate_cells(attempts, by, measures, named)
    digits = dict.fromkeys(silent, 0)
    return EstimatesTable(
        name="driving",
        title=f"{title} and {last}",
        by=by,
        cells=driving_cells,
        digits=digits,
        arm=len(arm),
    )


def build_metric_tables(attempts: pd.DataFrame, arm: tuple[str, ...]) -> Iterator[EstimatesTable]:
    """Yield the means of the metrics that the settings name, if they name any."""
    # campaigns may have different metrics
    units: dict[str, str] = {}
    for text in attempts[METRIC_UNITS].unique():
        units |= json.loads(text)
    measures = {
        f"{name}, {unit}" if unit else name: make_mean_measure(name)
        for name, unit in sorted(units.items())
    }
    if measures:
        title = f"Metrics: means over attempts, by {' and '.join(arm)}"
        digits = dict.fromkeys(measures, METRIC_DIGITS)
        yield EstimatesTable(
            name="metrics",
            title=title,
            by=arm,
            cells=estimate_cells(attempts, arm, measures),
            digits=digits,
            arm=len(arm),
        )


def build_pattern_tables(
    attempts: pd.DataFrame, arm: tuple[str, ...]
) -> tuple[EstimatesTable, EstimatesTable]:
    """Return tables III and IV: errors of the last 10 s, with and without violation."""
    by = (*arm, "outcome")
    measures: dict[str, Measure] = {name: make_mean_measure(f"{name}_end_10s") for name in PATTERNS}
    measures["ground-truth boxes"] = make_mean_measure("truth_all_end_10s")
    # one table of undisturbed drives, one of disturbed ones
    disturbed = attempts["condition"] != NONE
    what = "errors in the last 10 s of a drive; average precision (11-point, mean) there and in all"
    return (
        EstimatesTable(
            name="patterns",
            title=f"III. Undisturbed: {what}",
            by=by,
            cells=estimate_cells(attempts[~disturbed], by, measures | PRECISION),
            digits=DIGITS,
            arm=len(arm),
        ),
        EstimatesTable(
            name="patterns_disturbed",
            title=f"IV. Disturbed: {what}",
            by=by,
            cells=estimate_cells(attempts[disturbed], by, measures | PRECISION),
            digits=DIGITS,
            arm=len(arm),
        ),
    )


def build_window_table(attempts: pd.DataFrame, arm: tuple[str, ...]) -> EstimatesTable:
    """Return the errors in t1, t2 and t3 before violations, for 5 s each."""
    by = (*arm, "window")
    violated = attempts[attempts["violated"]]
    parts = [
        estimate_cells(
            violated.assign(window=window),
            by,
            {name: make_mean_measure(f"{name}_{window}") for name in (*PATTERNS, "truth_all")},
        )
        for window in WINDOWS
        if window.startswith("t")
    ]
    window_cells = pd.concat(parts).sort_values([*by], kind="stable")
    window_cells["measure"] = window_cells["measure"].replace("truth_all", "ground-truth boxes")
    title = "Errors in 5 s before a violation: t3 0 to 5 s, t2 5 to 10 s before it, t1 earlier"
    return EstimatesTable(
        name="before_violation", title=title, by=by, cells=window_cells, arm=len(arm)
    )


def build_seeds_table(attempts: pd.DataFrame, arm: tuple[str, ...]) -> EstimatesTable:
    """Return driving by seed, and the range over seeds."""
    by = (*arm, "seed")
    by_seed = estimate_cells(attempts.assign(seed=attempts["seed"].astype(str)), by, DRIVING)
    # the range says how far seeds alone may move a mean
    ranges = [
        {
            **dict(zip((*arm, "measure"), name, strict=True)),
            "seed": "range",
            "value": part["value"].max() - part["value"].min(),
            "n": part["n"].sum(),
            "routes": part["routes"].max(),
            "method": NO_ESTIMATE.method,
        }
        for name, part in by_seed.groupby([*arm, "measure"], sort=False)
        if len(part) > 1
    ]
    both = pd.concat([by_seed, pd.DataFrame(ranges, columns=by_seed.columns)])
    order = both.sort_values([*arm], kind="stable")
    title = "Driving by seed, and the range over seeds"
    return EstimatesTable(name="seeds", title=title, by=by, cells=order, arm=len(arm))

"""The tables that `result.json` alone gives: tables II, III and IV of the paper, windows, seeds."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import pandas as pd

from analysis.arms import WITHOUT
from analysis.attempt import UNITS
from analysis.collection import Collection
from analysis.statistics.intervals import NO_ESTIMATE
from analysis.surrogates import GOAL, GOAL_TIME
from analysis.tables.hazards import hazard_tables
from analysis.tables.surrogates import surrogate_tables
from analysis.tables.table import Measure, Table, cells, count_of, mean_of, rate_of
from harness.evaluation.windows import WINDOWS
from harness.records.arms import NONE
from harness.vocabulary import PATTERNS

DRIVING: dict[str, Measure] = {
    "DS": mean_of("driving_score"),
    "CR %": rate_of("collided"),
    "CR users %": rate_of("collided_with_road_user"),
    "RCR %": mean_of("completion", 100),
    "violations %": rate_of("violated"),
    GOAL_TIME: mean_of(GOAL),
}
PRECISION: dict[str, Measure] = {
    "AP 10 s": mean_of("ap_end_10s"),
    "AP 10 s alone": mean_of("ap_ego_alone_end_10s"),
    "AP": mean_of("ap"),
    "AP alone": mean_of("ap_ego_alone"),
}
DIGITS = dict.fromkeys(PRECISION, 2)
METRIC_DIGITS = 3
FUSION = "fusion"
"""The column with the stage of fusion: none, early, intermediate, late."""


def tables_of_results(collection: Collection) -> list[Table]:
    """Return all tables that need no Parquet file."""
    attempts, arm = with_outcome(collection.attempts), collection.factors
    return [
        driving(attempts, arm, sorted({row.values(arm) for row in collection.arms})),
        *surrogate_tables(attempts, arm),
        *metrics(attempts, arm),
        *patterns(attempts, arm),
        before_violation(attempts, arm),
        seeds(attempts, arm),
        *hazard_tables(attempts, arm),
    ]


def with_outcome(attempts: pd.DataFrame) -> pd.DataFrame:
    """Return the attempts with the paper's two groups by name."""
    named = attempts["violated"].map({True: "violation", False: "clean"})
    return attempts.assign(outcome=named.astype(str))


def driving(attempts: pd.DataFrame, arm: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Table:
    """Return table II: driving score, collisions, completion; arms without results have rows.

    Next to an arm stands the stage of fusion that its system declares.
    """
    *others, last = arm
    title = f"II. Driving: score, collision rate, completion, time, by {', '.join(others)}"
    silent: dict[str, Measure] = {"without messages": count_of(WITHOUT)}
    measures = DRIVING | (silent if attempts[WITHOUT].any() else {})
    stages = dict(zip(attempts["system"], attempts[FUSION], strict=True))
    named = [(*row, stages.get(row[arm.index("system")], "")) for row in rows]
    by = (*arm, FUSION)
    driving_cells = cells(attempts, by, measures, named)
    digits = dict.fromkeys(silent, 0)
    return Table(
        name="driving",
        title=f"{title} and {last}",
        by=by,
        cells=driving_cells,
        digits=digits,
        arm=len(arm),
    )


def metrics(attempts: pd.DataFrame, arm: tuple[str, ...]) -> Iterator[Table]:
    """Yield the means of the metrics that the settings name, if they name any."""
    units: dict[str, str] = {}
    for text in attempts[UNITS].unique():
        units |= json.loads(text)
    measures = {
        f"{name}, {unit}" if unit else name: mean_of(name) for name, unit in sorted(units.items())
    }
    if measures:
        title = f"Metrics: means over attempts, by {' and '.join(arm)}"
        digits = dict.fromkeys(measures, METRIC_DIGITS)
        yield Table(
            name="metrics",
            title=title,
            by=arm,
            cells=cells(attempts, arm, measures),
            digits=digits,
            arm=len(arm),
        )


def patterns(attempts: pd.DataFrame, arm: tuple[str, ...]) -> tuple[Table, Table]:
    """Return tables III and IV: errors of the last 10 s, with and without violation."""
    by = (*arm, "outcome")
    measures: dict[str, Measure] = {name: mean_of(f"{name}_end_10s") for name in PATTERNS}
    measures["ground-truth boxes"] = mean_of("truth_all_end_10s")
    disturbed = attempts["condition"] != NONE
    what = "errors in the last 10 s of a drive; average precision (11-point, mean) there and in all"
    return (
        Table(
            name="patterns",
            title=f"III. Undisturbed: {what}",
            by=by,
            cells=cells(attempts[~disturbed], by, measures | PRECISION),
            digits=DIGITS,
            arm=len(arm),
        ),
        Table(
            name="patterns_disturbed",
            title=f"IV. Disturbed: {what}",
            by=by,
            cells=cells(attempts[disturbed], by, measures | PRECISION),
            digits=DIGITS,
            arm=len(arm),
        ),
    )


def before_violation(attempts: pd.DataFrame, arm: tuple[str, ...]) -> Table:
    """Return the errors in t1, t2 and t3 before violations, for 5 s each."""
    by = (*arm, "window")
    violated = attempts[attempts["violated"]]
    parts = [
        cells(
            violated.assign(window=window),
            by,
            {name: mean_of(f"{name}_{window}") for name in (*PATTERNS, "truth_all")},
        )
        for window in WINDOWS
        if window.startswith("t")
    ]
    window_cells = pd.concat(parts).sort_values([*by], kind="stable")
    window_cells["measure"] = window_cells["measure"].replace("truth_all", "ground-truth boxes")
    title = "Errors in 5 s before a violation: t3 0 to 5 s, t2 5 to 10 s before it, t1 earlier"
    return Table(name="before_violation", title=title, by=by, cells=window_cells, arm=len(arm))


def seeds(attempts: pd.DataFrame, arm: tuple[str, ...]) -> Table:
    """Return driving by seed, and the range over seeds."""
    by = (*arm, "seed")
    by_seed = cells(attempts.assign(seed=attempts["seed"].astype(str)), by, DRIVING)
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
    return Table(name="seeds", title=title, by=by, cells=order, arm=len(arm))

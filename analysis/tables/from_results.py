"""The tables that `result.json` alone gives: tables II, III and IV of the paper, windows, seeds."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from analysis.collection import Collection
from analysis.statistics.intervals import NOTHING
from analysis.tables.table import ARM, UNDISTURBED, Measure, Table, cells, mean_of, rate_of
from harness.judging.windows import WINDOWS
from harness.vocabulary import PATTERNS

DRIVING: dict[str, Measure] = {
    "DS": mean_of("driving_score"),
    "CR %": rate_of("collided"),
    "CR users %": rate_of("collided_with_road_user"),
    "RCR %": mean_of("completion", 100),
    "violations %": rate_of("violated"),
}
PRECISION: dict[str, Measure] = {"AP": mean_of("ap"), "AP alone": mean_of("ap_ego_alone")}
DIGITS = {"AP": 2, "AP alone": 2}


def tables_of_results(found: Collection) -> list[Table]:
    """Return all tables that need no Parquet file."""
    attempts = with_outcome(found.attempts)
    arms = arms_of(found)
    return [
        driving(attempts, arms),
        *patterns(attempts),
        before_violation(attempts),
        seeds(attempts),
    ]


def arms_of(found: Collection) -> list[tuple[str, str]]:
    """Return every system and condition, those without any result too."""
    both = pd.concat([found.attempts[list(ARM)], found.missing[list(ARM)]])
    return sorted({(str(system), str(condition)) for system, condition in both.to_numpy()})


def with_outcome(attempts: pd.DataFrame) -> pd.DataFrame:
    """Return the attempts with the paper's two groups by name."""
    named = attempts["violated"].map({True: "violation", False: "clean"})
    return attempts.assign(outcome=named.astype(str))


def driving(attempts: pd.DataFrame, arms: Sequence[tuple[str, str]]) -> Table:
    """Return table II: driving score, collisions, completion."""
    title = "II. Driving: score, collision rate, route completion, by system and condition"
    return Table("driving", title, ARM, cells(attempts, ARM, DRIVING, arms))


def patterns(attempts: pd.DataFrame) -> tuple[Table, Table]:
    """Return tables III and IV: errors of the last 10 s, with and without violation."""
    by = (*ARM, "outcome")
    measures: dict[str, Measure] = {name: mean_of(f"{name}_end_10s") for name in PATTERNS}
    measures["true boxes"] = mean_of("truth_all_end_10s")
    disturbed = attempts["condition"] != UNDISTURBED
    what = "errors in the last 10 s of a drive, and its average precision (11-point, mean)"
    return (
        Table(
            "patterns",
            f"III. Undisturbed: {what}",
            by,
            cells(attempts[~disturbed], by, measures | PRECISION),
            DIGITS,
        ),
        Table(
            "patterns_disturbed",
            f"IV. Disturbed: {what}",
            by,
            cells(attempts[disturbed], by, measures | PRECISION),
            DIGITS,
        ),
    )


def before_violation(attempts: pd.DataFrame) -> Table:
    """Return the errors in t1, t2 and t3 before violations, for 5 s each."""
    by = (*ARM, "window")
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
    found = pd.concat(parts).sort_values([*by], kind="stable")
    found["measure"] = found["measure"].replace("truth_all", "true boxes")
    title = "Errors for 5 s before a violation: t3 is the last, t2 before it, t1 all earlier"
    return Table("before_violation", title, by, found)


def seeds(attempts: pd.DataFrame) -> Table:
    """Return how far seeds are apart: each by itself, and the range of their values."""
    by = (*ARM, "seed")
    found = cells(attempts.assign(seed=attempts["seed"].astype(str)), by, DRIVING)
    ranges = [
        {
            **dict(zip((*ARM, "measure"), name, strict=True)),
            "seed": "range",
            "value": part["value"].max() - part["value"].min(),
            "n": part["n"].sum(),
            "routes": part["routes"].max(),
            "method": NOTHING.method,
        }
        for name, part in found.groupby([*ARM, "measure"], sort=False)
        if len(part) > 1
    ]
    both = pd.concat([found, pd.DataFrame(ranges, columns=found.columns)])
    order = both.sort_values([*ARM], kind="stable")
    return Table("seeds", "Driving by seed, and how far seeds are apart", by, order)

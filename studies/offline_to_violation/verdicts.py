"""Predictor or cause: every finding with its tests, in one family with Holm's correction."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.statistics.intervals import NO_ESTIMATE, IntervalEstimate
from analysis.statistics.significance import compute_holm_p_values
from harness.types.vocabulary import Floats, Integers
from studies.offline_to_violation.causes import (
    RepairEffect,
    estimate_latency_effect,
    estimate_repair_effect,
)
from studies.offline_to_violation.findings import ALL_RANGES, BAND_LABELS, TRIVIAL, OfflineFinding
from studies.offline_to_violation.permutation import (
    compute_finding_p,
    sample_permutations,
    sum_route_residuals,
)
from studies.offline_to_violation.prediction import (
    BASE_RATE,
    OutcomeRows,
    estimate_lower_loss,
    predict_held_out_routes,
    score_models,
)

LEVEL = 0.05
ALL_SYSTEMS = "all"
LATE_OPERATORS = ("latency", "delay_200")
"""Operators whose counterpart in a drive is the condition `latency`."""
TRIVIAL_MODEL = "trivial"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MeasuredStudy:
    """All that is known of the routes that are whole; each has a drive without a repair."""

    routes: list[str]
    towns: list[str]  # of the routes: their groups
    systems: list[str]
    drives: pd.DataFrame  # route, system, condition, violated: without a repair
    repairs: Mapping[str, pd.DataFrame]  # by pattern: the same columns
    findings: list[OfflineFinding]
    values: Floats  # (routes, systems, findings)
    trivial: Floats  # (routes, systems, trivial predictors)

    def make_outcome_rows(self, system: str = ALL_SYSTEMS) -> OutcomeRows:
        """Return the drives of one system, or of all, as arrays."""
        drives = self.drives
        if system != ALL_SYSTEMS:
            drives = drives[drives["system"] == system]
        systems = self.systems if system == ALL_SYSTEMS else [system]
        names = drives["system"] + "/" + drives["condition"]
        routes = drives["route"].map(self.routes.index).to_numpy(np.int64)
        return OutcomeRows(
            violated=drives["violated"].to_numpy(np.float64),
            routes=routes,
            systems=drives["system"].map(systems.index).to_numpy(np.int64),
            cells=np.unique(names.to_numpy(str), return_inverse=True)[1].astype(np.int64),
            towns=self.number_towns()[routes],
        )

    def number_towns(self) -> Integers:
        """Return the number of each route's town: (routes,)."""
        return np.unique(self.towns, return_inverse=True)[1].astype(np.int64)

    def select_system(self, values: Floats, system: str) -> Floats:
        """Return (routes, systems, columns) of one system, or of all."""
        if system == ALL_SYSTEMS:
            return values
        at = self.systems.index(system)
        return values[:, at : at + 1]


@dataclass(frozen=True, slots=True, eq=False)
class ReferenceModels:
    """Held-out probabilities of what findings are compared with, (rows,) each."""

    rows: OutcomeRows
    base: Floats
    trivial: Floats


def judge_findings(
    study: MeasuredStudy,
    on_finding: Callable[[], None] = lambda: None,
    *,
    tests_to_come: int = 0,
) -> pd.DataFrame:
    """Return a row for each finding and system; tests are of all systems together.

    Args:
        study: what was measured.
        on_finding: is called after each finding.
        tests_to_come: see `add_verdicts`.
    """
    table: list[dict[str, object]] = []
    scopes = [ALL_SYSTEMS, *(study.systems if len(study.systems) > 1 else [])]
    models = {scope: predict_references(study, scope) for scope in scopes}
    towns = study.number_towns()
    permutations = sample_permutations(towns)
    for number, finding in enumerate(study.findings):
        for scope in scopes:
            known = models[scope]
            column = study.select_system(study.values, scope)[: known.rows.count_routes, :, number]
            trivial = study.select_system(study.trivial, scope)[: known.rows.count_routes]
            row = describe_prediction(known, column, trivial)
            if scope == ALL_SYSTEMS:
                row["p predictor"] = compute_finding_p(
                    column,
                    trivial,
                    base=sum_route_residuals(known.rows, known.base),
                    informed=sum_route_residuals(known.rows, known.trivial),
                    towns=towns,
                    permutations=permutations,
                )
            effect = estimate_finding_effect(study, finding, scope)
            names = {
                "kind": finding.kind,
                "finding": finding.name,
                "range": BAND_LABELS[finding.band],
                "system": scope,
            }
            table.append({**names, **row, **describe_effect(effect, tested=scope == ALL_SYSTEMS)})
        on_finding()
    return add_verdicts(pd.DataFrame(table), tests_to_come=tests_to_come)


def predict_references(study: MeasuredStudy, scope: str) -> ReferenceModels:
    """Return the held-out probabilities of the base rate and of the trivial predictors."""
    rows = study.make_outcome_rows(scope)
    trivial = study.select_system(study.trivial, scope)[: rows.count_routes]
    return ReferenceModels(
        rows,
        predict_held_out_routes(rows, trivial[:, :, :0]),
        predict_held_out_routes(rows, trivial),
    )


def describe_prediction(
    known: ReferenceModels, column: Floats, trivial: Floats
) -> dict[str, object]:
    """Return how much a finding lowers the losses of both references."""
    alone = predict_held_out_routes(known.rows, column[:, :, None])
    added = predict_held_out_routes(known.rows, np.dstack([trivial, column]))
    gains = {
        "lower log loss": estimate_lower_loss(known.rows, added, known.trivial),
        "lower Brier": estimate_lower_loss(known.rows, added, known.trivial, brier=True),
        "lower log loss than base": estimate_lower_loss(known.rows, alone, known.base),
    }
    row: dict[str, object] = {"p predictor": math.nan}
    for name, estimate in gains.items():
        row |= spread_estimate(name, estimate)
    return row | {"rows": len(known.rows.violated), "routes": len(np.unique(known.rows.routes))}


def spread_estimate(name: str, estimate: IntervalEstimate) -> dict[str, object]:
    """Return an estimate as three columns."""
    return {name: estimate.value, f"{name} low": estimate.low, f"{name} high": estimate.high}


def estimate_finding_effect(
    study: MeasuredStudy, finding: OfflineFinding, scope: str
) -> RepairEffect | None:
    """Return what a drive without the failure is like; None where no drive shows it."""
    if finding.band != ALL_RANGES:
        return None
    drives = study.drives
    if scope != ALL_SYSTEMS:
        drives = drives[drives["system"] == scope]
    if finding.kind == "pattern" and finding.name in study.repairs:
        return estimate_repair_effect(drives, study.repairs[finding.name])
    if finding.name in LATE_OPERATORS:
        return estimate_latency_effect(drives)
    return None


def describe_effect(effect: RepairEffect | None, *, tested: bool) -> dict[str, object]:
    """Return the columns of an effect."""
    estimate = NO_ESTIMATE if effect is None else effect.difference
    return {
        "p cause": effect.p if effect is not None and tested else math.nan,
        **spread_estimate("effect", estimate),
        "pairs": 0 if effect is None else effect.pairs,
        "fewer": 0 if effect is None else effect.fewer,
        "more": 0 if effect is None else effect.more,
    }


def add_verdicts(table: pd.DataFrame, *, tests_to_come: int = 0) -> pd.DataFrame:
    """Return the table with Holm's p of one family, and what each finding is called.

    The effect of latency stands in two rows and is one test: it is counted once.

    Args:
        table: of findings, with the p values of their tests.
        tests_to_come: tests of the family whose data are not whole yet. Each counts with p = 1:
            corrected p values can only become smaller when it is made.
    """
    causes = table["p cause"].where(~is_repeated_effect(table))
    to_come = np.ones(tests_to_come)
    family = np.concatenate([table["p predictor"], causes, to_come]).astype(np.float64)
    adjusted = compute_holm_p_values(family)
    table = table.assign(
        **{
            "Holm predictor": adjusted[: len(table)],
            "Holm cause": adjusted[len(table) : 2 * len(table)],
        }
    )
    late = table["finding"].isin(LATE_OPERATORS) & table["p cause"].notna()
    table.loc[late, "Holm cause"] = table.loc[late, "Holm cause"].max()
    return table.assign(verdict=[name_verdict(row) for _, row in table.iterrows()])


def is_repeated_effect(table: pd.DataFrame) -> pd.Series:
    """Return which rows repeat the effect of an earlier row."""
    late = table["finding"].isin(LATE_OPERATORS)
    return late & table.assign(late=late).duplicated(["late", "system"])


def name_verdict(row: pd.Series) -> str:
    """Return what a finding is called; rows of single systems are not called anything."""
    if row["system"] != ALL_SYSTEMS:
        return ""
    helps = row["lower log loss"] > 0 and row["lower log loss than base"] > 0
    predicts = row["Holm predictor"] < LEVEL and helps
    causes = row["Holm cause"] < LEVEL and row["effect"] < 0
    if predicts and causes:
        return "predictor and cause"
    if predicts or causes:
        return "predictor" if predicts else "cause"
    untested = np.isnan(row["Holm predictor"]) and np.isnan(row["Holm cause"])
    return "not tested" if untested else "neither shown"


def build_score_table(study: MeasuredStudy) -> pd.DataFrame:
    """Return the scores of the trivial predictors and of all findings together, held out."""
    rows = study.make_outcome_rows()
    kinds = np.array([finding.kind for finding in study.findings])
    trivial, values = study.trivial[: rows.count_routes], study.values[: rows.count_routes]
    inputs: dict[str, Floats] = {BASE_RATE: trivial[:, :, :0]}
    inputs |= {name: trivial[:, :, at : at + 1] for at, name in enumerate(TRIVIAL)}
    inputs[TRIVIAL_MODEL] = trivial
    inputs |= {f"all {kind}s": values[:, :, kinds == kind] for kind in ("pattern", "operator")}
    inputs["everything"] = np.dstack([trivial, values])
    return score_models(
        rows, {name: predict_held_out_routes(rows, columns) for name, columns in inputs.items()}
    )

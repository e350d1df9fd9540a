"""The table of a retraining experiment, with intervals over scenarios and seeds together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analysis.report.html import format_counted_noun
from harness.common.randomness import make_named_stream
from harness.types.vocabulary import Floats
from studies.metamorphic.judging.rows import RECORDED_OPERATOR
from studies.metamorphic.retraining.experiment import (
    BUDGETS,
    RetrainingExperiment,
    list_retraining_arms,
)
from studies.metamorphic.tables.summary import (
    StudyTables,
    collect_class_detections,
    compute_class_mean_precision,
    sample_cluster_weights,
)
from studies.metamorphic.tables.text_sheet import TextSheet

RESAMPLED = 400
CHECKS = ("misled", "occlusion", "long_range_30")


def build_comparison_sheet(experiment: RetrainingExperiment, tables: StudyTables) -> TextSheet:
    """Return what weights of each guide and budget do, shipped weights first."""
    clusters = sorted(tables.objects["cluster"].unique())
    shipped = [experiment.scheme]
    # weights as shipped, to compare with
    base = compute_comparison_columns(tables, shipped, clusters)
    rows = [("shipped", "-", *(format_difference_from_shipped(values) for values in base))]
    for budget in BUDGETS:
        for guide in experiment.guides:
            # all training seeds of a guide and budget
            chosen = [
                arm
                for arm in list_retraining_arms(experiment)
                if (arm.guide, arm.budget) == (guide, budget)
            ]
            names = [find_arm_system(tables, arm.name) for arm in chosen]
            values = compute_comparison_columns(tables, names, clusters)
            cells = (
                format_difference_from_shipped(ours, other)
                for ours, other in zip(values, base, strict=True)
            )
            rows.append((guide, budget, *cells))
    operators = format_counted_noun(len(list_tested_operators(tables)), "operator")
    seeds = format_counted_noun(len(experiment.seeds), "seed")
    return TextSheet(
        name="retraining",
        title=f"{experiment.scheme} trained further on what guides keep",
        head=("guide", "equal", "AP clean", "AP changed", *(f"{check} rate" for check in CHECKS)),
        rows=tuple(rows),
        names=2,
        note=f"Tested on {len(clusters)} other scenarios; changed: mean of {operators}. In brackets"
        " the 95 % interval of the difference from the shipped weights, scenarios and"
        f" {seeds} resampled together.",
    )


def list_tested_operators(tables: StudyTables) -> list[str]:
    """Return the operators of the test."""
    return tables.tested


def find_arm_system(tables: StudyTables, arm: str) -> str:
    """Return the system that has an arm's weights."""
    return next(name for name in tables.systems if f"/{arm}/" in name)


def compute_comparison_columns(
    tables: StudyTables, systems: Sequence[str], clusters: list[str]
) -> list[Floats]:
    """Return clean and changed precision and rates: the value, then resampled ones."""
    # (1 + resamples, clusters): the scenarios as they are, then resampled
    weights = np.vstack([np.ones(len(clusters)), sample_cluster_weights(len(clusters))])
    seeds = make_named_stream(0, "training seeds", str(len(systems))).integers(
        len(systems), size=(RESAMPLED, len(systems))
    )
    # (1 + resamples, systems): training seeds resampled in the same rounds
    takes = np.vstack([np.arange(len(systems)), seeds])
    operators = list_tested_operators(tables)
    # by system: (1 + resamples,) values
    clean = [
        compute_precisions(tables, name, RECORDED_OPERATOR, clusters, weights=weights)
        for name in systems
    ]
    changed = [
        np.mean(
            [compute_precisions(tables, name, op, clusters, weights=weights) for op in operators], 0
        )
        for name in systems
    ]
    per_check = [
        [compute_error_rates(tables, name, check, clusters, weights=weights) for name in systems]
        for check in CHECKS
    ]
    return [
        average_over_seed_sets(np.array(values), takes) for values in (clean, changed, *per_check)
    ]


def average_over_seed_sets(values: Floats, takes: np.ndarray) -> Floats:
    """Return for every set of scenarios the mean over a set of seeds: seeds in rows before."""
    return np.array([values[rows, number].mean() for number, rows in enumerate(takes)])


def compute_precisions(
    tables: StudyTables, system: str, operator: str, clusters: list[str], *, weights: Floats
) -> Floats:
    """Return average precision under every row of weights."""
    sides = (tables.select_rows(name, system, operator) for name in ("detections", "objects"))
    wanted = "recorded" if operator == RECORDED_OPERATOR else "changed"
    detections, objects = (s[(s["side"] == wanted) & (s["hits"] == "before")] for s in sides)
    return compute_class_mean_precision(
        collect_class_detections(detections, objects, clusters), weights
    )


def compute_error_rates(
    tables: StudyTables, system: str, check: str, clusters: list[str], *, weights: Floats
) -> Floats:
    """Return the rate of an error over all changed scenes, under every row of weights."""
    sums = np.zeros((len(clusters), 2))
    for operator in list_tested_operators(tables):
        rows = tables.select_rows("checks", system, operator)
        rows = rows[(rows["check"] == check) & (rows["side"] == "changed")]
        rows = rows[rows["hits"] == "before"]
        part = rows.groupby("cluster")[["count", "exposed"]].sum()
        sums += part.reindex(clusters, fill_value=0).to_numpy(np.float64)
    totals = weights @ sums
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(totals[:, 0] / totals[:, 1])


def format_difference_from_shipped(values: Floats, base: Floats | None = None) -> str:
    """Return a value, and the interval of its difference from the shipped weights'.

    A rate of nothing exposed is a dash.
    """
    if np.isnan(values[0]):
        return "-"
    if base is None:
        return f"{values[0]:.3f}"
    differences = (values - base)[1:]
    low, high = np.nanpercentile(differences, [2.5, 97.5])
    return f"{values[0]:.3f} ({low:+.3f} to {high:+.3f})"

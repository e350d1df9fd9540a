"""Everything in a report, computed once: tables, comparisons, regressions, cases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from analysis.arms import arms_in, settings_in
from analysis.attempt import writable
from analysis.attribution import Attribution, attributions_of, notes_on_twins
from analysis.cases import Case, cases_of, cases_to_show
from analysis.collection import KEY, Collection, as_recorded, row_key
from analysis.contrasts import Contrasts, contrasts_of
from analysis.declaration import Declaration, declare
from analysis.drawing.canvas import Canvas
from analysis.drive import drive_of
from analysis.figures.birds_eye import last_seconds_of, render_strip
from analysis.regression.by_condition import ConditionFits, fit_condition
from analysis.tables.all_tables import tables_of
from analysis.tables.table import Table
from harness.records.ledger import key_of, lines

MOST_STRIPS = 40
"""Violations that are drawn; the others are listed."""
PASSES = 3
"""How often every attempt's tables are gone through, besides once for each condition."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Report:
    """The contents of a report."""

    collection: Collection
    results_only: bool
    tables: dict[str, Table]
    contrasts: Contrasts
    regressions: tuple[ConditionFits, ...]
    declaration: Declaration
    cases: list[Case]
    strips: list[tuple[Case, list[Canvas]]]
    attributions: list[Attribution]
    broken_twins: list[str]  # a line for each
    notes: list[str]  # besides those of the collection
    failures: pd.DataFrame


def gather(collection: Collection, results_only: bool, stage: Callable[[str], None]) -> Report:
    """Compute everything; `stage` is called with the name of each stage."""
    tables = tables_of(collection, results_only, stage)
    stage("comparisons")
    contrasts = contrasts_of(collection)
    regressions = []
    for condition in settings_in(arms_in(collection.attempts)):
        stage(f"regression, {condition}")
        whole = None if results_only else collection
        regressions.append(fit_condition(collection.attempts, condition, collection=whole))
    declaration = declare(contrasts, regressions)
    cases = cases_of(collection)
    attributions, broken_twins = attributions_of(cases)
    stage("violations")
    undrawn = results_only or collection.packed
    strips = [] if undrawn else render_strips(cases, collection.on_attempt)
    return Report(
        collection=collection,
        results_only=results_only,
        tables={table.name: table for table in tables},
        contrasts=declaration.contrasts,
        regressions=tuple(regressions),
        declaration=declaration,
        cases=cases,
        strips=strips,
        attributions=attributions,
        broken_twins=broken_twins,
        notes=notes_on_twins(cases),
        failures=failures_of(collection),
    )


def render_strips(cases: list[Case], looked: Callable[[], None]) -> list[tuple[Case, list[Canvas]]]:
    """Draw some of the cases."""
    strips = []
    for case in cases_to_show(cases, MOST_STRIPS):
        drive = drive_of(case.campaign, case.key)
        looked()
        if drive is not None:
            strips.append((case, render_strip(last_seconds_of(drive))))
    return strips


def failures_of(collection: Collection) -> pd.DataFrame:
    """Return the tries that failed, by what failed them, and how many attempts were done later."""
    tries = [
        {"source": number, **line, **dict(zip(KEY, row_key(key_of(line)), strict=True))}
        for number, campaign in enumerate(collection.campaigns)
        for line in lines(campaign.folder)
        if line["outcome"] == "failed"
    ]
    failed = pd.DataFrame(tries, columns=["source", *KEY, "failure"])
    key = ["source", *KEY]
    done = pd.MultiIndex.from_frame(as_recorded(collection.attempts)[key])
    rows = []
    for failure, tries_of_failure in failed.groupby("failure", dropna=False, sort=True):
        attempts = tries_of_failure.drop_duplicates(key)
        later = int(pd.MultiIndex.from_frame(attempts[key]).isin(done).sum())
        rows.append((writable(str(failure)), len(tries_of_failure), len(attempts), later))
    return pd.DataFrame(rows, columns=["failure", "tries", "attempts", "done later"])

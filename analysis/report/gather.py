"""Everything a report tells, computed once: tables, comparisons, regressions, cases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from analysis.arms import arms_in, settings_in
from analysis.attempt import writable
from analysis.attribution import Attribution, attributions_of
from analysis.cases import Case, cases_of, some_of
from analysis.collection import KEY, Collection, row_key
from analysis.contrasts import Contrasts, contrasts_of
from analysis.declaration import Declaration, declare
from analysis.drawing.canvas import Canvas
from analysis.drive import drive_of
from analysis.figures.birds_eye import draw_strip, story_of
from analysis.regression.by_condition import Findings, analyse
from analysis.tables.all_tables import tables_of
from analysis.tables.table import Table
from harness.records.ledger import key_of, lines

MOST_STRIPS = 40
"""Violations that are drawn; the others are listed."""
PASSES = 3
"""How often every attempt's tables are gone through, besides once for each condition."""


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """What a report tells."""

    found: Collection
    results_only: bool
    tables: dict[str, Table]
    contrasts: Contrasts
    regressions: tuple[Findings, ...]
    declaration: Declaration
    cases: list[Case]
    strips: list[tuple[Case, list[Canvas]]]
    attributions: list[Attribution]
    failures: pd.DataFrame


def gather(found: Collection, results_only: bool, stage: Callable[[str], None]) -> Report:
    """Compute everything; `stage` is told what is being done."""
    tables = tables_of(found, results_only, stage)
    stage("comparisons")
    contrasts = contrasts_of(found)
    regressions = []
    for condition in settings_in(arms_in(found.attempts)):
        stage(f"regression, {condition}")
        whole = None if results_only else found
        regressions.append(analyse(found.attempts, condition, found=whole))
    declaration = declare(contrasts, regressions)
    cases = cases_of(found)
    stage("violations")
    strips = [] if results_only else draw_some(cases, found.looked)
    return Report(
        found,
        results_only,
        {table.name: table for table in tables},
        declaration.contrasts,
        tuple(regressions),
        declaration,
        cases,
        strips,
        attributions_of(cases),
        failures_of(found),
    )


def draw_some(cases: list[Case], looked: Callable[[], None]) -> list[tuple[Case, list[Canvas]]]:
    """Draw some of the cases."""
    strips = []
    for case in some_of(cases, MOST_STRIPS):
        drive = drive_of(case.campaign, case.key)
        looked()
        if drive is not None:
            strips.append((case, draw_strip(story_of(drive))))
    return strips


def failures_of(found: Collection) -> pd.DataFrame:
    """Return the tries that failed, by what failed them, and how many attempts were done later."""
    tries = [
        {"campaign": number, **line, **dict(zip(KEY, row_key(key_of(line)), strict=True))}
        for number, campaign in enumerate(found.campaigns)
        for line in lines(campaign.folder)
        if line["outcome"] == "failed"
    ]
    failed = pd.DataFrame(tries, columns=["campaign", *KEY, "failure"])
    key = ["campaign", *KEY]
    done = pd.MultiIndex.from_frame(found.attempts[key])
    rows = []
    for failure, own in failed.groupby("failure", dropna=False, sort=True):
        attempts = own.drop_duplicates(key)
        later = int(pd.MultiIndex.from_frame(attempts[key]).isin(done).sum())
        rows.append((writable(str(failure)), len(own), len(attempts), later))
    return pd.DataFrame(rows, columns=["failure", "tries", "attempts", "done later"])

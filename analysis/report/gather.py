"""Everything in a report, computed once: tables, comparisons, regressions, cases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from analysis.arms import group_arms_by_setting, list_arms
from analysis.attempt import escape_surrogates
from analysis.campaign_labels import restore_arm_names
from analysis.cases import ViolationCase, list_violation_cases, select_shown_cases
from analysis.collection import ATTEMPT_KEY, CampaignCollection, make_row_key
from analysis.contrasts import ArmContrasts, compute_contrasts
from analysis.declaration import FamilyDeclaration, declare_tests
from analysis.drawing.canvas import Canvas
from analysis.drive import read_recorded_drive
from analysis.figures.birds_eye import collect_last_seconds, render_strip
from analysis.regression.by_condition import ConditionFits, fit_condition
from analysis.replay.views import read_front_pictures, render_view_files
from analysis.tables.all_tables import build_all_tables
from analysis.tables.table import EstimatesTable
from harness.records.ledger import get_line_key, iter_ledger_lines
from studies.attribution.tables import (
    ViolationAttribution,
    attribute_violations,
    describe_unpacked_twins,
)

MOST_STRIPS = 40
"""Violations that are drawn; the others are listed."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CaseStrip:
    """A violation and what led to it, drawn.

    Attributes:
        case: the violation.
        canvases: from above.
        views: what front cameras see at the same moments, JPEG; none where no pictures were kept.
    """

    case: ViolationCase
    canvases: list[Canvas]
    views: list[bytes]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ReportContents:
    """The contents of a report.

    Attributes:
        results_only: tables that need frames are left out.
        tables: by name.
        strips: pictures of a violation and what led to it.
    """

    collection: CampaignCollection
    results_only: bool
    tables: dict[str, EstimatesTable]
    contrasts: ArmContrasts
    regressions: tuple[ConditionFits, ...]
    declaration: FamilyDeclaration
    cases: list[ViolationCase]
    strips: list[CaseStrip]
    attributions: list[ViolationAttribution]
    broken_twins: list[str]  # a line for each
    notes: list[str]  # besides those of the collection
    failures: pd.DataFrame


def gather_report(
    collection: CampaignCollection, results_only: bool, stage: Callable[[str], None]
) -> ReportContents:
    """Compute everything; `stage` is called with the name of each stage.

    Args:
        collection: campaigns that were read.
        results_only: leave out tables that need more than `result.json`.
        stage: is called with the name of each stage, for progress.
    """
    tables = build_all_tables(collection, results_only, stage)
    stage("comparisons")
    contrasts = compute_contrasts(collection)
    # one set of regressions for each condition
    regressions = []
    for condition in group_arms_by_setting(list_arms(collection.attempts)):
        stage(f"regression, {condition}")
        whole = None if results_only else collection
        regressions.append(fit_condition(collection.attempts, condition, collection=whole))
    # significance needs all tests of the page together
    declaration = declare_tests(contrasts, regressions)
    cases = list_violation_cases(collection)
    attributions, broken_twins = attribute_violations(cases)
    stage("violations")
    # pictures need boxes and tracks
    undrawn = results_only or collection.packed
    strips = [] if undrawn else render_case_strips(cases, collection.on_attempt)
    return ReportContents(
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
        notes=describe_unpacked_twins(cases),
        failures=count_failed_tries(collection),
    )


def render_case_strips(cases: list[ViolationCase], looked: Callable[[], None]) -> list[CaseStrip]:
    """Draw some of the cases."""
    strips = []
    for case in select_shown_cases(cases, MOST_STRIPS):
        drive = read_recorded_drive(case.campaign, case.key)
        looked()
        if drive is not None:
            story = collect_last_seconds(drive)
            views = render_view_files(story.snapshots, read_front_pictures(drive))
            strips.append(CaseStrip(case=case, canvases=render_strip(story), views=views))
    return strips


def count_failed_tries(collection: CampaignCollection) -> pd.DataFrame:
    """Return the tries that failed, by what failed them, and how many attempts were done later."""
    # lines of all ledgers
    tries = [
        {
            "source": number,
            **line,
            **dict(zip(ATTEMPT_KEY, make_row_key(get_line_key(line)), strict=True)),
        }
        for number, campaign in enumerate(collection.campaigns)
        for line in iter_ledger_lines(campaign.folder)
        if line["outcome"] == "failed"
    ]
    failed = pd.DataFrame(tries, columns=["source", *ATTEMPT_KEY, "failure"])
    # an attempt counts as done later if it has a result now
    key = ["source", *ATTEMPT_KEY]
    done = pd.MultiIndex.from_frame(restore_arm_names(collection.attempts)[key])
    rows = []
    for failure, tries_of_failure in failed.groupby("failure", dropna=False, sort=True):
        attempts = tries_of_failure.drop_duplicates(key)
        later = int(pd.MultiIndex.from_frame(attempts[key]).isin(done).sum())
        rows.append((escape_surrogates(str(failure)), len(tries_of_failure), len(attempts), later))
    return pd.DataFrame(rows, columns=["failure", "tries", "attempts", "done later"])

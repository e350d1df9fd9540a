"""All whole routes of a study as arrays and tables, and what was left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from harness.common.errors import UserError
from harness.types.record_names import PATTERNS
from studies.offline_to_violation.block_findings import BlockFindings
from studies.offline_to_violation.findings import (
    TRIVIAL,
    list_offline_findings,
    stack_columns,
    summarise_patterns,
    summarise_relations,
)
from studies.offline_to_violation.plan import OfflinePlan
from studies.offline_to_violation.verdicts import MeasuredStudy

FEW_ROUTES, FEW_VIOLATIONS = 20, 10


@dataclass(frozen=True, slots=True, eq=False)
class StudyReading:
    """What a study's folder holds."""

    study: MeasuredStudy
    notes: tuple[str, ...]


def read_measured_study(plan: OfflinePlan, blocks: Sequence[BlockFindings]) -> StudyReading:
    """Return the whole routes of a study, and notes on the others.

    Raises:
        UserError: no route is whole.
    """
    whole = [block for block in blocks if not block.problem]
    notes = [f"{block.route.name}: left out: {block.problem}" for block in blocks if block.problem]
    if not whole:
        raise UserError("; ".join(notes) or "no route was started")
    # offline: a row for each route and system
    counts = pd.concat([block.patterns for block in whole], ignore_index=True)
    measures = pd.concat([block.measures for block in whole], ignore_index=True)
    scenes = counts.groupby(["route", "system"]).size().rename("scenes").reset_index()
    table = summarise_patterns(counts).join(summarise_relations(measures, scenes))
    reveal = {block.route.name: block.reveal for block in whole}
    table["reveal time"] = [reveal[route] for route, _ in table.index]
    # driven
    drives = pd.concat([block.select_drives() for block in whole], ignore_index=True)
    repairs = pd.concat([block.select_repairs(plan) for block in whole], ignore_index=True)
    routes, systems = [block.route.name for block in whole], list(plan.systems)
    findings = list_offline_findings(plan.operators)
    study = MeasuredStudy(
        routes=routes,
        towns=[block.route.group for block in whole],
        systems=systems,
        drives=drives,
        repairs={name: repairs[repairs["repair"] == name] for name in PATTERNS},
        findings=findings,
        values=stack_columns(table, [finding.column for finding in findings], routes, systems),
        trivial=stack_columns(table, list(TRIVIAL), routes, systems),
    )
    return StudyReading(study, (*notes, *list_study_notes(study, whole, repairs)))


def list_study_notes(
    study: MeasuredStudy, whole: Sequence[BlockFindings], repairs: pd.DataFrame
) -> list[str]:
    """Return what readers of the table must know."""
    violations = int(study.drives["violated"].sum())
    notes = [
        f"routes: {len(study.routes)}; drives without a repair: {len(study.drives)}, with"
        f" violations: {violations}; routes with repairs: {repairs['route'].nunique()}"
    ]
    if len(study.routes) < FEW_ROUTES or violations < FEW_VIOLATIONS:
        notes.append(
            f"fewer than {FEW_ROUTES} routes or {FEW_VIOLATIONS} violations: nothing can be shown"
        )
    if unequal := sum(block.count_unequal_repeats() for block in whole):
        notes.append(f"{unequal} drives without a repair ended otherwise when they were repeated")
    constant = [
        finding.label
        for at, finding in enumerate(study.findings)
        if not has_variation(study.values[:, :, at])
    ]
    if constant:
        notes.append(f"not tested, equal or unknown on all routes: {', '.join(constant)}")
    return notes


def has_variation(values: np.ndarray) -> bool:
    """Return whether a finding differs between routes within some system."""
    known = [column[np.isfinite(column)] for column in values.T]
    return any(len(column) > 1 and np.ptp(column) > 0 for column in known)

"""Follows a study while it is driven: the announcement, progress, tables, the exit code."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

from harness.campaign.exports.exporting import add_export_listener
from harness.campaign.planning.estimate import STARTING, ExpectedAttempts, estimate_by_metre
from harness.campaign.planning.paces import select_known_paces, update_paces
from harness.campaign.planning.plan import is_on_this_machine
from harness.campaign.printing.progress import follow_progress, print_event
from harness.campaign.printing.terminal import print_campaign_line
from harness.campaign.run import DONE, SOME_FAILED
from harness.campaign.running.work_queue import CampaignProgress
from harness.common.piece_rates import WorkPiece
from harness.common.terminal_lines import print_problem
from harness.records.ledger import list_finished_attempts
from studies.decide.driving import (
    MissingResultError,
    StudyState,
    drive_study,
    is_budget_spent,
    open_study_driver,
)
from studies.decide.log import open_decide_log
from studies.decide.outcomes import Outcomes
from studies.decide.planning import DecidePlan
from studies.decide.tables import list_progress_events, show_study_plan, show_study_progress


def follow_and_drive(plan: DecidePlan, folder: Path, known: Outcomes) -> int:
    """Drive what is left of a study, with a table after each batch; return the exit code.

    Args:
        plan: of the study.
        folder: of its campaign, locked and prepared.
        known: outcomes of attempts that were driven elsewhere.
    """
    mode = plan.campaign["progress"]
    if mode in ("live", "plain"):
        show_study_plan(plan)
        print_campaign_line(f"{'folder':14}{folder}")
        show_known_drives(len(known))
    before = list_finished_attempts(folder)
    ideal = len(plan.ideal) * len(plan.stratified.routes)
    done = len(before | known.keys())
    standing = CampaignProgress(plan.declaration.most + ideal, done, 0)
    expected = expect_drives(plan, standing.attempts - standing.done)
    workers = plan.planned.at_a_time
    state: StudyState | None = None
    try:
        with (
            follow_progress(mode, standing, workers, expected, at_most=True) as listener,
            add_export_listener(plan.campaign, folder, listener) as listeners,
            open_study_driver(plan, folder, listeners, known) as driver,
            open_decide_log(folder) as log,
        ):
            for state in drive_study(plan, driver, log):
                report_batch(plan, state, mode, known=log.replaying)
    except MissingResultError as problem:
        print_problem(f"decide: {problem}")
        return SOME_FAILED
    finally:
        if is_on_this_machine(plan.campaign["executor"]):
            update_paces(plan.planned, folder, plan.campaign, before)
    assert state is not None
    if mode != "json":
        show_study_progress(plan, state)
        print_campaign_line(f"records: {folder}")
    return DONE


def show_known_drives(count: int) -> None:
    """Print how many drives packed parts hold; nothing without any."""
    if count:
        print_campaign_line(f"{'known':14}{count} in packed parts, not driven again")


def report_batch(plan: DecidePlan, state: StudyState, mode: str, *, known: bool) -> None:
    """Print what is known after a batch, unless an earlier command has printed it.

    Args:
        plan: of the study.
        state: after the batch.
        mode: of progress.
        known: whether the record has further lines: the batch was driven before.
    """
    ended = is_budget_spent(plan, state)
    if known or not state.batches:
        return
    if mode == "json":
        print_event(
            event="batch",
            batch=state.batches,
            pairs=state.pairs,
            drives=len(state.drives),
            comparisons=list_progress_events(plan, state.comparisons, ended),
        )
    # the last table is printed at the end
    elif mode in ("live", "plain") and state.open_comparisons and not ended:
        show_study_progress(plan, state)


def expect_drives(plan: DecidePlan, count: int) -> ExpectedAttempts:
    """Return what so many drives are expected to take: of a mean route and system."""
    paces = select_known_paces(plan.campaign)
    systems = dict.fromkeys(arm.system for pair in plan.arms.values() for arm in pair)
    metres = fmean(one.route.length for one in plan.planned.assignments)
    seconds = fmean(estimate_by_metre(metres, paces.get(name))[0] for name in systems)
    pieces = (WorkPiece(expected=STARTING + seconds),) * max(count, 0)
    return ExpectedAttempts(waiting=pieces, in_seconds=all(name in paces for name in systems))

"""How evaluations are followed: a live table with a line for each worker, lines, JSON, or nothing.

An evaluation of a search has one number everywhere: that of the ledger, from 0. It is in the name
of the condition, too (`e0003`). Drives that confirm, shrink or estimate a rate are counted from 1.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import fmean

from rich.console import Console
from rich.live import Live

from harness.campaign.attempt.tasks import AttemptOutcome
from harness.campaign.planning.estimate import (
    STARTING,
    ExpectedAttempts,
    compute_mean_cost,
    estimate_by_metre,
    measure_finished_attempts,
)
from harness.campaign.planning.paces import select_known_paces
from harness.campaign.planning.plan import count_cores, is_on_this_machine
from harness.campaign.printing.progress import LiveTable, QuietListener
from harness.campaign.printing.tables import format_quantity, show_note
from harness.campaign.printing.terminal import console, print_campaign_line
from harness.campaign.printing.units import format_duration
from harness.campaign.running.work_queue import CampaignProgress
from harness.common.piece_rates import WorkPiece
from harness.common.remaining_time import schedule_pieces
from harness.common.terminal_lines import print_plain_line
from harness.records.ledger import find_finished_tries
from studies.search.candidates import SearchEvaluation
from studies.search.configuration import SearchPlan, format_parameter_values


@dataclass(frozen=True, slots=True, kw_only=True)
class DrivenEvaluations:
    """What is about to be driven.

    Attributes:
        plan: in words, for the first line.
        total: evaluations; where fewer may do, the most.
        done: of them, in the ledger.
        at_most: whether fewer may do.
        word: for one of them, where they are no evaluations of a search.
        shares: of the time of a random evaluation that each one is expected to take; () for all 1.
    """

    plan: str
    total: int
    done: int
    at_most: bool = False
    word: str = ""
    shares: tuple[float, ...] = ()

    @property
    def shares_left(self) -> list[float]:
        """Expected seconds of what is left, as shares of the mean of what is done.

        Of the time of a random evaluation, where nothing is done.
        """
        if not self.shares:
            return [1.0] * self.left
        known = fmean(self.shares[: self.done] or [1.0])
        return [share / known for share in self.shares[self.done :]]

    @property
    def left(self) -> int:
        """How many are not in the ledger; where fewer may do, the most."""
        return max(self.total - self.done, 0)

    def format_line(self, evaluation: SearchEvaluation) -> str:
        """Return an evaluation on one line."""
        number, outcome = evaluation.candidate.number, evaluation.outcome
        values = format_parameter_values(evaluation.candidate.values)
        which = f"{self.word} {number + 1} of {self.total}" if self.word else f"evaluation {number}"
        return f"  {which}: {outcome.outcome}  ({values})"


class SearchFollower(QuietListener):
    """Is called as evaluations are driven, and when they are in the ledger; prints nothing."""

    def note_evaluation(self, evaluation: SearchEvaluation) -> None:
        """An evaluation is in the ledger."""


class PlainEvaluations(SearchFollower):
    """Prints one line for every evaluation."""

    def __init__(self, driven: DrivenEvaluations) -> None:
        self._of = driven

    def note_evaluation(self, evaluation: SearchEvaluation) -> None:
        """Print what it gave."""
        print_plain_line(console, self._of.format_line(evaluation))


class JsonEvaluations(SearchFollower):
    """Prints the ledger's line of every evaluation."""

    def note_evaluation(self, evaluation: SearchEvaluation) -> None:
        """Print it."""
        print(json.dumps(evaluation.to_record()), flush=True)


class EvaluationsTable(LiveTable, SearchFollower):
    """Shows what every worker drives; evaluations scroll by above it, in the ledger's order."""

    def __init__(
        self, driven: DrivenEvaluations, workers: int, out: Console, *, expected: ExpectedAttempts
    ) -> None:
        standing = CampaignProgress(driven.total, driven.done, 0)
        super().__init__(standing, workers, out, expected=expected, at_most=driven.at_most)
        self._of = driven
        self._driven = 0  # attempts that have ended, and are not in the ledger yet

    def ends(self, worker: int, outcome: AttemptOutcome, again: bool) -> None:
        """Count; the evaluation's line is printed when the ledger has it."""
        self.count_ended(worker, outcome, again)
        self._driven += not again

    def note_evaluation(self, evaluation: SearchEvaluation) -> None:
        """Print what it gave; one that an earlier run had driven counts now."""
        print_plain_line(self._out, self._of.format_line(evaluation))
        if self._driven:
            self._driven -= 1
        else:
            self.skip_attempt()


def show_evaluations_plan(ready: SearchPlan, driven: DrivenEvaluations) -> None:
    """Print what would be driven, how long it would take, and where: `dry_run=true`.

    Args:
        ready: what would be driven.
        driven: how many evaluations, and of what.
    """
    announce_evaluations(ready, driven, expect_evaluations(ready, driven.shares_left))


@contextmanager
def follow_evaluations(
    ready: SearchPlan, driven: DrivenEvaluations, *, mode: str | None = None
) -> Iterator[SearchFollower]:
    """Print the plan, and follow evaluations.

    Args:
        ready: what is driven, and on how many workers.
        driven: how many evaluations, and of what.
        mode: live, plain, json or quiet; None: the configuration's.
    """
    mode = ready.campaign["progress"] if mode is None else mode
    workers = ready.campaign["executor"].get("workers", 1)
    expected = expect_evaluations(ready, driven.shares_left)
    if mode in ("live", "plain"):
        announce_evaluations(ready, driven, expected)
    if mode == "live" and console.is_terminal:
        table = EvaluationsTable(driven, workers, console, expected=expected)
        with Live(table, console=console, refresh_per_second=4, transient=True):
            yield table
    elif mode in ("live", "plain"):
        yield PlainEvaluations(driven)
    elif mode == "json":
        yield JsonEvaluations()
    else:
        yield SearchFollower()


def expect_evaluations(ready: SearchPlan, shares: Sequence[float]) -> ExpectedAttempts:
    """Return what evaluations are expected to take.

    By the mean of the evaluations that the search has driven already: drives that end early in a
    collision are among them. Before there are any, by the mean of all routes, as this machine drove
    the system.

    Args:
        ready: what is driven.
        shares: of that mean, for each evaluation.
    """
    if driven := measure_finished_attempts(find_finished_tries(ready.folder)):
        seconds, known = compute_mean_cost(list(driven.values()))[0], True
    else:
        (system,) = ready.campaign["system"]
        pace = select_known_paces(ready.campaign).get(system)
        metres = fmean(one.route.length for one in ready.assignments)
        seconds, known = estimate_by_metre(metres, pace)[0], pace is not None
    pieces = tuple(WorkPiece(expected=share * (STARTING + seconds)) for share in shares)
    return ExpectedAttempts(waiting=pieces, in_seconds=known)


def announce_evaluations(
    ready: SearchPlan, driven: DrivenEvaluations, expected: ExpectedAttempts
) -> None:
    """Print what is driven, how long it takes, and where."""
    show_note("plan", driven.plan)
    name = driven.word or "evaluation"
    if driven.done:
        show_note("done", f"{driven.done} of {driven.total} {name}s are done already")
    if left := len(expected.waiting):
        executor = ready.campaign["executor"]
        workers = executor.get("workers", 1)
        cores = count_cores() if is_on_this_machine(executor) else workers
        lanes = min(workers, cores, left)
        seconds = schedule_pieces([0.0] * lanes, [piece.expected for piece in expected.waiting])
        source = (
            "going by attempts that this machine drove before"
            if expected.in_seconds
            else "by a rule of thumb; this machine has finished none like these"
        )
        most = "at most " if driven.at_most else ""
        show_note(
            "left",
            f"{most}{format_quantity(left, name)}: {most}about {format_duration(seconds)}"
            f" with {format_quantity(workers, 'worker')}, {source}",
        )
    print_campaign_line(f"{'folder':14}{ready.folder}")

"""How a campaign is followed: a live table, plain lines, JSON lines, or nothing."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.measure import Measurement
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from harness.campaign.attempt.tasks import AttemptOutcome, DrivePosition
from harness.campaign.planning.estimate import ExpectedAttempts
from harness.campaign.printing.terminal import console
from harness.campaign.running.runner import ProgressListener
from harness.campaign.running.work_queue import CampaignProgress
from harness.common.errors import UserError
from harness.common.piece_rates import WorkPiece
from harness.common.progress_bar import choose_bar_width
from harness.common.remaining_time import Clock, WorkForecast, format_clock
from harness.common.terminal_lines import print_plain_line
from harness.records.keys import AttemptKey

REST_OF_LINE = 52
"""Letters of a worker's line besides the name, with words for its position."""
NARROWEST = 16
"""Letters that a name keeps at least."""
UNKNOWN = ExpectedAttempts()
"""Of attempts of which nothing is known."""


@contextmanager
def follow_progress(
    mode: str,
    standing: CampaignProgress,
    workers: int,
    expected: ExpectedAttempts = UNKNOWN,
    *,
    at_most: bool = False,
) -> Iterator[ProgressListener]:
    """Follow a campaign: a `live` table, `plain` lines, `json` lines, or `quiet`.

    Args:
        mode: one of the four.
        standing: how far the campaign has come.
        workers: attempts at a time.
        expected: what the attempts are expected to take.
        at_most: whether fewer may do.
    """
    if mode in ("live", "plain"):
        for line in list_start_lines(standing):
            print_plain_line(console, line)
    if mode == "live" and console.is_terminal:
        table = LiveTable(standing, workers, console, expected=expected, at_most=at_most)
        with Live(table, console=console, refresh_per_second=4, transient=True):
            yield table
    elif mode in ("live", "plain"):
        yield PlainLines()
    elif mode == "json":
        yield JsonLines()
    elif mode == "quiet":
        yield QuietListener()
    else:
        raise UserError(f"configuration: progress is {mode!r}; live, plain, json or quiet")


def list_start_lines(standing: CampaignProgress) -> Iterator[str]:
    """Yield the lines to print before the first try."""
    if standing.done:
        yield f"{standing.done} of {standing.attempts} are done already"
    if standing.given_up:
        yield describe_exhausted_attempts(standing)


def describe_exhausted_attempts(standing: CampaignProgress) -> str:
    """Return how many attempts stay failed, and how to change that."""
    return (
        f"{standing.given_up} of {standing.attempts} have failed and used up their tries;"
        " retry_failed=true tries them again"
    )


class QuietListener:
    """Prints nothing."""

    def begins(self, worker: int, key: AttemptKey, number: int) -> None:
        """A try begins."""

    def drives(self, worker: int, key: AttemptKey, position: DrivePosition) -> None:
        """A try has driven on."""

    def ends(self, worker: int, outcome: AttemptOutcome, again: bool) -> None:
        """A try has ended."""

    def leaves(self, worker: int, reason: str) -> None:
        """A worker gets no more work."""


class PlainLines(QuietListener):
    """Prints one line for every try that ended."""

    def ends(self, worker: int, outcome: AttemptOutcome, again: bool) -> None:
        """Print how it ended."""
        print_plain_line(console, describe_outcome(outcome, again))

    def leaves(self, worker: int, reason: str) -> None:
        """Print which worker left."""
        print_plain_line(console, describe_leaving_worker(worker, reason))


class JsonLines(QuietListener):
    """Prints one JSON object for every event."""

    def __init__(self) -> None:
        self._tenths: dict[int, int] = {}

    def begins(self, worker: int, key: AttemptKey, number: int) -> None:
        """Print what begins."""
        self._tenths[worker] = 0
        print_event(worker=worker, event="begins", attempt=str(key), **{"try": number})

    def drives(self, worker: int, key: AttemptKey, position: DrivePosition) -> None:
        """Print every tenth of the route."""
        tenths = int(10 * position.completion)
        if tenths > self._tenths[worker]:
            self._tenths[worker] = tenths
            print_event(
                worker=worker,
                event="drives",
                attempt=str(key),
                completion=round(position.completion, 3),
                time=round(position.time, 3),
            )

    def ends(self, worker: int, outcome: AttemptOutcome, again: bool) -> None:
        """Print how it ended."""
        print_event(
            worker=worker,
            event="ends",
            attempt=str(outcome.key),
            **{"try": outcome.number},
            failure=outcome.failure,
            message=outcome.message,
            again=again,
            seconds=round(outcome.seconds, 3),
        )

    def leaves(self, worker: int, reason: str) -> None:
        """Print which worker left."""
        print_event(worker=worker, event="leaves", message=reason)


class LiveTable(QuietListener):
    """Shows what every worker is doing, and how far all is; finished tries scroll by above it."""

    def __init__(
        self,
        standing: CampaignProgress,
        workers: int,
        out: Console,
        *,
        expected: ExpectedAttempts = UNKNOWN,
        at_most: bool = False,
        clock: Clock = time.monotonic,
    ) -> None:
        self._most = "at most " if at_most else ""
        left = standing.attempts - standing.done - standing.given_up
        self._pieces = expected.pieces
        waiting = [*expected.pieces.values(), *expected.waiting]
        waiting += [WorkPiece()] * max(left - len(waiting), 0)
        self._forecast = WorkForecast(
            deque(waiting), lanes=workers, absolute=expected.in_seconds, clock=clock
        )
        self._clock = clock
        self._attempts, self._done = standing.attempts, standing.done
        self._failed, self._retried = standing.given_up, 0
        self._doing: dict[int, tuple[str, float]] = {
            number + 1: ("", 0.0) for number in range(workers)
        }
        self._positions: dict[int, DrivePosition] = {}
        self._out = out

    def begins(self, worker: int, key: AttemptKey, number: int) -> None:
        """Show it."""
        again = f"  try {number}" if number > 1 else ""
        self._doing[worker] = (f"{key}{again}", self._clock())
        self._forecast.begin_piece(worker, self._pieces.get(key))

    def drives(self, worker: int, key: AttemptKey, position: DrivePosition) -> None:
        """Show how far it is."""
        self._positions[worker] = position
        self._forecast.note_share(worker, position.completion, from_start=True)

    def ends(self, worker: int, outcome: AttemptOutcome, again: bool) -> None:
        """Print how it ended, and count."""
        print_plain_line(self._out, describe_outcome(outcome, again))
        self.count_ended(worker, outcome, again)

    def count_ended(self, worker: int, outcome: AttemptOutcome, again: bool) -> None:
        """Count a try that has ended."""
        self._doing[worker] = ("", 0.0)
        self._positions.pop(worker, None)
        self._forecast.end_piece(worker, again=again)
        self._done += outcome.done
        self._retried += again
        # an interrupted try is no failure: the same command drives the attempt
        self._failed += not outcome.done and not again and outcome.failure != "interrupted"

    def skip_attempt(self) -> None:
        """Count an attempt that need not be driven."""
        self._done += 1
        self._forecast.skip_piece()

    def leaves(self, worker: int, reason: str) -> None:
        """Print which worker left."""
        print_plain_line(self._out, describe_leaving_worker(worker, reason))
        self._doing = {number: what for number, what in self._doing.items() if number != worker}
        self._forecast.close_lane(worker)

    def __rich__(self) -> RenderableType:
        now = self._clock()
        workers = Table.grid(padding=(0, 2))
        longest = max((len(what) for what, _ in self._doing.values()), default=0)
        short = longest + REST_OF_LINE > self._out.width
        for worker, (what, since) in self._doing.items():
            took = format_clock(now - since) if what else ""
            position = describe_position(self._positions.get(worker), short=short)
            workers.add_row(str(worker), NameInRoom(what or "-"), took, *position)
        total = Table.grid(padding=(0, 2))
        counts = f"{self._done} of {self._attempts} done"
        counts += f", {self._failed} failed" if self._failed else ""
        counts += f", {self._retried} tried again" if self._retried else ""
        bar = ProgressBar(self._attempts, self._done, width=choose_bar_width(self._out.width))
        total.add_row(bar, counts, f"{self._most}{self._forecast.estimate_remaining()}")
        return Group(workers, total)


@dataclass(frozen=True, slots=True)
class NameInRoom:
    """A name that loses letters of its middle where a line has no room for all.

    Arms of one campaign differ at the end of their names, and routes are named there.
    """

    name: str

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(min(len(self.name), NARROWEST), len(self.name))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(cut_middle_to(self.name, options.max_width), no_wrap=True, overflow="crop")


def cut_middle_to(text: str, room: int) -> str:
    """Return a text of at most so many letters: its start and, twice as long, its end."""
    if len(text) <= room:
        return text
    front = max((room - 1) // 3, 0)
    return f"{text[:front]}…{text[len(text) - max(room - 1 - front, 0) :]}"


def describe_position(position: DrivePosition | None, *, short: bool = False) -> tuple[str, ...]:
    """Return how far a try has driven: share of the route and simulated time, if known.

    Args:
        position: of the try.
        short: without words, where names need the room.
    """
    if position is None:
        return ()
    if short:
        return f"{100 * position.completion:.0f} %", f"{position.time:.0f} s"
    return f"{100 * position.completion:.0f} % of the route", f"{position.time:.0f} s simulated"


def print_event(**event: object) -> None:
    """Print one JSON object."""
    print(json.dumps(event), flush=True)


def describe_leaving_worker(worker: int, reason: str) -> str:
    """Return that a worker finds no simulator, on one line."""
    return f"  worker {worker} gets no more work: {reason}"


def describe_outcome(outcome: AttemptOutcome, again: bool) -> str:
    """Return how a try ended, on one line."""
    if outcome.done:
        return f"  {outcome.key}  {outcome.message}  ({outcome.seconds:.1f} s)"
    then = "; tried again" if again else ""
    return f"  {outcome.key}  try {outcome.number} {outcome.failure}: {outcome.message}{then}"

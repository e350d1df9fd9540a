"""A bar on a terminal for work that is done piece by piece, with the time that is left.

Where there is no terminal, nothing is printed.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager
from itertools import accumulate
from typing import TypeVar

from rich import get_console
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn
from rich.text import Text

from harness.common.piece_rates import WorkPiece
from harness.common.remaining_time import Clock, WorkForecast
from harness.common.terminal_lines import print_plain_line

T = TypeVar("T")
MOST_PIECES = 400
"""Pieces that an estimate counts; where there are more items, a piece is several of them."""
RESUMING = 0.5
"""Seconds in which items that are done say nothing of others: most were done before."""
NARROWEST_BAR, WIDEST_BAR = 8, 40
BESIDES = 58
"""Columns of all that is not the bar."""


class BarForecast:
    """What is left of items that are done one after another, by the times at which they were done.

    Args:
        total: items.
        done: items that were done before.
        workers: items that are done at a time.
        seconds: that an item is expected to take; None: not known before some are done.
        pieces: numbers of items that are done together, in order; None: each item by itself.
        clock: seconds from any origin.
    """

    def __init__(
        self,
        total: int,
        *,
        done: int = 0,
        workers: int = 1,
        seconds: float | None = None,
        pieces: Sequence[int] | None = None,
        clock: Clock = time.monotonic,
    ) -> None:
        self.total, self._clock, self._workers, self._seconds = total, clock, workers, seconds
        self._pieces = None if pieces is None else list(pieces)
        self._began = clock()
        self._begin_at(done)

    def _begin_at(self, done: int) -> None:
        """Forget what was done, and expect the rest."""
        self.done = self._first = done
        sizes = self._list_sizes(done)
        # counts of done items at which pieces end
        self._ends = list(accumulate(sizes, initial=done))[1:]
        item = 1.0 if self._seconds is None else self._seconds
        self.forecast = WorkForecast(
            deque(WorkPiece(expected=item * size) for size in sizes),
            lanes=min(self._workers, max(len(sizes), 1)),
            absolute=self._seconds is not None,
            clock=self._clock,
        )
        # which worker does an item is not known: the one that ends is the one that began first
        self._lanes = deque(range(self.forecast.lanes if sizes else 0))
        for lane in self._lanes:
            self.forecast.begin_piece(lane)

    def _list_sizes(self, done: int) -> list[int]:
        """Return how many items each piece has that is left."""
        left = max(self.total - done, 0)
        if self._pieces is not None:
            ends = accumulate(self._pieces)
            return [
                min(size, end - done)
                for size, end in zip(self._pieces, ends, strict=True)
                if size and end > done
            ]
        size = max(left // MOST_PIECES, 1)
        whole, rest = divmod(left, size)
        return [size] * whole + ([rest] if rest else [])

    def note_done(self, done: int) -> None:
        """So many items are done now."""
        done = min(max(done, self.done), self.total)
        # a command that is resumed takes what is there without computing it
        if self._clock() - self._began < RESUMING:
            self._begin_at(done)
            return
        before, now = (bisect_right(self._ends, at) for at in (self.done, done))
        self.done = done
        if now > before:
            # one of each worker, or a block of one worker
            one_per_worker = 1 < now - before <= len(self._lanes)
            for _ in range(now - before if one_per_worker else 1):
                lane = self._lanes.popleft()
                self.forecast.end_several_pieces(lane, 1 if one_per_worker else now - before)
                if self.forecast.waiting:
                    self.forecast.begin_piece(lane)
                    self._lanes.append(lane)
        if self._lanes and now < len(self._ends):
            begin, end = (self._ends[now - 1] if now else self._first), self._ends[now]
            self.forecast.note_share(self._lanes[0], (done - begin) / (end - begin))

    def __str__(self) -> str:
        return str(self.forecast.estimate_remaining()) if self.done < self.total else ""


class RemainingColumn(ProgressColumn):
    """The time that is left, as the task's own forecast has it."""

    def render(self, task: Task) -> Text:
        """Return it; nothing once all items are done, whatever is still put away."""
        left = "" if task.finished else str(task.fields["forecast"])
        return Text(left, no_wrap=True)


class EstimatedBar:
    """A bar that is advanced; lines can be printed above it.

    An estimate goes by units of work. A unit is an item, where nothing else is said.

    Args:
        progress: what shows it.
        name: of what is done.
        total: items.
        done: items that were done before.
        forecast: of the units.
    """

    def __init__(
        self, progress: Progress, name: str, *, total: int, done: int, forecast: BarForecast
    ) -> None:
        self._progress, self._forecast = progress, forecast
        self._total, self._done = total, done
        self._task = progress.add_task(name, total=total, completed=done, forecast=forecast)

    def advance(self, count: int = 1) -> None:
        """So many items more are done, each a unit of work."""
        self.note_done(self._done + count)

    def note_done(self, done: int) -> None:
        """So many items are done in all, each a unit of work."""
        self.show_done(done)
        self._forecast.note_done(self._done)

    def advance_shown(self, count: int = 1) -> None:
        """So many items more are done; what they say of work is noted apart."""
        self.show_done(self._done + count)

    def advance_work(self, units: int) -> None:
        """So many units of work more are done."""
        self.note_work(self._forecast.done + units)

    def show_done(self, done: int) -> None:
        """So many items are done in all; what they say of work is noted apart."""
        self._done = min(max(done, self._done), self._total)
        self._progress.update(self._task, completed=self._done)

    def count_done(self) -> tuple[int, int]:
        """Return the items and the units of work that are done."""
        return self._done, self._forecast.done

    def note_work(self, units: int) -> None:
        """So many units of work are done in all."""
        self._forecast.note_done(units)

    def begin_stage(
        self,
        name: str,
        total: int,
        *,
        units: Sequence[int] | None = None,
        seconds: float | None = None,
    ) -> None:
        """Other items are done from now on, none of them yet.

        Args:
            name: of what is done.
            total: items.
            units: of work, for `note_work`, by pieces; None: an item is a unit.
            seconds: that a unit is expected to take; None: not known before some are done.
        """
        self._forecast = BarForecast(
            total if units is None else sum(units), seconds=seconds, pieces=units
        )
        self._total, self._done = total, 0
        # a task that was finished is not any more, even if it has as many items again
        self._progress.reset(
            self._task, total=total, completed=0, description=name, forecast=self._forecast
        )

    def rename(self, name: str) -> None:
        """Show another name."""
        self._progress.update(self._task, description=name)

    def print_line(self, line: str) -> None:
        """Print a line above the bar."""
        print_plain_line(self._progress.console, line)


def choose_bar_width(columns: int) -> int:
    """Return how wide a bar is on a terminal of so many columns."""
    return min(max(columns - BESIDES, NARROWEST_BAR), WIDEST_BAR)


@contextmanager
def show_bar(
    name: str,
    total: int,
    *,
    done: int = 0,
    units: int | Sequence[int] | None = None,
    workers: int = 1,
    seconds: float | None = None,
    console: Console | None = None,
) -> Iterator[EstimatedBar]:
    """Show a bar of items until the block ends; nothing is shown where there is no terminal.

    Args:
        name: of what is done.
        total: items.
        done: items that were done before.
        units: of work that is left, for `note_work`, in all or by pieces; None: an item is a unit.
        workers: items that are done at a time.
        seconds: that an item is expected to take; None: not known before some are done.
        console: what lines inside the block are printed on.
    """
    console = console or get_console()
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(choose_bar_width(console.width)),
        MofNCompleteColumn(),
        RemainingColumn(),
    )
    hidden = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as progress:
        pieces = units if isinstance(units, Sequence) else None
        work = units if isinstance(units, int) else sum(units or [])
        left, before = (total, done) if units is None else (work, 0)
        forecast = BarForecast(left, done=before, workers=workers, seconds=seconds, pieces=pieces)
        yield EstimatedBar(progress, name, total=total, done=done, forecast=forecast)


def track_items(items: Iterable[T], name: str, total: int | None = None) -> Iterator[T]:
    """Yield items, with a bar of how many were taken.

    Args:
        items: what is done one after another.
        name: of what is done.
        total: how many they are; None: their length.
    """
    if total is None:
        assert isinstance(items, Sized)
        total = len(items)
    with show_bar(name, total) as bar:
        for item in items:
            yield item
            bar.advance()

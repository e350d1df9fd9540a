"""How long work will still take: one estimator for all progress displays.

Pieces of work run in lanes: attempts on workers, or pictures one after another. What is known of a
piece before it runs is its expected seconds; only the ratios of these matter once pieces finish.

The estimate is never below what is running: a piece that runs longer than expected has time left,
and the last piece to end decides. The estimate is rough until `FEW` pieces have finished.
"""

from __future__ import annotations

import heapq
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.common.piece_rates import FinishedPiece, PieceRates, RunningPiece, WorkPiece

Clock = Callable[[], float]
FEW = 2
"""Finished pieces below which an estimate is rough."""
RECENT = 200
"""Finished pieces that an estimate goes by."""
SCHEDULED = 500
"""Waiting pieces that are assigned to lanes one by one; of more, the sum is shared."""


@dataclass(frozen=True, slots=True)
class RemainingTime:
    """Wall-clock seconds that are left, and whether few pieces have finished yet.

    Attributes:
        seconds: None where nothing is known.
        rough: fewer than `FEW` pieces have finished, and some are left.
    """

    seconds: float | None
    rough: bool

    def __str__(self) -> str:
        if self.seconds is None:
            return "? left"
        about = "about " if self.rough else ""
        return f"{about}{format_clock(self.seconds)} left{' (rough)' if self.rough else ''}"


def format_clock(seconds: float) -> str:
    """Return hours, minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class WorkForecast:
    """Estimates when work will be finished, from what its pieces have taken so far.

    Args:
        waiting: pieces that nothing does yet, in the order in which they will begin.
        lanes: pieces that run at a time.
        absolute: `expected` of a piece is in seconds of this machine: an estimate exists from the
            beginning.
        clock: seconds from any origin.
    """

    def __init__(
        self,
        waiting: deque[WorkPiece],
        *,
        lanes: int = 1,
        absolute: bool = False,
        clock: Clock = time.monotonic,
    ) -> None:
        self.waiting, self.lanes = waiting, lanes
        self._absolute, self._clock = absolute, clock
        self._running: dict[int, RunningPiece] = {}
        self._used: set[int] = set()  # lanes that have had a piece
        self._finished: deque[FinishedPiece] = deque(maxlen=RECENT)

    def begin_piece(self, lane: int, piece: WorkPiece | None = None) -> None:
        """A lane begins a piece: this one, or else the next of those that wait."""
        if piece is None:
            piece = self.waiting.popleft() if self.waiting else WorkPiece()
        elif piece in self.waiting:
            self.waiting.remove(piece)
        self._running[lane] = RunningPiece(
            piece=piece, since=self._clock(), starting=lane not in self._used
        )
        self._used.add(lane)

    def skip_piece(self) -> None:
        """A piece that waits need not be done."""
        if self.waiting:
            self.waiting.popleft()

    def note_share(self, lane: int, share: float, *, from_start: bool = False) -> None:
        """A lane's piece is done to that share, from 0 to 1.

        Args:
            lane: of the piece.
            share: of the piece.
            from_start: shares are noted from the time at which it begins to move.
        """
        if (one := self._running.get(lane)) is not None:
            one.note_share(share, self._clock(), from_start=from_start)

    def end_piece(self, lane: int, *, again: bool = False) -> None:
        """A lane's piece has ended; one that must be done again says nothing of others."""
        if (ended := self._running.pop(lane, None)) is None:
            return
        if again:
            self.waiting.appendleft(ended.piece)
        else:
            self._finished.append(
                FinishedPiece(
                    piece=ended.piece,
                    seconds=self._clock() - ended.since,
                    starting=ended.starting,
                    before=ended.before,
                    end=ended.share,
                )
            )

    def end_several_pieces(self, lane: int, count: int) -> None:
        """A lane's piece and the next ones have ended together: each took its part of the time.

        Several processes may stand behind them, so that the next ones may come at once: none of
        these says by itself what one takes.
        """
        began = self._running[lane]
        seconds = (self._clock() - began.since) / count
        for number in range(count):
            if number:
                self.begin_piece(lane)
            ended = self._running.pop(lane)
            starting = began.starting and count == 1
            self._finished.append(
                FinishedPiece(piece=ended.piece, seconds=seconds, starting=starting, end=1.0)
            )

    def close_lane(self, lane: int) -> None:
        """A lane gets no more work; its piece, if it has one, waits again."""
        if (left := self._running.pop(lane, None)) is not None:
            self.waiting.appendleft(left.piece)
        self.lanes -= 1

    def estimate_remaining(self) -> RemainingTime:
        """Return the wall-clock seconds until the last piece ends, as of now."""
        now = self._clock()
        # others may change them meanwhile
        running, waiting = list(self._running.values()), list(self.waiting)
        finished = list(self._finished)
        rough = len(finished) < FEW and bool(running or waiting)
        if not running and not waiting:
            return RemainingTime(0.0, rough)
        if self.lanes < 1:
            return RemainingTime(None, rough)
        paces = PieceRates.from_pieces(finished, running, waiting, now=now, absolute=self._absolute)
        if paces is None:
            return RemainingTime(None, rough)
        left = [paces.estimate_rest(one, now) for one in running]
        lanes = left + [0.0] * max(self.lanes - len(left), 0)
        return RemainingTime(
            schedule_pieces(lanes, [paces.predict_seconds(piece) for piece in waiting]), rough
        )


def schedule_pieces(lanes: Sequence[float], waiting: Sequence[float]) -> float:
    """Return when the last piece ends if each begins in the lane that is free first.

    Args:
        lanes: seconds until each lane is free.
        waiting: seconds of each piece, in order.
    """
    shared = list(waiting[: max(len(waiting) - SCHEDULED, 0)])
    free = [seconds + sum(shared) / len(lanes) for seconds in lanes]
    heapq.heapify(free)
    for seconds in waiting[len(shared) :]:
        heapq.heappush(free, heapq.heappop(free) + seconds)
    return max(free)

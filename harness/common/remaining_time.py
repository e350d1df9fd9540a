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
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, pvariance

Clock = Callable[[], float]
FEW = 2
"""Finished pieces below which an estimate is rough."""
RECENT = 200
"""Finished pieces that an estimate goes by."""
OVERRUN = 0.25
"""Share of its time so far that a piece still needs at least, if none that finished took longer."""
SCHEDULED = 500
"""Waiting pieces that are assigned to lanes one by one; of more, the sum is shared."""
PRIOR_WEIGHT = 1.0
"""Finished pieces that count as much as what was expected of a kind, or of a group."""
SWEEPS = 3
"""Times that factors of kinds and of groups are computed, each from the others."""
PACE_WEIGHT = 0.5
"""Finished pieces that count as much as the machine's pace at another time, under another load."""
EXPECTATION_WEIGHT = 3.0
"""Groups of pieces that count as much as the claim that pieces take what is expected of them."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkPiece:
    """A piece of work: what is expected of it, and what it may be compared with.

    Attributes:
        kind: pieces of one kind take similar shares of what is expected of them: an arm.
        group: the same for another division of the pieces: a route.
        expected: seconds; where they are not known, any number in proportion to them.
    """

    kind: Hashable = None
    group: Hashable = None
    expected: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedPiece:
    """What a finished piece took."""

    piece: WorkPiece
    seconds: float
    starting: bool  # the first of its lane: what it took holds the start of a server, too


@dataclass(slots=True)
class RunningPiece:
    """A piece that is being done."""

    piece: WorkPiece
    since: float
    starting: bool
    share: float = 0.0  # done, where that is known


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
        self._running[lane] = RunningPiece(piece, self._clock(), starting=lane not in self._used)
        self._used.add(lane)

    def skip_piece(self) -> None:
        """A piece that waits need not be done."""
        if self.waiting:
            self.waiting.popleft()

    def note_share(self, lane: int, share: float) -> None:
        """A lane's piece is done to that share, from 0 to 1."""
        if lane in self._running:
            self._running[lane].share = min(max(share, 0.0), 1.0)

    def end_piece(self, lane: int, *, again: bool = False) -> None:
        """A lane's piece has ended; one that must be done again says nothing of others."""
        if (ended := self._running.pop(lane, None)) is None:
            return
        if again:
            self.waiting.appendleft(ended.piece)
        else:
            seconds = self._clock() - ended.since
            self._finished.append(
                FinishedPiece(piece=ended.piece, seconds=seconds, starting=ended.starting)
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
                FinishedPiece(piece=ended.piece, seconds=seconds, starting=starting)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class PieceRates:
    """Seconds for each expected second: of all pieces, and factors of their kinds and groups.

    Attributes:
        overall: seconds for each expected second.
        usual: expected seconds of a piece of mean length.
        weight: of what is expected of a piece against `usual`: 1 where finished pieces took what
            was expected of each, 0 where that said nothing of them.
        by_kind: factors of kinds of which pieces have finished.
        by_group: factors of groups of which pieces have finished.
        ratios: seconds of finished pieces as shares of what would have been predicted for them.
    """

    overall: float
    usual: float
    weight: float = 1.0
    by_kind: Mapping[Hashable, float] = field(default_factory=dict)
    by_group: Mapping[Hashable, float] = field(default_factory=dict)
    ratios: Sequence[float] = ()

    @staticmethod
    def from_pieces(
        finished: Sequence[FinishedPiece],
        running: Sequence[RunningPiece],
        waiting: Sequence[WorkPiece],
        *,
        now: float,
        absolute: bool,
    ) -> PieceRates | None:
        """Return the rates of finished pieces, and of those that already run for longer.

        Args:
            finished: the last that have finished.
            running: what runs now.
            waiting: pieces that are still to begin.
            now: the clock's seconds.
            absolute: `expected` is in seconds.

        Returns:
            None where nothing has finished, `expected` is no time, and no share is known.
        """
        # pieces that began with the start of a server count only until others have finished
        steady = [one for one in finished if not one.starting] or list(finished)
        pairs = [(one.piece, one.seconds) for one in steady]
        mean = fmean(one.expected for one, _ in pairs) if pairs else 0.0
        usual = mean or fmean(piece.piece.expected for piece in running or [_UNIT])
        prior = [(PACE_WEIGHT * usual, 1.0)] if absolute else []
        first = compute_rate(pairs, prior)
        if first is None:
            # nothing has finished: by what running pieces say of themselves
            shown = [(one.piece, (now - one.since) / one.share) for one in running if one.share > 0]
            first = compute_rate(shown, [])
            return None if first is None else PieceRates(overall=first, usual=usual)
        # a running piece that has taken longer than is expected of it counts with its time so far
        late = [
            (one.piece, now - one.since)
            for one in running
            if now - one.since > first * one.piece.expected and not one.starting
        ]
        pairs += late
        # another one counts with the part of it that is done; at its start a server starts, too
        parts = [
            (WorkPiece(expected=one.share * one.piece.expected), now - one.since)
            for one in running
            if one.share > 0 and now - one.since <= first * one.piece.expected
            if not (one.starting and finished)
        ]
        overall = compute_rate([*pairs, *parts], prior)
        assert overall is not None
        weight = compute_expectation_weight(pairs, [piece.expected for piece in waiting])
        rates = PieceRates(overall=overall, usual=usual, weight=weight).add_factors(pairs)
        ratios = [
            one.seconds / predicted
            for one in steady
            if (predicted := rates.predict_seconds(one.piece)) > 0
        ]
        return replace(rates, ratios=ratios)

    def add_factors(self, pairs: Sequence[tuple[WorkPiece, float]]) -> PieceRates:
        """Return the rates with factors of kinds and of groups, each drawn towards 1.

        A factor of groups is of what the kinds leave, and the other way round.

        Args:
            pairs: pieces, and the seconds that they took.
        """
        rates = self
        for _ in range(SWEEPS):
            others = replace(rates, by_group={})
            groups = [(piece.group, piece, seconds) for piece, seconds in pairs]
            rates = replace(rates, by_group=others.compute_factors(groups))
            others = replace(rates, by_kind={})
            kinds = [(piece.kind, piece, seconds) for piece, seconds in pairs]
            rates = replace(rates, by_kind=others.compute_factors(kinds))
        return rates

    def compute_factors(
        self, taken: Iterable[tuple[Hashable, WorkPiece, float]]
    ) -> dict[Hashable, float]:
        """Return the factor of each label: what its pieces took, over what is predicted of them.

        Args:
            taken: labels, pieces, and the seconds that they took; None is no label.
        """
        prior = PRIOR_WEIGHT * self.overall * self.usual
        sums: dict[Hashable, tuple[float, float]] = {}
        for label, piece, seconds in taken:
            if label is not None:
                had, predicted = sums.get(label, (prior, prior))
                sums[label] = had + seconds, predicted + self.predict_seconds(piece)
        return {label: had / predicted for label, (had, predicted) in sums.items() if predicted > 0}

    def predict_seconds(self, piece: WorkPiece) -> float:
        """Return the seconds that a piece is to take."""
        size = self.usual + self.weight * (piece.expected - self.usual)
        factor = self.by_kind.get(piece.kind, 1.0) * self.by_group.get(piece.group, 1.0)
        return factor * self.overall * size

    def estimate_rest(self, one: RunningPiece, now: float) -> float:
        """Return the seconds that a running piece still needs: never none.

        Args:
            one: the piece.
            now: the clock's seconds.
        """
        elapsed, predicted = now - one.since, self.predict_seconds(one.piece)
        # as long as finished pieces took on average that took longer than this one so far
        longer = [ratio * predicted for ratio in self.ratios if ratio * predicted > elapsed]
        rest = fmean(longer) - elapsed if longer else max(predicted - elapsed, OVERRUN * elapsed)
        # the nearer a piece is to its end, the more its share says
        if one.share > 0:
            by_share = elapsed * (1 - one.share) / one.share
            rest = one.share * by_share + (1 - one.share) * rest
        return rest


_UNIT = RunningPiece(WorkPiece(), 0.0, starting=False)


def compute_expectation_weight(
    pairs: Sequence[tuple[WorkPiece, float]], waiting: Sequence[float]
) -> float:
    """Return how far what is expected of a piece says what it takes: from 0, nothing, to 1.

    The slope of seconds over expected seconds, both as shares of their means (least squares, ridge
    towards 1), between 0 and 1. Pieces of one group count as one. The ridge is as strong as
    `EXPECTATION_WEIGHT` groups that differ as much as all pieces do.

    Args:
        pairs: pieces, and the seconds that they took.
        waiting: expected seconds of other pieces.
    """
    groups: dict[Hashable, list[tuple[float, float]]] = {}
    for number, (piece, seconds) in enumerate(pairs):
        of = number if piece.group is None else ("group", piece.group)
        groups.setdefault(of, []).append((piece.expected, seconds))
    means = [
        (fmean(size for size, _ in ones), fmean(taken for _, taken in ones))
        for ones in groups.values()
    ]
    middle = fmean(size for size, _ in means) if means else 0.0
    level = fmean(taken for _, taken in means) if means else 0.0
    if middle <= 0 or level <= 0:
        return 1.0
    points = [(size / middle - 1, taken / level - 1) for size, taken in means]
    spread = sum(x * x for x, _ in points)
    sizes = [*(piece.expected for piece, _ in pairs), *waiting]
    ridge = EXPECTATION_WEIGHT * pvariance(sizes) / middle**2
    if spread + ridge <= 0:
        return 1.0
    slope = (sum(x * y for x, y in points) + ridge) / (spread + ridge)
    return min(max(slope, 0.0), 1.0)


def compute_rate(
    pairs: Iterable[tuple[WorkPiece, float]], prior: Iterable[tuple[float, float]]
) -> float | None:
    """Return seconds for each expected second, of pieces and of a prior; None of nothing.

    Args:
        pairs: pieces, and the seconds that they took.
        prior: expected seconds, and their rate.
    """
    pairs, prior = list(pairs), list(prior)
    expected = sum(piece.expected for piece, _ in pairs) + sum(size for size, _ in prior)
    if expected <= 0:
        return None
    taken = sum(seconds for _, seconds in pairs) + sum(size * rate for size, rate in prior)
    return taken / expected


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

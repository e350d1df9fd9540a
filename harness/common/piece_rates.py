"""What pieces of work take: rates of those that have finished, and how far those that run are.

Times are wall-clock seconds on the clock of a `WorkForecast`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, pvariance

OVERRUN = 0.25
"""Share of its time so far that a piece still needs at least, if none that finished took longer."""
PRIOR_WEIGHT = 1.0
"""Finished pieces that count as much as what was expected of a kind, or of a group."""
SWEEPS = 3
"""Times that factors of kinds and of groups are computed, each from the others."""
PACE_WEIGHT = 0.5
"""Finished pieces that count as much as the machine's pace at another time, under another load."""
EXPECTATION_WEIGHT = 3.0
"""Groups of pieces that count as much as the claim that pieces take what is expected of them."""
STEEPEST = 1.5
"""Largest weight of what is expected of a piece: pieces may differ more than was expected."""
WHOLE_WEIGHT = 0.5
"""Finished pieces that count as much as the claim that a piece is done to its end."""
STARTED = 1 / 3
"""Share of the time before a lane's first piece moves that later ones need, too (decision 0143)."""


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
    """What a finished piece took.

    Attributes:
        starting: it is the first of its lane: what it took holds the start of a server, too.
        before: seconds before it moved, as far as known.
        end: share that was done when it ended: a drive may end early; 0 where no share is known.
    """

    piece: WorkPiece
    seconds: float
    starting: bool
    before: float = 0.0
    end: float = 0.0


@dataclass(slots=True, kw_only=True)
class RunningPiece:
    """A piece that is being done.

    Attributes:
        since: time at which it began.
        starting: as of a `FinishedPiece`.
        share: that is done, as far as known.
        first: share that was noted first, and the seconds that it had taken then; None: shares do
            not show when it began to move.
        noted: seconds that it had taken when `share` was noted.
    """

    piece: WorkPiece
    since: float
    starting: bool
    share: float = 0.0
    first: tuple[float, float] | None = None
    noted: float = 0.0

    def note_share(self, share: float, now: float, *, from_start: bool) -> None:
        """It is done to that share, from 0 to 1.

        Args:
            share: of it.
            now: the clock's seconds.
            from_start: shares are noted from the time at which it begins to move.
        """
        self.share, self.noted = min(max(share, 0.0), 1.0), now - self.since
        if from_start and self.first is None:
            self.first = self.share, self.noted

    @property
    def before(self) -> float:
        """Seconds before it moved, as far as known: at its pace since then."""
        if self.first is None:
            return 0.0
        share, taken = self.first
        if share <= 0:
            return taken
        if self.share <= share:
            return 0.0
        return max(taken - share * (self.noted - taken) / (self.share - share), 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class StartsAndEnds:
    """How long pieces take before they move, and at which shares they end.

    Attributes:
        usual: seconds before a piece moves whose server is there; None: not known.
        ends: kinds of finished pieces, and the shares at which they ended.
    """

    usual: float | None = None
    ends: Sequence[tuple[Hashable, float]] = ()

    @staticmethod
    def from_pieces(
        finished: Sequence[FinishedPiece], running: Sequence[RunningPiece]
    ) -> StartsAndEnds:
        """Return what pieces show."""
        pieces: list[FinishedPiece | RunningPiece] = [*finished, *running]
        starts = [one.before for one in pieces if one.before and not one.starting]
        return StartsAndEnds(
            usual=fmean(starts) if starts else None,
            ends=[(one.piece.kind, one.end) for one in finished if one.end > 0],
        )

    def count_server_start(self, one: FinishedPiece | RunningPiece) -> float | None:
        """Return the seconds that a piece took for its server's start; None: not known."""
        if not one.starting:
            return 0.0
        if not one.before:
            return None
        usual = STARTED * one.before if self.usual is None else self.usual
        return max(one.before - usual, 0.0)

    def list_taken(self, finished: Sequence[FinishedPiece]) -> list[tuple[WorkPiece, float]]:
        """Return pieces and the seconds that each took without the start of a server.

        Where that is not known, the piece counts only until others have finished.
        """
        taken = [
            (one.piece, one.seconds - started)
            for one in finished
            if (started := self.count_server_start(one)) is not None
        ]
        return taken or [(one.piece, one.seconds) for one in finished]

    def list_going(
        self, running: Sequence[RunningPiece], now: float, *, alone: bool
    ) -> list[tuple[WorkPiece, float, float | None]]:
        """Return running pieces, what each has taken, and what it still needs by its share.

        Without the start of a server. A piece of which that is not known is left out unless it
        stands alone: no piece has finished.
        """
        return [
            (one.piece, now - one.since - (started or 0.0), self.estimate_rest(one, now))
            for one in running
            if (started := self.count_server_start(one)) is not None or alone
        ]

    def expect_end(self, one: RunningPiece) -> float:
        """Return the share at which a piece is expected to end.

        The mean of those of its kind that went on longer than it has so far, and of the whole.
        """
        later = [end for kind, end in self.ends if kind == one.piece.kind and end > one.share]
        return (sum(later) + WHOLE_WEIGHT) / (len(later) + WHOLE_WEIGHT)

    def estimate_rest(self, one: RunningPiece, now: float) -> float | None:
        """Return the seconds that a piece still needs by its share; None: that is not known."""
        if one.share <= 0:
            return None
        moved = now - one.since - one.before
        return moved * (self.expect_end(one) / one.share - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class PieceRates:
    """Seconds for each expected second: of all pieces, and factors of their kinds and groups.

    Attributes:
        overall: seconds for each expected second.
        usual: expected seconds of a piece of mean length.
        weight: of what is expected of a piece against `usual`: 1 where finished pieces took what
            was expected of each, 0 where that said nothing of them, more where they differ more.
        by_kind: factors of kinds of which pieces have finished.
        by_group: factors of groups of which pieces have finished.
        ratios: seconds of finished pieces as shares of what would have been predicted for them.
        shares: how pieces start, and where they end.
    """

    overall: float
    usual: float
    weight: float = 1.0
    by_kind: Mapping[Hashable, float] = field(default_factory=dict)
    by_group: Mapping[Hashable, float] = field(default_factory=dict)
    ratios: Sequence[float] = ()
    shares: StartsAndEnds = field(default_factory=StartsAndEnds)

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
        shares = StartsAndEnds.from_pieces(finished, running)
        pairs = shares.list_taken(finished)
        mean = fmean(one.expected for one, _ in pairs) if pairs else 0.0
        usual = mean or fmean(piece.piece.expected for piece in running or [_UNIT])
        prior = [(PACE_WEIGHT * usual, 1.0)] if absolute else []
        going = shares.list_going(running, now, alone=not finished)
        first = compute_rate(pairs, prior)
        if first is None:
            # nothing has finished: by what running pieces say of themselves
            first = compute_rate(list_parts(going), [])
            return None if first is None else PieceRates(overall=first, usual=usual, shares=shares)
        # a running piece that has taken longer than is expected of it counts with its time so far
        taken_by_finished = list(pairs)
        pairs += [(one, taken) for one, taken, _ in going if taken > first * one.expected]
        # another one counts with the part of it that is done
        parts = list_parts(one for one in going if one[1] <= first * one[0].expected)
        overall = compute_rate([*pairs, *parts], prior)
        assert overall is not None
        weight = compute_expectation_weight(pairs, [piece.expected for piece in waiting])
        rates = PieceRates(overall=overall, usual=usual, weight=weight).add_factors(pairs)
        ratios = [
            seconds / predicted
            for piece, seconds in taken_by_finished
            if (predicted := rates.predict_seconds(piece)) > 0
        ]
        return replace(rates, ratios=ratios, shares=shares)

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
        # pieces that differ more than expected still take some time
        size = max(size, 0.5 * min(piece.expected, self.usual))
        factor = self.by_kind.get(piece.kind, 1.0) * self.by_group.get(piece.group, 1.0)
        return factor * self.overall * size

    def estimate_rest(self, one: RunningPiece, now: float) -> float:
        """Return the seconds that a running piece still needs: never none.

        Args:
            one: the piece.
            now: the clock's seconds.
        """
        started = self.shares.count_server_start(one) or 0.0
        elapsed, predicted = now - one.since - started, self.predict_seconds(one.piece)
        # as long as finished pieces took on average that took longer than this one so far
        longer = [ratio * predicted for ratio in self.ratios if ratio * predicted > elapsed]
        rest = fmean(longer) - elapsed if longer else max(predicted - elapsed, OVERRUN * elapsed)
        by_share = self.shares.estimate_rest(one, now)
        if by_share is None or elapsed <= 0:
            return rest
        # the nearer a piece is to its end, the more its share says
        done = elapsed / (elapsed + by_share)
        return done * by_share + (1 - done) * rest


_UNIT = RunningPiece(piece=WorkPiece(), since=0.0, starting=False)


def list_parts(
    going: Iterable[tuple[WorkPiece, float, float | None]],
) -> list[tuple[WorkPiece, float]]:
    """Return the parts of running pieces that are done, and the seconds that they took.

    Args:
        going: running pieces, what each has taken, and what it still needs by its share.
    """
    return [
        (replace(one, expected=taken / (taken + rest) * one.expected), taken)
        for one, taken, rest in going
        if rest is not None and taken > 0
    ]


def compute_expectation_weight(
    pairs: Sequence[tuple[WorkPiece, float]], waiting: Sequence[float]
) -> float:
    """Return how far what is expected of a piece says what it takes: 0 for nothing, 1 for all.

    The slope of seconds over expected seconds, both as shares of their means (least squares, ridge
    towards 1), between 0 and `STEEPEST`. Pieces of one group count as one. The ridge is as strong
    as `EXPECTATION_WEIGHT` groups that differ as much as all pieces do.

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
    return min(max(slope, 0.0), STEEPEST)


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

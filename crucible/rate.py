"""`crucible rate`: how often a system fails under disturbances that are sampled.

Parameters are sampled evenly over their ranges (`log`: evenly in the logarithm), which is their
declared distribution. Here, and not in a search, failures have a probability.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.errors import UserError
from harness.options import Parser
from harness.randomness import derived_seed, stream
from harness.vocabulary import Floats, Mask

if TYPE_CHECKING:
    from metamorphic.search.candidates import Candidate, Evaluation
    from metamorphic.search.configuration import SearchPlan
    from metamorphic.space import Space

TAIL = 1e-6
"""Shares of a range nearer to its ends than this count as so far away."""
NO_RATE = "The hit rate of a search is no failure probability, and is not used here."


def main(arguments: Sequence[str], program: str = "crucible rate") -> int:
    """Do what the command line asks for; bad input is one line and exit code 2."""
    parser = Parser(prog=program, description=__doc__)
    from metamorphic.search.commandline import add_configuration, settings_first  # noqa: PLC0415

    add_configuration(parser)
    add = parser.add_argument
    add("--rounds", type=int, default=100, metavar="N", help="at most; each drives every route"
        " once, with new seeds (default: 100)")  # fmt: skip
    add("--width", type=float, default=0.1, metavar="W", help="stop once the interval is as wide"
        " and, with --proposal, the effective sample size is 30 (default: 0.1)")  # fmt: skip
    add("--every", type=int, default=10, metavar="N", help="rounds that are driven before the"
        " interval is looked at (default: 10)")  # fmt: skip
    add("--proposal", type=Path, default=None, metavar="DIR", help="a finished search: half of the"
        " samples come from near its failures (default: none)")  # fmt: skip
    add("--trust", action="store_true", help="build all classes that files of --config-dir and the"
        " proposal's settings name (default: declared safe only)")  # fmt: skip
    options = parser.parse_args(settings_first(arguments, before=0))
    from harness.campaign.run import guarded  # noqa: PLC0415 - takes a second

    return guarded("rate", lambda: rate(options))


def rate(options: argparse.Namespace) -> int:
    """Sample, drive and print the rate with its interval."""
    from harness.campaign.printing.terminal import print_line  # noqa: PLC0415
    from metamorphic.search.configuration import composed, planned_search  # noqa: PLC0415

    for name in ("rounds", "every"):
        if getattr(options, name) < 1:
            raise UserError(f"--{name} {getattr(options, name)}: must be ≥ 1")
    if not 0 < options.width <= 1:
        raise UserError(f"--width {options.width:g}: must be > 0 and ≤ 1")
    config = composed(options.config, options.overrides, options.config_dir, trust=options.trust)
    ready = planned_search(config)
    centre = None
    if options.proposal is not None:
        centre = centre_of(options.proposal, ready, trust=options.trust)
    samples = Samples(ready, centre, options.rounds)
    for line in estimated(samples, width=options.width, every=options.every):
        print_line(line)
    print_line(NO_RATE)
    return 0


@dataclass(frozen=True, slots=True)
class Samples:
    """What is driven, round by round."""

    ready: SearchPlan
    centre: Floats | None  # of the proposal; none: the declared distribution alone
    rounds: int

    @property
    def routes(self) -> list[str]:
        """The strata."""
        return [one.route.name for one in self.ready.assignments]

    @property
    def space(self) -> Space:
        """The parameters without the choice of a route."""
        from metamorphic.search.template import ROUTE  # noqa: PLC0415

        return tuple(one for one in self.ready.search.space if one.name != ROUTE)

    def points(self) -> Floats:
        """Return standard normal points (rounds, routes, parameters), some round the centre.

        Each round has a stream of its own: more rounds go on where fewer ended.
        """
        from analysis.statistics.rare import sample  # noqa: PLC0415

        centre = np.zeros(len(self.space)) if self.centre is None else self.centre
        seed, count = self.ready.search.seed, len(self.routes)
        return np.array(
            [
                sample(centre, count, stream(seed, "rate", "values", str(number)))
                for number in range(self.rounds)
            ]
        )

    def candidates(self, points: Floats) -> list[list[Candidate]]:
        """Return what points stand for, in the worlds of their own seeds."""
        from analysis.statistics.rare import shares  # noqa: PLC0415
        from metamorphic.search.candidates import Candidate  # noqa: PLC0415
        from metamorphic.search.template import ROUTE  # noqa: PLC0415
        from metamorphic.space import values_at  # noqa: PLC0415

        several = len(self.routes) > 1
        listed = []
        for number, of_round in enumerate(points):
            row = []
            for at, (route, point) in enumerate(zip(self.routes, of_round, strict=True)):
                values = values_at(self.space, shares(point)) | ({ROUTE: route} if several else {})
                index = number * len(self.routes) + at
                seed = derived_seed(self.ready.search.seed, "rate", "world", str(index))
                row.append(Candidate(index, values, seed))
            listed.append(row)
        return listed


def centre_of(folder: Path, ready: SearchPlan, *, trust: bool) -> Floats:
    """Return the proposal's centre: the mean of a search's failures, as standard normal points."""
    from scipy import stats  # noqa: PLC0415

    from metamorphic.search.folders import read_search  # noqa: PLC0415

    searched = read_search(folder, trust=trust)
    if searched.ready.search.space != ready.search.space:
        raise UserError(f"{folder}: a search of another space")
    failures = [one.candidate.values for one in searched.evaluations if one.outcome.failed]
    if not failures:
        raise UserError(f"{folder}: no evaluation failed; leave out --proposal")
    space = Samples(ready, None, 1).space
    shares = np.array([[share_of(one, values[one.name]) for one in space] for values in failures])
    return np.asarray(stats.norm.ppf(np.clip(shares, TAIL, 1 - TAIL)).mean(axis=0))


def share_of(parameter: Any, value: float | str) -> float:
    """Return the share of a parameter's range at which a value lies, in the middle of its cell."""
    if isinstance(value, str):
        return float((parameter.choices.index(value) + 0.5) / len(parameter.choices))
    if parameter.kind == "whole":
        count = round(parameter.high) - round(parameter.low) + 1
        return float((value - round(parameter.low) + 0.5) / count)
    if parameter.kind == "log":
        return float(np.log(value / parameter.low) / np.log(parameter.high / parameter.low))
    return float((value - parameter.low) / (parameter.high - parameter.low))


def estimated(samples: Samples, *, width: float, every: int) -> Iterator[str]:
    """Drive until the rate is as precise as asked for; yield lines about it."""
    from metamorphic.search.commandline import following  # noqa: PLC0415
    from metamorphic.search.driving import LEDGERS, driver, fresh_seed  # noqa: PLC0415
    from metamorphic.search.ledger import header_with, open_ledger  # noqa: PLC0415
    from metamorphic.search.recorded import Recorded  # noqa: PLC0415

    ready = samples.ready
    points = samples.points()
    rounds = samples.candidates(points)
    header = header_with(
        {
            "search": ready.search.record(),
            "centre": None if samples.centre is None else samples.centre.tolist(),
        },
        {},
    )
    folder = ready.folder.with_name(f"{ready.folder.name}-rate")
    total = len(rounds) * len(samples.routes)
    evaluations: list[Evaluation] = []
    failed: list[list[bool]] = []
    with (
        driver(ready, folder, seed=fresh_seed) as drives,
        open_ledger(folder / LEDGERS, header) as ledger,
        following(ready.campaign["progress"], total, 0) as progress,
    ):
        mapper = Recorded(ledger, drives.mapper, progress)
        for first in range(0, len(rounds), every):
            part = rounds[first : first + every]
            outcomes = list(mapper(drives.evaluate, [one for row in part for one in row]))
            for outcome in outcomes:
                if not outcome.has_result:
                    raise UserError(
                        f"{folder}: an attempt has no result ({outcome.outcome}): a rate without"
                        " it would be biased; see ledger.jsonl there"
                    )
            marks = np.array([one.failed for one in outcomes]).reshape(len(part), -1)
            failed += marks.tolist()
            if narrow(samples, points, failed, width) and carried(samples, points, failed):
                break
        evaluations = ledger.evaluations
    yield f"{len(evaluations)} attempts, {sum(map(sum, failed))} failed"
    yield from lines_of(samples, points, np.array(failed))
    yield f"records: {folder}"


def weights_of(samples: Samples, points: Floats) -> Floats:
    """Return the weight of each sample: declared density over that it was sampled from."""
    from analysis.statistics.rare import weights_at  # noqa: PLC0415

    if samples.centre is None:
        return np.ones(points.shape[:2])
    flat = points.reshape(-1, points.shape[-1])
    return weights_at(flat, samples.centre).reshape(points.shape[:2])


def narrow(samples: Samples, points: Floats, failed: list[list[bool]], width: float) -> bool:
    """Return whether the interval is as narrow as asked for; it holds at every look."""
    low, high = interval_of(samples, points, np.array(failed))
    return high - low <= width


def carried(samples: Samples, points: Floats, failed: list[list[bool]]) -> bool:
    """Return whether enough samples carry the rate: with fewer a proposal's rate is refused."""
    from analysis.statistics.rare import FEWEST_EFFECTIVE  # noqa: PLC0415

    if samples.centre is None:
        return True
    return effective_of(samples, points, np.array(failed)) >= FEWEST_EFFECTIVE


def effective_of(samples: Samples, points: Floats, failed: Mask) -> float:
    """Return the effective sample size of the failures' weights."""
    from analysis.statistics.rare import effective_size  # noqa: PLC0415

    return effective_size((failed * weights_of(samples, points[: len(failed)])).ravel())


def interval_of(samples: Samples, points: Floats, failed: Mask) -> tuple[float, float]:
    """Return the always-valid limits of the rate, the mean over routes.

    The mean over routes of one round's weighted failures, over the largest weight, lies in 0 to 1.
    """
    from analysis.statistics.confidence_sequence import confidence_sequence  # noqa: PLC0415
    from analysis.statistics.rare import LARGEST_WEIGHT  # noqa: PLC0415

    weights = weights_of(samples, points[: len(failed)])
    most = 1.0 if samples.centre is None else LARGEST_WEIGHT
    means = np.clip((failed * weights).mean(axis=1) / most, 0.0, 1.0)
    low, high = confidence_sequence(means).last
    return low * most, min(high * most, 1.0)


def lines_of(samples: Samples, points: Floats, failed: Mask) -> Iterator[str]:
    """Yield the rate; with a proposal it is refused where too few samples carry it."""
    from analysis.statistics.rare import FEWEST_EFFECTIVE  # noqa: PLC0415

    weights = weights_of(samples, points[: len(failed)])
    low, high = interval_of(samples, points, failed)
    if samples.centre is not None:
        effective = effective_of(samples, points, failed)
        if effective < FEWEST_EFFECTIVE:
            raise UserError(
                f"effective sample size of the failures = {effective:.1f}: must be"
                f" ≥ {FEWEST_EFFECTIVE:.0f}; the rate is at most {high:.3g} (95 %, valid at any"
                " time); drive more --rounds"
            )
        yield f"effective sample size of the failures {effective:.0f}, largest weight" + (
            f" {weights.max():.2f}"
        )
    value = float((failed * weights).mean())
    yield f"rate {value:.3f} (95 % {low:.3f} to {high:.3f}, valid at any time)"
    if len(samples.routes) > 1:
        for route, at in zip(samples.routes, (failed * weights).mean(axis=0), strict=True):
            yield f"  route {route}: {at:.3f}"

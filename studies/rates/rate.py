"""`crucible rate`: estimates how often a system fails under sampled disturbances.

Parameters are sampled uniformly over their ranges (`log`: uniformly in the logarithm). The rate is
the failure probability under this distribution. The share of failures of a search is none.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.common.command_registry import CommandDeclaration
from harness.common.errors import UserError
from harness.common.options import OneLineParser
from harness.common.randomness import derive_seed, make_named_stream
from harness.types.vocabulary import Floats, Mask

if TYPE_CHECKING:
    from studies.search.candidates import SearchCandidate, SearchEvaluation
    from studies.search.configuration import SearchPlan
    from studies.search.following import DrivenEvaluations
    from studies.space import Space

COMMAND = CommandDeclaration(
    group="Search",
    rank=50,
    purpose="estimate how often a system fails under disturbances that are sampled",
    extra="run,learn,analysis",
    examples=(
        "crucible rate latency_cut_in --rounds 100 --width 0.2",
        "crucible rate latency_cut_in --rounds 500 --proposal runs/mine",
    ),
)


SMALLEST_RANGE_SHARE = 1e-6
"""Shares of a range nearer to its ends than this count as so far away."""
NO_RATE = "The share of failures of a search is no failure probability, and is not used here."


def main(arguments: Sequence[str], program: str = "crucible rate") -> int:
    """Do what the command line asks for; bad input is one line and exit code 2."""
    parser = OneLineParser(prog=program, description=__doc__)
    from studies.search.command_options import add_configuration_arguments, order_settings_first  # noqa: PLC0415

    add_configuration_arguments(parser)
    add = parser.add_argument
    add(
        "--rounds",
        type=int,
        default=100,
        metavar="N",
        help=(
            "largest number of rounds; a round drives every route once, with new seeds"
            " (default: 100)"
        ),
    )
    add(
        "--width",
        type=float,
        default=0.1,
        metavar="W",
        help=(
            "stop when the interval is as narrow; with --proposal, the effective sample"
            " size must also be 30 (default: 0.1)"
        ),
    )
    add(
        "--every",
        type=int,
        default=10,
        metavar="N",
        help="rounds between two looks at the interval (default: 10)",
    )
    add(
        "--proposal",
        type=Path,
        default=None,
        metavar="DIR",
        help="a finished search: half of the samples come from near its failures (default: none)",
    )
    add(
        "--trust",
        action="store_true",
        help=(
            "build all classes that files of --config-dir and the proposal's settings name"
            " (default: only classes that declare safe_from_file)"
        ),
    )
    options = parser.parse_args(order_settings_first(arguments, before=0))
    from harness.campaign.run import run_with_exit_code  # noqa: PLC0415 - takes a second

    return run_with_exit_code("rate", lambda: run_rate_command(options))


def run_rate_command(options: argparse.Namespace) -> int:
    """Sample, drive and print the rate with its interval."""
    from harness.campaign.printing.terminal import print_campaign_line  # noqa: PLC0415
    from studies.search.configuration import compose_search_config, plan_search  # noqa: PLC0415
    from studies.search.following import show_evaluations_plan  # noqa: PLC0415

    for name in ("rounds", "every"):
        if getattr(options, name) < 1:
            raise UserError(f"--{name} {getattr(options, name)}: must be ≥ 1")
    if not 0 < options.width <= 1:
        raise UserError(f"--width {options.width:g}: must be > 0 and ≤ 1")
    config = compose_search_config(
        options.config, options.overrides, options.config_dir, trust=options.trust
    )
    ready = plan_search(config)
    centre = None
    if options.proposal is not None:
        centre = compute_proposal_centre(options.proposal, ready, trust=options.trust)
    samples = RateSamples(ready, centre, options.rounds)
    if ready.campaign["dry_run"]:
        show_evaluations_plan(replace(ready, folder=samples.folder), samples.describe_drives())
        return 0
    for line in drive_rate_rounds(samples, width=options.width, every=options.every):
        print_campaign_line(line)
    print_campaign_line(NO_RATE)
    return 0


@dataclass(frozen=True, slots=True)
class RateSamples:
    """What is driven, round by round."""

    ready: SearchPlan
    centre: Floats | None  # of the proposal; none: the declared distribution alone
    rounds: int

    @property
    def routes(self) -> list[str]:
        """The strata."""
        return [one.route.name for one in self.ready.assignments]

    @property
    def system(self) -> str:
        """The system whose rate it is."""
        (name,) = self.ready.campaign["system"]
        return str(name)

    @property
    def space(self) -> Space:
        """The parameters without the choice of a route."""
        from studies.search.template import ROUTE_PARAMETER  # noqa: PLC0415

        return tuple(one for one in self.ready.search.space if one.name != ROUTE_PARAMETER)

    @property
    def folder(self) -> Path:
        """The folder of its records: next to that of a search of the same configuration."""
        return self.ready.folder.with_name(f"{self.ready.folder.name}-rate")

    def describe_drives(self) -> DrivenEvaluations:
        """Return how many drives there will be, at most, and how many are made."""
        from harness.campaign.printing.tables import format_quantity  # noqa: PLC0415
        from studies.search.driving import LEDGER_FOLDER  # noqa: PLC0415
        from studies.search.following import DrivenEvaluations  # noqa: PLC0415
        from studies.search.ledger import LEDGER_FILE, count_ledger_evaluations  # noqa: PLC0415

        rounds, routes = (
            format_quantity(number, word)
            for number, word in ((self.rounds, "round"), (len(self.routes), "route"))
        )
        return DrivenEvaluations(
            plan=f"up to {rounds} × {routes}, until the interval is narrow",  # noqa: RUF001
            total=self.rounds * len(self.routes),
            done=count_ledger_evaluations(self.folder / LEDGER_FOLDER / LEDGER_FILE),
            at_most=True,
            word="drive",
        )

    def describe_distribution(self) -> str:
        """Return what the rate is of: the system, the routes and what is sampled."""
        several = len(self.routes) > 1
        where = (
            f"{len(self.routes)} routes, each as often" if several else f"route {self.routes[0]}"
        )
        names = ", ".join(parameter.name for parameter in self.space)
        return f"{self.system} on {where}, with {names} over the declared ranges"

    def sample_points(self) -> Floats:
        """Return standard normal points (rounds, routes, parameters), some round the centre.

        Each round has a stream of its own: more rounds go on where fewer ended.
        """
        from analysis.statistics.rare import sample_proposal  # noqa: PLC0415

        centre = np.zeros(len(self.space)) if self.centre is None else self.centre
        seed, count = self.ready.search.seed, len(self.routes)
        return np.array(
            [
                sample_proposal(
                    centre, count, make_named_stream(seed, "rate", "values", str(number))
                )
                for number in range(self.rounds)
            ]
        )

    def build_candidates(self, points: Floats) -> list[list[SearchCandidate]]:
        """Return the drives to make for each point of the space.

        Every drive has a seed and so a world of its own.
        """
        from analysis.statistics.rare import convert_points_to_shares  # noqa: PLC0415
        from studies.search.candidates import SearchCandidate  # noqa: PLC0415
        from studies.search.template import ROUTE_PARAMETER  # noqa: PLC0415
        from studies.space import map_shares_to_values  # noqa: PLC0415

        several = len(self.routes) > 1
        listed = []
        for number, of_round in enumerate(points):
            row = []
            for at, (route, point) in enumerate(zip(self.routes, of_round, strict=True)):
                # values of the space, and the route where there are several
                values = map_shares_to_values(self.space, convert_points_to_shares(point)) | (
                    {ROUTE_PARAMETER: route} if several else {}
                )
                index = number * len(self.routes) + at
                seed = derive_seed(self.ready.search.seed, "rate", "world", str(index))
                row.append(SearchCandidate(index, values, seed))
            listed.append(row)
        return listed


def compute_proposal_centre(folder: Path, ready: SearchPlan, *, trust: bool) -> Floats:
    """Return the proposal's centre: the mean of a search's failures, as standard normal points."""
    from scipy import stats  # noqa: PLC0415

    from studies.search.folders import read_search  # noqa: PLC0415

    searched = read_search(folder, trust=trust)
    if searched.ready.search.space != ready.search.space:
        raise UserError(f"{folder}: a search of another space")
    failures = [one.candidate.values for one in searched.evaluations if one.outcome.failed]
    if not failures:
        raise UserError(f"{folder}: no evaluation failed; leave out --proposal")
    space = RateSamples(ready, None, 1).space
    # (failures, parameters) places within the ranges, 0 to 1
    shares = np.array(
        [[compute_range_share(one, values[one.name]) for one in space] for values in failures]
    )
    return np.asarray(
        stats.norm.ppf(np.clip(shares, SMALLEST_RANGE_SHARE, 1 - SMALLEST_RANGE_SHARE)).mean(axis=0)
    )


def compute_range_share(parameter: Any, value: float | str) -> float:
    """Return the share of a parameter's range at which a value lies, in the middle of its cell."""
    if isinstance(value, str):
        return float((parameter.choices.index(value) + 0.5) / len(parameter.choices))
    if parameter.kind == "whole":
        count = round(parameter.high) - round(parameter.low) + 1
        return float((value - round(parameter.low) + 0.5) / count)
    if parameter.kind == "log":
        return float(np.log(value / parameter.low) / np.log(parameter.high / parameter.low))
    return float((value - parameter.low) / (parameter.high - parameter.low))


def drive_rate_rounds(samples: RateSamples, *, width: float, every: int) -> Iterator[str]:
    """Drive until the rate is as precise as asked for; yield lines about it."""
    from harness.campaign.printing.tables import format_quantity  # noqa: PLC0415
    from studies.search.driving import LEDGER_FOLDER, compute_fresh_seed, open_driver  # noqa: PLC0415
    from studies.search.following import follow_evaluations  # noqa: PLC0415
    from studies.search.ledger import make_ledger_header, open_ledger  # noqa: PLC0415
    from studies.search.recorded import RecordedMapper  # noqa: PLC0415

    ready = samples.ready
    # all points are sampled first: resuming gives the same ones
    points = samples.sample_points()
    rounds = samples.build_candidates(points)
    header = make_ledger_header(
        {
            "search": ready.search.to_record(),
            "centre": None if samples.centre is None else samples.centre.tolist(),
        },
        {},
    )
    folder = samples.folder
    evaluations: list[SearchEvaluation] = []
    failed: list[list[bool]] = []
    narrow = False
    with (
        follow_evaluations(replace(ready, folder=folder), samples.describe_drives()) as follower,
        open_driver(ready, folder, seed=compute_fresh_seed, listener=follower) as drives,
        open_ledger(folder / LEDGER_FOLDER, header) as ledger,
    ):
        # evaluations of an earlier run come from the ledger
        mapper = RecordedMapper(ledger, drives.map_candidates, follower.note_evaluation)
        # rounds until the interval is narrow; it is valid at any time, so looking often is allowed
        for first in range(0, len(rounds), every):
            part = rounds[first : first + every]
            outcomes = list(mapper(drives.evaluate_candidate, [one for row in part for one in row]))
            for outcome in outcomes:
                # a failed try is no random sample of drives
                if not outcome.has_result:
                    raise UserError(
                        f"{folder}: an attempt has no result ({outcome.outcome}): a rate without"
                        " it would be biased; see ledger.jsonl there"
                    )
            # (rounds, routes) whether it failed
            marks = np.array([one.failed for one in outcomes]).reshape(len(part), -1)
            failed += marks.tolist()
            narrow = is_interval_narrow(samples, points, failed, width)
            if narrow and has_enough_effective_samples(samples, points, failed):
                break
        evaluations = ledger.evaluations
    yield (
        f"{format_quantity(len(evaluations), 'drive')} of {samples.system},"
        f" {sum(map(sum, failed))} failed"
    )
    yield (
        f"{len(failed)} of at most {format_quantity(len(rounds), 'round')}: the interval is"
        f" {'as narrow as' if narrow else 'wider than'} --width {width:g}"
    )
    yield from format_rate_lines(samples, points, np.array(failed))
    yield f"records: {folder}"


def compute_importance_weights(samples: RateSamples, points: Floats) -> Floats:
    """Return the weight of each sample: declared density over that it was sampled from."""
    from analysis.statistics.rare import compute_defensive_weights  # noqa: PLC0415

    if samples.centre is None:
        return np.ones(points.shape[:2])
    flat = points.reshape(-1, points.shape[-1])
    return compute_defensive_weights(flat, samples.centre).reshape(points.shape[:2])


def is_interval_narrow(
    samples: RateSamples, points: Floats, failed: list[list[bool]], width: float
) -> bool:
    """Return whether the interval is as narrow as asked for; it holds at every look."""
    low, high = compute_rate_interval(samples, points, np.array(failed))
    return high - low <= width


def has_enough_effective_samples(
    samples: RateSamples, points: Floats, failed: list[list[bool]]
) -> bool:
    """Return whether enough samples carry the rate: with fewer a proposal's rate is refused."""
    from analysis.statistics.rare import FEWEST_EFFECTIVE  # noqa: PLC0415

    if samples.centre is None:
        return True
    return compute_failure_effective_size(samples, points, np.array(failed)) >= FEWEST_EFFECTIVE


def compute_failure_effective_size(samples: RateSamples, points: Floats, failed: Mask) -> float:
    """Return the effective sample size of the failures' weights."""
    from analysis.statistics.rare import compute_effective_sample_size  # noqa: PLC0415

    return compute_effective_sample_size(
        (failed * compute_importance_weights(samples, points[: len(failed)])).ravel()
    )


def compute_rate_interval(
    samples: RateSamples, points: Floats, failed: Mask
) -> tuple[float, float]:
    """Return the always-valid limits of the rate, the mean over routes.

    The mean over routes of one round's weighted failures, over the largest weight, lies in 0 to 1.
    """
    from analysis.statistics.confidence_sequence import compute_confidence_sequence  # noqa: PLC0415
    from analysis.statistics.rare import LARGEST_WEIGHT  # noqa: PLC0415

    weights = compute_importance_weights(samples, points[: len(failed)])
    most = 1.0 if samples.centre is None else LARGEST_WEIGHT
    means = np.clip((failed * weights).mean(axis=1) / most, 0.0, 1.0)
    low, high = compute_confidence_sequence(means).last
    return low * most, min(high * most, 1.0)


def format_rate_lines(samples: RateSamples, points: Floats, failed: Mask) -> Iterator[str]:
    """Yield the rate; with a proposal it is refused where too few samples carry it."""
    from analysis.statistics.rare import FEWEST_EFFECTIVE  # noqa: PLC0415
    from harness.campaign.printing.tables import format_quantity  # noqa: PLC0415

    # (rounds, routes) weights of samples from near failures
    weights = compute_importance_weights(samples, points[: len(failed)])
    low, high = compute_rate_interval(samples, points, failed)
    # a rate that few samples carry is no estimate
    if samples.centre is not None:
        effective = compute_failure_effective_size(samples, points, failed)
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
    yield f"  of {samples.describe_distribution()}"
    if not failed.any():
        yield f"  no drive failed: 0 is no estimate; the rate is at most {high:.3f}"
    elif failed.all():
        yield f"  every drive failed: the rate is at least {low:.3f}"
    if len(samples.routes) > 1:
        # (rounds, routes) over rounds
        rates, counts = (failed * weights).mean(axis=0), failed.sum(axis=0)
        for route, rate, count in zip(samples.routes, rates, counts, strict=True):
            drives = format_quantity(len(failed), "drive")
            yield f"  route {route}: {rate:.3f}, {count} of {drives} failed"

"""`crucible decide-replay`: how many drives a sequential design needs, on recorded outcomes."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from harness.common.command_registry import CommandDeclaration
from harness.common.errors import UserError
from harness.common.randomness import make_named_stream
from harness.types.vocabulary import Floats

if TYPE_CHECKING:
    from studies.decide.monitor import DecisionRule, RoutePopulation
    from studies.decide.recorded import RecordedOutcomes
    from studies.decide.replay import ReplayPlan

COMMAND = CommandDeclaration(
    group="Studies",
    rank=81,
    purpose="count the drives that `decide` needs, on recorded outcomes taken as a population",
    extra="analysis",
    examples=(
        "crucible decide-replay studies/published/parts/a-*.parquet",
        "crucible decide-replay studies/published/parts/a-*.parquet --samples 100 --null-samples 0",
    ),
)

DESCRIPTION = """Take the recorded outcomes of the published study as a population: routes are
sampled with replacement. For each of the 16 comparisons of its first two questions, print the pairs
that a fixed design needs for the stated power, and the mean number of pairs of sequential designs
of the same power, over those of the fixed design; a pair is two drives. Then print how often null
hypotheses are rejected in simulated populations."""

FIXED_SAMPLES = 2000
"""Experiments from which the power of a fixed design is estimated."""
RECORDED, SIMULATED = "recorded", "simulated"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `crucible decide-replay` takes."""
    parser.description = DESCRIPTION
    add = parser.add_argument
    add("parts", nargs="+", type=Path, metavar="PART", help="packed parts of a study")
    add(
        "--level",
        type=float,
        default=0.05,
        metavar="A",
        help="error rate of a family (default: 0.05)",
    )
    add("--margin", type=float, default=0.1, metavar="D", help="of equivalence (default: 0.1)")
    add("--power", type=float, default=0.8, metavar="P", help="of both designs (default: 0.8)")
    add("--samples", type=int, default=400, metavar="N", help="experiments (default: 400)")
    add(
        "--null-samples",
        type=int,
        default=2000,
        metavar="N",
        help="experiments under null hypotheses (default: 2000)",
    )
    add("--most", type=int, default=4000, metavar="N", help="pairs at most (default: 4000)")
    add("--seed", type=int, default=1, metavar="N", help="of the experiments (default: 1)")
    parser.set_defaults(run=run_decide_replay)


@dataclass(frozen=True, slots=True)
class DesignMeans:
    """A row of the table: the means that a sequential design uses."""

    name: str
    rule: DecisionRule
    ideal: bool  # strata by the ideal system's outcome as well


@dataclass(frozen=True, slots=True, eq=False)
class ComparedPopulation:
    """A population with known differences.

    Attributes:
        source: recorded or simulated.
        differences: (routes,) of the second arm less the first.
        strata: without what the ideal systems show, and with it.
    """

    name: str
    source: str
    differences: Floats
    strata: tuple[RoutePopulation, RoutePopulation]


def run_decide_replay(options: argparse.Namespace) -> int:
    """Print the tables."""
    from analysis.terminal import print_escaped_line, show_grid  # noqa: PLC0415
    from studies.decide.recorded import read_recorded_outcomes  # noqa: PLC0415

    check_replay_options(options)
    recorded = read_recorded_outcomes(options.parts)
    print_escaped_line(
        f"{len(recorded.routes)} routes; level {options.level:g}, margin {options.margin:g},"
        f" power {options.power:g}; pairs over those of a fixed design"
    )
    for title, rows in build_gain_tables(recorded, options):
        show_grid(title, rows[0], rows[1:])
    if options.null_samples:
        rows = list(build_null_rows(options))
        show_grid("Errors in simulated populations", rows[0], rows[1:])
    return 0


def check_replay_options(options: argparse.Namespace) -> None:
    """Refuse numbers that no replay can use."""
    for name in ("level", "power", "margin"):
        value = getattr(options, name)
        if not 0 < value < 1:
            raise UserError(f"--{name} {value:g}: must be > 0 and < 1")
    for name in ("samples", "most"):
        if getattr(options, name) < 1:
            raise UserError(f"--{name} {getattr(options, name)}: must be ≥ 1")
    if options.null_samples < 0:
        raise UserError(f"--null-samples {options.null_samples}: must be ≥ 0")


def list_design_means(rule: DecisionRule, floor: float) -> list[DesignMeans]:
    """Return the rows of a table: from the sequence alone to all means."""
    alone = replace(rule, allocated=False, predicted=False, floor=1.0)
    allocated = replace(rule, allocated=True, predicted=False, floor=floor)
    everything = replace(rule, allocated=True, predicted=True, floor=floor)
    return [
        DesignMeans("sequence alone", alone, ideal=False),
        DesignMeans("and allocation", allocated, ideal=False),
        DesignMeans("and control variates", replace(alone, predicted=True), ideal=True),
        DesignMeans("all", everything, ideal=True),
    ]


def list_replayed_claims(margin: float) -> Iterator[tuple[str, DecisionRule, float]]:
    """Yield the claims of the tables: title, rule and floor of the allocation."""
    from studies.decide.monitor import FLOORS, DecisionRule  # noqa: PLC0415

    yield (
        "The mean: more, fewer or equivalent",
        DecisionRule(question="either", claim="mean", margin=margin),
        FLOORS["mean"],
    )
    yield (
        "The mean: more or fewer",
        DecisionRule(question="superiority", claim="mean", margin=margin),
        FLOORS["mean"],
    )
    yield (
        "Some stratum: more or fewer (the null hypothesis of sign flips)",
        DecisionRule(question="superiority", claim="somewhere", margin=margin),
        FLOORS["somewhere"],
    )


def build_gain_tables(
    recorded: RecordedOutcomes, options: argparse.Namespace
) -> Iterator[tuple[str, list[list[str]]]]:
    """Yield for each claim a title and the rows of its table."""
    from studies.decide.replay import ReplayPlan  # noqa: PLC0415

    populations = list(list_compared_populations(recorded))
    for title, rule, floor in list_replayed_claims(options.margin):
        means = list_design_means(rule, floor)
        rows = [["comparison", "difference", "fixed, pairs", *(one.name for one in means)]]
        for source in (RECORDED, SIMULATED):
            ratios = []
            for compared in populations:
                if compared.source != source:
                    continue
                plan = ReplayPlan(rule=rule, level=options.level, samples=options.samples)
                fixed, taken = compare_designs(compared, means, plan, options)
                ratios.append(taken / fixed)
                cells = [format_ratio(value) for value in ratios[-1]]
                difference = f"{compared.differences.mean():+.3f}"
                rows.append(
                    [compared.name, difference, "-" if np.isnan(fixed) else f"{fixed:.0f}", *cells]
                )
            middle = np.nanmedian(np.array(ratios), axis=0)
            rows.append([f"median, {source}", "", "", *(format_ratio(value) for value in middle)])
        yield title, rows


def format_ratio(value: float) -> str:
    """Return a ratio; a dash where no decision would be right, or the power is not reached."""
    return f"{value:.2f}" if np.isfinite(value) else "-"


def list_compared_populations(recorded: RecordedOutcomes) -> Iterator[ComparedPopulation]:
    """Yield the published comparisons, then simulated ones."""
    from studies.decide.recorded import list_published_comparisons  # noqa: PLC0415
    from studies.decide.simulated import list_effect_populations  # noqa: PLC0415

    strata = (recorded.divide_by_reveal(), recorded.divide_by_ideal())
    for name, arms in list_published_comparisons().items():
        yield ComparedPopulation(name, RECORDED, recorded.get_differences(arms), strata)
    for one in list_effect_populations():
        # nothing is known of simulated routes but their stratum
        same = (one.population, one.population)
        yield ComparedPopulation(one.name, SIMULATED, one.differences, same)


def compare_designs(
    compared: ComparedPopulation,
    means: Sequence[DesignMeans],
    plan: ReplayPlan,
    options: argparse.Namespace,
) -> tuple[float, Floats]:
    """Return the pairs of a fixed design, and the mean numbers of sequential ones.

    Args:
        compared: a population.
        means: of the sequential designs.
        plan: how they are replayed.
        options: power and seed.
    """
    from studies.decide.fixed_design import MOST_ROUTES_TRIED, count_fixed_routes  # noqa: PLC0415
    from studies.decide.replay import (  # noqa: PLC0415
        compute_mean_routes,
        list_right_decisions,
        replay_decisions,
    )

    name, differences = compared.name, compared.differences
    right = list_right_decisions(float(differences.mean()), plan.rule)
    if not right:
        return np.nan, np.full(len(means), np.nan)
    fixed = count_fixed_routes(
        differences,
        right,
        level=plan.level,
        margin=plan.rule.margin if plan.rule.question != "superiority" else 0.0,
        power=options.power,
        random=make_named_stream(options.seed, "decide", "fixed", name),
        samples=FIXED_SAMPLES,
    )
    # beyond what is tried, the ratio is at most the one that is printed
    fixed = min(fixed, MOST_ROUTES_TRIED)
    taken = []
    for one in means:
        ended = replay_decisions(
            compared.strata[one.ideal],
            {name: differences},
            replace(plan, rule=one.rule, most=min(int(3 * fixed), options.most)),
            make_named_stream(options.seed, "decide", "replay", name, one.name),
        )
        taken.append(
            compute_mean_routes(ended.decisions[:, 0], ended.routes[:, 0], right, options.power)
        )
    return fixed, np.array(taken)


def build_null_rows(options: argparse.Namespace) -> Iterator[list[str]]:
    """Yield how often designs with all means err under nulls, one comparison and eight at once."""
    from analysis.statistics.intervals import compute_clopper_pearson_interval  # noqa: PLC0415
    from studies.decide.replay import ReplayPlan, replay_decisions  # noqa: PLC0415
    from studies.decide.simulated import list_null_populations  # noqa: PLC0415

    yield ["claim", "population", "comparisons", "errors", "rate", "95 %"]
    for title, rule, floor in list_replayed_claims(options.margin):
        used = replace(rule, floor=floor)
        plan = ReplayPlan(rule=used, level=options.level, samples=options.null_samples, most=400)
        for simulated in list_null_populations(rule.claim):
            right = [int(one) for one in simulated.list_right(used)]
            for count in (1, 8):
                families = make_null_family(simulated.differences, simulated.population, count)
                random = make_named_stream(options.seed, "decide", "null", title, simulated.name)
                ended = replay_decisions(simulated.population, families, plan, random)
                wrong = (ended.decisions != 0) & ~np.isin(ended.decisions, right)
                errors = int(wrong.any(axis=1).sum())
                low, high = compute_clopper_pearson_interval(errors, plan.samples)
                rate = f"{errors / plan.samples:.4f}"
                interval = f"{low:.4f} to {high:.4f}"
                yield [title, simulated.name, str(count), str(errors), rate, interval]


def make_null_family(
    differences: Floats, population: RoutePopulation, count: int
) -> Mapping[str, Floats]:
    """Return comparisons with the same differences, on other routes of the same stratum."""
    random = make_named_stream(count, "decide", "family")
    family = {}
    for number in range(count):
        values = differences.copy()
        for stratum in range(len(population.expected)):
            members = np.flatnonzero(population.strata == stratum)
            values[members] = random.permutation(differences[members])
        family[str(number)] = values
    return family

"""What `crucible decide` prints: the plan, and a table after each batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from rich import box
from rich.markup import escape

from analysis.statistics.sequential_family import Decision
from harness.campaign.printing.tables import show_note
from harness.campaign.printing.terminal import console
from harness.common.fitting_table import FittingTable
from harness.common.randomness import make_named_stream
from studies.decide.driving import StudyState, is_budget_spent
from studies.decide.forecast import ForecastPairs, forecast_pairs, forecast_study, make_rate_sampler
from studies.decide.monitor import ComparisonMonitor
from studies.decide.planning import DecidePlan
from studies.decide.progress import ComparisonProgress

ASSUMED_DIFFERENCES = (0.0, 0.1, 0.2, 0.3, 0.5)
"""Mean differences for which a plan is simulated, b less a."""
BOTH_WAYS = 0.05
"""Share of pairs that differ in the other direction, in these simulations."""
SIMULATED_STUDIES = 100
ARMS_OF_PAIR = 2
MOST_STRATA_SHOWN = 30


def show_study_progress(plan: DecidePlan, state: StudyState) -> None:
    """Print one table: each comparison, how far it is, and what is left by estimate."""
    ended = is_budget_spent(plan, state) or not state.open_comparisons
    pairs, drives = state.pairs, len(state.drives)
    level = 1 - plan.declaration.level
    table = FittingTable(
        title=f"batch {state.batches}: {pairs} pairs, {drives} drives of {plan.declaration.most}",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    table.add_column("comparison", overflow="fold")
    for name in ("pairs", "b - a", f"{100 * level:.0f} % at any time", "state", "drives left"):
        table.add_column(name, justify="right", no_wrap=True)
    left = estimate_drives_left(plan, state) if not ended else {}
    for one in state.comparisons:
        low, high = one.compute_interval(plan.declaration.level)
        table.add_row(
            escape(one.declared.name),
            str(one.pairs),
            f"{one.estimate:+.3f}" if one.pairs else "-",
            f"{low:+.2f} to {high:+.2f}",
            one.describe_state(is_budget_spent(plan, state)),
            left.get(one.declared.name, "-"),
        )
    console.print(table)


def estimate_drives_left(plan: DecidePlan, state: StudyState) -> dict[str, str]:
    """Return by comparison the drives of its two arms that it may still take, as text."""
    if not state.pairs:
        return {}
    most = (plan.declaration.most - state.spent) // ARMS_OF_PAIR
    forecast = forecast_study(
        state.stratified.population,
        state.comparisons,
        level=plan.declaration.level,
        batch=plan.declaration.batch,
        most=most,
        random=make_named_stream(plan.declaration.seed, "decide", "forecast", str(state.batches)),
    )
    left = {}
    for at, one in enumerate(state.comparisons):
        if not one.is_open:
            continue
        decided = (forecast.decisions[:, at] != Decision.UNDECIDED).mean()
        middle = float(np.median(forecast.pairs[:, at]))
        about = f"about {ARMS_OF_PAIR * middle:.0f}"
        left[one.declared.name] = about if decided > 1 / 2 else "over the budget"
    return left


def show_study_plan(plan: DecidePlan) -> None:
    """Print what is compared, the strata with their shares, and drives by simulation."""
    declaration = plan.declaration
    console.print(make_comparisons_table(plan))
    strata = FittingTable(
        title=describe_population(plan),
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    strata.add_column("stratum", overflow="fold")
    for name in ("routes", "share"):
        strata.add_column(name, justify="right")
    for one in plan.stratified.list_strata()[:MOST_STRATA_SHOWN]:
        strata.add_row(escape(str(one["name"])), str(one["routes"]), f"{one['share']:.3f}")
    console.print(strata)
    show_note(
        "sampling",
        f"{100 * declaration.floor:.0f} % as the population has it, the rest where arms differ;"
        f" {declaration.batch} pairs between looks, {declaration.most} drives at most",
    )
    if plan.ideal:
        count = len(plan.ideal) * len(plan.stratified.routes)
        names = ", ".join(map(str, plan.ideal))
        show_note(
            "ideal",
            f"{names}: {count} drives before the first batch, in addition; routes on which the"
            " first one fails become one more stratum",
        )


def describe_population(plan: DecidePlan) -> str:
    """Return what the study is about, in a few words."""
    count, town = len(plan.stratified.routes), plan.planned.town
    if plan.declaration.is_of_generator:
        return f"all routes of the generator in {town}; shares counted on {count}"
    return f"{count} routes in {town}"


def make_comparisons_table(plan: DecidePlan) -> FittingTable:
    """Return what is compared."""
    declaration = plan.declaration
    table = FittingTable(
        title=f"{declaration.name}: error rate {declaration.level:g} of all comparisons together",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    for name in ("comparison", "a", "b", "outcome", "question"):
        table.add_column(name, overflow="fold")
    for one in declaration.comparisons:
        question = f"{one.question}, {one.claim}"
        question += f", margin {one.margin:g}" if one.margin else ""
        table.add_row(*map(escape, (one.name, one.a, one.b, one.outcome, question)))
    return table


def show_simulated_drives(plan: DecidePlan) -> None:
    """Print how many drives the study takes if all comparisons have some difference."""
    arms = {arm for pair in plan.arms.values() for arm in pair}
    table = FittingTable(
        title=f"drives by simulation, {SIMULATED_STUDIES} studies each",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    table.add_column("mean difference of all")
    for name in ("decided", "equivalent", "drives, median", "9 of 10 under"):
        table.add_column(name, justify="right")
    for row in list_simulated_rows(plan, len(arms)):
        table.add_row(*row)
    console.print(table)
    show_note(
        "",
        f"assumed: differences of 1, and of -1 on {100 * BOTH_WAYS:.0f} % of pairs, in every"
        " stratum alike; a decision counts in any direction",
    )


def list_simulated_rows(plan: DecidePlan, arms: int) -> Iterator[tuple[str, ...]]:
    """Yield a row for each assumed difference."""
    most = plan.declaration.most // arms
    for difference in ASSUMED_DIFFERENCES:
        forecast = simulate_study(plan, difference, most)
        decided = forecast.decisions != Decision.UNDECIDED
        equivalent = forecast.decisions == Decision.EQUIVALENT
        # all arms are driven until the last comparison is decided: an upper bound
        drives = arms * forecast.pairs.max(axis=1)
        middle, high = np.quantile(drives, (0.5, 0.9))
        yield (
            f"{difference:.2f}",
            f"{100 * decided.mean():.0f} %",
            f"{100 * equivalent.mean():.0f} %",
            f"{middle:.0f}",
            f"{high:.0f}",
        )


def simulate_study(plan: DecidePlan, difference: float, most: int) -> ForecastPairs:
    """Return how studies end in which all comparisons have one mean difference."""
    population = plan.stratified.population
    declaration = plan.declaration
    monitors = [
        ComparisonMonitor.start(
            one.make_rule(declaration.floor), SIMULATED_STUDIES, len(population.expected)
        )
        for one in declaration.comparisons
    ]
    sampler = make_rate_sampler(difference + BOTH_WAYS, BOTH_WAYS)
    return forecast_pairs(
        population,
        monitors,
        [sampler] * len(monitors),
        level=declaration.level,
        batch=declaration.batch,
        most=most,
        random=make_named_stream(declaration.seed, "decide", "dry run", f"{difference:g}"),
    )


def list_progress_events(
    plan: DecidePlan, comparisons: Sequence[ComparisonProgress], ended: bool
) -> list[dict[str, object]]:
    """Return comparisons as JSON has them."""
    events = []
    for one in comparisons:
        low, high = one.compute_interval(plan.declaration.level)
        events.append(
            {
                "name": one.declared.name,
                "pairs": one.pairs,
                "estimate": one.estimate,
                "low": low,
                "high": high,
                "state": one.describe_state(ended),
            }
        )
    return events

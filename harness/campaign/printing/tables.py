"""The plan before a campaign, and the table after it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rich.markup import escape
from rich.measure import Measurement

from harness.campaign.folder.summary import ArmSummary
from harness.campaign.planning.estimate import CampaignEstimate, estimate_campaign
from harness.campaign.planning.paces import SystemPace
from harness.campaign.planning.plan import CampaignPlan
from harness.campaign.printing.terminal import console, print_campaign_line
from harness.campaign.printing.units import format_bytes, format_duration
from harness.common.fitting_table import FittingTable
from harness.common.terminal_lines import wrap_with_units
from harness.records.arms import Arm, format_arm_label, list_varying_factors
from harness.records.ledger import list_finished_attempts
from harness.types.record_names import GROUND_TRUTHS, PATTERNS
from harness.world.routes.kinds import NOT_RUN

DRIVING = ("n", "DS", "CR %", "RCR %", "violations", "time s")
WITHOUT = "without messages"
NOTHING = "-"
WIDEST = 1000
"""Columns that no table takes."""
MARGIN = 14
"""Columns before a note."""


def show_plan(
    plan: CampaignPlan, folder: Path, paces: Mapping[str, SystemPace] | None = None
) -> None:
    """Print what would be run, what not, and what it would take."""
    done = list_finished_attempts(folder).intersection(plan.attempts)
    show_note("plan", f"{describe_plan_product(plan)} in {plan.town}")
    # a row for every arm; what is the same in all rows has no column
    table = FittingTable()
    factors = list_varying_factors(key.arm for key in plan.attempts)
    for name in factors:
        table.add_column(name)
    for name in ("attempts", "done") if done else ("attempts",):
        table.add_column(name, justify="right")
    finished_of = Counter(key.arm for key in done)
    for arm, count in Counter(key.arm for key in plan.attempts).items():
        numbers = (count, finished_of[arm]) if done else (count,)
        table.add_row(*map(escape, arm.get_values(factors)), *map(str, numbers))
    console.print(table)
    # what was left out, and what it takes
    for name, text in (
        *list_plan_notes(plan),
        *(("radio", line) for line in plan.carried),
        *(("computing", line) for line in plan.computing),
        *list_estimate_notes(estimate_campaign(plan, folder, paces), plan),
    ):
        show_note(name, text)
    print_campaign_line(f"{'folder':{MARGIN}}{folder}")


def show_note(name: str, text: str) -> None:
    """Print a few words under a name."""
    lines = wrap_with_units(text, console.width - MARGIN)
    margin = " " * MARGIN
    indented = f"\n{margin}".join(lines)
    print_campaign_line(f"{name:{MARGIN}}{indented}")


def list_plan_notes(plan: CampaignPlan) -> Iterator[tuple[str, str]]:
    """Yield notes on routes, hazards and conditions."""
    # routes
    metres = sum(assignment.route.length for assignment in plan.assignments)
    length = f"{metres / 1000:.1f} km" if metres >= 100 else f"{metres:.0f} m"
    ways = (
        "each a way of its own"
        if plan.geometries == len(plan.assignments)
        else (f"{plan.geometries} different ways")
    )
    yield "routes", f"{len(plan.assignments)}, {ways}, {length} together"
    for first, *others in plan.same_way:
        if plan.left_out:
            yield "left out", f"the same way as {first}: {', '.join(others)}"
    yield from list_skipped_notes(plan)
    if plan.spoilt:
        yield "not clean", ", ".join(plan.spoilt)
    if plan.truth:
        yield "ground truth", plan.truth
    # hazards
    hazards = Counter(hazard.kind for part in plan.assignments for hazard in part.runnable)
    yield "hazards", ", ".join(f"{n} {kind}" for kind, n in sorted(hazards.items())) or "none"
    not_run = Counter(
        (hazard.source, hazard.kind.removeprefix(NOT_RUN))
        for part in plan.assignments
        for hazard in part.not_run
    )
    for (source, reason), count in sorted(not_run.items()):
        yield "not run", f"{count} {source}: {reason}"
    # arms
    for reason in plan.unfit:
        yield "not driven", reason


def list_skipped_notes(plan: CampaignPlan) -> Iterator[tuple[str, str]]:
    """Yield where routes come from, conditions driven by another name, and what is invalid."""
    if plan.origin:
        yield "origin", plan.origin
    for note in plan.systems:
        yield "system", note
    if plan.size_zero:
        yield "size 0", f"{', '.join(plan.size_zero)}: as none, which is driven once"
    for kept, *others in plan.same:
        yield "same", f"{', '.join(others)}: delivers what {kept} does, which is driven"
    if plan.invalid:
        left = "is left out" if len(plan.invalid) == 1 else "are left out"
        yield "invalid", f"{format_quantity(len(plan.invalid), 'route')} {left}"
    for problem in plan.invalid:
        yield "", problem
    routes: dict[tuple[str, str], list[str]] = {}
    for spec, why in plan.unplaceable:
        routes.setdefault((spec.kind, why), []).append(spec.route)
    for (kind, why), names in sorted(routes.items()):
        yield "no place", f"{len(names)} {kind}: {why} (routes {', '.join(names)})"


def show_beginning(plan: CampaignPlan, folder: Path, expected: CampaignEstimate) -> None:
    """Print the plan in short, before anything is driven: what, what not, how long, and where."""
    show_note("plan", f"{describe_plan_product(plan)} in {plan.town}")
    for name, text in (*list_skipped_notes(plan), *describe_remaining_work(expected, plan)):
        show_note(name, text)
    print_campaign_line(f"{'folder':{MARGIN}}{folder}")


def describe_plan_product(plan: CampaignPlan) -> str:
    """Return how many attempts there are, and how that comes about."""
    factors = [
        format_quantity(number, name.removesuffix("s"))
        for name, number in count_plan_factors(plan).items()
    ]
    return f"{' × '.join(factors)} = {format_quantity(len(plan.attempts), 'attempt')}"  # noqa: RUF001


def count_plan_factors(plan: CampaignPlan) -> dict[str, int]:
    """Return how many arms, routes and seeds there are."""
    keys = plan.attempts
    return {
        "arms": len({key.arm for key in keys}),
        "routes": len({key.route for key in keys}),
        "seeds": len({key.seed for key in keys}),
    }


def format_quantity(number: int, name: str) -> str:
    """Return a number of things: 1 arm, 2 arms."""
    return f"{number} {name}" if number == 1 else f"{number} {name}s"


def list_estimate_notes(
    expected: CampaignEstimate, plan: CampaignPlan
) -> Iterator[tuple[str, str]]:
    """Yield what is done and what is left, and what it will take."""
    yield "done", f"{expected.done} of {expected.done + expected.left}"
    yield from describe_remaining_work(expected, plan)


def describe_remaining_work(
    expected: CampaignEstimate, plan: CampaignPlan
) -> Iterator[tuple[str, str]]:
    """Yield what is left, if anything is, and what it will take."""
    workers = describe_workers(plan)
    if known := expected.left - expected.left_of_guests:
        yield (
            "left",
            f"{format_quantity(known, 'attempt')}: about {format_duration(expected.seconds)} with"
            f" {workers} and {format_bytes(expected.bytes)} on disk,"
            f" {describe_estimate_source(expected)}",
        )
    if count := expected.left_of_guests:
        yield (
            "" if known else "left",
            f"{format_quantity(count, 'attempt')} of {', '.join(expected.guests)} with {workers}:"
            " the time is not known before the first one has finished",
        )


def describe_workers(plan: CampaignPlan) -> str:
    """Return how many workers there are, and the cores if they are fewer."""
    workers = format_quantity(plan.at_a_time, "worker")
    few = plan.cores is not None and plan.cores < plan.at_a_time
    return f"{workers} on {format_quantity(plan.cores or 1, 'core')}" if few else workers


def describe_estimate_source(expected: CampaignEstimate) -> str:
    """Return where an estimate comes from."""
    if expected.samples:
        return f"going by {format_quantity(expected.samples, 'finished attempt')} here"
    if not expected.remembered:
        return "by a rule of thumb for carlite; this machine has finished none like these"
    before = (
        f"going by {format_quantity(expected.remembered, 'attempt')} that this machine drove before"
    )
    return f"{before}{''.join(f'; {name} by a rule of thumb' for name in expected.unknown)}"


def show_results(
    folder: Path,
    plan: CampaignPlan,
    rows: Sequence[ArmSummary],
    faults: Mapping[Arm, str],
    *,
    truth_filter: str,
) -> None:
    """Print one row for each arm, which arms show nothing, and what is missing."""
    title = f"{plan.town}: what happened"
    # one table if it fits the terminal, else two
    whole = build_summary_table(title, rows, (*DRIVING, *PATTERNS))
    if measure_table_width(whole) <= console.width:
        console.print(whole)
    else:
        console.print(build_summary_table(title, rows, DRIVING))
        console.print(build_summary_table("", rows, PATTERNS))
    print_campaign_line(f"ground truth: {GROUND_TRUTHS[truth_filter]}")
    print_campaign_line(f"records: {folder}")
    # what the table does not show
    for row in rows:
        if row.hazards_absent:
            absent = f"{row.hazards_absent} of {row.hazards} hazards had no place and were not run"
            print_campaign_line(f"{row.arm}: {absent}")
    for reason in plan.unfit:
        print_campaign_line(f"not driven: {reason}")
    factors = list_varying_factors(key.arm for key in plan.attempts)
    for arm, fault in faults.items():
        print_campaign_line(f"arm without effect: {format_arm_label(arm, factors)}: {fault}")
    done = list_finished_attempts(folder).intersection(plan.attempts)
    # what is left to drive
    missing = len(plan.attempts) - len(done)
    if missing:
        verb = "has" if missing == 1 else "have"
        print_campaign_line(
            f"{missing} of {len(plan.attempts)} attempts {verb} no result;"
            f" crucible status {folder} lists them"
        )


def measure_table_width(table: FittingTable) -> int:
    """Return how many columns of a terminal a table takes if nothing in it is folded."""
    return Measurement.get(console, console.options.update(width=WIDEST), table).maximum


def build_summary_table(
    title: str, rows: Sequence[ArmSummary], columns: Sequence[str]
) -> FittingTable:
    """Return some columns of the summary of each arm."""
    table = FittingTable(title=title or None)
    factors = list_varying_factors(row.arm for row in rows)
    for name in factors:
        table.add_column(name, overflow="fold")
    # attempts without messages have a column only where there are any
    if "n" in columns and any(row.without_messages for row in rows):
        columns = ["n", WITHOUT, *(name for name in columns if name != "n")]
    for name in columns:
        table.add_column(name, justify="right", no_wrap=name != WITHOUT)
    for row in rows:
        cells = {
            "n": str(row.attempts),
            WITHOUT: str(row.without_messages),
            "DS": f"{row.driving_score:.1f}",
            "CR %": f"{row.collision_rate:.1f}",
            "RCR %": f"{row.route_completion:.1f}",
            "violations": str(row.violations),
            "time s": NOTHING if math.isnan(row.time_to_goal) else f"{row.time_to_goal:.1f}",
            **{
                name: NOTHING if count is None else str(count)
                for name, count in row.patterns.items()
            },
        }
        names = map(escape, row.arm.get_values(factors))
        table.add_row(*names, *(cells[name] for name in columns))
    return table

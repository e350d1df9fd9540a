"""Status at the command line: how far a campaign is, what failed, how far seeds are apart."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from rich.markup import escape

from harness.campaign.planning.survey import (
    ArmProgress,
    CampaignSurvey,
    FailureSummary,
    SeedMeans,
    survey_campaign,
)
from harness.campaign.printing.terminal import console, print_campaign_line
from harness.common.command_registry import CommandDeclaration
from harness.common.fitting_table import FittingTable
from harness.records.arms import format_arm_label, list_varying_factors

COMMAND = CommandDeclaration(
    group="Campaigns",
    rank=20,
    purpose="print the progress and the failures of a campaign",
    extra="run",
    examples=(
        "crucible status runs/demo",
        "crucible status runs/demo --json",
    ),
)


SHOWN = 20
"""Names that are printed before the rest is a number."""
NOT_TRIED = "not tried yet"
NOTHING = "-"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `crucible status` takes."""
    parser.add_argument("folder", type=Path, metavar="DIR", help="a campaign's folder")
    parser.add_argument("--json", action="store_true", help="print the whole status as JSON")
    parser.add_argument(
        "--trust",
        action="store_true",
        help=(
            "build all classes that the folder's settings name (default: only classes that"
            " declare safe_from_file)"
        ),
    )
    parser.set_defaults(run=run_status_command)


def run_status_command(options: argparse.Namespace) -> int:
    """Print what a campaign folder holds."""
    state = survey_campaign(options.folder, options.trust)
    if options.json:
        print(json.dumps(format_status_json(state), indent=1))
    else:
        show_status(state)
    return 0


def format_status_json(state: CampaignSurvey) -> dict[str, object]:
    """Return everything as JSON has it; an arm is its factors by name."""
    arms = [{**asdict(arm), "arm": dict(arm.arm.factors)} for arm in state.arms]
    return {**asdict(state), "folder": str(state.folder), "arms": arms}


def show_status(state: CampaignSurvey) -> None:
    """Print tables and lines."""
    work = "a runner is at work" if state.at_work else "no runner is at work"
    print_escaped(f"{state.folder}: {state.study} on {state.simulator}; {work}")
    print_escaped(
        f"{state.done} of {state.planned} attempts have a result" + format_tries(state.tries)
    )
    # an arm without effect has no row: its numbers would mislead
    arms = [arm for arm in state.arms if not arm.fault]
    console.print(build_arm_table("", [(arm, arm.final) for arm in arms]))
    if any(arm.first != arm.final for arm in arms):
        console.print(build_arm_table("at the first try", [(arm, arm.first) for arm in arms]))
    # what went wrong
    factors = list_varying_factors(arm.arm for arm in state.arms)
    for arm in state.arms:
        for line in list_arm_notes(arm, factors):
            print_escaped(line)
    for failures in state.failures:
        for line in format_failure_lines(failures):
            print_escaped(line)
    for ending, names in group_by_ending(state.missing).items():
        shown = names if len(names) <= SHOWN else [*names[:SHOWN], f"and {len(names) - SHOWN} more"]
        print_escaped(f"no result, {ending} ({len(names)}): {', '.join(shown)}")
    for trouble in state.troubles:
        print_escaped(f"trouble: {trouble}")


def list_arm_notes(arm: ArmProgress, factors: Sequence[str]) -> Iterator[str]:
    """Yield notes on an arm's messages."""
    name = format_arm_label(arm.arm, factors)
    if arm.fault:
        left = arm.planned - (arm.final.attempts if arm.final else 0)
        yield f"arm without effect: {name}: {arm.fault}" + (f"; {left} are left" if left else "")
    elif arm.without_messages:
        yield f"{name}: {arm.without_messages} attempts without messages"


def build_arm_table(
    title: str, arms: Sequence[tuple[ArmProgress, SeedMeans | None]]
) -> FittingTable:
    """Return one row for each arm, from all its results or some of them."""
    table = FittingTable(title=title or None, title_justify="left")
    factors = list_varying_factors(arm.arm for arm, _ in arms)
    for name in factors:
        table.add_column(name, overflow="fold")
    for name in ("results", "DS (by seed)", "CR % (by seed)", "time s"):
        table.add_column(name, justify="right", no_wrap=True)
    for arm, means in arms:
        cells = [*arm.arm.get_values(factors), f"{means.attempts if means else 0}/{arm.planned}"]
        if means is None:
            cells += [NOTHING] * 3
        else:
            cells.append(format_with_span(means.driving_score, means.driving_scores))
            cells.append(format_with_span(means.collision_rate, means.collision_rates))
            time = means.time_to_goal
            cells.append(NOTHING if time is None else f"{time:.1f}")
        table.add_row(*map(escape, map(make_printable, cells)))
    return table


def format_with_span(value: float, by_seed: Mapping[int, float]) -> str:
    """Return a mean, and its range over the seeds; one seed has none."""
    if len(by_seed) < 2:
        return f"{value:.1f}"
    return f"{value:.1f} ({min(by_seed.values()):.1f}..{max(by_seed.values()):.1f})"


def format_tries(tries: Mapping[int, int]) -> str:
    """Return how often attempts were tried."""
    if set(tries) <= {1}:
        return ""
    parts = [f"{count} after {number}" for number, count in tries.items()]
    return f"; tries: {', '.join(parts)}"


def format_failure_lines(failures: FailureSummary) -> Iterator[str]:
    """Yield lines on one class of failure."""
    left = f", {failures.without_result} without result" if failures.without_result else ""
    plural = "try" if failures.tries == 1 else "tries"
    last = f"last {failures.last}: {failures.message}"
    yield f"{failures.failure}: {failures.tries} {plural}{left}; {last}"
    yield from (f"    server: {line}" for line in failures.server)


def group_by_ending(missing: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the attempts without result by how they ended, those never tried last."""
    endings: dict[str, list[str]] = {}
    for name, ending in sorted(missing.items(), key=lambda pair: pair[1] == NOT_TRIED):
        endings.setdefault(ending, []).append(name)
    return endings


def print_escaped(text: str) -> None:
    """Print a line with control characters escaped."""
    print_campaign_line(make_printable(text))


def make_printable(text: str) -> str:
    """Return a text that cannot move the cursor."""
    return "".join(
        character if character.isprintable() else repr(character)[1:-1] for character in text
    )

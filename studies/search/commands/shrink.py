"""`crucible shrink`: the smallest values at which a finding still happens."""

from __future__ import annotations

import argparse

from harness.common.command_registry import CommandDeclaration
from studies.search.command_options import (
    add_search_folder_arguments,
    build_repeat_rule,
    end_as_campaign,
)

COMMAND = CommandDeclaration(
    group="Search",
    rank=30,
    purpose="find the smallest values at which a failure still happens",
    extra="run,learn,search",
    examples=(
        "crucible shrink runs/mine",
        "crucible shrink runs/mine --finding 7 --cells 0",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `crucible shrink` takes."""
    add_search_folder_arguments(parser)
    add = parser.add_argument
    add(
        "--finding",
        type=int,
        action="append",
        default=[],
        metavar="N",
        help="an evaluation that failed; may be repeated (default: all confirmed findings)",
    )
    add("--redraws", type=int, default=5, metavar="N", help="seeds for each probe (default: 5)")
    add(
        "--least",
        type=int,
        default=None,
        metavar="N",
        help="seeds that must show the same failure (default: half of --redraws)",
    )
    add(
        "--budget",
        type=int,
        default=60,
        metavar="N",
        help="evaluations for each finding (default: 60)",
    )
    add(
        "--cells",
        type=int,
        default=6,
        metavar="N",
        help="windows up to the violation, as in crucible attribute; 0: none (default: 6)",
    )
    parser.set_defaults(run=end_as_campaign("shrink", run_shrink_command))


def run_shrink_command(options: argparse.Namespace) -> int:
    """Shrink findings, and print them."""
    from harness.campaign.printing.terminal import console, print_campaign_line  # noqa: PLC0415
    from harness.common.errors import UserError  # noqa: PLC0415
    from studies.search import shrink as shrinking  # noqa: PLC0415
    from studies.search.confirm import read_confirmations  # noqa: PLC0415
    from studies.search.folders import read_search  # noqa: PLC0415
    from studies.search.following import follow_evaluations  # noqa: PLC0415
    from studies.search.tables import render_shrunk_table  # noqa: PLC0415

    settings = shrinking.ShrinkSettings(
        repeats=build_repeat_rule(options), budget=options.budget, cells=options.cells
    )
    # confirmed findings, or the one that is named
    searched = read_search(options.folder, workers=options.workers, trust=options.trust)
    confirmations = [] if options.finding else read_confirmations(searched)
    findings = shrinking.select_findings_to_shrink(searched, confirmations, options.finding)
    if not findings:
        raise UserError(f"{options.folder}: no finding is confirmed; --finding N names one")
    # shrink
    smallest = []
    for finding in findings:
        print_campaign_line(f"evaluation {finding.candidate.number}: {finding.outcome.outcome}")
        driven = shrinking.describe_probes(searched, finding, settings)
        with follow_evaluations(searched.ready, driven, mode="live") as follower:
            smallest.append(shrinking.shrink_finding(searched, finding, settings, follower))
    before = [finding.candidate.values for finding in findings]
    console.print(render_shrunk_table(before, smallest, searched.ready.campaign["tick"]))
    print_campaign_line(f"records: {options.folder / shrinking.SHRINK}")
    return 0

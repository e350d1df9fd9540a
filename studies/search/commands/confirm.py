"""`crucible confirm`: findings driven again with other seeds."""

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
    rank=20,
    purpose=("drive the findings of a search again with other seeds, and list confirmed findings"),
    extra="run,learn,search",
    examples=(
        "crucible confirm runs/mine --redraws 10 --most 20",
        "crucible confirm runs/mine --redraws 20 --least 10 --workers 2",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `crucible confirm` takes."""
    add_search_folder_arguments(parser)
    add = parser.add_argument
    add("--redraws", type=int, default=10, metavar="N", help="seeds for each finding (default: 10)")
    add(
        "--least",
        type=int,
        default=None,
        metavar="N",
        help="seeds that must show the same failure (default: half of --redraws)",
    )
    add(
        "--most",
        type=int,
        default=20,
        metavar="N",
        help="largest number of findings, the first of every distinct failure (default: 20)",
    )
    parser.set_defaults(run=end_as_campaign("confirm", run_confirm_command))


def run_confirm_command(options: argparse.Namespace) -> int:
    """Confirm findings, and print them all."""
    from harness.campaign.printing.terminal import console, print_campaign_line  # noqa: PLC0415
    from studies.search.confirm import CONFIRM, ConfirmationSettings, confirm_search  # noqa: PLC0415
    from studies.search.folders import read_search  # noqa: PLC0415
    from studies.search.following import follow_evaluations  # noqa: PLC0415
    from studies.search.tables import NO_RATE, render_confirmations_table  # noqa: PLC0415

    # confirm what is not confirmed yet
    confirming = ConfirmationSettings(repeats=build_repeat_rule(options), most=options.most)
    searched = read_search(options.folder, workers=options.workers, trust=options.trust)
    driven = confirming.describe_repeats(searched)
    with follow_evaluations(searched.ready, driven, mode="live") as follower:
        confirmations = confirm_search(searched, confirming, follower)
    # print all, and what was left out
    console.print(render_confirmations_table(searched.evaluations, confirmations))
    left = len(searched.findings) - len(confirmations)
    if left:
        print_campaign_line(
            f"{left} further distinct failures were not repeated: --most {options.most}"
        )
    print_campaign_line(NO_RATE)
    print_campaign_line(f"records: {options.folder / CONFIRM}")
    return 0

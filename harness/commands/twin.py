"""Twins at the command line: re-run an attempt, unchanged or with a changed disturbance."""

from __future__ import annotations

import argparse
from pathlib import Path

from harness.campaign.printing.terminal import print_campaign_line
from harness.campaign.run import DONE, SOME_FAILED, run_with_exit_code
from harness.campaign.twins.record_diff import list_record_differences
from harness.campaign.twins.twins import AttemptTwin, CampaignTwins
from harness.common.command_registry import CommandDeclaration
from harness.common.errors import UserError
from harness.records.cases import find_case
from harness.records.keys import AttemptKey
from harness.records.reading import CampaignRecords
from harness.records.twins import TwinChange, Window

COMMAND = CommandDeclaration(
    group="Campaigns",
    rank=30,
    purpose="drive an attempt again, unchanged or with a changed disturbance",
    extra="run",
    examples=(
        "crucible twin runs/demo 3",
        "crucible twin runs/demo 3 --without latency",
        "crucible twin runs/demo late/ahead/latency/0-s1 --window 5 10",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `crucible twin` takes."""
    parser.add_argument("folder", type=Path, metavar="DIR", help="a campaign's folder")
    parser.add_argument(
        "case",
        metavar="CASE",
        help="a violation's number, or an attempt's name such as late/latency/7-s1",
    )
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        metavar="DISTURBANCE",
        help="leave out this disturbance; may be repeated (default: none)",
    )
    parser.add_argument(
        "--window",
        nargs=2,
        type=float,
        action="append",
        metavar=("T0", "T1"),
        help=("seconds since the start; disturbances act only in this window (default: always)"),
    )
    parser.add_argument(
        "--resample",
        type=int,
        default=0,
        metavar="N",
        help=("sample the disturbances again, as sample number N ≥ 1 (default: the same sample)"),
    )
    parser.add_argument(
        "--trust",
        action="store_true",
        help=(
            "build all classes that the folder's settings name (default: only classes that"
            " declare safe_from_file)"
        ),
    )
    parser.set_defaults(
        run=lambda options: run_with_exit_code("twin", lambda: run_twin_command(options))
    )


def run_twin_command(options: argparse.Namespace) -> int:
    """Drive one twin, and print its outcome next to that of its attempt."""
    campaign = CampaignRecords(options.folder)
    key = find_case(campaign, options.case)
    twins = CampaignTwins(options.folder, progress="quiet", trust=options.trust)
    change = parse_twin_change(options, campaign)
    one = AttemptTwin(key, change)
    twins.drive_twins([one])
    print_campaign_line(f"{key}: {describe_outcome_kind(campaign.read_result(key)['crucible'])}")
    print_campaign_line(
        f"{one.key if change != TwinChange() else 'again'}:"
        f" {describe_outcome_kind(twins.read_twin_result(one))}"
    )
    return DONE if change != TwinChange() else print_record_comparison(campaign, key, twins, one)


def parse_twin_change(options: argparse.Namespace, campaign: CampaignRecords) -> TwinChange:
    """Return the change that was asked for."""
    if options.resample < 0:
        raise UserError(f"--resample {options.resample}: must be ≥ 1")
    windows = None
    if options.window is not None:
        tick = campaign.header["settings"]["tick"]
        windows = tuple(convert_to_ticks(first, end, tick) for first, end in options.window)
    return TwinChange(tuple(options.without), windows, options.resample)


def convert_to_ticks(first: float, end: float, tick: float) -> Window:
    """Return the ticks between two times."""
    if not 0 <= first < end < float("inf"):
        raise UserError(f"--window {first:g} {end:g}: two times, the earlier one first")
    return round(first / tick), max(round(end / tick), round(first / tick) + 1)


def print_record_comparison(
    campaign: CampaignRecords, key: AttemptKey, twins: CampaignTwins, one: AttemptTwin
) -> int:
    """Print whether the records equal those of the attempt."""
    unlike = list_record_differences(campaign.find_attempts()[key], twins.get_twin_path(one))
    if not unlike:
        print_campaign_line("all records are the same, byte for byte")
        return DONE
    print_campaign_line(
        "the records differ: another version of the code, or of a library, drove the attempt?"
    )
    for line in unlike:
        print_campaign_line(f"  {line}")
    return SOME_FAILED


def describe_outcome_kind(result: dict[str, object]) -> str:
    """Return how an attempt ended, in a few words."""
    violation = result["violation"]
    score = f"DS {result['driving_score']:.1f}"
    if not isinstance(violation, dict):
        return f"{score}, clean"
    with_type = f" with {violation['with_type']}" if violation["with_type"] else ""
    return f"{score}, {violation['kind'].replace('_', ' ')}{with_type} at {violation['time']:.2f} s"

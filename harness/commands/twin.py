"""Twins at the command line: re-run an attempt, unchanged or with a changed disturbance."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from harness.campaign.printing.terminal import print_line
from harness.campaign.run import DONE, SOME_FAILED, guarded
from harness.campaign.twins.record_diff import partings
from harness.campaign.twins.twins import Twin, Twins
from harness.errors import UserError
from harness.records.cases import case
from harness.records.keys import AttemptKey
from harness.records.reading import Campaign
from harness.records.twins import Change, Window

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add(commands: Commands) -> None:
    """Add `twin`."""
    parser = commands.add_parser("twin", help="drive an attempt again, as it was or otherwise")
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
        help="leave out this disturbance; may be repeated (default: none is left out)",
    )
    parser.add_argument(
        "--window",
        nargs=2,
        type=float,
        action="append",
        metavar=("T0", "T1"),
        help="window in s since the start; disturbances happen inside it only (default: always)",
    )
    parser.add_argument(
        "--resample",
        type=int,
        default=0,
        metavar="N",
        help="sample the disturbances again; N ≥ 1 numbers the samples (default: not)",
    )
    parser.add_argument(
        "--trust",
        action="store_true",
        help="build all classes that the folder's settings name (default: declared safe only)",
    )
    parser.set_defaults(run=lambda options: guarded("twin", lambda: twin(options)))


def twin(options: argparse.Namespace) -> int:
    """Drive one twin, and print its outcome next to that of its attempt."""
    campaign = Campaign(options.folder)
    key = case(campaign, options.case)
    twins = Twins(options.folder, progress="quiet", trust=options.trust)
    change = change_of(options, campaign)
    one = Twin(key, change)
    twins.drive([one])
    print_line(f"{key}: {outcome(campaign.result(key)['crucible'])}")
    print_line(f"{one.key if change != Change() else 'again'}: {outcome(twins.result(one))}")
    return DONE if change != Change() else same(campaign, key, twins, one)


def change_of(options: argparse.Namespace, campaign: Campaign) -> Change:
    """Return the change that was asked for."""
    if options.resample < 0:
        raise UserError(f"--resample {options.resample}: must be ≥ 1")
    windows = None
    if options.window is not None:
        tick = campaign.header["settings"]["tick"]
        windows = tuple(in_ticks(first, end, tick) for first, end in options.window)
    return Change(tuple(options.without), windows, options.resample)


def in_ticks(first: float, end: float, tick: float) -> Window:
    """Return the ticks between two times."""
    if not 0 <= first < end < float("inf"):
        raise UserError(f"--window {first:g} {end:g}: two times, the earlier one first")
    return round(first / tick), max(round(end / tick), round(first / tick) + 1)


def same(campaign: Campaign, key: AttemptKey, twins: Twins, one: Twin) -> int:
    """Print whether the records equal those of the attempt."""
    unlike = partings(campaign.attempts()[key], twins.place(one))
    if not unlike:
        print_line("all records are the same, byte for byte")
        return DONE
    print_line(
        "the records differ: another version of the code, or of a library, drove the attempt?"
    )
    for line in unlike:
        print_line(f"  {line}")
    return SOME_FAILED


def outcome(result: dict[str, object]) -> str:
    """Return how an attempt ended, in a few words."""
    violation = result["violation"]
    score = f"DS {result['driving_score']:.1f}"
    if not isinstance(violation, dict):
        return f"{score}, clean"
    with_type = f" with {violation['with_type']}" if violation["with_type"] else ""
    return f"{score}, {violation['kind'].replace('_', ' ')}{with_type} at {violation['time']:.2f} s"

"""Unpack at the command line: campaign folders of packed files, for all commands of analysis."""

from __future__ import annotations

import argparse
from pathlib import Path

from harness.campaign.printing.terminal import print_campaign_line
from harness.common.command_registry import CommandDeclaration
from harness.records.packing.unpack import unpack_campaigns

COMMAND = CommandDeclaration(
    group="Studies",
    rank=20,
    purpose="make campaign folders from packed files, for all commands of analysis",
    extra="run",
    examples=("crucible unpack part-1.parquet part-2.parquet --out study",),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `crucible unpack` takes."""
    parser.add_argument(
        "files", type=Path, nargs="+", metavar="FILE", help="packed files, the parts of a study"
    )
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="folder for the campaign folders"
    )
    parser.set_defaults(run=run_unpack_command)


def run_unpack_command(options: argparse.Namespace) -> int:
    """Unpack, and print where."""
    for folder in unpack_campaigns(options.files, options.out):
        print_campaign_line(str(folder))
    return 0

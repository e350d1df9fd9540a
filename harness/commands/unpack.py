"""Unpack at the command line: campaign folders of packed files, for all commands of analysis."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from harness.campaign.printing.terminal import print_unwrapped_line
from harness.records.packing.unpack import unpack_campaigns

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add(commands: Commands) -> None:
    """Add `unpack_campaigns`."""
    parser = commands.add_parser("unpack", help="make campaign folders of packed files")
    parser.add_argument(
        "files", type=Path, nargs="+", metavar="FILE", help="packed files, the parts of a study"
    )
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="folder for the campaigns' folders"
    )
    parser.set_defaults(run=run_unpack_command)


def run_unpack_command(options: argparse.Namespace) -> int:
    """Unpack, and print where."""
    for folder in unpack_campaigns(options.files, options.out):
        print_unwrapped_line(str(folder))
    return 0

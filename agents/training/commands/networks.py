"""`crucible networks`: evaluations of networks side by side."""

from __future__ import annotations

import argparse
from pathlib import Path

from harness.common.command_registry import CommandDeclaration

COMMAND = CommandDeclaration(
    group="Systems",
    rank=50,
    purpose="print evaluations of networks side by side, with intervals",
    extra="run,learn",
    examples=(
        "crucible networks single.json late.json fcooper.json",
        "crucible networks evaluations/*.json --against late --out table.md",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `crucible networks` takes."""
    add = parser.add_argument
    add("files", type=Path, nargs="+", metavar="FILE", help="files from `evaluate --out`")
    add(
        "--against",
        default="single",
        metavar="SCHEME",
        help="scheme from which differences are taken (default: single)",
    )
    add(
        "--out",
        type=Path,
        metavar="FILE",
        help="write the tables to this file as Markdown too (default: not written)",
    )
    parser.set_defaults(run=run_networks)


def run_networks(options: argparse.Namespace) -> None:
    """Compare."""
    from agents.training.side_by_side import print_side_by_side  # noqa: PLC0415

    print_side_by_side(options.files, options.against, options.out)

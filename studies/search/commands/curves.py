"""`crucible curves`: several searches side by side."""

from __future__ import annotations

import argparse
from pathlib import Path

from harness.common.command_registry import CommandDeclaration
from studies.search.command_options import end_as_campaign, show_search_curves

COMMAND = CommandDeclaration(
    group="Search",
    rank=40,
    purpose="print confirmed failures of several searches against budget",
    extra="run,learn,search",
    examples=(
        "crucible curves runs/latency_cut_in-study",
        "crucible curves runs/tpe runs/random",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `crucible curves` takes."""
    parser.add_argument(
        "folders",
        type=Path,
        nargs="+",
        metavar="DIR",
        help="folders of confirmed searches, or the folder of a study with such folders",
    )
    parser.add_argument(
        "--trust",
        action="store_true",
        help=(
            "build all classes that the folders' settings name (default: only classes that"
            " declare safe_from_file)"
        ),
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help=(
            "folder for findings, and for a curve and a map of each system (default: not written)"
        ),
    )
    parser.set_defaults(run=end_as_campaign("curves", run_curves_command))


def run_curves_command(options: argparse.Namespace) -> int:
    """Print the tables of several searches."""
    from harness.common.errors import UserError  # noqa: PLC0415
    from studies.search.folders import get_ledger_file  # noqa: PLC0415

    folders = [
        place
        for folder in options.folders
        for place in (folder, *sorted(folder.glob("*/*")))
        if get_ledger_file(place).is_file() and place.name not in ("confirm", "shrink")
    ]
    if not folders:
        raise UserError(f"{options.folders[0]}: no search in it")
    return show_search_curves(folders, trust=options.trust, out=options.out)

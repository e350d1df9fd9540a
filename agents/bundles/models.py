"""`crucible models check DIR`: what published models are, before they drive."""

from __future__ import annotations

import argparse
from pathlib import Path

from harness.common.command_registry import CommandDeclaration
from harness.common.errors import UserError

COMMAND = CommandDeclaration(
    group="Systems",
    rank=60,
    purpose="check folders of published models: form, files, weights, licence",
    extra="run,learn",
    examples=(
        "crucible models check checkpoints",
        "crucible models check models/coperception/pointpillar-v2xvit-intermediate-opv2v-22",
    ),
)
FAILED = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `crucible models` takes."""
    parser.add_argument("action", choices=("check",), help="check: read, and run nothing")
    parser.add_argument(
        "folder",
        type=Path,
        metavar="DIR",
        help="a model's folder, or one with models up to four folders below",
    )
    parser.set_defaults(run=check_models)


def check_models(options: argparse.Namespace) -> int:
    """Print a row for each bundle, then what is to be said of each."""
    from rich.console import Console  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    from agents.bundles.bundle import find_bundles  # noqa: PLC0415
    from agents.bundles.bundle_check import HEAD, check_bundle  # noqa: PLC0415
    from harness.common.findings import COLOURS  # noqa: PLC0415
    from harness.common.fitting_table import FittingTable  # noqa: PLC0415
    from harness.common.progress_bar import show_bar  # noqa: PLC0415
    from harness.common.terminal_lines import print_plain_line  # noqa: PLC0415

    if not options.folder.is_dir():
        raise UserError(f"{options.folder}: no such folder")
    folders = list(find_bundles(options.folder))
    if not folders:
        raise UserError(
            f"{options.folder}: no model in it: a folder of one has a config.yaml, or the folders"
            " perception and planner"
        )
    console = Console()
    checked = []
    with show_bar("models", len(folders), console=console) as bar:
        for folder in folders:
            checked.append(check_bundle(folder))
            bar.advance()
    table = FittingTable(*HEAD)
    for one in checked:
        *cells, verdict = one.list_cells()
        table.add_row(*map(Text, cells), Text(verdict, COLOURS[verdict]))
    console.print(table)
    for one in checked:
        for finding in one.findings:
            if finding.verdict != "passed" or len(checked) == 1:
                line = f"{one.name}: {finding.check} {finding.verdict}: {finding.sentence}"
                print_plain_line(console, line)
    wrong = sum(one.verdict == "failed" for one in checked)
    print_plain_line(console, f"{len(checked)} checked, {wrong} failed")
    return FAILED if wrong else 0

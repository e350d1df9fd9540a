"""`crucible export-dataset`: recorded scenes as other programs read them."""

from __future__ import annotations

import argparse
from pathlib import Path

from harness.common.command_registry import CommandDeclaration
from harness.common.errors import UserError

COMMAND = CommandDeclaration(
    group="Systems",
    rank=25,
    purpose="write recorded scenes and drives in other programs' layouts",
    extra="run",
    examples=(
        "crucible export-dataset --format opv2v data/test exported/opv2v",
        "crucible export-dataset --format v2xset data/test exported/v2xset",
        "crucible export-dataset --format v2xverse --split train data/train exported/v2xverse",
        "crucible export-dataset --format nuscenes data/test exported/nuscenes",
        "crucible export-dataset --format mcap runs/kept exported/drives",
    ),
)
FORMATS = ("opv2v", "v2xset", "v2xverse", "nuscenes", "mcap")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `crucible export-dataset` takes."""
    parser.add_argument(
        "--format", choices=FORMATS, required=True, help="layout of the written folder"
    )
    parser.add_argument(
        "source",
        type=Path,
        metavar="SOURCE",
        help="recordings of `crucible collect`, or a campaign with record.points=true",
    )
    parser.add_argument(
        "folder", type=Path, metavar="DIR", help="folder to write; the same command resumes"
    )
    parser.add_argument(
        "--split",
        choices=("train", "validate", "test"),
        help="of V2Xverse, which chooses scenes by town (default: as recorded)",
    )
    parser.set_defaults(run=run_export_dataset)


def run_export_dataset(options: argparse.Namespace) -> int:
    """Export, and print what was written."""
    from harness.campaign.printing.terminal import print_campaign_line  # noqa: PLC0415
    from harness.datasets.export import export_dataset  # noqa: PLC0415

    if options.split is not None and options.format != "v2xverse":
        raise UserError("--split: of --format v2xverse only")
    line = export_dataset(options.source, options.folder, options.format, split=options.split)
    print_campaign_line(line)
    return 0

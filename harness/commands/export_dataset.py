"""`crucible export-dataset`: recorded scenes as other programs read them."""

from __future__ import annotations

import argparse
from pathlib import Path

from harness.common.command_registry import CommandDeclaration

COMMAND = CommandDeclaration(
    group="Systems",
    rank=25,
    purpose="write recorded scenes as OpenCOOD and HEAL read them",
    extra="run",
    examples=(
        "crucible export-dataset --format opv2v data/test exported/opv2v",
        "crucible export-dataset --format v2xset data/test exported/v2xset",
    ),
)
FORMATS = ("opv2v", "v2xset")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `crucible export-dataset` takes."""
    parser.add_argument(
        "--format", choices=FORMATS, required=True, help="layout of the written folder"
    )
    parser.add_argument(
        "source", type=Path, metavar="SOURCE", help="recordings of `crucible collect`"
    )
    parser.add_argument(
        "folder", type=Path, metavar="DIR", help="folder to write; the same command resumes"
    )
    parser.set_defaults(run=run_export_dataset)


def run_export_dataset(options: argparse.Namespace) -> int:
    """Export, and print what was written."""
    from harness.campaign.printing.terminal import print_campaign_line  # noqa: PLC0415
    from harness.datasets.export import export_dataset  # noqa: PLC0415

    print_campaign_line(export_dataset(options.source, options.folder, options.format))
    return 0

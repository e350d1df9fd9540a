"""Options that several commands share."""

from __future__ import annotations

import argparse
from pathlib import Path

from analysis.collection import CampaignCollection
from analysis.commands.progress import read_campaigns
from harness.common.errors import UserError
from harness.common.files import LINK
from harness.common.given_places import refuse_file_for_folder
from harness.common.suggestions import describe_unknown_name

FORMATS = ("csv", "parquet", "latex")


def describe_command(parser: argparse.ArgumentParser, description: str) -> None:
    """Give a command a description of one paragraph; the help breaks it as the terminal is wide."""
    parser.description = description


def add_folders_argument(parser: argparse.ArgumentParser) -> None:
    """Add the campaign folders."""
    parser.add_argument(
        "folders",
        type=Path,
        nargs="+",
        metavar="DIR",
        help=(
            "campaign folders; several folders are pooled, or compared if they hold the"
            " same attempts"
        ),
    )


def add_results_only_option(parser: argparse.ArgumentParser) -> None:
    """Add the choice to read results only."""
    parser.add_argument(
        "--results-only",
        action="store_true",
        help="read result.json files only, no Parquet: faster, with fewer tables (default: off)",
    )


def add_mixing_option(parser: argparse.ArgumentParser) -> None:
    """Add the permission to pool simulators."""
    parser.add_argument(
        "--mix-simulators",
        action="store_true",
        help="pool records of carlite with records of CARLA (default: refused)",
    )


def add_out_option(parser: argparse.ArgumentParser) -> None:
    """Add the output folder."""
    parser.add_argument(
        "--out",
        type=parse_output_folder,
        metavar="DIR",
        help="folder to write to (default: report/ in the first campaign folder)",
    )


def parse_output_folder(text: str) -> Path:
    """Return a folder to write to, which need not be there; UserError for a file."""
    folder = Path(text)
    refuse_file_for_folder(folder, "--out")
    return folder


def add_format_option(parser: argparse.ArgumentParser) -> None:
    """Add the file formats."""
    parser.add_argument(
        "--format",
        default="csv",
        metavar="FORMAT[,FORMAT ...]",
        help=f"file formats: {', '.join(FORMATS)} (default: csv)",
    )


def parse_formats(text: str) -> list[str]:
    """Return the formats asked for."""
    formats = list(dict.fromkeys(text.split(",")))
    for name in formats:
        if name not in FORMATS:
            raise UserError(f"--format: {describe_unknown_name('format', name, FORMATS)}")
    return formats


def select_plain_formats(formats: list[str]) -> list[str]:
    """Return the formats of tables without estimates, which are not typeset."""
    return [name for name in formats if name != "latex"] or ["csv"]


def read_collection(options: argparse.Namespace, whole: bool) -> CampaignCollection:
    """Read the folders that were named; with `whole`, check all tables of their records.

    Args:
        options: with `folders` and `mix_simulators`.
        whole: read every record to its end before anything is computed.

    Returns:
        Attempts, what is missing, and notes.

    Raises:
        UserError: a folder is none of a campaign, or two do not go together.
    """
    return read_campaigns(options.folders, options.mix_simulators, whole=whole)


def resolve_output_folder(options: argparse.Namespace, collection: CampaignCollection) -> Path:
    """Return where files go; a `report` in a campaign's folder must not lead out of it.

    Args:
        options: of the command; `out` is a folder or None.
        collection: whose first folder gets the report.
    """
    if options.out:
        return Path(options.out)
    out = collection.folder / "report"
    if out.is_symlink():
        raise UserError(f"{out}: {LINK}, or choose another --out DIR")
    return out

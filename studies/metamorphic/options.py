"""Options of the command line that several actions have."""

from __future__ import annotations

import argparse
from pathlib import Path

from harness.common.errors import UserError
from harness.common.files import write_whole
from harness.common.terminal_lines import print_stdout_line


def refuse_below_one(options: argparse.Namespace, *names: str) -> None:
    """Refuse counts below 1."""
    for name in names:
        value = getattr(options, name)
        if value is not None and value < 1:
            raise UserError(f"--{name.replace('_', '-')} {value}: must be 1 or more")


def add_scenes_option(parser: argparse.ArgumentParser) -> None:
    """Add what names recordings."""
    parser.add_argument(
        "--scenes",
        type=Path,
        nargs="+",
        required=True,
        metavar="DIR",
        help="recordings of `crucible collect`",
    )


def add_study_argument(parser: argparse.ArgumentParser) -> None:
    """Add what names the records of a study."""
    parser.add_argument(
        "study",
        type=Path,
        metavar="STUDY",
        help="folder of `check`, or a file of `pack`",
    )


def add_process_options(parser: argparse.ArgumentParser) -> None:
    """Add seed and processes."""
    add = parser.add_argument
    add("--seed", type=int, default=1, metavar="N", help="seed of all samples (default: 1)")
    add("--workers", type=int, default=2, metavar="N", help="processes (default: 2)")


def print_or_write_text(text: str, file: Path | None) -> None:
    """Print a page, or write it and print where it is.

    Args:
        text: of the page.
        file: the target; None prints the text.
    """
    if file is None:
        print(text)
        return
    write_whole(file, text)
    print_stdout_line(str(file))

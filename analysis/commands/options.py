"""What several commands ask for alike."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from analysis.collection import Collection, collect
from harness.errors import UserError
from harness.files import LINK

FORMATS = ("csv", "parquet", "latex")

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]
else:
    Commands = object


def add_mixing(parser: argparse.ArgumentParser) -> None:
    """Add the permission to pool simulators."""
    parser.add_argument(
        "--mix-simulators", action="store_true", help="pool records of carlite with CARLA's"
    )


def add_out(parser: argparse.ArgumentParser) -> None:
    """Add where files go."""
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="where files go; else report/ in the first folder"
    )


def add_format(parser: argparse.ArgumentParser) -> None:
    """Add what kinds of files are wanted."""
    parser.add_argument("--format", default="csv", help=f"some of {','.join(FORMATS)}")


def formats_in(text: str) -> list[str]:
    """Return the formats asked for."""
    formats = list(dict.fromkeys(text.split(",")))
    if unknown := [each for each in formats if each not in FORMATS]:
        raise UserError(f"--format: no {', '.join(unknown)}; there are {', '.join(FORMATS)}")
    return formats


def plain_formats(formats: list[str]) -> list[str]:
    """Return the formats of tables without estimates, which are not typeset."""
    return [each for each in formats if each != "latex"] or ["csv"]


def collected(options: argparse.Namespace) -> Collection:
    """Read the folders that were named."""
    return collect(options.folders, options.mix_simulators)


def out_of(options: argparse.Namespace, found: Collection) -> Path:
    """Return where files go; a `report` in a campaign's folder must not lead out of it."""
    if options.out:
        return Path(options.out)
    out = found.folder / "report"
    if out.is_symlink():
        raise UserError(f"{out}: {LINK}, or choose another --out DIR")
    return out

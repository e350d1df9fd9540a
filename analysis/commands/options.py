"""What several commands ask for alike."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from analysis.collection import Collection, collect

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


def collected(options: argparse.Namespace) -> Collection:
    """Read the folders that were named."""
    return collect(options.folders, options.mix_simulators)


def out_of(options: argparse.Namespace, found: Collection) -> Path:
    """Return where files go."""
    return Path(options.out) if options.out else found.folder / "report"

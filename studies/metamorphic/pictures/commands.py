"""`crucible metamorphic natural`: how natural inserted road users are."""

from __future__ import annotations

import argparse
from pathlib import Path

from harness.common.terminal_lines import print_plain_line
from studies.metamorphic.options import add_process_options, add_scenes_option, refuse_below_one


def add_natural_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `natural`."""
    add_scenes_option(parser)
    add = parser.add_argument
    add(
        "--out",
        type=Path,
        required=True,
        metavar="DIR",
        help="folder of the records; the same command resumes (default: none)",
    )
    add(
        "--count",
        type=int,
        metavar="N",
        help="largest number of scenes (default: all)",
    )
    add_process_options(parser)
    parser.set_defaults(run=run_natural)


def run_natural(options: argparse.Namespace) -> None:
    """Insert a road user into each scene, and print how natural that is."""
    from harness.common.console import make_console  # noqa: PLC0415
    from harness.common.progress_bar import show_bar  # noqa: PLC0415
    from studies.metamorphic.running.natural import (  # noqa: PLC0415
        NaturalnessSettings,
        build_naturalness_sheets,
        measure_naturalness,
    )
    from studies.metamorphic.tables.printing import to_rich_table  # noqa: PLC0415

    refuse_below_one(options, "count", "workers")
    measuring = NaturalnessSettings(
        recordings=tuple(options.scenes),
        scenes=options.count,
        seed=options.seed,
        folder=options.out,
    )
    with show_bar("scenes", len(measuring.select_sources()), workers=options.workers) as bar:
        rows = measure_naturalness(measuring, options.workers, bar.advance)
    console = make_console()
    for sheet in build_naturalness_sheets(rows):
        console.print(to_rich_table(sheet))
    print_plain_line(console, f"records: {options.out}")

"""`crucible metamorphic null` and `select`: guides without weakness, and tests saved before."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from harness.common.errors import UserError
from harness.common.terminal_lines import print_stdout_line
from studies.metamorphic.options import (
    add_scenes_option,
    add_study_argument,
    print_or_write_text,
    refuse_below_one,
)

NULL_RATES = (0.02, 0.1, 0.3)
NULL_TABLE_WORLDS = 100


def add_null_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `null`."""
    add_study_argument(parser)
    add = parser.add_argument
    add(
        "--systems",
        nargs="+",
        metavar="NAME",
        help="systems whose tests are used (default: all of the study)",
    )
    add(
        "--rates",
        type=float,
        nargs="+",
        default=NULL_RATES,
        metavar="P",
        help=(
            "probabilities with which a road user is lost, next to the rate of the study"
            f" (default: {' '.join(map(str, NULL_RATES))})"
        ),
    )
    add(
        "--worlds",
        type=int,
        default=NULL_TABLE_WORLDS,
        metavar="N",
        help=f"random worlds for each probability (default: {NULL_TABLE_WORLDS})",
    )
    add("--seed", type=int, default=0, metavar="N", help="seed of the losses (default: 0)")
    add("--out", type=Path, metavar="FILE", help="Markdown file for the table (default: print)")
    parser.set_defaults(run=run_null)


def run_null(options: argparse.Namespace) -> None:
    """Judge all guides where no test is harder than another."""
    from rich import get_console  # noqa: PLC0415

    from harness.common.suggestions import describe_unknown_name  # noqa: PLC0415
    from studies.metamorphic.tables.choosing import build_null_sheet  # noqa: PLC0415
    from studies.metamorphic.tables.printing import to_rich_table  # noqa: PLC0415
    from studies.metamorphic.tables.sheets import format_markdown  # noqa: PLC0415
    from studies.metamorphic.tables.summary import StudyTables  # noqa: PLC0415

    refuse_below_one(options, "worlds")
    for rate in options.rates:
        if not 0 < rate < 1:
            raise UserError(f"--rates {rate:g}: must be > 0 and < 1")
    tables = StudyTables(options.study)
    systems = options.systems or tables.systems
    for name in systems:
        if name not in tables.systems:
            raise UserError(f"--systems: {describe_unknown_name('system', name, tables.systems)}")
    sheet = build_null_sheet(
        tables, systems=systems, rates=options.rates, worlds=options.worlds, seed=options.seed
    )
    # people get a table that fits their terminal, files and pipes get Markdown
    if options.out is None and sys.stdout.isatty():
        get_console().print(to_rich_table(sheet))
    else:
        print_or_write_text(format_markdown(sheet), options.out)


def add_select_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `select`."""
    add_scenes_option(parser)
    add = parser.add_argument
    add(
        "--out",
        type=Path,
        required=True,
        metavar="FILE",
        help="JSON file of the tests, for `check --tests` (default: none)",
    )
    add(
        "--guide",
        required=True,
        metavar="NAME",
        help="random, sobol, crowded, or vgt_others with --by (default: none)",
    )
    add(
        "--share",
        type=float,
        default=0.15,
        metavar="S",
        help="share of tests to keep (default: 0.15)",
    )
    add(
        "--by",
        metavar="NAME",
        help="system by whose answers vgt_others chooses; it cannot be judged (default: none)",
    )
    add(
        "--operators",
        nargs="+",
        metavar="NAME",
        help="operators of `crucible metamorphic list` (default: all but placebos)",
    )
    add(
        "--count",
        type=int,
        default=200,
        metavar="N",
        help="largest number of scenes (default: 200)",
    )
    add("--seed", type=int, default=1, metavar="N", help="seed of all samples (default: 1)")
    parser.set_defaults(run=run_select)


def run_select(options: argparse.Namespace) -> None:
    """Choose tests and write them; no network is judged."""
    from harness.common.progress_bar import show_bar  # noqa: PLC0415
    from studies.metamorphic.catalogue import MAKERS  # noqa: PLC0415
    from studies.metamorphic.guiding.saved_tests import write_saved_tests  # noqa: PLC0415
    from studies.metamorphic.running.selection import SelectionSettings, select_tests  # noqa: PLC0415

    refuse_below_one(options, "count")
    usual = (name for name, make in MAKERS.items() if not make().placebo)
    selection = SelectionSettings(
        recordings=tuple(options.scenes),
        operators=tuple(options.operators or usual),
        guide=options.guide,
        share=options.share,
        scenes=options.count,
        seed=options.seed,
        by=options.by,
    )
    with show_bar("scenes", selection.count_scenes()) as bar:
        saved = select_tests(selection, bar.advance)
    write_saved_tests(options.out, saved)
    print_stdout_line(
        f"{options.out}: {len(saved.tests)} of {saved.candidates} tests, sha256 {saved.digest}"
    )

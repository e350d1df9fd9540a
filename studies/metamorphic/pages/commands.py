"""`crucible metamorphic tables`, `pack`, `report` and `show`: from records to what is read."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from harness.common.files import write_whole
from harness.common.terminal_lines import print_stdout_line
from studies.metamorphic.options import (
    add_scenes_option,
    add_study_argument,
    print_or_write_text,
)

if TYPE_CHECKING:
    from studies.metamorphic.tables.text_sheet import TextSheet

PAGE = "report.html"


def add_tables_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `tables`."""
    add_study_argument(parser)
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="Markdown file for the tables (default: print)",
    )
    parser.set_defaults(run=run_study_tables)


def run_study_tables(options: argparse.Namespace) -> None:
    """Print or write all tables, with a bar of how many are made."""
    from harness.common.progress_bar import track_items  # noqa: PLC0415
    from studies.metamorphic.tables.choosing import build_guidance_sheets  # noqa: PLC0415
    from studies.metamorphic.tables.realism import build_realism_sheets  # noqa: PLC0415
    from studies.metamorphic.tables.sheets import (  # noqa: PLC0415
        format_markdown,
        format_tables_heading,
        list_sheet_makers,
    )
    from studies.metamorphic.tables.summary import StudyTables  # noqa: PLC0415

    tables = StudyTables(options.study)
    makers: list[Callable[[], list[TextSheet]]] = [
        *list_sheet_makers(tables),
        partial(build_realism_sheets, tables),
        partial(build_guidance_sheets, tables),
    ]
    sheets = [sheet for make in track_items(makers, "tables") for sheet in make()]
    text = "\n".join(
        [
            format_tables_heading(tables),
            *map(format_markdown, sheets),
        ]
    )
    print_or_write_text(text, options.out)


def add_pack_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `pack`."""
    add_study_argument(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="Parquet file")
    parser.set_defaults(run=run_study_pack)


def run_study_pack(options: argparse.Namespace) -> None:
    """Write the records of a study as one file, with boxes for the smallest findings only."""
    from harness.campaign.printing.units import format_bytes  # noqa: PLC0415
    from studies.metamorphic.storage.packing import pack_study  # noqa: PLC0415
    from studies.metamorphic.tables.smallest import select_smallest_findings  # noqa: PLC0415
    from studies.metamorphic.tables.summary import StudyTables  # noqa: PLC0415

    scenes = {finding.scene for finding in select_smallest_findings(StudyTables(options.study))}
    pack_study(options.study, options.out, scenes)
    print_stdout_line(f"{options.out}: {format_bytes(options.out.stat().st_size)}")


def add_report_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `report`."""
    add_study_argument(parser)
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help=f"folder of {PAGE} (default: the folder of the study or of the packed file)",
    )
    parser.set_defaults(run=run_study_report)


def run_study_report(options: argparse.Namespace) -> None:
    """Write the page, with a bar of how many sections are made."""
    from studies.metamorphic.pages.page import render_study_page  # noqa: PLC0415
    from studies.metamorphic.tables.summary import StudyTables  # noqa: PLC0415

    tables = StudyTables(options.study)
    usual = options.study if options.study.is_dir() else options.study.parent
    folder = options.out or usual
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / PAGE, render_study_page(tables))
    print_stdout_line(str(folder / PAGE))


def add_show_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `show`."""
    add_scenes_option(parser)
    add = parser.add_argument
    add("--scene", required=True, metavar="NAME", help="name of the scene")
    add("--system", required=True, metavar="NAME", help="system, as in `check`")
    add("--operator", required=True, metavar="NAME", help="operator")
    add("--seed", type=int, default=1, metavar="N", help="seed of the study (default: 1)")
    add("--out", type=Path, required=True, metavar="FILE", help="PNG file")
    parser.set_defaults(run=run_study_show)


def run_study_show(options: argparse.Namespace) -> None:
    """Write a picture, and print what the relations say."""
    from studies.metamorphic.pages.show import find_scene_source, show_scene  # noqa: PLC0415

    source = find_scene_source(options.scenes, options.scene)
    shown = show_scene(
        source, options.system, options.operator, seed=options.seed, file=options.out
    )
    for line in (*shown.lines, str(options.out)):
        print_stdout_line(line)

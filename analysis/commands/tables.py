"""`crucible tables DIR`: the paper's tables and more, on the terminal and as files."""

from __future__ import annotations

import argparse
from pathlib import Path

from analysis.collection import Collection
from analysis.commands.options import (
    Commands,
    add_format,
    add_mixing,
    add_out,
    collected,
    formats_in,
    out_of,
    plain_formats,
)
from analysis.drawing.svg import standalone
from analysis.figures.perception import along_route_figure
from analysis.tables.all_tables import tables_of
from analysis.tables.table import Table
from analysis.tables.writing import write_frame, write_table, write_text
from analysis.terminal import say, show


def add(commands: Commands) -> None:
    """Add `tables`."""
    parser = commands.add_parser("tables", help="tables of campaigns, with intervals")
    parser.add_argument("folders", type=Path, nargs="+", metavar="DIR", help="campaign folders")
    add_format(parser)
    parser.add_argument(
        "--results-only", action="store_true", help="read only result.json: quick, fewer tables"
    )
    add_out(parser)
    add_mixing(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the tables, then print them: who reads only the first lines has all files."""
    formats = formats_in(options.format)
    found = collected(options)
    out = out_of(options, found)
    tables = tables_of(found, options.results_only)
    write_all(found, tables, out, formats)
    for note in found.notes:
        say(note)
    for table in tables:
        show(table)
    say(f"{len(tables)} tables, attempts and missing attempts are in {out}")
    return found.exit_code


def write_all(found: Collection, tables: list[Table], out: Path, formats: list[str]) -> None:
    """Write every table, and the attempts they are made of."""
    frames = plain_formats(formats)
    write_frame(found.attempts, out, "attempts", frames)
    write_frame(found.missing, out, "missing", frames)
    for table in tables:
        write_table(table, out, formats)
        if table.name == "along_route":
            figure = along_route_figure(table, table.arms())
            write_text(standalone(figure), out / "along_route.svg")

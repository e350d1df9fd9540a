"""`python -m analysis tables DIR`: the paper's tables and more, on the terminal and as files."""

from __future__ import annotations

import argparse
from pathlib import Path

from analysis.collection import Collection
from analysis.commands.options import Commands, add_mixing, add_out, collected, out_of
from analysis.drawing.svg import standalone
from analysis.figures.errors import along_route_figure
from analysis.tables.detections import read_detections
from analysis.tables.from_frames import tables_of_frames
from analysis.tables.from_results import tables_of_results
from analysis.tables.precision import precision_tables
from analysis.tables.table import Table
from analysis.tables.writing import write_frame, write_table, write_text
from analysis.terminal import say, show
from harness.errors import UserError

FORMATS = ("csv", "parquet", "latex")


def add(commands: Commands) -> None:
    """Add `tables`."""
    parser = commands.add_parser("tables", help="tables of campaigns, with intervals")
    parser.add_argument("folders", type=Path, nargs="+", metavar="DIR", help="campaign folders")
    parser.add_argument("--format", default="csv", help=f"some of {','.join(FORMATS)}")
    parser.add_argument(
        "--results-only", action="store_true", help="read only result.json: quick, fewer tables"
    )
    add_out(parser)
    add_mixing(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the tables and write them."""
    formats = formats_in(options.format)
    found = collected(options)
    tables = tables_of(found, options.results_only)
    for note in found.notes:
        say(note)
    for table in tables:
        show(table)
    out = out_of(options, found)
    write_all(found, tables, out, formats)
    say(f"{len(tables)} tables, attempts and missing attempts are in {out}")
    return 0


def tables_of(found: Collection, results_only: bool) -> list[Table]:
    """Return all tables of some campaigns."""
    tables = tables_of_results(found)
    if not results_only and len(found.attempts):
        tables += tables_of_frames(found)
        tables += precision_tables(found, read_detections(found))
    return tables


def write_all(found: Collection, tables: list[Table], out: Path, formats: list[str]) -> None:
    """Write every table, and the attempts they are made of."""
    frames = [each for each in formats if each != "latex"] or ["csv"]
    write_frame(found.attempts, out, "attempts", frames)
    write_frame(found.missing, out, "missing", frames)
    for table in tables:
        write_table(table, out, formats)
        if table.name == "along_route":
            arms = list(dict.fromkeys((names[0], names[1]) for names, _ in table.rows()))
            write_text(standalone(along_route_figure(table, arms)), out / "along_route.svg")


def formats_in(text: str) -> list[str]:
    """Return the formats asked for."""
    formats = list(dict.fromkeys(text.split(",")))
    if unknown := [each for each in formats if each not in FORMATS]:
        raise UserError(f"--format: no {', '.join(unknown)}; there are {', '.join(FORMATS)}")
    return formats

"""`crucible tables DIR`: the paper's tables and more, on the terminal and as files."""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd

from analysis.broken import folder_names
from analysis.collection import Collection
from analysis.commands.options import (
    Commands,
    add_folders,
    add_format,
    add_mixing,
    add_out,
    add_results_only,
    formats_in,
    new_parser,
    output_folder,
    plain_formats,
    read_collection,
)
from analysis.drawing.svg import standalone
from analysis.figures.perception import along_route_figure
from analysis.tables.all_tables import tables_of
from analysis.tables.table import Table
from analysis.tables.writing import write_frame, write_table, write_text
from analysis.terminal import print_line, show

DESCRIPTION = (
    "Print the tables of campaigns with 95 % confidence intervals, and write them as files."
)


def add_parser(commands: Commands) -> None:
    """Add `tables`."""
    parser = new_parser(commands, "tables", DESCRIPTION)
    add_folders(parser)
    add_format(parser)
    add_results_only(parser)
    add_out(parser)
    add_mixing(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the tables, then print them: who reads only the first lines has all files."""
    formats = formats_in(options.format)
    collection = read_collection(options, whole=not options.results_only)
    out = output_folder(options, collection)
    tables = tables_of(collection, options.results_only)
    write_all(collection, tables, out, formats)
    for note in collection.notes:
        print_line(note)
    for table in tables:
        show(table)
    print_line(f"{len(tables)} tables, attempts and missing attempts are in {out}")
    return collection.exit_code


def broken_table(collection: Collection) -> pd.DataFrame:
    """Return the attempts that are left out for a broken record, with their folders."""
    return folder_names(
        collection.left_out, {n: one.folder for n, one in enumerate(collection.campaigns)}
    )


def write_all(collection: Collection, tables: list[Table], out: Path, formats: list[str]) -> None:
    """Write every table, and the attempts they are made of."""
    frames = plain_formats(formats)
    write_frame(collection.attempts, out, "attempts", frames)
    write_frame(collection.missing, out, "missing", frames)
    write_frame(broken_table(collection), out, "broken", frames)
    for table in tables:
        write_table(table, out, formats)
        if table.name == "along_route":
            figure = along_route_figure(table, table.arms())
            write_text(standalone(figure), out / "along_route.svg")

"""`crucible tables DIR`: the paper's tables and more, on the terminal and as files."""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd

from analysis.arms import describe_shared_factors, list_arms
from analysis.broken import add_folder_names
from analysis.collection import CampaignCollection
from analysis.commands.options import (
    add_folders_argument,
    add_format_option,
    add_mixing_option,
    add_out_option,
    add_results_only_option,
    describe_command,
    parse_formats,
    read_collection,
    resolve_output_folder,
    select_plain_formats,
)
from analysis.commands.progress import show_passes
from analysis.drawing.svg import render_svg_file
from analysis.figures.perception import group_along_route_panels, render_along_route_figure
from analysis.sampled import build_sampling_frame
from analysis.tables.all_tables import build_all_tables
from analysis.tables.table import EstimatesTable
from analysis.tables.writing import write_frame, write_table, write_text
from analysis.terminal import print_escaped_line, show_table
from harness.common.command_registry import CommandDeclaration
from harness.records.names import escape_file_name

COMMAND = CommandDeclaration(
    group="Analysis",
    rank=20,
    purpose="print tables of campaigns, with confidence intervals",
    extra="analysis",
    examples=("crucible tables runs/demo --format csv,latex --out tables",),
)


DESCRIPTION = (
    "Print the tables of campaigns with 95 % confidence intervals, and write them as files."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `crucible tables` takes."""
    describe_command(parser, DESCRIPTION)
    add_folders_argument(parser)
    add_format_option(parser)
    add_results_only_option(parser)
    add_out_option(parser)
    add_mixing_option(parser)
    parser.set_defaults(run=run_tables_command)


def run_tables_command(options: argparse.Namespace) -> int:
    """Write the tables, then print them: who reads only the first lines has all files."""
    formats = parse_formats(options.format)
    collection = read_collection(options, whole=not options.results_only)
    out = resolve_output_folder(options, collection)
    with show_passes(collection) as watched:
        tables = build_all_tables(watched, options.results_only)
    write_all_tables(collection, tables, out, formats)
    for note in collection.notes:
        print_escaped_line(note)
    if shared := describe_shared_factors(list_arms(collection.attempts)):
        print_escaped_line(shared)
    for table in tables:
        show_table(table)
    print_escaped_line(f"{len(tables)} tables, attempts and missing attempts are in {out}")
    return collection.exit_code


def build_broken_table(collection: CampaignCollection) -> pd.DataFrame:
    """Return the attempts that are left out for a broken record, with their folders."""
    return add_folder_names(
        collection.left_out, {n: one.folder for n, one in enumerate(collection.campaigns)}
    )


def write_all_tables(
    collection: CampaignCollection, tables: list[EstimatesTable], out: Path, formats: list[str]
) -> None:
    """Write every table, and the attempts they are made of."""
    frames = select_plain_formats(formats)
    write_frame(collection.attempts, out, "attempts", frames)
    write_frame(collection.missing, out, "missing", frames)
    write_frame(build_broken_table(collection), out, "broken", frames)
    sampling = build_sampling_frame(collection.campaigns)
    if len(sampling):
        write_frame(sampling, out, "sampling", frames)
    for table in tables:
        write_table(table, out, formats)
        if table.name == "along_route":
            write_along_route_figures(table, out)


def write_along_route_figures(table: EstimatesTable, out: Path) -> None:
    """Write figure 8: one file for each setting, `along_route.svg` if there is one only."""
    panels = group_along_route_panels(table)
    for name, arms in panels.items():
        file = "along_route" if len(panels) == 1 else f"along_route-{escape_file_name(name)}"
        write_text(render_svg_file(render_along_route_figure(table, arms)), out / f"{file}.svg")

"""`crucible radio DIR`: what radios made of messages, by kind of partner, on a map, by share."""

from __future__ import annotations

import argparse

from analysis.collection import CampaignCollection
from analysis.commands.options import (
    add_folders_argument,
    add_format_option,
    add_mixing_option,
    add_out_option,
    describe_command,
    parse_formats,
    read_collection,
    resolve_output_folder,
)
from analysis.commands.progress import show_passes
from analysis.drawing.svg import render_svg_file
from analysis.figures.connected_shares import find_share_lines, render_share_figures
from analysis.figures.heard import render_heard_map
from analysis.tables.radio import build_radio_tables
from analysis.tables.writing import write_table, write_text
from analysis.terminal import print_escaped_line, show_table
from harness.common.command_registry import CommandDeclaration
from harness.common.errors import UserError
from harness.records.arms import LINK, is_there
from harness.records.keys import AttemptKey
from harness.records.reading import CampaignRecords

COMMAND = CommandDeclaration(
    group="Analysis",
    rank=27,
    purpose="print sight, reception, delay and load of radios, by kind of partner, and draw a map",
    extra="analysis",
    examples=(
        "crucible radio runs/causes",
        "crucible radio runs/causes --attempt late/mixed/none/link=nr_v2x/8-s1",
    ),
)


DESCRIPTION = """Print, for each arm on a radio and each kind of partner, distance, sight,
reception, delay and age of information, and the load of the channel. Draw a map of one drive with
the messages that were received and those that were not. Where arms differ in the share of connected
vehicles or of corners with a roadside unit, draw violations and the channel busy ratio over that
share."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `crucible radio` takes."""
    describe_command(parser, DESCRIPTION)
    add_folders_argument(parser)
    parser.add_argument(
        "--attempt",
        metavar="ARM/ROUTE-sSEED",
        help="attempt on the map (default: the first on a link)",
    )
    add_format_option(parser)
    add_out_option(parser)
    add_mixing_option(parser)
    parser.set_defaults(run=run_radio_command)


def run_radio_command(options: argparse.Namespace) -> int:
    """Print the tables, write them and the figures."""
    formats = parse_formats(options.format)
    collection = read_collection(options, whole=True)
    for note in collection.notes:
        print_escaped_line(note)
    with show_passes(collection) as watched:
        tables = build_radio_tables(watched)
    campaign, key = find_mapped_attempt(collection, options.attempt)
    figures = {"radio-map": render_heard_map(campaign, key)}
    load = next(table for table in tables if table.name == "radio_load")
    figures |= dict(render_share_figures(find_share_lines(collection), load))
    # files, then the terminal
    out = resolve_output_folder(options, collection)
    for table in tables:
        write_table(table, out, formats)
    rendered = {name: figure for name, figure in figures.items() if figure is not None}
    for name, figure in rendered.items():
        write_text(render_svg_file(figure), out / f"{name}.svg")
    for table in tables:
        show_table(table)
    names = ", ".join(f"{name}.svg" for name in rendered)
    print_escaped_line(f"{len(tables)} tables and {names or 'no figure'} are in {out}")
    return collection.exit_code


def find_mapped_attempt(
    collection: CampaignCollection, text: str | None
) -> tuple[CampaignRecords, AttemptKey]:
    """Return the attempt of that name, or the first one on a link.

    Raises:
        UserError: none of that name is on a link.
    """
    for _, campaign, key in collection.iterate_attempts():
        if is_there(LINK, key.arm[LINK]) and text in (None, str(key)):
            return campaign, key
    raise UserError(
        f"--attempt {text}: not found on a link; valid: ARM/ROUTE-sSEED, as `crucible status` lists"
    )

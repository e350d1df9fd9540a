"""`crucible volume DIR`: what is sent, under each definition that papers use."""

from __future__ import annotations

import argparse

import pandas as pd

from analysis.collection import FEW_ROUTES, NO_RESULT, CampaignCollection
from analysis.commands.options import (
    add_folders_argument,
    add_mixing_option,
    add_out_option,
    describe_command,
    read_collection,
    resolve_output_folder,
)
from analysis.commands.progress import show_passes
from analysis.report.html import format_counted_noun
from analysis.tables.volumes import build_volume_frame, list_silent_arms, list_volume_notes
from analysis.tables.writing import write_frame
from analysis.terminal import print_escaped_line, show_grid
from harness.common.command_registry import CommandDeclaration
from harness.common.errors import UserError

COMMAND = CommandDeclaration(
    group="Analysis",
    rank=25,
    purpose="print what is sent, under each definition of communication volume",
    extra="analysis",
    examples=("crucible volume runs/demo",),
)


DESCRIPTION = """Print what partners send, for each arm, under each definition of communication
volume that papers use: bytes of a message, their logarithm, bytes before compression, share of
cells of feature maps, bandwidth of a link, bytes that the ego gets at a step, all agents together,
packets and airtime. What records do not have is a dash, with a line that says why."""

SENT_FILE = "sent_volume"
"""Another file than the table `volume` of `crucible tables`, in the same folder."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `crucible volume` takes."""
    describe_command(parser, DESCRIPTION)
    add_folders_argument(parser)
    add_out_option(parser)
    add_mixing_option(parser)
    parser.set_defaults(run=run_volume_command)


def run_volume_command(options: argparse.Namespace) -> int:
    """Print the table and write it."""
    collection = read_collection(options, whole=True)
    refuse_no_attempts(collection)
    with show_passes(collection) as watched:
        volumes = build_volume_frame(watched)
    for note in list_fitting_notes(collection, volumes):
        print_escaped_line(note)
    if volumes.empty:
        raise UserError(f"{collection.folder}: no drive has a message")
    out = resolve_output_folder(options, collection)
    write_frame(volumes, out, SENT_FILE, ["csv"])
    for arm, rows in volumes.groupby("arm", sort=False):
        show_arm_volumes(str(arm), rows)
    # who uses which definition, once for all arms
    columns = ["volume", "used by"]
    used = volumes.drop_duplicates("volume")[columns].itertuples(index=False, name=None)
    show_grid("Who reports which volume", columns, used, names=2)
    if silent := list_silent_arms(collection, volumes):
        print_escaped_line(f"nothing is sent: {', '.join(silent)}")
    for note in list_volume_notes(volumes):
        print_escaped_line(note)
    print_escaped_line(f"{SENT_FILE}.csv is in {out}")
    return collection.exit_code


def refuse_no_attempts(collection: CampaignCollection) -> None:
    """Refuse campaigns in which no attempt has a result that can be read, with the reasons."""
    if not collection.attempts.empty:
        return
    folders = ", ".join(str(campaign.folder) for campaign in collection.campaigns)
    reasons = [note.removeprefix("warning: ") for note in collection.notes if note != NO_RESULT]
    # what the first of them ended with
    messages = (" ".join(str(message).split()) for message in collection.missing["message"])
    reasons += [f"the first one: {message}" for message in messages if message][:1]
    raise UserError("; ".join([f"{folders}: no finished attempt", *reasons]))


def list_fitting_notes(collection: CampaignCollection, volumes: pd.DataFrame) -> list[str]:
    """Return the notes of campaigns; one on intervals only where an interval is printed."""
    shown = not volumes.empty and bool(volumes["low"].notna().any())
    return [note for note in collection.notes if shown or not note.endswith(FEW_ROUTES)]


def show_arm_volumes(arm: str, rows: pd.DataFrame) -> None:
    """Print the volumes of an arm, by definition."""
    cells = [
        [
            str(row["volume"]),
            str(row["unit"]),
            format_volume(row["value"]),
            format_volume_interval(row),
        ]
        for _, row in rows.iterrows()
    ]
    title = f"{arm}: {format_counted_noun(rows['drives'].max(), 'drive')}"
    show_grid(title, ["volume", "unit", "value", "95 % interval"], cells)


def format_volume(value: float) -> str:
    """Return a number with three digits that count, or a dash."""
    return "-" if pd.isna(value) else f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def format_volume_interval(row: pd.Series) -> str:
    """Return the interval of a row, or a dash where there is none."""
    if pd.isna(row["low"]):
        return "-"
    return f"{format_volume(row['low'])} .. {format_volume(row['high'])}"

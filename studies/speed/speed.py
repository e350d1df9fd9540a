"""`crucible speed DIR`: how much more does a delay cost at a higher speed?"""

from __future__ import annotations

import argparse

import pandas as pd

from analysis.collection import CampaignCollection
from analysis.commands.options import (
    add_folders_argument,
    add_mixing_option,
    add_out_option,
    describe_command,
    read_collection,
    resolve_output_folder,
)
from analysis.commands.progress import show_passes
from analysis.drawing.svg import render_svg_file
from analysis.tables.staleness import SPEED_SUMS, sum_speeds
from analysis.tables.writing import write_frame, write_text
from analysis.terminal import print_escaped_line, show_grid
from harness.common.command_registry import CommandDeclaration
from harness.common.errors import UserError
from studies.speed.figure import render_speed_figure
from studies.speed.interaction import SCORE, SWEEPS
from studies.speed.tables import (
    COLUMNS,
    build_interaction_frame,
    name_speeds,
    pair_study,
    write_speed_drives,
)

COMMAND = CommandDeclaration(
    group="Studies",
    rank=80,
    purpose="say how much more a delay costs at a higher speed, in pairs",
    extra="analysis",
    examples=("crucible speed runs/speed --out speed",),
)

DESCRIPTION = """Take drives at two speeds (sweep.speed) without a delay and with delays of
sweep.own_latency or sweep.latency. Print the outcomes by delay and speed, and the interaction: what
delays cost at the higher speed, less what they cost at the lower one. The rules are in
docs/study/speed-protocol.md."""

DRIVES_FILE = "speed_drives.csv"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `crucible speed` takes."""
    describe_command(parser, DESCRIPTION)
    add_folders_argument(parser)
    add_out_option(parser)
    add_mixing_option(parser)
    parser.set_defaults(run=run_speed_command)


def run_speed_command(options: argparse.Namespace) -> int:
    """Print the tables, and write them, the drives and a figure for each sweep."""
    collection = read_collection(options, whole=True)
    for note in collection.notes:
        print_escaped_line(note)
    with show_passes(collection) as watched:
        drives = add_speed_sums(watched)
    study = pair_study(drives)
    if not study.pairs:
        raise UserError(
            f"{collection.folder}: no drives of sweep.own_latency or sweep.latency at two speeds"
        )
    curves, interactions = study.build_curves(), build_interaction_frame(study.pairs)
    slow, fast = name_speeds(study.speeds)
    for system, sweep in study.pairs:
        whose = f"{system}, {SWEEPS[sweep]}"
        show_rows(f"{whose}: {slow} is slow, {fast} is fast", curves, system, sweep)
        show_rows(f"{whose}: what delays cost, points", interactions, system, sweep)
    out = resolve_output_folder(options, collection)
    write_frame(curves, out, "speed_curves", ["csv"])
    write_frame(interactions, out, "speed_interactions", ["csv"])
    write_speed_drives(drives, out / DRIVES_FILE)
    for (system, sweep), of in study.pairs.items():
        figure = render_speed_figure(of[SCORE], name_speeds(study.speeds))
        write_text(render_svg_file(figure), out / f"speed-{system}-{sweep}.svg")
    print_escaped_line(str(out))
    return collection.exit_code


def add_speed_sums(collection: CampaignCollection) -> pd.DataFrame:
    """Return the drives with what their mean speeds are made of."""
    sums = [sum_speeds(campaign, key) for _, campaign, key in collection.iterate_attempts()]
    # no other columns: metrics of the user may be called like sums
    attempts = collection.attempts[[*COLUMNS]].reset_index(drop=True)
    return attempts.join(pd.DataFrame(sums, columns=[*SPEED_SUMS]))


def show_rows(title: str, frame: pd.DataFrame, system: str, sweep: str) -> None:
    """Print the rows of one system and sweep; the title has both.

    Args:
        title: above the table.
        frame: with columns system and late.
        system: its name.
        sweep: a name of `SWEEPS`.
    """
    rows = frame[(frame["system"] == system) & (frame["late"] == SWEEPS[sweep])]
    rows = rows.drop(columns=["system", "late"]).astype(str)
    show_grid(title, rows.columns, rows.itertuples(index=False, name=None))

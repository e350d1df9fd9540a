"""`crucible attacks DIR`: attack by defence, with intervals and paired differences."""

from __future__ import annotations

import argparse

import pandas as pd

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
from analysis.tables.attacks import (
    DRIVES_FILE,
    build_attack_frame,
    collect_attack_drives,
    write_attack_drives,
)
from analysis.tables.writing import write_frame
from analysis.terminal import print_escaped_line, show_grid
from harness.common.command_registry import CommandDeclaration

COMMAND = CommandDeclaration(
    group="Analysis",
    rank=26,
    purpose="compare attacks and defences: what was believed, what was rejected, what came of it",
    extra="analysis",
    examples=("crucible attacks runs/attacks",),
)


DESCRIPTION = """Print, for each attack under each defence, what share of the lies was believed and
stopped, what was rejected of honest partners, the time of the defence, violations and the driving
score, with intervals; and paired differences to the same routes without the attack or defence.
Violations by each attack, and by each defence, are tested as one family with Holm's correction."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `crucible attacks` takes."""
    describe_command(parser, DESCRIPTION)
    add_folders_argument(parser)
    add_out_option(parser)
    add_mixing_option(parser)
    parser.set_defaults(run=run_attacks_command)


def run_attacks_command(options: argparse.Namespace) -> int:
    """Print the table and write it."""
    collection = read_collection(options, whole=True)
    for note in collection.notes:
        print_escaped_line(note)
    with show_passes(collection) as watched:
        drives = collect_attack_drives(watched)
    measures = build_attack_frame(drives)
    out = resolve_output_folder(options, collection)
    write_frame(measures, out, "attacks", ["csv"])
    write_attack_drives(drives, out / DRIVES_FILE)
    head = ["measure", "value", "95 % interval", "p, Holm", ""]
    for (arm, attack, defence), rows in measures.groupby(["arm", "attack", "defence"], sort=False):
        cells = [
            [
                str(row["measure"]),
                format_number(row["value"], signed=is_difference(row)),
                format_interval(row),
                format_number(row["p_holm"]),
                str(row["verdict"]),
            ]
            for _, row in rows.iterrows()
        ]
        whole = rows.loc[rows["measure"] == "violations, %"].iloc[0]
        title = f"{arm}, attack {attack}, defence {defence}"
        counts = ", ".join(
            format_counted_noun(whole[f"{noun}s"], noun) for noun in ("drive", "route")
        )
        show_grid(f"{title}: {counts}", head, cells)
    tests = int(measures["p"].notna().sum())
    print_escaped_line(f"tests of violations in this family: {tests}")
    print_escaped_line(f"attacks.csv and {DRIVES_FILE}, a row for each drive, are in {out}")
    return collection.exit_code


def is_difference(row: pd.Series) -> bool:
    """Return whether a row is a difference of two arms: by the attack, or by the defence."""
    return ", by the " in str(row["measure"])


def format_number(value: float, *, signed: bool = False) -> str:
    """Return a number with three digits that count, or a dash; differences have a sign."""
    if pd.isna(value):
        return "-"
    return f"{value:+.3g}" if signed and value else f"{value:.3g}"


def format_interval(row: pd.Series) -> str:
    """Return the interval of a row, or a dash where there is none."""
    if pd.isna(row["low"]):
        return "-"
    ends = (format_number(row[end], signed=is_difference(row)) for end in ("low", "high"))
    return " .. ".join(ends)

"""Replayed recorder drives as tables and as CSV."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from harness.carlite.errors import UserError
from harness.common.fitting_table import FittingTable
from tools.fidelity.recorder_records import read_recorder_drive
from tools.fidelity.replay import replay_drive, replay_windows
from tools.fidelity.window_errors import SpanError, TurnError, measure_span, measure_turns

WINDOW = 5.0
"""Seconds after which a replay starts again from the record's state."""

SPAN_HEADS = (
    "seconds", "way m", "simulated m", "position m", "position %", "heading deg", "speed m/s",
    "speed %", "missed",
)  # fmt: skip
TURN_HEADS = ("seconds", "steer", "speed m/s", "recorded 1/km", "simulated 1/km", "off %")
NOTHING = "-"


def replay_record(path: Path, vehicle: str, folder: Path | None) -> None:
    """Replay one file, print its tables and write them as CSV if a folder is given.

    Args:
        path: of the record.
        vehicle: id of the blueprint, for files whose names do not end with one.
        folder: for `NAME-windows.csv` and `NAME-turns.csv`; None: nothing is written.
    """
    drive = read_recorder_drive(path)
    blueprint = drive.vehicle or vehicle
    whole = replay_drive(drive, blueprint)
    windows = replay_windows(drive, blueprint, WINDOW, whole)
    errors = [measure_span(drive, span) for span in (whole, *windows)]
    turns = measure_turns(drive, windows)
    console = Console(highlight=False)
    console.print(build_span_table(f"\n{drive.name} on {blueprint}, open loop", errors))
    if turns:
        console.print(build_turn_table("Where it turns, in these windows", turns))
    if folder is not None:
        _write_rows(folder / f"{drive.name}-windows.csv", SPAN_HEADS, map(_list_span_cells, errors))
        _write_rows(folder / f"{drive.name}-turns.csv", TURN_HEADS, map(_list_turn_cells, turns))


def build_span_table(title: str, errors: Sequence[SpanError]) -> FittingTable:
    """Return a row for the whole drive, which comes first, and one for every window."""
    table = FittingTable(title=title, title_justify="left")
    for head in SPAN_HEADS:
        table.add_column(head, justify="left" if head in ("seconds", "missed") else "right")
    for index, error in enumerate(errors):
        table.add_row(*_list_span_cells(error), end_section=index == 0)
    return table


def build_turn_table(title: str, turns: Sequence[TurnError]) -> FittingTable:
    """Return a row for every turn."""
    table = FittingTable(title=title, title_justify="left")
    for head in TURN_HEADS:
        table.add_column(head, justify="left" if head == "seconds" else "right")
    for turn in turns:
        table.add_row(*_list_turn_cells(turn))
    return table


def _list_span_cells(error: SpanError) -> list[str]:
    share = NOTHING if math.isnan(error.share) else f"{100.0 * error.share:.1f}"
    moved = error.mean_speed > 0.1
    return [
        f"{error.start:.1f}-{error.end:.1f}", f"{error.way:.1f}", f"{error.simulated_way:.1f}",
        f"{error.place:.2f}", share, f"{error.heading:.2f}", f"{error.speed:.2f}",
        f"{100.0 * error.speed / error.mean_speed:.1f}" if moved else NOTHING, error.missed,
    ]  # fmt: skip


def _list_turn_cells(turn: TurnError) -> list[str]:
    known = not math.isnan(turn.simulated)
    return [
        f"{turn.start:.1f}-{turn.end:.1f}", f"{turn.steer:+.3f}", f"{turn.speed:.1f}",
        f"{1000.0 * turn.recorded:+.2f}", f"{1000.0 * turn.simulated:+.2f}" if known else NOTHING,
        f"{100.0 * (turn.simulated / turn.recorded - 1.0):+.1f}" if known else NOTHING,
    ]  # fmt: skip


def _write_rows(path: Path, heads: Sequence[str], rows: map[list[str]]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", newline="", encoding="utf-8") as lines:
            writer = csv.writer(lines)
            writer.writerow(heads)
            writer.writerows(rows)
    except OSError as problem:
        raise UserError(f"{path}: cannot be written: {problem.strerror}") from None

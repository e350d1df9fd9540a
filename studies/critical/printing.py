"""What `crucible critical` prints and writes of a search: tables, figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from analysis.commands.options import select_plain_formats
from analysis.drawing.canvas import Canvas
from analysis.drawing.picture import render_canvas, write_png
from analysis.drawing.svg import render_svg_file
from analysis.hazards import HAZARDS
from analysis.tables.staleness import MEAN_SPEEDS, SPEED_SUMS
from analysis.tables.writing import format_p, write_frame, write_table, write_text
from analysis.terminal import print_escaped_line, show_grid, show_table
from harness.common.errors import UserError
from harness.common.files import LINK
from studies.critical.figures import render_reveal_figure, render_violation_free_figure
from studies.critical.study import CriticalStudy, build_critical_study

FINENESS = 3.0
"""Pixels of a PNG for each unit of a figure."""


def show_critical(
    folders: Sequence[Path],
    name: str,
    out: Path | None,
    formats: Sequence[str],
    *,
    by: Sequence[str] = (),
) -> int:
    """Print the tables, write them and the figures; return the exit code."""
    study = build_critical_study(folders, name, by)
    place = out or folders[0] / "report"
    if out is None and place.is_symlink():
        raise UserError(f"{place}: {LINK}, or choose another --out DIR")
    files = write_critical_study(study, place, formats)
    show_critical_study(study)
    print_escaped_line(f"{', '.join(files)} are in {place}")
    return study.exit_code


def write_critical_study(study: CriticalStudy, out: Path, formats: Sequence[str]) -> list[str]:
    """Write all tables and figures; return the names of the files."""
    plain = select_plain_formats(list(formats))
    prefix = f"critical_{study.sizes.of}"
    # tables in plain formats
    frames = {
        prefix: study.attempts.drop(columns=["called", HAZARDS, *SPEED_SUMS]),
        f"{prefix}_flips": study.flips,
        f"{prefix}_differences": study.differences,
    }
    for name, frame in frames.items():
        write_frame(frame, out, name, plain)
    # tables with intervals, in all formats
    estimated = (study.free, *study.strata)
    for table in estimated:
        write_table(table, out, formats)
    # figures of those
    canvases: dict[str, Canvas | None] = {
        f"critical-{study.sizes.of}-free": render_violation_free_figure(study.free, study.sizes.of),
        f"critical-{study.sizes.of}-reveal": render_reveal_figure(
            study.attempts, study.sizes.of, max(study.sizes.coarse)
        ),
    }
    drawings = {name: canvas for name, canvas in canvases.items() if canvas is not None}
    for name, canvas in drawings.items():
        write_text(render_svg_file(canvas), out / f"{name}.svg")
        write_png(render_canvas(canvas, FINENESS), out / f"{name}.png")
    names = (*frames, *(table.name for table in estimated))
    tables = [f"{name}.{ending}" for name in names for ending in plain]
    return [*tables, *(f"{name}.{ending}" for name in drawings for ending in ("svg", "png"))]


def show_critical_study(study: CriticalStudy) -> None:
    """Print all tables."""
    step = study.sizes.finest
    head = ["arm", "route", "seed", "last without", "first with", "censored", "flips back"]
    head += ["placebos violated", "", "confirmed", *MEAN_SPEEDS]
    head += ["reveal, s", "largest age to stop, s"]
    if study.sizes.of != "latency":
        head = head[:-1]
    cells = [format_critical_cells(row)[: len(head)] for row in study.attempts.to_dict("records")]
    title = f"Critical {study.sizes.of.replace('_', ' ')}, in steps of {step:g}"
    show_grid(title, head, cells)
    for table in (study.free, *study.strata):
        show_table(table)
    if len(study.differences):
        show_critical_differences(study)
    for note in study.notes:
        print_escaped_line(note)


def format_critical_cells(row: dict[object, object]) -> list[str]:
    """Return an attempt's row as printed."""
    low, high = (float(str(row[name])) for name in ("low", "high"))
    placebos = [str(row[f"placebos at {side}"]) or "-" for side in ("low", "high")]
    return [
        str(row["called"]),
        str(row["route"]),
        str(row["seed"]),
        format_known_number(low, "g"),
        format_known_number(high, "g"),
        str(row["censored"]) or "-",
        str(row["flips back"]),
        *placebos,
        str(row["confirmed"]) or "-",
        *(format_known_number(float(str(row[name])), ".1f") for name in MEAN_SPEEDS),
        format_known_number(float(str(row["reveal, s"])), ".2f"),
        format_known_number(float(str(row["largest age to stop, s"])), ".2f"),
    ]


def format_known_number(value: float, digits: str) -> str:
    """Return a number, or a dash for none."""
    return f"{value:{digits}}" if math.isfinite(value) else "-"


def show_critical_differences(study: CriticalStudy) -> None:
    """Print how arms differ, in pairs."""
    head = ["arms", "difference of means", "95 % interval", "larger in the second", "in the first"]
    head += ["p", "p family", "pairs", "routes", "confirmed", "95 % interval", "pairs"]
    cells = [
        [
            f"{row['b']} against {row['a']}",
            format_signed_number(row["difference"]),
            format_critical_interval(row),
            str(row["larger in b"]),
            str(row["larger in a"]),
            format_p(row["p"], 4),
            format_p(row["p family"], 4),
            str(row["pairs"]),
            str(row["routes"]),
            format_signed_number(row["difference confirmed"]),
            format_critical_interval(row, " confirmed"),
            str(row["pairs confirmed"]),
        ]
        for _, row in study.differences.iterrows()
    ]
    show_grid("Arms in pairs of equal route and seed", head, cells)


def format_signed_number(value: float) -> str:
    """Return a difference as text."""
    return format_known_number(value, "+.2f")


def format_critical_interval(row: pd.Series, part: str = "") -> str:
    """Return a confidence interval as text."""
    low, high = row[f"low{part}"], row[f"high{part}"]
    return f"{low:+.2f} .. {high:+.2f}" if math.isfinite(low) else "-"

"""The table of relations over drives, printed and written."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import pandas as pd
from rich.markup import escape

from harness.common.files import write_whole
from harness.common.fitting_table import FittingTable
from studies.metamorphic.drives.findings import DriveFinding
from studies.metamorphic.drives.relations import RELATIONS

NAME = "drive_relations"


def render_drive_table(findings: Sequence[DriveFinding], level: float) -> FittingTable:
    """Return a row for each test."""
    title = f"Relations over drives; discoveries at a false discovery rate of {level:g}"
    table = FittingTable(title=title, title_justify="left")
    for column in ("", "system", "from", "to"):
        table.add_column(column, overflow="fold")
    for column in ("pairs", "broken", "chance", "p", "95 %", "finding"):
        table.add_column(column, justify="right", no_wrap=True)
    for one in findings:
        cells = (
            one.relation,
            escape(one.system),
            escape(one.source),
            escape(one.follow),
            str(one.pairs),
            str(one.broken),
            format_drive_number(one.expected, 1),
            format_drive_number(one.p, 3),
            f"{one.low:.2f}-{one.high:.2f}",
            "yes" if one.rejected else "-",
        )
        table.add_row(*cells)
    return table


def format_drive_lines(findings: Sequence[DriveFinding], level: float) -> list[str]:
    """Return what the table's rows mean, and how many discoveries to expect by chance."""
    meant = [
        f"{name}  {RELATIONS[name].says}" for name in dict.fromkeys(f.relation for f in findings)
    ]
    tests = sum(not math.isnan(one.p) for one in findings)
    rejected = sum(one.rejected and not math.isnan(one.p) for one in findings)
    low = sum(one.p <= level for one in findings)
    return [
        *meant,
        f"{tests} tests: {low} have p ≤ {level:g}, {tests * level:.1f} by chance at most;"
        f" {rejected} discoveries after Benjamini-Hochberg",
    ]


def format_drive_number(value: float, digits: int) -> str:
    """Return a number, or a dash where there is none."""
    return "-" if math.isnan(value) else f"{value:.{digits}f}"


def write_drive_findings(
    findings: Sequence[DriveFinding], folder: Path, formats: Sequence[str]
) -> None:
    """Write the table as files."""
    frame = pd.DataFrame([asdict(one) for one in findings])
    writers = {
        "csv": lambda file: frame.to_csv(file, index=False),
        "parquet": lambda file: frame.to_parquet(file, index=False),
    }
    for name in formats:
        write_whole(folder / f"{NAME}.{name}", writers[name])

"""The first figure of a report: how every system drives under every condition."""

from __future__ import annotations

import math

from analysis.drawing.canvas import Canvas
from analysis.drawing.palette import HUES
from analysis.drawing.rows import Axis, Row, draw_rows
from analysis.figures.driving import span_of
from analysis.statistics.intervals import Estimate
from analysis.tables.table import Table
from harness.records.arms import NONE

HEIGHT = 15.0
SHOWN = (("DS", "driving score, 0 to 100"), ("CR %", "drives with a collision, %"))


def overview_figures(table: Table) -> list[Canvas]:
    """Draw the driving score and the collision rate: a block for each system, a row a condition."""
    rows = table.rows()
    settings = {setting_of(names) for names, _ in rows}
    conditions = sorted(settings, key=lambda each: (each != NONE, each))
    colours = {each: HUES[number % len(HUES)] for number, each in enumerate(conditions)}
    return [
        draw_rows(
            list(blocks(rows, measure, colours)),
            Axis(label, (0.0, 100.0), within=(0.0, 100.0)),
            f"{label}, of each system under each condition, with 95 % intervals",
            height=HEIGHT,
        )
        for measure, label in SHOWN
    ]


def blocks(
    rows: list[tuple[tuple[str, ...], dict[str, Estimate]]],
    measure: str,
    colours: dict[str, str],
) -> list[Row]:
    """Return a heading for each system and below it a row for each of its conditions."""
    found: list[Row] = []
    last = ""
    for names, cells in rows:
        system, condition = names[0], setting_of(names)
        if system != last:
            found.append(Row(system, strong=True))
        last = system
        span = span_of(cells[measure], colours[condition])
        found.append(Row(condition, (span,), in_words(cells[measure])))
    return found


def setting_of(names: tuple[str, ...]) -> str:
    """Return what a row's system is under: its condition, and whatever else tells arms apart."""
    return ", ".join(names[1:]) or NONE


def in_words(found: Estimate) -> str:
    """Return a value with its interval and what it rests on."""
    if not math.isfinite(found.value):
        return "no result"
    interval = f" [{found.low:.0f}, {found.high:.0f}]" if math.isfinite(found.low) else ""
    return f"{found.value:.0f}{interval}, n {found.n}"

"""Figures of driving: the overview, scores by arm and seed, and two arms route by route."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd

from analysis.drawing.canvas import Canvas
from analysis.drawing.palette import HUES
from analysis.drawing.plots import Axis, LegendEntry, Row, Span, render_rows
from analysis.statistics.intervals import Estimate
from analysis.tables.table import Table
from harness.records.arms import NONE, SHOWN_APART

DENSE = 13.5
"""Height of a row where there are many."""
MOST_ROUTES = 40
"""Rows of a figure of pairs; the routes that differ most."""


def arm_of(names: Sequence[str]) -> str:
    """Return an arm's name for figures."""
    return SHOWN_APART.join(names)


def span_of(estimate: Estimate, colour: str = "accent", hollow: bool = False) -> Span:
    """Return an estimate as a dot with its interval."""
    return Span(
        value=estimate.value, low=estimate.low, high=estimate.high, colour=colour, hollow=hollow
    )


def measure_figure(table: Table, measure: str, label: str) -> Canvas:
    """Draw one measure of a table in per cent, or a score: a row for each arm."""
    rows = [
        Row(
            label=arm_of(key[: table.arm]),
            spans=(span_of(cells[measure]),),
            note=value_and_n(cells[measure]),
        )
        for key, cells in table.rows()
    ]
    axis = Axis(label=label, keep=(0.0, 100.0), within=(0.0, 100.0))
    return render_rows(rows, axis, says=f"{label} of each arm, with 95 % intervals")


def value_and_n(estimate: Estimate) -> str:
    """Return a value and its n."""
    return (
        f"{estimate.value:.1f}, n {estimate.n}"
        if math.isfinite(estimate.value)
        else f"n {estimate.n}"
    )


def seeds_figure(table: Table, measure: str, label: str) -> Canvas:
    """Draw each seed by itself below the name of its arm."""
    arms: dict[str, list[Span]] = {}
    for (*names, seed), cells in table.rows():
        if seed == "range" or not math.isfinite(cells[measure].value):
            continue
        value = cells[measure].value
        title = f"seed {seed}: {value:.1f}"
        spans = arms.setdefault(arm_of(names), [])
        spans.append(Span(value=value, colour="accent", hollow=True, title=title))
    rows = []
    for name, spans in arms.items():
        values = [span.value for span in spans]
        note = f"range {max(values) - min(values):.1f}" if len(values) > 1 else "one seed"
        ordered = tuple(sorted(spans, key=lambda span: span.value))
        rows.append(Row(label=name, spans=ordered, note=note, joined="accent"))
    axis = Axis(label=label, keep=(0.0, 100.0), within=(0.0, 100.0))
    return render_rows(rows, axis, says=f"{label} by seed, for each arm")


def pairs_figure(means: pd.DataFrame, arms: tuple[str, str], label: str) -> tuple[Canvas, int]:
    """Draw a line from one arm's value to the other's for each route, the worse ones below.

    `means` has a row for each route and the two arms' values; the number of routes left
    out, those that differ least, is returned as well.
    """
    a, b = (means.iloc[:, side] for side in (0, 1))
    difference = b - a
    shown = difference.abs().sort_values(ascending=False, kind="stable").index[:MOST_ROUTES]
    order = sorted(shown, key=lambda route: (-difference[route], -a[route]))
    rows = [
        Row(
            label=str(route),
            spans=(
                Span(value=float(a[route]), hollow=True),
                Span(value=float(b[route]), colour="hue1"),
            ),
            note=f"{difference[route]:+.0f}" if abs(difference[route]) >= 0.5 else "0",
            joined="worse" if difference[route] < 0 else "quiet",
        )
        for route in order
    ]
    keys = [LegendEntry(arms[0], "accent", True), LegendEntry(arms[1], "hue1")]
    axis = Axis(label=label, keep=(0.0, 100.0), within=(0.0, 100.0))
    description = f"{label} of {arms[0]} and {arms[1]} on each route"
    return render_rows(rows, axis, says=description, keys=keys, height=DENSE), len(means) - len(
        order
    )


def differences_figure(rows: pd.DataFrame, label: str) -> Canvas:
    """Draw differences with their intervals: full where significant, hollow where not."""
    plotted = [difference_row(row["short"], row, clear=row["clear"]) for _, row in rows.iterrows()]
    return render_rows(
        [*head_of(rows), *plotted],
        Axis(label=label, keep=(0.0,), mark=0.0),
        says=f"{label}, with 95 % intervals",
        keys=SIGNIFICANCE,
    )


def difference_row(label: str, row: pd.Series, *, clear: bool) -> Row:
    """Return a row for a difference, its interval and its pairs."""
    span = tested_span(row["difference"], row["low"], row["high"], clear=clear)
    return Row(label=str(label), spans=(span,), note=note_on(row))


def note_on(row: pd.Series) -> str:
    """Return a difference, its pairs and, where it is known, the difference in time to the goal."""
    note = f"{round(row['difference'], 1) + 0.0:+.1f}, n {row['pairs']}"
    time = row.get("time", math.nan)
    return f"{note}, {round(time, 1) + 0.0:+.1f} s" if math.isfinite(time) else note


def head_of(rows: pd.DataFrame) -> list[Row]:
    """Return a line that names the parts of the notes, if times to the goal are in them."""
    there = "time" in rows and bool(rows["time"].notna().any())
    return [Row(label="", note="difference, n, time")] if there else []


def tested_span(value: float, low: float, high: float, *, clear: bool) -> Span:
    """Return a dot with its interval: full where it is significant, hollow where not."""
    colour = "accent" if clear else "quiet"
    return Span(value=value, low=low, high=high, colour=colour, hollow=not clear)


SIGNIFICANCE = (
    LegendEntry("statistically significant", "accent"),
    LegendEntry("not significant", "quiet", True),
)


def groups_figure(rows: pd.DataFrame, label: str) -> Canvas:
    """Draw differences in subgroups, which are not tested: a block for each pair of arms."""
    plotted = head_of(rows)
    last = ""
    for _, row in rows.iterrows():
        if row["short"] != last:
            plotted.append(Row(label=row["short"], strong=True))
        last = row["short"]
        span = Span(value=row["difference"], low=row["low"], high=row["high"], colour="quiet")
        plotted.append(Row(label=str(row["group"]), spans=(span,), note=note_on(row)))
    return render_rows(
        plotted,
        Axis(label=label, keep=(0.0,), mark=0.0),
        says=f"{label} in subgroups, with 95 % intervals",
        height=OVERVIEW_ROW,
    )


OVERVIEW_ROW = 15.0
OVERVIEW_MEASURES = (("DS", "driving score, 0 to 100"), ("CR %", "drives with a collision, %"))


def overview_figures(table: Table) -> list[Canvas]:
    """Draw the driving score and the collision rate: a block for each system, a row a condition."""
    rows = [(names[: table.arm], cells) for names, cells in table.rows()]
    settings = {setting_of(names) for names, _ in rows}
    conditions = sorted(settings, key=lambda setting: (setting != NONE, setting))
    colours = {setting: HUES[number % len(HUES)] for number, setting in enumerate(conditions)}
    return [
        render_rows(
            list(blocks(rows, measure, colours)),
            Axis(label=label, keep=(0.0, 100.0), within=(0.0, 100.0)),
            says=f"{label}, of each system under each condition, with 95 % intervals",
            height=OVERVIEW_ROW,
        )
        for measure, label in OVERVIEW_MEASURES
    ]


def blocks(
    rows: list[tuple[tuple[str, ...], dict[str, Estimate]]],
    measure: str,
    colours: dict[str, str],
) -> list[Row]:
    """Return a heading for each system and below it a row for each of its conditions."""
    blocks_of_rows: list[Row] = []
    last = ""
    for names, cells in rows:
        system, condition = names[0], setting_of(names)
        if system != last:
            blocks_of_rows.append(Row(label=system, strong=True))
        last = system
        span = span_of(cells[measure], colours[condition])
        blocks_of_rows.append(
            Row(label=condition, spans=(span,), note=describe_estimate(cells[measure]))
        )
    return blocks_of_rows


def setting_of(names: tuple[str, ...]) -> str:
    """Return the setting of a row: its condition, and other factors that distinguish arms."""
    return ", ".join(names[1:]) or NONE


def describe_estimate(estimate: Estimate) -> str:
    """Return a value with its interval and its n."""
    if not math.isfinite(estimate.value):
        return "no result"
    interval = f" [{estimate.low:.0f}, {estimate.high:.0f}]" if math.isfinite(estimate.low) else ""
    return f"{estimate.value:.0f}{interval}, n {estimate.n}"

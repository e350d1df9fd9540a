"""Figures of driving: the overview, scores by arm and seed, and two arms route by route."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd

from analysis.drawing.canvas import Canvas
from analysis.drawing.palette import HUES
from analysis.drawing.plots import IntervalSpan, LegendEntry, PlotAxis, PlotRow, render_forest_plot
from analysis.statistics.intervals import IntervalEstimate
from analysis.tables.table import EstimatesTable
from harness.records.arms import NONE, SHOWN_APART

DENSE = 13.5
"""Height of a row where there are many."""
MOST_ROUTES = 40
"""Rows of a figure of pairs; the routes that differ most."""


def join_arm_names(names: Sequence[str]) -> str:
    """Return an arm's name for figures."""
    return SHOWN_APART.join(names)


def make_estimate_span(
    estimate: IntervalEstimate, colour: str = "accent", shape: str = "circle"
) -> IntervalSpan:
    """Return an estimate as a marker with its interval."""
    return IntervalSpan(
        value=estimate.value, low=estimate.low, high=estimate.high, colour=colour, shape=shape
    )


def render_measure_figure(table: EstimatesTable, measure: str, label: str) -> Canvas:
    """Draw one measure of a table in per cent, or a score: a row for each arm.

    Args:
        table: of estimates.
        measure: one of its columns.
        label: of the axis.
    """
    rows = [
        PlotRow(
            label=join_arm_names(key[: table.arm]),
            spans=(make_estimate_span(cells[measure]),),
            note=format_value_and_n(cells[measure]),
        )
        for key, cells in table.list_rows()
    ]
    axis = PlotAxis(label=label, keep=(0.0, 100.0), within=(0.0, 100.0))
    return render_forest_plot(rows, axis, says=f"{label} of each arm, with 95 % intervals")


def format_value_and_n(estimate: IntervalEstimate) -> str:
    """Return a value and its n."""
    return (
        f"{estimate.value:.1f}, n {estimate.n}"
        if math.isfinite(estimate.value)
        else f"n {estimate.n}"
    )


def render_seeds_figure(table: EstimatesTable, measure: str, label: str) -> Canvas:
    """Draw each seed by itself below the name of its arm.

    Args:
        table: of estimates by seed.
        measure: one of its columns.
        label: of the axis.
    """
    arms: dict[str, list[IntervalSpan]] = {}
    for (*names, seed), cells in table.list_rows():
        if seed == "range" or not math.isfinite(cells[measure].value):
            continue
        value = cells[measure].value
        title = f"seed {seed}: {value:.1f}"
        spans = arms.setdefault(join_arm_names(names), [])
        spans.append(IntervalSpan(value=value, colour="accent", title=title))
    rows = []
    for name, spans in arms.items():
        values = [span.value for span in spans]
        note = f"range {max(values) - min(values):.1f}" if len(values) > 1 else "one seed"
        ordered = tuple(sorted(spans, key=lambda span: span.value))
        rows.append(PlotRow(label=name, spans=ordered, note=note, joined="accent", apart=True))
    axis = PlotAxis(label=label, keep=(0.0, 100.0), within=(0.0, 100.0))
    return render_forest_plot(rows, axis, says=f"{label} by seed, for each arm")


def render_pairs_figure(
    means: pd.DataFrame, arms: tuple[str, str], label: str
) -> tuple[Canvas, int]:
    """Draw a line from one arm's value to the other's for each route, the worse ones below.

    `means` has a row for each route and the two arms' values; the number of routes left
    out, those that differ least, is returned as well.

    Args:
        means: two columns, a row for each route.
        arms: names of both.
        label: of the axis.
    """
    a, b = (means.iloc[:, side] for side in (0, 1))
    difference = b - a
    # the routes that differ most, ordered from the worst
    shown = difference.abs().sort_values(ascending=False, kind="stable").index[:MOST_ROUTES]
    order = sorted(shown, key=lambda route: (-difference[route], -a[route]))
    rows = [
        PlotRow(
            label=str(route),
            spans=(
                IntervalSpan(value=float(a[route]), shape="square"),
                IntervalSpan(value=float(b[route]), colour="hue1"),
            ),
            apart=True,
            note=f"{difference[route]:+.0f}" if abs(difference[route]) >= 0.5 else "0",
            joined="worse" if difference[route] < 0 else "quiet",
        )
        for route in order
    ]
    keys = [LegendEntry(arms[0], "accent", shape="square"), LegendEntry(arms[1], "hue1")]
    axis = PlotAxis(label=label, keep=(0.0, 100.0), within=(0.0, 100.0))
    description = f"{label} of {arms[0]} and {arms[1]} on each route"
    return render_forest_plot(rows, axis, says=description, keys=keys, height=DENSE), len(
        means
    ) - len(order)


def render_differences_figure(rows: pd.DataFrame, label: str) -> Canvas:
    """Draw differences with their intervals: filled where significant, hollow where not.

    Args:
        rows: differences with their intervals; `short` is the label, `clear` whether it is
            significant.
        label: of the axis.
    """
    plotted = [
        make_difference_row(row["short"], row, clear=row["clear"]) for _, row in rows.iterrows()
    ]
    return render_forest_plot(
        [*make_note_header(rows), *plotted],
        PlotAxis(label=label, keep=(0.0,), mark=0.0),
        says=f"{label}, with 95 % intervals",
        keys=SIGNIFICANCE,
    )


def make_difference_row(label: str, row: pd.Series, *, clear: bool) -> PlotRow:
    """Return a row for a difference, its interval and its pairs.

    Args:
        label: in front of it.
        row: with `difference`, `low`, `high` and what the note shows.
        clear: statistically significant: filled.
    """
    span = make_tested_span(row["difference"], row["low"], row["high"], clear=clear)
    return PlotRow(label=str(label), spans=(span,), note=format_difference_note(row))


def format_difference_note(row: pd.Series) -> str:
    """Return a difference, its pairs and, where it is known, the difference in time to the goal."""
    note = f"{round(row['difference'], 1) + 0.0:+.1f}, n {row['pairs']}"
    time = row.get("time", math.nan)
    return f"{note}, {round(time, 1) + 0.0:+.1f} s" if math.isfinite(time) else note


def make_note_header(rows: pd.DataFrame) -> list[PlotRow]:
    """Return a line that names the parts of the notes, if times to the goal are in them."""
    there = "time" in rows and bool(rows["time"].notna().any())
    return [PlotRow(label="", note="difference, n, time")] if there else []


def make_tested_span(value: float, low: float, high: float, *, clear: bool) -> IntervalSpan:
    """Return a dot with its interval: filled where it is significant, hollow where not.

    Args:
        value: the difference.
        low: lower limit.
        high: upper limit.
        clear: whether it is significant.
    """
    colour = "accent" if clear else "quiet"
    return IntervalSpan(value=value, low=low, high=high, colour=colour, unconfirmed=not clear)


SIGNIFICANCE = (
    LegendEntry("statistically significant", "accent"),
    LegendEntry("not significant", "quiet", True),
)


def render_subgroups_figure(rows: pd.DataFrame, label: str) -> Canvas:
    """Draw differences in subgroups, which are not tested: a block for each pair of arms.

    Args:
        rows: differences with their intervals, of a pair of arms one below the other.
        label: of the axis.
    """
    plotted = make_note_header(rows)
    last = ""
    for _, row in rows.iterrows():
        # the name of the pair before its rows
        if row["short"] != last:
            plotted.append(PlotRow(label=row["short"], strong=True))
        last = row["short"]
        span = IntervalSpan(
            value=row["difference"], low=row["low"], high=row["high"], colour="quiet"
        )
        plotted.append(
            PlotRow(label=str(row["group"]), spans=(span,), note=format_difference_note(row))
        )
    return render_forest_plot(
        plotted,
        PlotAxis(label=label, keep=(0.0,), mark=0.0),
        says=f"{label} in subgroups, with 95 % intervals",
        height=OVERVIEW_ROW,
    )


OVERVIEW_ROW = 15.0
OVERVIEW_MEASURES = (("DS", "driving score, 0 to 100"), ("CR %", "drives with a collision, %"))


def render_overview_figures(table: EstimatesTable) -> list[Canvas]:
    """Draw the driving score and the collision rate: a block for each system, a row a condition."""
    rows = [(names[: table.arm], cells) for names, cells in table.list_rows()]
    # what all arms share, such as one condition under many interventions, is named once
    shared = {names[1:2] for names, _ in rows}
    if len(shared) == 1 and all(len(names) > 2 for names, _ in rows):
        rows = [((", ".join(names[:2]), *names[2:]), cells) for names, cells in rows]
    settings = {format_setting(names) for names, _ in rows}
    conditions = sorted(settings, key=lambda setting: (setting != NONE, setting))
    colours = {setting: HUES[number % len(HUES)] for number, setting in enumerate(conditions)}
    return [
        render_forest_plot(
            list(make_system_blocks(rows, measure, colours)),
            PlotAxis(label=label, keep=(0.0, 100.0), within=(0.0, 100.0)),
            says=f"{label}, of each system under each condition, with 95 % intervals",
            height=OVERVIEW_ROW,
        )
        for measure, label in OVERVIEW_MEASURES
    ]


def make_system_blocks(
    rows: list[tuple[tuple[str, ...], dict[str, IntervalEstimate]]],
    measure: str,
    colours: dict[str, str],
) -> list[PlotRow]:
    """Return a heading for each system and below it a row for each of its conditions."""
    blocks_of_rows: list[PlotRow] = []
    last = ""
    for names, cells in rows:
        system, condition = names[0], format_setting(names)
        if system != last:
            blocks_of_rows.append(PlotRow(label=system, strong=True))
        last = system
        span = make_estimate_span(cells[measure], colours[condition])
        blocks_of_rows.append(
            PlotRow(label=condition, spans=(span,), note=describe_estimate(cells[measure]))
        )
    return blocks_of_rows


def format_setting(names: tuple[str, ...]) -> str:
    """Return the setting of a row: its condition, and other factors that distinguish arms."""
    return ", ".join(names[1:]) or NONE


def describe_estimate(estimate: IntervalEstimate) -> str:
    """Return a value with its interval and its n."""
    if not math.isfinite(estimate.value):
        return "no result"
    interval = f" [{estimate.low:.0f}, {estimate.high:.0f}]" if math.isfinite(estimate.low) else ""
    return f"{estimate.value:.0f}{interval}, n {estimate.n}"

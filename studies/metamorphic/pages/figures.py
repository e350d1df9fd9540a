"""Figures of an offline study: bands with their placebos, effects over rates, guidance."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator

import numpy as np
import pandas as pd

from analysis.drawing.canvas import Canvas
from analysis.drawing.markers import SHAPES
from analysis.drawing.palette import HUES
from analysis.drawing.plots import (
    IntervalSpan,
    LegendEntry,
    PlotAxis,
    PlotLine,
    PlotRow,
    render_forest_plot,
    render_line_plot,
)
from studies.metamorphic.catalogue import MAKERS
from studies.metamorphic.tables.choosing import compute_guide_gains, format_multiple
from studies.metamorphic.tables.sheets import iterate_tested_relations
from studies.metamorphic.tables.smallest import STRENGTHS
from studies.metamorphic.tables.summary import (
    StudyTables,
    get_band_findings,
    sample_cluster_weights,
)
from studies.space import SpaceParameter

BINS = 4
CURVES = ("rain", "snow", "fog", "wet_ground", "global_loss", "channel_loss")
"""Operators with one strength."""


def render_relation_bands(tables: StudyTables) -> Iterator[tuple[str, Canvas]]:
    """Yield for each relation with a band its placebos and its tested scenarios, by system."""
    for operator, relation in iterate_tested_relations(tables):
        rows = []
        for system in tables.systems if not relation.exact else ():
            # two rows for a system: placebos, then what was tested and the threshold
            above = get_band_findings(tables, relation.name, system, operator)
            if above is not None:
                note = f"{above.beyond}/{above.tested}"
                placebos = make_dot_spans(above.placebos, "quiet")
                tested = make_dot_spans(above.values, "accent")
                rows.append(PlotRow(label=system, spans=placebos, note=note))
                rows.append(
                    PlotRow(label="", spans=(*tested, make_threshold_span(above.threshold)))
                )
        if rows:
            axis = PlotAxis(label="largest value of a scenario", keep=(0.0,))
            keys = (
                LegendEntry("placebos", "quiet"),
                LegendEntry("tested", "accent"),
                LegendEntry("threshold", "worse"),
            )
            title = f"{operator}, {relation.name}"
            says = f"{title}: placebo and tested values by system, and scenarios beyond"
            yield (
                title,
                render_forest_plot(
                    spread_rows_in_line(rows), axis, says=says, keys=keys, height=11.0
                ),
            )


def make_dot_spans(values: tuple[float, ...], colour: str) -> tuple[IntervalSpan, ...]:
    """Return values as dots."""
    return tuple(IntervalSpan(value=value, colour=colour) for value in sorted(set(values)))


def make_threshold_span(threshold: float) -> IntervalSpan:
    """Return the threshold of a band."""
    return IntervalSpan(value=threshold, colour="worse", title=f"threshold {threshold:.3f}")


def spread_rows_in_line(rows: list[PlotRow]) -> list[PlotRow]:
    """Return rows whose dots stand in one line: joined by a line of no width would hide them."""
    return [PlotRow(label=row.label, spans=row.spans, note=row.note, joined="line") for row in rows]


def render_effect_curves(
    tables: StudyTables, check: str = "misled"
) -> Iterator[tuple[str, Canvas]]:
    """Yield for each operator with one strength the rate of an error over it, and its placebos."""
    for operator in CURVES:
        lines, highest = [], 0.0
        # a line for every system; from the ninth on with other markers
        for number, system in enumerate(tables.systems):
            points = compute_effect_curve(tables, check, system, operator)
            if points:
                highest = max([highest, *(p[1] for p in points)])
                shape = SHAPES[number // len(HUES) % len(SHAPES)]
                lines.append(PlotLine(system, tuple(points), HUES[number % len(HUES)], shape))
        if not lines:
            continue
        # the band of placebos as two flat lines
        low, high = compute_placebo_band(tables, check)
        level = [point[0] for line in lines for point in line.points]
        ends = min(level), max(level)
        for name, rate in (("placebos, lowest", low), ("placebos, highest", high)):
            flat = tuple((x, rate, math.nan, math.nan) for x in ends)
            lines.append(PlotLine(name, flat, "quiet"))
        # axes
        parameter = get_strength_parameter(operator)
        label = f"{parameter.name}, {parameter.unit}"
        label += " (log10)" if parameter.kind == "log" else ""
        top = max(highest, high) * 1.15 or 1.0
        says = f"{operator}: MCE for each exposed object over {label}, by system"
        yield (
            operator,
            render_line_plot(
                lines, (*ends, label), y=(0.0, top, "MCE for each exposed object"), says=says
            ),
        )


def get_strength_parameter(operator: str) -> SpaceParameter:
    """Return the parameter that says how much an operator changes."""
    name = STRENGTHS[operator][0]
    return next(p for p in MAKERS[operator]().operator.space if p.name == name)


def compute_effect_curve(
    tables: StudyTables, check: str, system: str, operator: str
) -> list[tuple[float, float, float, float]]:
    """Return in equal parts of the scenes: strength, rate, and the rate's interval."""
    of = tables.select_rows("checks", system, operator)
    of = of[(of["check"] == check) & (of["side"] == "changed") & (of["hits"] == "before")]
    values = tables.select_rows("measures", system, operator).drop_duplicates("scene")
    if of.empty or len(values) < 2 * BINS:
        return []
    # (scenes,) strength of the change
    parameter = get_strength_parameter(operator)
    numbers = values["values"].map(lambda text: float(json.loads(text)[parameter.name]))
    levels = numbers.to_numpy(np.float64)
    levels = np.log10(levels) if parameter.kind == "log" else levels
    known = pd.Series(levels, index=values["scene"])
    # parts of equally many scenes
    joined = of.assign(strength=known.reindex(of["scene"]).to_numpy()).dropna(subset=["strength"])
    joined = joined.sort_values("strength")
    parts = np.array_split(np.arange(len(joined)), BINS)
    return [compute_curve_point(joined.iloc[part]) for part in parts]


def compute_curve_point(rows: pd.DataFrame) -> tuple[float, float, float, float]:
    """Return the mean strength of some scenes, the rate of an error, and its interval."""
    sums = rows.groupby("cluster")[["count", "exposed"]].sum().to_numpy(np.float64)
    totals = np.vstack([np.ones(len(sums)), sample_cluster_weights(len(sums))]) @ sums
    with np.errstate(invalid="ignore", divide="ignore"):
        rates = totals[:, 0] / totals[:, 1]
    others = rates[1:][~np.isnan(rates[1:])]
    low, high = np.percentile(others, [2.5, 97.5]) if len(others) else (np.nan, np.nan)
    return float(rows["strength"].mean()), float(rates[0]), float(low), float(high)


def compute_placebo_band(tables: StudyTables, check: str) -> tuple[float, float]:
    """Return the lowest and the highest rate of an error under a placebo, of any system."""
    rates = []
    for operator in tables.operators:
        if MAKERS[operator]().placebo:
            for system in tables.systems:
                of = tables.select_rows("checks", system, operator)
                of = of[(of["check"] == check) & (of["side"] == "changed")]
                if of["exposed"].sum():
                    rates.append(of["count"].sum() / of["exposed"].sum())
    return (min(rates), max(rates)) if rates else (0.0, 0.0)


def render_guide_figures(tables: StudyTables, check: str) -> Iterator[tuple[str, Canvas]]:
    """Yield for each system what guides gain over the null, and their rates before that."""
    for system in tables.systems:
        judged = compute_guide_gains(tables, system, check)
        rows = [
            PlotRow(
                label=guide,
                spans=(
                    IntervalSpan(value=one.rate, colour="quiet", title="rate"),
                    IntervalSpan(
                        value=one.gain,
                        low=one.low,
                        high=one.high,
                        colour="accent",
                        title="gain over the null",
                    ),
                ),
                note=f"{format_multiple(one.rate)}, {format_multiple(one.gain)}",
            )
            for guide, one in judged.items()
            if not math.isnan(one.rate)
        ]
        if rows:
            axis = PlotAxis(label="multiple of random choice", keep=(0.0, 1.0), mark=1.0)
            keys = (LegendEntry("rate", "quiet"), LegendEntry("gain over the null", "accent"))
            says = f"{system}: {check} in what guides keep, and what the null does not explain"
            yield system, render_forest_plot(rows, axis, says=says, keys=keys)

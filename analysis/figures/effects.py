"""Figures of interventions: their effects, and what the regression says, in the same order."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import pandas as pd

from analysis.drawing.canvas import Canvas
from analysis.drawing.plots import Axis, Row, render_rows
from analysis.effects.agreement import VIOLATIONS
from analysis.effects.arms import ground_truth
from analysis.effects.paired import ALPHA
from analysis.figures.driving import OVERVIEW_ROW, SIGNIFICANCE, difference_row, tested_span
from analysis.regression.estimators import format_ratio
from harness.vocabulary import PATTERNS

LINE = 14.0
"""Height of the line that names the ground truth."""


def effects_figure(effects: pd.DataFrame) -> Canvas | None:
    """Draw what interventions do to violations: single patterns, all but one, all six; doses."""
    rows = effects[(effects["outcome"] == VIOLATIONS) & effects["effect of"].map(shown)]
    if rows.empty:
        return None
    label = f"{VIOLATIONS}: difference from drives without"
    canvas = render_rows(
        list(blocks(rows.sort_values("effect of", key=places, kind="stable"), effect_row)),
        Axis(label=label, keep=(0.0,), mark=0.0),
        says=f"{label}, with 95 % intervals",
        keys=SIGNIFICANCE,
        height=OVERVIEW_ROW,
    )
    return with_ground_truth(canvas, rows["truth"])


def ratios_figure(regression: pd.DataFrame) -> Canvas | None:
    """Draw the regression's odds ratios of the patterns, if there are any."""
    if regression.empty or not regression["odds ratio"].notna().any():
        return None
    label = f"odds ratio of a violation, per SD ({', '.join(regression['regression'].unique())})"
    canvas = render_rows(
        list(blocks(regression, ratio_row)),
        Axis(label=label, keep=(1.0,), mark=1.0, log=True),
        says=f"{label}, with 95 % intervals",
        keys=SIGNIFICANCE,
        height=OVERVIEW_ROW,
    )
    return with_ground_truth(canvas, regression["truth"])


def with_ground_truth(canvas: Canvas, truth_filters: Iterable[str]) -> Canvas:
    """Return a figure with a line at its bottom that names the ground truth."""
    words = ground_truth(truth_filters)
    taller = replace(
        canvas,
        height=canvas.height + LINE,
        description=f"{canvas.description}; {words}",
        marks=[*canvas.marks],
    )
    taller.text((0, taller.height - 4), words, colour="quiet", size=9.5)
    return taller


def blocks(rows: pd.DataFrame, row_of: Callable[[pd.Series], Row]) -> Iterator[Row]:
    """Yield a heading for each arm, and below it its rows."""
    for arm, members in rows.groupby("arm", sort=False):
        yield Row(label=str(arm), strong=True)
        yield from (row_of(row) for _, row in members.iterrows())


def effect_row(row: pd.Series) -> Row:
    """Return the row of an intervention."""
    return difference_row(row["effect of"], row, clear=row["p family"] < ALPHA)


def ratio_row(row: pd.Series) -> Row:
    """Return the row of a pattern's odds ratio."""
    known, clear = math.isfinite(row["odds ratio"]), row["p Holm"] < ALPHA
    span = tested_span(row["odds ratio"], row["odds low"], row["odds high"], clear=clear)
    note = format_ratio(row["odds ratio"]) if known else "not estimated"
    return Row(label=row["pattern"], spans=(span,), note=note)


def shown(effect: str) -> bool:
    """Return whether an effect is in the figure: repairs of two to four patterns are too many."""
    return sum(word in PATTERNS for word in effect.split()) < 2


def places(effects: pd.Series) -> pd.Series:
    """Return where effects stand: single patterns, all but one, all six; others as they come."""
    return effects.map(place)


def place(effect: str) -> int:
    """Return where one effect stands."""
    words = effect.split()
    number = PATTERNS.index(words[-1]) if words[-1] in PATTERNS else len(PATTERNS)
    return number + ((len(PATTERNS) + 1) if "all" in words else 0)

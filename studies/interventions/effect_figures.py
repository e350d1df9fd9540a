"""Figures of interventions: their effects, and what the regression says, in the same order."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import pandas as pd

from analysis.drawing.canvas import Canvas
from analysis.drawing.plots import PlotAxis, PlotRow, render_forest_plot
from analysis.figures.driving import (
    OVERVIEW_ROW,
    SIGNIFICANCE,
    make_difference_row,
    make_tested_span,
)
from analysis.regression.estimators import format_ratio
from harness.types.record_names import PATTERNS
from studies.interventions.agreement import VIOLATIONS_NAME
from studies.interventions.arms import format_ground_truth
from studies.interventions.paired import ALPHA

LINE = 14.0
"""Height of the line that names the ground truth."""


def render_effects_figure(effects: pd.DataFrame) -> Canvas | None:
    """Draw what interventions do to violations: single patterns, all but one, all six; doses.

    Args:
        effects: a row for each arm and outcome, as `estimate_effects` gives them.

    Returns:
        None where no effect on violations is known.
    """
    rows = effects[
        (effects["outcome"] == VIOLATIONS_NAME) & effects["effect of"].map(is_effect_shown)
    ]
    if rows.empty:
        return None
    label = f"{VIOLATIONS_NAME}: difference from drives without"
    canvas = render_forest_plot(
        list(
            make_arm_blocks(
                rows.sort_values("effect of", key=rank_effects, kind="stable"), make_effect_row
            )
        ),
        PlotAxis(label=label, keep=(0.0,), mark=0.0),
        says=f"{label}, with 95 % intervals",
        keys=SIGNIFICANCE,
        height=OVERVIEW_ROW,
    )
    return add_ground_truth_note(canvas, rows["truth"])


def render_ratios_figure(regression: pd.DataFrame) -> Canvas | None:
    """Draw the regression's odds ratios of the patterns, if there are any."""
    if regression.empty or not regression["odds ratio"].notna().any():
        return None
    label = f"odds ratio of a violation, per SD ({', '.join(regression['regression'].unique())})"
    canvas = render_forest_plot(
        list(make_arm_blocks(regression, make_ratio_row)),
        PlotAxis(label=label, keep=(1.0,), mark=1.0, log=True),
        says=f"{label}, with 95 % intervals",
        keys=SIGNIFICANCE,
        height=OVERVIEW_ROW,
    )
    return add_ground_truth_note(canvas, regression["truth"])


def add_ground_truth_note(canvas: Canvas, truth_filters: Iterable[str]) -> Canvas:
    """Return a figure with a line at its bottom that names the ground truth."""
    words = format_ground_truth(truth_filters)
    taller = replace(
        canvas,
        height=canvas.height + LINE,
        description=f"{canvas.description}; {words}",
        marks=[*canvas.marks],
    )
    taller.add_text((0, taller.height - 4), words, colour="quiet", size=9.5)
    return taller


def make_arm_blocks(
    rows: pd.DataFrame, row_of: Callable[[pd.Series], PlotRow]
) -> Iterator[PlotRow]:
    """Yield a heading for each arm, and below it its rows."""
    for arm, members in rows.groupby("arm", sort=False):
        yield PlotRow(label=str(arm), strong=True)
        yield from (row_of(row) for _, row in members.iterrows())


def make_effect_row(row: pd.Series) -> PlotRow:
    """Return the row of an intervention."""
    return make_difference_row(row["effect of"], row, clear=row["p family"] < ALPHA)


def make_ratio_row(row: pd.Series) -> PlotRow:
    """Return the row of a pattern's odds ratio."""
    known, clear = math.isfinite(row["odds ratio"]), row["p Holm"] < ALPHA
    span = make_tested_span(row["odds ratio"], row["odds low"], row["odds high"], clear=clear)
    note = format_ratio(row["odds ratio"]) if known else "not estimated"
    return PlotRow(label=row["pattern"], spans=(span,), note=note)


def is_effect_shown(effect: str) -> bool:
    """Return whether an effect is in the figure: repairs of two to four patterns are too many."""
    return sum(word in PATTERNS for word in effect.split()) < 2


def rank_effects(effects: pd.Series) -> pd.Series:
    """Return where effects stand: single patterns, all but one, all six; others as they come."""
    return effects.map(rank_effect)


def rank_effect(effect: str) -> int:
    """Return where one effect stands."""
    words = effect.split()
    number = PATTERNS.index(words[-1]) if words[-1] in PATTERNS else len(PATTERNS)
    return number + ((len(PATTERNS) + 1) if "all" in words else 0)

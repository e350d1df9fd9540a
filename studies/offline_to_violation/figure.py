"""The figure of a study: to the left what findings predict, to the right what repairs change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from analysis.drawing.canvas import Canvas, Mark, Polyline
from analysis.drawing.plots import IntervalSpan, LegendEntry, PlotAxis, PlotRow, render_forest_plot
from studies.offline_to_violation.table import NOTHING, format_family_p
from studies.offline_to_violation.verdicts import ALL_SYSTEMS, LEVEL

KEYS = (
    LegendEntry("significant in the family", "accent"),
    LegendEntry("not significant", "quiet", True),
)
GAIN_LABEL = "held-out log loss: lower with the finding"
EFFECT_LABEL = "violations: repaired less not, percentage points"
HEADINGS = {"pattern": "error patterns, by range", "operator": "operators and relations"}
QUESTIONS = {
    "lower log loss": "Does it predict violations on held-out routes?",
    "effect": "Are there fewer violations without it?",
}
APART = 16.0


def render_findings_figure(table: pd.DataFrame) -> Canvas:
    """Draw both panels: all findings to the left, those whose effect was driven to the right.

    Args:
        table: of `judge_findings`.
    """
    rows = table[table["system"] == ALL_SYSTEMS]
    panels = [render_panel(rows, "lower log loss", "Holm predictor", GAIN_LABEL, scale=1.0)]
    driven = rows[rows["effect"].notna()]
    if not driven.empty:
        panels.append(render_panel(driven, "effect", "Holm cause", EFFECT_LABEL, scale=100.0))
    return join_canvases(panels)


def render_panel(rows: pd.DataFrame, name: str, family: str, label: str, *, scale: float) -> Canvas:
    """Draw one panel.

    Args:
        rows: of all systems together.
        name: column of the estimate.
        family: column of its p value in the family.
        label: below the axis.
        scale: by which values are multiplied.
    """
    lines = [PlotRow(label=QUESTIONS[name], strong=True)]
    for kind, members in rows.groupby("kind", sort=False):
        lines.append(PlotRow(label=HEADINGS[str(kind)], strong=True))
        for _, row in members.iterrows():
            value, low, high = (
                scale * float(row[key]) for key in (name, f"{name} low", f"{name} high")
            )
            clear = bool(row[family] < LEVEL)
            span = IntervalSpan(
                value=value,
                low=low,
                high=high,
                colour="accent" if clear else "quiet",
                unconfirmed=not clear,
            )
            p = format_family_p(row[family])
            note = "not tested" if p == NOTHING else f"p {p}"
            lines.append(PlotRow(label=format_row_label(row), spans=(span,), note=note))
    return render_forest_plot(
        lines,
        PlotAxis(label=label, keep=(0.0,), mark=0.0),
        says=f"{label}, with 95 % intervals",
        keys=KEYS,
    )


def format_row_label(row: pd.Series) -> str:
    """Return a finding's name and range."""
    return str(row["finding"] if row["range"] == "all" else f"{row['finding']} {row['range']}")


def join_canvases(canvases: Sequence[Canvas]) -> Canvas:
    """Return drawings side by side."""
    width = sum(canvas.width for canvas in canvases) + APART * (len(canvases) - 1)
    height = max(canvas.height for canvas in canvases)
    whole = Canvas(width, height, "; ".join(canvas.description for canvas in canvases))
    x = 0.0
    for canvas in canvases:
        whole.marks += [shift_mark(mark, x) for mark in canvas.marks]
        x += canvas.width + APART
    return whole


def shift_mark(mark: Mark, x: float) -> Mark:
    """Return a mark farther to the right."""
    if isinstance(mark, Polyline):
        return replace(mark, points=tuple((at[0] + x, at[1]) for at in mark.points))
    return replace(mark, at=(mark.at[0] + x, mark.at[1]))

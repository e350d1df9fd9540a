"""Curves of dose and response: violations and speed over the dose of injected errors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from analysis.drawing.canvas import Canvas
from analysis.effects.arms import ground_truth
from analysis.effects.doses import SPEED_SHARE, VIOLATIONS
from analysis.figures.curves import Curve, Datum, across_of, render, styles
from analysis.statistics.intervals import NO_ESTIMATE
from harness.vocabulary import PATTERNS

FIGURES = {"effects-doses": VIOLATIONS.name, "effects-doses-speed": SPEED_SHARE}
DOSE = "dose, multiples of the measured rates"
ROOM = 1.05
"""The upright axis, as a share of the highest end of an interval; violations end at 100."""


def dose_figures(curves: pd.DataFrame) -> dict[str, Canvas | None]:
    """Return a figure of each outcome by the name of its file, none without doses."""
    return {name: dose_figure(curves, outcome) for name, outcome in FIGURES.items()}


def dose_figure(curves: pd.DataFrame, outcome: str) -> Canvas | None:
    """Draw an outcome over the doses, a line for each arm and set of injected patterns."""
    rows = curves[curves["outcome"] == outcome] if len(curves) else curves
    rows = rows[rows["value"].notna()] if len(rows) else rows
    if rows.empty:
        return None
    lines: dict[str, list[Datum]] = {}
    for row in rows.to_dict("records"):
        label = f"{row['arm']}: {injected_words(row['injected'])}"
        estimate = replace(
            NO_ESTIMATE,
            **{name: row[name] for name in ("value", "low", "high", "routes", "method")},
            n=row["attempts"],
        )
        x = replace(NO_ESTIMATE, value=float(row["dose"]))
        datum = Datum(x=x, y=estimate, title=f"{label}, dose {row['dose']:g}")
        lines.setdefault(label, []).append(datum)
    look = styles(list(lines))
    parts = [Curve(label=name, style=look[name], data=tuple(data)) for name, data in lines.items()]
    top = 100.0
    if outcome != VIOLATIONS.name:
        top = max(top, float(np.nanmax(rows[["value", "high"]]))) * ROOM
    says = f"{outcome}, over the {DOSE}, with 95 % intervals; {ground_truth(rows['truth'])}"
    canvas = render(parts, across_of(parts, DOSE), up=(0.0, top, outcome), says=says)
    canvas.height += LINE
    canvas.text((0, canvas.height - 4), ground_truth(rows["truth"]), colour="quiet", size=9.5)
    return canvas


LINE = 14.0
"""Height of the line that names the ground truth."""


def injected_words(injected: str) -> str:
    """Return which patterns are injected, in short."""
    left = [name for name in PATTERNS if name not in injected.split()]
    return f"all but {left[0]}" if len(left) == 1 else injected

"""Curves of dose and response: violations and speed over the dose of injected errors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from analysis.drawing.canvas import Canvas
from analysis.drawing.scale import compute_axis_ends
from analysis.figures.curves import (
    CurvePoint,
    StyledCurve,
    assign_styles,
    make_horizontal_axis,
    render_curve_figure,
)
from analysis.statistics.intervals import NO_ESTIMATE
from harness.types.record_names import PATTERNS
from studies.interventions.doses import SPEED_SHARE, VIOLATIONS_OUTCOME
from studies.interventions.effect_figures import add_ground_truth_note

FIGURES = {"effects-doses": VIOLATIONS_OUTCOME.name, "effects-doses-speed": SPEED_SHARE}
DOSE = "dose, multiples of the measured rates"


def render_dose_figures(curves: pd.DataFrame) -> dict[str, Canvas | None]:
    """Return a figure of each outcome by the name of its file, none without doses."""
    return {name: render_dose_figure(curves, outcome) for name, outcome in FIGURES.items()}


def render_dose_figure(curves: pd.DataFrame, outcome: str) -> Canvas | None:
    """Draw an outcome over the doses, a line for each arm and set of injected patterns."""
    rows = curves[curves["outcome"] == outcome] if len(curves) else curves
    rows = rows[rows["value"].notna()] if len(rows) else rows
    if rows.empty:
        return None
    # a line for every arm and set of patterns
    lines: dict[str, list[CurvePoint]] = {}
    for row in rows.to_dict("records"):
        label = f"{row['arm']}: {describe_injected_patterns(row['injected'])}"
        estimate = replace(
            NO_ESTIMATE,
            **{name: row[name] for name in ("value", "low", "high", "routes", "method")},
            n=row["attempts"],
        )
        x = replace(NO_ESTIMATE, value=float(row["dose"]))
        datum = CurvePoint(x=x, y=estimate, title=f"{label}, dose {row['dose']:g}")
        lines.setdefault(label, []).append(datum)
    # shares of violations have an axis of 0 to 100
    look = assign_styles(list(lines))
    parts = [
        StyledCurve(label=name, style=look[name], data=tuple(data)) for name, data in lines.items()
    ]
    up = (0.0, 100.0) if outcome == VIOLATIONS_OUTCOME.name else compute_dose_axis_ends(rows)
    says = f"{outcome}, over the {DOSE}, with 95 % intervals"
    canvas = render_curve_figure(
        parts, make_horizontal_axis(parts, DOSE), up=(*up, outcome), says=says
    )
    return add_ground_truth_note(canvas, rows["truth"])


def compute_dose_axis_ends(rows: pd.DataFrame) -> tuple[float, float]:
    """Return the ends of an axis that has room for all intervals, and for 100 %."""
    ends = rows[["value", "low", "high"]].to_numpy(np.float64)
    return compute_axis_ends([float(end) for end in ends[np.isfinite(ends)]], [100.0])


def describe_injected_patterns(injected: str) -> str:
    """Return which patterns are injected, in short."""
    left = [name for name in PATTERNS if name not in injected.split()]
    return f"all but {left[0]}" if len(left) == 1 else injected

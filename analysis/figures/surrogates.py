"""The figure of time and safety: how fast the drives of an arm are, and how many collide."""

from __future__ import annotations

import math

from analysis.drawing.canvas import Canvas
from analysis.figures.curves import (
    CurvePoint,
    StyledCurve,
    assign_styles,
    make_horizontal_axis,
    render_curve_figure,
)
from analysis.figures.driving import join_arm_names
from analysis.tables.table import EstimatesTable
from harness.records.arms import CONDITION, NONE

OF_ORACLE, SPEED = "speed, % of oracle", "mean speed, m/s"
COLLISIONS = "CR %"


def choose_speed_measure(table: EstimatesTable) -> str:
    """Return the measure of speed that is known: as a share of `oracle`'s, or else by itself."""
    known = any(math.isfinite(cells[OF_ORACLE].value) for _, cells in table.list_rows())
    return OF_ORACLE if known else SPEED


def render_time_cost_figure(table: EstimatesTable) -> Canvas:
    """Draw the collision rate of each arm over its mean speed: a colour for each system."""
    across_measure = choose_speed_measure(table)
    # points of a system under all conditions
    lines: dict[str, list[CurvePoint]] = {}
    for names, cells in table.list_rows():
        values = dict(zip(table.by, names, strict=True))
        label = join_arm_names([value for name, value in values.items() if name != CONDITION])
        condition = values.get(CONDITION, NONE)
        datum = CurvePoint(
            x=cells[across_measure],
            y=cells[COLLISIONS],
            title=f"{label}, {condition}",
            hollow=condition != NONE,
        )
        lines.setdefault(label, []).append(datum)
    look = assign_styles(list(lines))
    curves = [
        StyledCurve(label=label, style=look[label], data=tuple(data))
        for label, data in lines.items()
    ]
    wording = "drives with a collision, %"
    says = f"{wording}, over {across_measure}, a point for each system and condition"
    across = make_horizontal_axis(curves, across_measure)
    return render_curve_figure(curves, across, up=(0.0, 100.0, wording), says=says, joined=False)

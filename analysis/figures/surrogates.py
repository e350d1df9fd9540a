"""The figure of time and safety: how fast the drives of an arm are, and how many collide."""

from __future__ import annotations

import math

from analysis.drawing.canvas import Canvas
from analysis.figures.driving import join_arm_names
from analysis.figures.scatter import (
    ScatterPoint,
    fit_horizontal_axis,
    fit_upright_ends,
    render_scatter_figure,
)
from analysis.tables.table import EstimatesTable
from harness.records.arms import CONDITION, NONE

OF_ORACLE, SPEED = "speed, % of oracle", "mean speed, m/s"
COLLISIONS = "CR %"


def choose_speed_measure(table: EstimatesTable) -> str:
    """Return the measure of speed that is known: as a share of `oracle`'s, or else by itself."""
    known = any(math.isfinite(cells[OF_ORACLE].value) for _, cells in table.list_rows())
    return OF_ORACLE if known else SPEED


def render_time_cost_figure(table: EstimatesTable) -> Canvas:
    """Draw the collision rate of each arm over its mean speed: a marker with a name for each."""
    measure = choose_speed_measure(table)
    points = [
        point
        for point in list_scatter_points(table, measure, COLLISIONS)
        if point.is_known and math.isfinite(point.x.value)
    ]
    wording = "drives with a collision, %"
    return render_scatter_figure(
        points,
        fit_horizontal_axis(points, measure),
        up=(*fit_upright_ends(points, (0.0, 100.0)), wording),
        says=f"{wording}, over {measure}, a marker for each system and condition",
    )


def list_scatter_points(table: EstimatesTable, across: str, up: str) -> list[ScatterPoint]:
    """Return a point for each arm of a table.

    Args:
        table: of estimates by arm.
        across: the measure of the horizontal axis.
        up: the measure of the upright axis.
    """
    points = []
    for names, cells in table.list_rows():
        values = dict(zip(table.by, names, strict=True))
        label = join_arm_names([value for name, value in values.items() if name != CONDITION])
        condition = values.get(CONDITION, NONE)
        x, y = cells[across], cells[up]
        interval = f" ({y.low:.2f} to {y.high:.2f})" if math.isfinite(y.low) else ""
        title = f"{label}, {condition}: {y.value:.2f}{interval}, n {y.n}"
        points.append(ScatterPoint(label=label, condition=condition, x=x, y=y, title=title))
    return points

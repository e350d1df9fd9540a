"""The figure of time and safety: how fast the drives of an arm are, and how many collide."""

from __future__ import annotations

import math

from analysis.drawing.canvas import Canvas
from analysis.figures.curves import Curve, Datum, across_of, render, styles
from analysis.figures.driving import arm_of
from analysis.tables.table import Table
from harness.records.arms import CONDITION, NONE

OF_ORACLE, SPEED = "speed, % of oracle", "mean speed, m/s"
COLLISIONS = "CR %"


def speed_of(table: Table) -> str:
    """Return the measure of speed that is known: as a share of `oracle`'s, or else by itself."""
    known = any(math.isfinite(cells[OF_ORACLE].value) for _, cells in table.rows())
    return OF_ORACLE if known else SPEED


def time_cost_figure(table: Table) -> Canvas:
    """Draw the collision rate of each arm over its mean speed: a colour for each system."""
    across_measure = speed_of(table)
    lines: dict[str, list[Datum]] = {}
    for names, cells in table.rows():
        values = dict(zip(table.by, names, strict=True))
        label = arm_of([value for name, value in values.items() if name != CONDITION])
        condition = values.get(CONDITION, NONE)
        datum = Datum(
            x=cells[across_measure],
            y=cells[COLLISIONS],
            title=f"{label}, {condition}",
            hollow=condition != NONE,
        )
        lines.setdefault(label, []).append(datum)
    look = styles(list(lines))
    curves = [
        Curve(label=label, style=look[label], data=tuple(data)) for label, data in lines.items()
    ]
    wording = "drives with a collision, %"
    says = f"{wording}, over {across_measure}, a point for each system and condition"
    across = across_of(curves, across_measure)
    return render(curves, across, up=(0.0, 100.0, wording), says=says, joined=False)

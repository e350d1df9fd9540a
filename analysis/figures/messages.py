"""How late messages were, and how much was sent."""

from __future__ import annotations

import math

from analysis.drawing.canvas import Canvas
from analysis.drawing.rows import Axis, Row, Span, draw_rows
from analysis.figures.driving import span_of
from analysis.tables.ages import QUANTILES
from analysis.tables.table import Table


def ages_figure(table: Table) -> Canvas:
    """Draw the ages of delivered messages: median, middle half, 5 to 95 %."""
    rows = []
    for names, cells in table.rows():
        low, first, middle, third, high = (cells[name].value for name in QUANTILES)
        thick = (first, third) if math.isfinite(first) else None
        span = Span(middle, low, high, thick)
        rows.append(Row(" / ".join(names), (span,), f"n {cells['median'].n}"))
    axis = Axis("age at delivery, s", (0.0,))
    return draw_rows(rows, axis, "ages of delivered messages, by kind of sender")


def bytes_figure(table: Table) -> Canvas:
    """Draw how much was sent in a second."""
    rows = []
    for names, cells in table.rows():
        found = cells["kB/s"]
        note = f"{found.value:.2f}, n {found.n}" if math.isfinite(found.value) else f"n {found.n}"
        rows.append(Row(" / ".join(names), (span_of(found),), note))
    return draw_rows(rows, Axis("sent, kB/s", (0.0,)), "kilobytes sent in a second, with intervals")

"""All pairs of many systems as one figure: a list of them is too long to read."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from analysis.drawing.canvas import Canvas, Polyline, estimate_text_width
from harness.records.arms import make_factor_sort_key

CELL = (46.0, 21.0)
"""Width and height of a cell."""
STRONGEST, FAINTEST = 0.75, 0.06
"""Opacity of the largest difference, and of none."""
GAP = 8.0
LEVEL, LEVELS = 13.0, 3
"""Height and number of the lines with the names of columns."""
KEY = 34.0
"""Height of the lines above the columns that explain the cells."""


def render_matrix_figure(rows: pd.DataFrame, label: str, *, higher_is_better: bool) -> Canvas:
    """Draw the differences of all pairs of systems: the row's system minus the column's.

    Args:
        rows: one for each pair, with `arm_a`, `arm_b`, `difference` (b minus a), and `clear`,
            whether it is statistically significant.
        label: what differs, with its unit.
        higher_is_better: which sign is drawn in the colour of better drives.
    """
    pairs = collect_mirrored_pairs(rows)
    systems = sorted({a for a, _ in pairs}, key=lambda system: make_factor_sort_key((system,)))
    largest = max((abs(value) for value, _ in pairs.values()), default=0.0) or 1.0
    # the names of rows on the left; those of columns above, on three levels, since they are wide
    left = max(estimate_text_width(system) for system in systems) + GAP
    top = KEY + LEVEL * LEVELS
    width = left + CELL[0] * len(systems) + GAP
    canvas = Canvas(
        max(width, left + 380.0),
        top + CELL[1] * len(systems) + GAP,
        f"{label} of each pair of systems, the row's minus the column's",
    )
    canvas.add_text((0.0, 12.0), f"{label}: row minus column", bold=True)
    canvas.add_text(
        (0.0, 26.0),
        "green: the row's system drives better; red: worse; framed and bold: significant",
        colour="quiet",
        size=9.5,
    )
    for number, system in enumerate(systems):
        x, y = left + CELL[0] * (number + 0.5), KEY + LEVEL * (number % LEVELS + 1)
        canvas.add_text((x, y - 3.0), system, anchor="middle", size=9.5)
        canvas.add_line([(x, y), (x, top)], "line", 0.7)
        at = top + CELL[1] * (number + 0.5) + 3.5
        canvas.add_text((left - GAP, at), system, anchor="end")
    for row, of_row in enumerate(systems):
        for column, of_column in enumerate(systems):
            place = left + CELL[0] * column, top + CELL[1] * row
            if (of_row, of_column) in pairs:
                value, clear = pairs[of_row, of_column]
                better = (value > 0) == higher_is_better
                add_cell(
                    canvas,
                    place,
                    value,
                    clear=clear,
                    fill="cooperative" if better else "worse",
                    opacity=FAINTEST + (STRONGEST - FAINTEST) * abs(value) / largest,
                )
    return canvas


def collect_mirrored_pairs(rows: pd.DataFrame) -> Mapping[tuple[str, str], tuple[float, bool]]:
    """Return difference and significance by both orders of a pair of systems."""
    pairs: dict[tuple[str, str], tuple[float, bool]] = {}
    for _, row in rows.iterrows():
        a, b = (str(row[name]).partition("/")[0] for name in ("arm_a", "arm_b"))
        value, clear = float(row["difference"]), bool(row["clear"])
        pairs[b, a], pairs[a, b] = (value, clear), (-value, clear)
    return pairs


def add_cell(
    canvas: Canvas,
    place: tuple[float, float],
    value: float,
    *,
    clear: bool,
    fill: str,
    opacity: float,
) -> None:
    """Draw one difference in its cell.

    Args:
        canvas: that is drawn on.
        place: the upper left corner.
        value: the number in the cell.
        clear: framed and bold.
        fill: a name of the palette.
        opacity: of the fill, 0 to 1.
    """
    (x, y), (width, height) = place, CELL
    corners = (
        (x + 1.0, y + 1.0),
        (x + width - 1.0, y + 1.0),
        (x + width - 1.0, y + height - 1.0),
        (x + 1.0, y + height - 1.0),
    )
    canvas.marks.append(Polyline(points=corners, fill=fill, closed=True, opacity=opacity))
    if clear:
        canvas.marks.append(Polyline(points=corners, stroke="ink", width=1.4, closed=True))
    # no minus in front of a zero
    text = f"{round(value, 1) + 0.0:+.1f}"
    canvas.add_text((x + width / 2, y + height / 2 + 3.5), text, anchor="middle", bold=clear)

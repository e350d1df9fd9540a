"""Figures of critical sizes: attempts still free of violations, and sizes against reveal times."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from analysis.critical.tables import AGAIN, FREE, labelled, runs_in
from analysis.drawing.canvas import Canvas, Polyline
from analysis.drawing.plots import WIDTH
from analysis.drawing.scale import Scale, spread
from analysis.figures.curves import (
    HEIGHT,
    SAMPLE,
    Across,
    Curve,
    Datum,
    Style,
    across_of,
    legend_places,
    mark,
    render,
    render_grid,
    render_key,
    styles,
)
from analysis.figures.curves import LEFT as NUMBERS
from analysis.statistics.intervals import NO_ESTIMATE
from analysis.tables.table import Table

REVEAL, NEEDED, BOUND = "reveal, s", "stopping, s", "largest age to stop, s"
"""Columns of attempts: the horizontal axis, the time to stop, and the ages that leave it."""
AGES = "latency"
"""The disturbance of which sizes are ages: for others there is no bound."""
ARROW, HEAD = 15.0, 3.0
BAR = 6.0
"""Half the width of a bound's bar."""
ASIDE = 3.4
"""Units between two arms at one reveal time."""
RING, LIGHT = 2.2, 0.45
"""Radius and opacity of what shows that a drive is free of violations again."""
ROOM = 1.15
"""The upright axis, as a share of the largest size."""


def free_figure(table: Table, name: str) -> Canvas:
    """Return the share still free of violations over the size, a line for each arm."""
    lines: dict[str, list[Datum]] = {}
    for (arm, size), cells in table.rows():
        x = replace(NO_ESTIMATE, value=float(size))
        lines.setdefault(arm, []).append(Datum(x=x, y=cells[FREE], title=f"{arm}, {size}"))
    look = styles(list(lines))
    curves = [Curve(label=arm, style=look[arm], data=tuple(data)) for arm, data in lines.items()]
    wording = "attempts free of violations, %"
    across = across_of(curves, labelled(name))
    says = f"{wording}, over {labelled(name)}, with 95 % intervals that resample routes"
    return render(curves, across, up=(0.0, 100.0, wording), says=says)


def reveal_figure(attempts: pd.DataFrame, name: str, largest: float) -> Canvas | None:
    """Return critical sizes over reveal times, of ages with the bound that stopping sets.

    A line spans the interval of an attempt, with its marker at the first size with a violation;
    hollow markers are not confirmed; arrows are censored. Small rings and light lines are at larger
    sizes without a violation. Left of the dashed line, the median stopping time, the ego's own
    sensors are too late for a stop. None where no mover was met.
    """
    met = attempts[attempts[REVEAL].notna() & attempts["high"].notna()]
    if met.empty:
        return None
    look = styles(list(dict.fromkeys(met["called"])))
    curves = [Curve(label=arm, style=style, data=()) for arm, style in look.items()]
    places = list(legend_places(curves, SAMPLE))
    top = 54.0 + 16 * max(line for line, _ in places)
    ends = spread([*met[REVEAL], *met[NEEDED]], [0.0])
    up = Scale(low=0.0, high=ROOM * largest, first=top + HEIGHT, last=top)
    scale = Scale(low=ends[0], high=ends[1], first=NUMBERS + 8, last=WIDTH - 12)
    across = Across(scale=scale, label="measured reveal time, s")
    says = f"critical {name} over the measured reveal time of the hazard, by attempt"
    canvas = Canvas(WIDTH, top + HEIGHT + 36, says)
    for curve, (line, x) in zip(curves, places, strict=True):
        render_key(canvas, curve, (x, 8 + 16 * line), SAMPLE)
    words = "hollow: not confirmed" + ("; bar: largest age to stop" if name == AGES else "")
    words += "; small ring: no violation again" if (met[AGAIN] != "").any() else ""
    canvas.text((WIDTH - 4, top - 26), words, anchor="end", colour="quiet", size=9.5)
    render_grid(canvas, across, up, f"critical {labelled(name)}")
    x = across.at(float(met[NEEDED].median()))
    canvas.dash([(x, up.first), (x, up.last)], "quiet", 1.1)
    canvas.text((x + 4, up.last + 9), "stopping time", colour="quiet", size=9.5)
    for number, arm in enumerate(look):
        aside = ASIDE * (number - (len(look) - 1) / 2)
        for row in met[met["called"] == arm].to_dict("records"):
            place = scale.at(row[REVEAL]) + aside
            if name == AGES:
                render_bound(canvas, row, place, up)
            render_attempt(canvas, row, place, up=up, style=look[arm])
    return canvas


def render_bound(canvas: Canvas, row: Mapping[Any, Any], x: float, up: Scale) -> None:
    """Draw the largest age of messages by which a stop is possible."""
    if math.isfinite(row[BOUND]):
        y = up.at(row[BOUND])
        title = f"{row['route']}-s{row['seed']}: largest age to stop {row[BOUND]:.2f} s"
        ends = (x - BAR, y), (x + BAR, y)
        canvas.marks.append(Polyline(points=ends, stroke="quiet", width=2.6, title=title))


def render_attempt(
    canvas: Canvas, row: Mapping[Any, Any], x: float, *, up: Scale, style: Style
) -> None:
    """Draw the interval of an attempt, an arrow where it is censored."""
    low, high = row["low"], row["high"]
    title = f"{row['called']}, {row['route']}-s{row['seed']}: {low:g} to {high:g}"
    render_free_again(canvas, row, x, up=up, style=style)
    if math.isinf(high) or math.isinf(low):
        way = -1.0 if math.isinf(high) else 1.0  # on the drawing, y points down
        start = up.at(low if math.isinf(high) else high)
        end = start + way * (ARROW if math.isinf(high) else ARROW / 2)
        canvas.line([(x, start), (x, end)], style.colour, 1.6)
        tips = [(x - HEAD, end - way * HEAD), (x, end), (x + HEAD, end - way * HEAD)]
        canvas.line(tips, style.colour, 1.6)
        mark(canvas, (x, start), style, title=title)
        return
    canvas.line([(x, up.at(low)), (x, up.at(high))], style.colour, 2.2)
    mark(canvas, (x, up.at(high)), style, hollow=row["confirmed"] != "yes", title=title)


def render_free_again(
    canvas: Canvas, row: Mapping[Any, Any], x: float, *, up: Scale, style: Style
) -> None:
    """Draw the sizes above the first violation at which a drive has none."""
    name = f"{row['called']}, {row['route']}-s{row['seed']}"
    for low, high in runs_in(row[AGAIN]):
        ends = (x, up.at(low)), (x, up.at(high))
        title = f"{name}: no violation again, {low:g} to {high:g}"
        canvas.marks.append(
            Polyline(points=ends, stroke=style.colour, width=2.2, opacity=LIGHT, title=title)
        )
        for end in dict.fromkeys(ends):
            canvas.dot(end, RING, colour=style.colour, hollow=True, title=title)

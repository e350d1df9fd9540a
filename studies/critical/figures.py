"""Figures of critical sizes: attempts still free of violations, and sizes against reveal times."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from analysis.drawing.canvas import Canvas, Polyline, estimate_text_width
from analysis.drawing.markers import CROSS, add_marker
from analysis.drawing.plots import WIDTH
from analysis.drawing.scale import AxisScale, compute_axis_ends
from analysis.figures.curves import (
    HEIGHT,
    MARKER,
    SAMPLE,
    CurvePoint,
    CurveStyle,
    HorizontalAxis,
    StyledCurve,
    assign_styles,
    make_horizontal_axis,
    render_curve_figure,
    render_grid,
    render_legend_entry,
)
from analysis.figures.curves import LEFT as NUMBERS
from analysis.statistics.intervals import NO_ESTIMATE
from analysis.tables.table import EstimatesTable
from studies.critical.drives import AS_DRIVEN
from studies.critical.tables import FREE, FREE_AGAIN_COLUMN, format_size_label, parse_size_runs

REVEAL, NEEDED, BOUND = "reveal by geometry, s", "stopping, s", "largest age to stop, s"
"""Columns of attempts: the horizontal axis, the time to stop, and the ages that leave it."""
DRIVEN = next(iter(AS_DRIVEN))
"""The share of drives of a size without a violation."""
AGES = "latency"
"""The disturbance of which sizes are ages: for others there is no bound."""
ARROW, HEAD = 15.0, 3.0
BAR = 5.0
"""Half the width of a bound's bar."""
PANEL = 130.0
"""Height of an arm's own axes, if there are several."""
WORDS, TITLE, AXIS, UNDER = 12.0, 38.0, 20.0, 16.0
"""Room for a line of words on top, above and below an arm's axes, and for the last one's label."""
RADIUS_FREE, LIGHT = 2.0, 0.45
"""Radius and opacity of what shows that a drive is free of violations again."""
ROOM = 1.15
"""The upright axis, as a share of the largest size."""


def render_violation_free_figure(table: EstimatesTable, name: str) -> Canvas:
    """Return the share still free of violations over the size, a line for each arm.

    Crosses are the drives of one size alone, whatever happens at smaller ones.
    """
    look = assign_styles([arm for (arm, _), _ in table.list_rows()])
    curves = [
        StyledCurve(
            label=arm, style=style, data=tuple(collect_share_points(table, arm, measure)), more=more
        )
        for measure, more in ((FREE, False), (DRIVEN, True))
        for arm, style in look.items()
    ]
    wording = "attempts free of violations, %"
    across = make_horizontal_axis(curves, format_size_label(name))
    says = f"{wording}, over {format_size_label(name)}, with 95 % intervals that resample routes"
    words = f"crosses: drives of one {'age' if name == AGES else 'size'} alone"
    return render_curve_figure(curves, across, up=(0.0, 100.0, wording), says=says, words=words)


def collect_share_points(table: EstimatesTable, arm: str, measure: str) -> Iterator[CurvePoint]:
    """Yield the points of an arm; those of one size alone are crosses, without an interval."""
    for (of, size), cells in table.list_rows():
        estimate = cells.get(measure, NO_ESTIMATE)
        if of == arm and math.isfinite(estimate.value):
            x, alone = replace(NO_ESTIMATE, value=float(size)), measure == DRIVEN
            y = replace(estimate, low=math.nan, high=math.nan) if alone else estimate
            title = f"{arm}, {size}{' alone' * alone}"
            yield CurvePoint(x=x, y=y, title=title, shape=CROSS if alone else "")


def render_reveal_figure(attempts: pd.DataFrame, name: str, largest: float) -> Canvas | None:
    """Return critical sizes over reveal times, of ages with the bound that stopping sets.

    Arms are below each other. A line spans the interval of an attempt, with its marker at the first
    size with a violation; hollow markers are not confirmed by placebos; arrows are censored. Small
    dots and light lines are at larger sizes without a violation. Left of the dashed line, the
    median stopping time, the ego's own sensors are too late for a stop. Reveal times are those by
    geometry, in which no drive has a part. None where no mover was met.
    """
    # only attempts that met a mover and have an interval
    met = attempts[attempts[REVEAL].notna() & attempts["high"].notna()]
    if met.empty:
        return None
    look = assign_styles(list(dict.fromkeys(met["called"])))
    height = HEIGHT if len(look) == 1 else PANEL
    upright = f"critical {format_size_label(name)}"
    says = f"critical {name} over the reveal time of the hazard by geometry, by attempt"
    legend = describe_reveal_marks(met, name)
    first = WORDS * len(legend) + AXIS / 2
    canvas = Canvas(WIDTH, first + len(look) * (TITLE + height + AXIS) + UNDER, says)
    # what markers mean
    for number, line in enumerate(legend):
        canvas.add_text((0.0, 9.0 + WORDS * number), line, colour="quiet", size=9.5)
    # one horizontal axis for all arms
    ends = compute_axis_ends([*met[REVEAL], *met[NEEDED]], [0.0])
    scale = AxisScale(low=ends[0], high=ends[1], first=NUMBERS + 8, last=WIDTH - 12)
    stopping = scale.place_value(float(met[NEEDED].median()))
    # a panel for every arm
    for number, (arm, style) in enumerate(look.items()):
        top = first + number * (TITLE + height + AXIS) + TITLE
        up = AxisScale(low=0.0, high=ROOM * largest, first=top + height, last=top)
        label = "reveal time by geometry, s" if number == len(look) - 1 else ""
        render_grid(canvas, HorizontalAxis(scale=scale, label=label), up, upright)
        render_legend_entry(
            canvas, StyledCurve(label=arm, style=style, data=()), (0.0, top - TITLE + 8), SAMPLE
        )
        # the median stopping time, and its name where the axis label is not
        canvas.add_dashed_line([(stopping, up.first), (stopping, up.last)], "quiet", 1.1)
        beyond = max(stopping - 2, estimate_text_width(upright) + 12)
        canvas.add_text((beyond, up.last - 4), "stopping time", colour="quiet", size=9.5)
        # bounds below the intervals
        rows = met[met["called"] == arm].to_dict("records")
        for row in rows if name == AGES else ():
            render_stopping_bound(canvas, row, scale.place_value(row[REVEAL]), up)
        for row in rows:
            render_attempt_interval(canvas, row, scale.place_value(row[REVEAL]), up=up, style=style)
    return canvas


def describe_reveal_marks(met: pd.DataFrame, name: str) -> list[str]:
    """Return the lines of the legend: what each mark of an attempt means.

    Args:
        met: attempts that are drawn.
        name: of the disturbance.
    """
    size = "age" if name == AGES else "size"
    lines = [
        f"marker: smallest {size} with a violation; hollow: not confirmed by placebos",
        f"arrow up: no violation up to the largest {size}; down: already at the smallest",
    ]
    if (met[FREE_AGAIN_COLUMN] != "").any():
        lines.append(f"small dots on a light line: larger {size}s, again without a violation")
    return [*lines, "bar: largest age that leaves time to stop"] if name == AGES else lines


def render_stopping_bound(canvas: Canvas, row: Mapping[Any, Any], x: float, up: AxisScale) -> None:
    """Draw the largest age of messages by which a stop is possible."""
    if math.isfinite(row[BOUND]):
        y = up.place_value(row[BOUND])
        title = f"{row['route']}-s{row['seed']}: largest age to stop {row[BOUND]:.2f} s"
        ends = (x - BAR, y), (x + BAR, y)
        canvas.marks.append(Polyline(points=ends, stroke="quiet", width=1.5, title=title))


def render_attempt_interval(
    canvas: Canvas, row: Mapping[Any, Any], x: float, *, up: AxisScale, style: CurveStyle
) -> None:
    """Draw the interval of an attempt, an arrow where it is censored."""
    low, high = row["low"], row["high"]
    title = f"{row['called']}, {row['route']}-s{row['seed']}: {low:g} to {high:g}"
    render_free_runs(canvas, row, x, up=up, style=style)
    if math.isinf(high) or math.isinf(low):
        way = -1.0 if math.isinf(high) else 1.0  # on the drawing, y points down
        start = up.place_value(low if math.isinf(high) else high)
        end = start + way * (ARROW if math.isinf(high) else ARROW / 2)
        canvas.add_line([(x, start), (x, end)], style.colour, 1.6)
        tips = [(x - HEAD, end - way * HEAD), (x, end), (x + HEAD, end - way * HEAD)]
        canvas.add_line(tips, style.colour, 1.6)
        add_marker(canvas, (x, start), MARKER, colour=style.colour, shape=style.marker, title=title)
        return
    canvas.add_line([(x, up.place_value(low)), (x, up.place_value(high))], style.colour, 2.2)
    add_marker(
        canvas,
        (x, up.place_value(high)),
        MARKER,
        colour=style.colour,
        shape=style.marker,
        unconfirmed=row["confirmed"] != "yes",
        title=title,
    )


def render_free_runs(
    canvas: Canvas, row: Mapping[Any, Any], x: float, *, up: AxisScale, style: CurveStyle
) -> None:
    """Draw the sizes above the first violation at which a drive has none."""
    name = f"{row['called']}, {row['route']}-s{row['seed']}"
    for low, high in parse_size_runs(row[FREE_AGAIN_COLUMN]):
        ends = (x, up.place_value(low)), (x, up.place_value(high))
        title = f"{name}: no violation again, {low:g} to {high:g}"
        canvas.marks.append(
            Polyline(points=ends, stroke=style.colour, width=2.2, opacity=LIGHT, title=title)
        )
        for end in dict.fromkeys(ends):
            add_marker(canvas, end, RADIUS_FREE, colour=style.colour, title=title)

"""The figure of a trade-off: scores over the bytes that a system received."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.drawing.canvas import Canvas
from analysis.figures.curves import (
    CURVE_SCORES,
    CurvePoint,
    StyledCurve,
    assign_styles,
    list_known_scores,
    make_horizontal_axis,
)
from analysis.figures.scatter import fit_upright_ends, render_scatter_figure
from analysis.figures.surrogates import list_scatter_points
from analysis.tables.curves import RECEIVED
from analysis.tables.table import EstimatesTable


def render_volume_figures(table: EstimatesTable) -> Iterator[tuple[str, Canvas]]:
    """Yield a figure of each score over the bytes received, with its title."""
    for measure in list_known_scores(table):
        points = list_scatter_points(table, RECEIVED, measure)
        known = [point for point in points if point.is_known]
        data = tuple(CurvePoint(x=point.x, y=point.y, title=point.title) for point in known)
        style = assign_styles(["all"])["all"]
        curve = StyledCurve(label="all", style=style, data=data)
        across = make_horizontal_axis([curve], "received, bytes/s", log=True)
        wording, title, ends = CURVE_SCORES[measure]
        says = f"{wording} over bytes received per second, a marker for each system and condition"
        up = (*fit_upright_ends(known, ends), wording)
        yield title, render_scatter_figure(known, across, up=up, says=says)

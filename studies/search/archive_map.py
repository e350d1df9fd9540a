"""A picture of searches' archives: in which cells of behaviour failures lie."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from analysis.drawing.canvas import Canvas, Polyline
from analysis.drawing.markers import add_marker
from analysis.drawing.scale import format_tick
from studies.search.archive import FailureArchive
from studies.search.settings import BehaviourAxis

CELL, GAP = (64.0, 34.0), 46.0
LEFT, TOP, BELOW = 34.0, 40.0, 52.0
FAINTEST = 0.12
"""Opacity of cells in which hardly any evaluation failed."""
NO_AXIS = BehaviourAxis(name="", unit="", low=0.0, high=1.0, cells=1)


@dataclass(slots=True)
class CellCounts:
    """What searches have in one cell of the map."""

    evaluations: int = 0
    failures: int = 0
    confirmed: int = 0
    best: list[float] = field(default_factory=list)


def count_cells(archives: Sequence[FailureArchive]) -> dict[tuple[int, int], CellCounts]:
    """Return what lies in each cell of the first two axes, over all others and all archives."""
    cells: dict[tuple[int, int], CellCounts] = defaultdict(CellCounts)
    for archive in archives:
        for place, cell in archive.cells.items():
            at = cells[place[0], place[1] if len(place) > 1 else 0]
            at.evaluations += len(cell.evaluations)
            at.failures += len(cell.failures)
            at.confirmed += len(cell.confirmed)
            at.best.append(cell.best)
    return dict(cells)


def render_archive_map(system: str, by_guidance: Mapping[str, Sequence[FailureArchive]]) -> Canvas:
    """Draw a panel for each guidance: failures of evaluations in each cell, and what is confirmed.

    Across and up are the first two measures of behaviour; all others are summed up.
    """
    axes = [*next(iter(by_guidance.values()))[0].axes, NO_AXIS][:2]
    wide, tall = axes[0].cells * CELL[0], axes[1].cells * CELL[1]
    across = len(by_guidance) * (wide + GAP) - GAP
    canvas = Canvas(
        max(LEFT + across + 8, 420.0),
        TOP + tall + BELOW,
        f"{system}: failures of evaluations by {' and '.join(axis.name for axis in axes)}",
    )
    canvas.add_text((0, 12), f"{system}: failures of evaluations, in cells of behaviour", bold=True)
    for number, (guidance, archives) in enumerate(by_guidance.items()):
        left = LEFT + number * (wide + GAP)
        canvas.add_text((left, TOP - 8), guidance, colour="quiet")
        render_archive_panel(canvas, count_cells(archives), axes, corner=(left, TOP))
    canvas.add_text(
        (LEFT, TOP + tall + 44), "dot: confirmed failures; no number: no evaluation", colour="quiet"
    )
    return canvas


def render_archive_panel(
    canvas: Canvas,
    cells: Mapping[tuple[int, int], CellCounts],
    axes: Sequence[BehaviourAxis],
    *,
    corner: tuple[float, float],
) -> None:
    """Draw the cells of one guidance, and the axes."""
    (left, top), (wide, tall) = corner, CELL
    first, second = axes
    bottom = top + second.cells * tall
    # cells, the second axis upwards
    for column in range(first.cells):
        for row in range(second.cells):
            at = left + column * wide, bottom - (row + 1) * tall
            render_archive_cell(canvas, cells.get((column, row), CellCounts()), at)
    # edges of cells
    for number in range(first.cells + 1):
        edge = left + number * wide, bottom + 13
        canvas.add_text(
            edge, format_cell_edge(first, number), anchor="middle", colour="quiet", size=9.5
        )
    for number in range(second.cells + 1) if second.name else ():
        edge = left - 4, bottom - number * tall + 3.4
        canvas.add_text(
            edge, format_cell_edge(second, number), anchor="end", colour="quiet", size=9.5
        )
    # names of axes
    canvas.add_text((left, bottom + 27), format_behaviour_axis(first), colour="quiet", size=9.5)
    if second.name:
        end = left + first.cells * wide
        canvas.add_text(
            (end, top - 8),
            f"up: {format_behaviour_axis(second)}",
            anchor="end",
            colour="quiet",
            size=9,
        )


def render_archive_cell(canvas: Canvas, cell: CellCounts, at: tuple[float, float]) -> None:
    """Draw one cell, the fuller the more of its evaluations failed."""
    (x, y), (wide, tall) = at, CELL
    corners = ((x, y), (x + wide, y), (x + wide, y + tall), (x, y + tall))
    if cell.failures:
        opacity = FAINTEST + (0.75 - FAINTEST) * cell.failures / cell.evaluations
        best = f"lowest objective {min(cell.best):.3g}"
        canvas.marks.append(
            Polyline(points=corners, fill="worse", closed=True, opacity=opacity, title=best)
        )
    canvas.marks.append(Polyline(points=corners, stroke="line", closed=True))
    if cell.evaluations:
        words = f"{cell.failures} of {cell.evaluations}"
        canvas.add_text((x + wide / 2, y + tall / 2 + 3.4), words, anchor="middle", size=9.5)
    if cell.confirmed:
        title = f"{cell.confirmed} confirmed"
        add_marker(canvas, (x + wide - 7, y + 7), 2.6, colour="ink", title=title)


def format_cell_edge(axis: BehaviourAxis, number: int) -> str:
    """Return the value at an edge between cells, in words."""
    return format_tick(axis.low + (axis.high - axis.low) * number / axis.cells)


def format_behaviour_axis(axis: BehaviourAxis) -> str:
    """Return the name of an axis with its unit."""
    return axis.name.replace("_", " ") + (f", {axis.unit}" if axis.unit else "")

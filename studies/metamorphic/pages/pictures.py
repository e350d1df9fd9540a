"""A scene from above: what stands there, what a relation's breach is, and the agents."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pandas as pd

from analysis.drawing.canvas import Canvas, Polyline
from analysis.drawing.markers import add_marker
from harness.types.vocabulary import Singles

WIDTH, HEIGHT = 380.0, 300.0
REACH = 54.0
"""Metres ahead and behind that are shown."""
LINES = {
    "object": ("truth", False, 1.1),
    "unjudged": ("quiet", True, 0.9),
    "parked": ("line", False, 0.9),
    "agent": ("accent", False, 1.6),
    "source": ("ego_alone", True, 1.4),
    "changed": ("cooperative", False, 1.4),
    "missing": ("missed", False, 2.2),
    "additional": ("additional", False, 2.2),
}
"""Colour, dashed or not and width of each kind of box."""
KEYS = {
    "object": "ground truth, judged",
    "unjudged": "not judged",
    "parked": "scenery",
    "agent": "agents with LiDAR",
    "source": "detected before",
    "changed": "detected after",
    "missing": "breach: missing",
    "additional": "breach: additional",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanBox:
    """A box from above, in the ego's LiDAR frame."""

    kind: str
    x: float
    y: float
    length: float
    width: float
    yaw: float


def read_plan_boxes(rows: pd.DataFrame) -> list[PlanBox]:
    """Return recorded boxes."""
    names = ["kind", "x", "y", "length", "width", "yaw"]
    return [PlanBox(**dict(zip(names, row, strict=True))) for row in rows[names].itertuples(False)]


def render_plan_picture(
    boxes: Iterable[PlanBox], *, says: str, points: Singles | None = None
) -> Canvas:
    """Draw boxes, the ego in the middle looking up, and points if they are given.

    Args:
        boxes: in the ego's LiDAR frame, with what they are.
        says: description for screen readers.
        points: (points, 4) in the ego's LiDAR frame; None: none are drawn.
    """
    shown = list(boxes)
    kinds = [kind for kind in KEYS if any(box.kind == kind for box in shown)]
    top = 18.0 * math.ceil(len(kinds) / 3) + 6
    canvas = Canvas(WIDTH, HEIGHT + top, says)
    for number, kind in enumerate(kinds):
        render_plan_legend_entry(canvas, kind, (number % 3) * WIDTH / 3, 12.0 + 18 * (number // 3))
    for x, y in points[:, :2].tolist() if points is not None else ():
        if abs(x) < REACH and abs(y) < REACH * WIDTH / HEIGHT:
            add_marker(canvas, project_ego_place(x, y, top), 0.5, colour="quiet")
    for kind in LINES:
        for box in shown:
            if box.kind == kind:
                render_plan_box(canvas, box, top)
    render_plan_scale_bar(canvas, top)
    return canvas


def project_ego_place(x: float, y: float, top: float) -> tuple[float, float]:
    """Return where a place in the ego's frame lies: x is up, y is to the right."""
    scale = HEIGHT / (2 * REACH)
    return WIDTH / 2 + y * scale, top + HEIGHT / 2 - x * scale


def render_plan_box(canvas: Canvas, box: PlanBox, top: float) -> None:
    """Draw a box, if it is in the picture."""
    places = [project_ego_place(x, y, top) for x, y in compute_plan_corners(box)]
    if all(0 <= x <= WIDTH and top <= y <= top + HEIGHT for x, y in places):
        colour, dashed, width = LINES[box.kind]
        canvas.marks.append(
            Polyline(points=tuple(places), stroke=colour, width=width, closed=True, dashed=dashed)
        )


def compute_plan_corners(box: PlanBox) -> Sequence[tuple[float, float]]:
    """Return the corners of a box from above."""
    cos, sin = math.cos(box.yaw), math.sin(box.yaw)
    signs = ((1, 1), (1, -1), (-1, -1), (-1, 1))
    halves = [(a * box.length / 2, b * box.width / 2) for a, b in signs]
    return [(box.x + cos * a - sin * b, box.y + sin * a + cos * b) for a, b in halves]


def render_plan_legend_entry(canvas: Canvas, kind: str, x: float, y: float) -> None:
    """Draw an entry of the legend."""
    colour, dashed, width = LINES[kind]
    stroke = canvas.add_dashed_line if dashed else canvas.add_line
    stroke([(x + 2, y), (x + 16, y)], colour, max(width, 1.4))
    canvas.add_text((x + 21, y + 3.6), KEYS[kind], colour="quiet", size=9.5)


def render_plan_scale_bar(canvas: Canvas, top: float) -> None:
    """Draw how long ten metres are."""
    length = 10 * HEIGHT / (2 * REACH)
    y = top + HEIGHT - 6
    canvas.add_line([(6, y), (6 + length, y)], "ink", 1.4)
    canvas.add_text((10 + length, y + 3), "10 m", size=9.5)

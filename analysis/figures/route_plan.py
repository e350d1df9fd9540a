"""Routes from above, a panel for each: lanes, scenery, signals, hazards, a legend and a scale.

The colours and signs are those of films and pictures of cases.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.drawing.canvas import (
    Canvas,
    Circle,
    Mark,
    Point,
    Polyline,
    estimate_text_width,
    trim_text,
)
from analysis.drawing.palette import ROUTE_WIDTH, SCENERY_COLOURS
from analysis.figures.birds_eye import extract_polylines
from harness.types.vocabulary import Floats, Mask

WIDE, SQUARE, GAP = 720.0, 300.0, 14.0
"""Width of one route's panel, sides of the panels of several, and the space around them."""
TITLE, LINE = 20.0, 14.0
"""Height of a panel's title, and of a line below it."""
AIR = 14.0
"""Metres round a route."""
COLUMNS = 4
FINE = 0.5
"""Metres between the points of a line that is cut at a panel's edge."""
SCALES = (10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class HazardMarker:
    """A hazard on a route."""

    kind: str
    station: float  # m along the route
    place: tuple[float, float]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RoutePlan:
    """What a panel shows."""

    name: str
    town: str
    length: float  # m
    way: Floats  # rows of x and y, start to goal
    lane_change: Mask  # true where the way changes lanes
    lines: pd.DataFrame  # lanes near the route, as map.parquet has them
    scenery: pd.DataFrame  # as scenery.parquet has it
    lights: Floats  # rows of x and y
    stops: Floats
    hazards: Sequence[HazardMarker]
    units: Floats  # roadside units


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutePanel:
    """A rectangle of the world on a rectangle of the drawing."""

    low: Floats  # m, x and y of its left upper corner
    scale: float  # for each metre
    left: float
    top: float
    width: float
    height: float

    def place_points(self, places: Floats) -> Floats:
        """Return places on the drawing."""
        return np.asarray((places[:, :2] - self.low) * self.scale + (self.left, self.top))

    @property
    def corners(self) -> tuple[Point, ...]:
        """The corners of the panel."""
        right, bottom = self.left + self.width, self.top + self.height
        return (self.left, self.top), (right, self.top), (right, bottom), (self.left, bottom)

    def is_on_panel(self, point: Floats, margin: float = 0.0) -> bool:
        """Return whether a point of the drawing is on the panel, not too near its edge."""
        x, y = point
        return bool(
            self.left + margin <= x <= self.left + self.width - margin
            and self.top + margin <= y <= self.top + self.height - margin
        )


def render_route_plans(plans: Sequence[RoutePlan]) -> Canvas:
    """Draw one route on a wide panel, or several in a grid."""
    # one panel of the route's shape, or squares
    if len(plans) == 1:
        columns, sizes = (
            1,
            [(WIDE, min(max(compute_aspect_ratio(plans[0]) * WIDE, 0.3 * WIDE), 1.2 * WIDE))],
        )
    else:
        columns, sizes = min(COLUMNS, len(plans)), [(SQUARE, SQUARE)] * len(plans)
    rows = [range(len(plans))[start : start + columns] for start in range(0, len(plans), columns)]
    width = columns * sizes[0][0] + (columns + 1) * GAP
    canvas = Canvas(width, 0.0, f"{len(plans)} routes from above")
    # row by row; captions make rows of different heights
    top = GAP
    for row in rows:
        for column, number in enumerate(row):
            left = GAP + column * (sizes[number][0] + GAP)
            panel = fit_route_panel(plans[number], (left, top + TITLE), sizes[number])
            canvas.marks += make_panel_marks(plans[number], panel)
        lines = max(len(wrap_hazard_captions(plans[number], sizes[number][0])) for number in row)
        top += TITLE + sizes[row[0]][1] + lines * LINE + GAP
    canvas.height = render_plan_legend(canvas, list_plan_legend_entries(plans), top) + GAP
    return canvas


def compute_aspect_ratio(plan: RoutePlan) -> float:
    """Return height by width of what a route's panel must show."""
    width, height = np.ptp(plan.way, axis=0) + 2 * AIR
    return float(height / width)


def fit_route_panel(plan: RoutePlan, corner: Point, size: tuple[float, float]) -> RoutePanel:
    """Return the panel that just shows a route."""
    low, high = plan.way.min(axis=0) - AIR, plan.way.max(axis=0) + AIR
    scale = float((np.array(size) / (high - low)).min())
    low = (low + high) / 2 - np.array(size) / (2 * scale)
    (left, top), (width, height) = corner, size
    return RoutePanel(low=low, scale=scale, left=left, top=top, width=width, height=height)


def make_panel_marks(plan: RoutePlan, panel: RoutePanel) -> Iterator[Mark]:
    """Yield everything on a panel, and the words above and below."""
    yield Polyline(points=panel.corners, fill="panel", closed=True)
    # from below: ground, route, signs, scale
    yield from make_ground_marks(plan, panel)
    yield from make_route_marks(plan, panel)
    for places, sign in (
        (plan.lights, make_traffic_light_sign),
        (plan.stops, make_stop_sign),
        (plan.units, make_roadside_unit_sign),
    ):
        for point in panel.place_points(places.reshape(-1, 2)):
            if panel.is_on_panel(point, 6.0):
                yield from sign(tuple(point.tolist()))
    for number, hazard in enumerate(plan.hazards, start=1):
        (point,) = panel.place_points(np.array([hazard.place]))
        yield from make_hazard_sign(tuple(point.tolist()), str(number))
    yield from make_scale_marks(panel)
    yield Polyline(points=panel.corners, stroke="line", closed=True)
    # words round the panel
    words = Canvas(0.0, 0.0, "")
    title = f"route {plan.name} of {plan.town}, {plan.length:.0f} m"
    words.add_text(
        (panel.left, panel.top - 7), trim_text(title, panel.width, 11.5), size=11.5, bold=True
    )
    bottom = panel.top + panel.height
    for number, line in enumerate(wrap_hazard_captions(plan, panel.width), start=1):
        words.add_text((panel.left, bottom + number * LINE), line)
    yield from words.marks


def wrap_hazard_captions(plan: RoutePlan, width: float) -> list[str]:
    """Return the hazards in words, as many in a line as fit."""
    lines: list[str] = []
    for number, hazard in enumerate(plan.hazards, start=1):
        words = f"{number}  {hazard.kind.replace('_', ' ')} at {hazard.station:.0f} m"
        if lines and estimate_text_width(f"{lines[-1]}    {words}") <= width:
            lines[-1] += f"    {words}"
        else:
            lines.append(trim_text(words, width))
    return lines


def make_ground_marks(plan: RoutePlan, panel: RoutePanel) -> Iterator[Mark]:
    """Yield lanes and scenery, cut at the panel's edges."""
    lefts, rights = (extract_polylines(plan.lines, f"lane_{side}") for side in ("left", "right"))
    for left, right in zip(lefts, rights, strict=True):
        # a lane is the area between its edges
        surface = np.concatenate([left[:, :2], right[::-1, :2]])
        yield from make_clipped_area(panel, surface, "asphalt", "")
    for line in (*lefts, *rights):
        for piece in clip_polyline(panel, line):
            yield Polyline(points=piece, stroke="road", width=0.7)
    for kind, (fill, edge) in SCENERY_COLOURS.items():
        rows = plan.scenery[plan.scenery["kind"].astype(str) == kind]
        for box in rows[["x", "y", "length", "width", "yaw"]].to_numpy(np.float64):
            yield from make_clipped_area(
                panel, compute_box_outline(box, kind == "vegetation"), fill, edge
            )


def compute_box_outline(box: Floats, oval: bool) -> Floats:
    """Return the outline of a box from above, or of an oval within it."""
    x, y, length, width, yaw = box
    turn = np.linspace(0.0, math.tau, 12, endpoint=False)
    corners = np.array([[0.5, 0.5, -0.5, -0.5], [-0.5, 0.5, 0.5, -0.5]])
    ahead, aside = np.array([np.cos(turn), np.sin(turn)]) / 2 if oval else corners
    ahead, aside = ahead * length, aside * width
    cos, sin = math.cos(yaw), math.sin(yaw)
    return np.column_stack([x + ahead * cos - aside * sin, y + ahead * sin + aside * cos])


def make_clipped_area(panel: RoutePanel, outline: Floats, fill: str, edge: str) -> Iterator[Mark]:
    """Yield what of an area is on the panel."""
    points = panel.place_points(outline)
    low, high = np.array(panel.corners[0]), np.array(panel.corners[2])
    if (points.max(axis=0) < low).any() or (points.min(axis=0) > high).any():
        return
    for axis in (0, 1):
        points = clip_polygon(points, axis, low[axis], 1.0)
        points = clip_polygon(points, axis, high[axis], -1.0)
    if len(points) > 2:
        yield Polyline(
            points=convert_to_points(points), fill=fill, stroke=edge, width=0.4, closed=True
        )


def clip_polygon(points: Floats, axis: int, limit: float, sign: float) -> Floats:
    """Return a polygon without what lies beyond one edge (Sutherland and Hodgman)."""
    kept: list[Floats] = []
    for start, end in zip(np.roll(points, 1, axis=0), points, strict=True):
        before, behind = sign * (start[axis] - limit), sign * (end[axis] - limit)
        if before * behind < 0:
            kept.append(start + (end - start) * before / (before - behind))
        if behind >= 0:
            kept.append(end)
    return np.array(kept).reshape(-1, 2)


def clip_polyline(panel: RoutePanel, line: Floats) -> Iterator[tuple[Point, ...]]:
    """Yield the stretches of a line that are on the panel."""
    # (points,) m along the line
    gone = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(line[:, :2], axis=0).T))])
    if gone[-1] == 0.0:
        return
    # (points, 2) finer, in pixels
    at = np.union1d(np.arange(0.0, gone[-1], FINE), gone)
    points = panel.place_points(
        np.column_stack([np.interp(at, gone, line[:, axis]) for axis in (0, 1)])
    )
    (left, top), _, (right, bottom), _ = panel.corners
    x, y = points.T
    inside = np.flatnonzero((x >= left) & (x <= right) & (y >= top) & (y <= bottom))
    # runs of points on the panel
    for run in np.split(inside, np.flatnonzero(np.diff(inside) > 1) + 1):
        if len(run) > 1:
            yield convert_to_points(points[[*run[:-1:4], run[-1]]])


def make_route_marks(plan: RoutePlan, panel: RoutePanel) -> Iterator[Mark]:
    """Yield the route, its start and its goal."""
    points = convert_to_points(panel.place_points(plan.way))
    yield Polyline(points=points, stroke="route", width=max(ROUTE_WIDTH * panel.scale, 4.0))
    yield Polyline(points=points, stroke="accent", width=2.0)
    changing = np.flatnonzero(plan.lane_change)
    for run in np.split(changing, np.flatnonzero(np.diff(changing) > 1) + 1):
        if len(run) > 1:
            stretch = tuple(points[run[0] : run[-1] + 1])
            yield Polyline(points=stretch, stroke="paper", width=2.2, dashed=True)
    (x, y), ahead = points[0], points[min(4, len(points) - 1)]
    yield from make_ego_sign((x, y), math.atan2(ahead[1] - y, ahead[0] - x))
    yield from make_goal_sign(points[-1])


def make_ego_sign(at: Point, yaw: float = 0.0) -> Iterator[Mark]:
    """Yield the ego's sign."""
    shape = np.array([(8.0, 0.0), (3.0, 4.0), (-8.0, 4.0), (-8.0, -4.0), (3.0, -4.0)])
    cos, sin = math.cos(yaw), math.sin(yaw)
    turned = np.column_stack([shape @ (cos, -sin), shape @ (sin, cos)]) + at
    yield Polyline(points=convert_to_points(turned), fill="accent", stroke="paper", closed=True)


def make_goal_sign(at: Point) -> Iterator[Mark]:
    """Yield the sign of the goal."""
    yield Circle(at=at, radius=6.0, fill="paper", stroke="ink", width=1.6)
    yield Circle(at=at, radius=2.4, fill="ink")


def make_traffic_light_sign(at: Point) -> Iterator[Mark]:
    """Yield a traffic light's sign."""
    x, y = at
    box = ((x - 2.6, y - 6.0), (x + 2.6, y - 6.0), (x + 2.6, y + 6.0), (x - 2.6, y + 6.0))
    yield Polyline(points=box, fill="ink", stroke="paper", width=0.8, closed=True)
    for down in (-3.6, 0.0, 3.6):
        yield Circle(at=(x, y + down), radius=1.3, fill="paper")


def make_stop_sign(at: Point) -> Iterator[Mark]:
    """Yield a stop sign's sign."""
    turn = math.pi / 8 + np.arange(8) * math.pi / 4
    shape = np.column_stack([np.cos(turn), np.sin(turn)]) * 5.6 + at
    yield Polyline(points=convert_to_points(shape), fill="worse", stroke="paper", closed=True)
    x, y = at
    yield Polyline(points=((x - 3, y), (x + 3, y)), stroke="paper", width=1.6)


def make_roadside_unit_sign(at: Point) -> Iterator[Mark]:
    """Yield a roadside unit's sign."""
    x, y = at
    sign = ((x, y - 6.5), (x + 6.5, y), (x, y + 6.5), (x - 6.5, y))
    yield Polyline(points=sign, fill="cooperative", stroke="paper", closed=True)


def make_hazard_sign(at: Point, number: str = "1") -> Iterator[Mark]:
    """Yield a hazard's sign, with its number."""
    x, y = at
    shape = ((x, y - 10.0), (x + 9.5, y + 6.5), (x - 9.5, y + 6.5))
    yield Polyline(points=shape, fill="paper", stroke="worse", width=1.8, closed=True)
    words = Canvas(0.0, 0.0, "")
    words.add_text((x, y + 4.6), number, anchor="middle", size=9.5, bold=True)
    yield from words.marks


def make_scale_marks(panel: RoutePanel) -> Iterator[Mark]:
    """Yield a bar of a round length in the panel's right lower corner."""
    metres = max(length for length in SCALES if length == SCALES[0] or length * panel.scale < 90.0)
    right, y = panel.left + panel.width - 9.0, panel.top + panel.height - 8.0
    left = right - metres * panel.scale
    band = ((left - 6, y - 17), (right + 6, y - 17), (right + 6, y + 5), (left - 6, y + 5))
    yield Polyline(points=band, fill="paper", closed=True, opacity=0.85)
    yield Polyline(points=((left, y - 3), (left, y), (right, y), (right, y - 3)), stroke="ink")
    words = Canvas(0.0, 0.0, "")
    words.add_text(((left + right) / 2, y - 5), f"{metres:.0f} m", anchor="middle", size=9)
    yield from words.marks


Sign = Callable[[Point], Iterable[Mark]]


def make_box_sign(fill: str, edge: str) -> Sign:
    """Return how a kind of scenery is shown in the legend."""

    def sign(at: Point) -> Iterator[Mark]:
        x, y = at
        shape = ((x - 9, y - 5), (x + 9, y - 5), (x + 9, y + 5), (x - 9, y + 5))
        yield Polyline(points=shape, fill=fill, stroke=edge, width=0.6, closed=True)

    return sign


def make_route_sign(changing: bool) -> Sign:
    """Return how the route is shown in the legend."""

    def sign(at: Point) -> Iterator[Mark]:
        ends = ((at[0] - 10, at[1]), (at[0] + 10, at[1]))
        yield Polyline(points=ends, stroke="route", width=8.0)
        yield Polyline(points=ends, stroke="accent", width=2.0)
        if changing:
            yield Polyline(points=ends, stroke="paper", width=2.2, dashed=True)

    return sign


def list_plan_legend_entries(plans: Sequence[RoutePlan]) -> Iterator[tuple[str, Sign]]:
    """Yield what the panels show, in words, and its sign."""
    yield "start", make_ego_sign
    yield "goal", make_goal_sign
    yield "route", make_route_sign(False)
    if any(plan.lane_change.any() for plan in plans):
        yield "lane change", make_route_sign(True)
    if any(plan.hazards for plan in plans):
        yield "hazard, where it meets the ego", make_hazard_sign
    signs: tuple[tuple[str, str, Sign], ...] = (
        ("units", "roadside unit", make_roadside_unit_sign),
        ("lights", "traffic light", make_traffic_light_sign),
        ("stops", "stop sign", make_stop_sign),
    )
    for name, words, sign in signs:
        if any(len(getattr(plan, name)) for plan in plans):
            yield words, sign
    yield from list_ground_legend_entries(plans)


def list_ground_legend_entries(plans: Sequence[RoutePlan]) -> Iterator[tuple[str, Sign]]:
    """Yield what lies on the ground of the panels, in words, and its sign."""
    yield "lane", make_box_sign("asphalt", "road")
    kinds = {kind for plan in plans for kind in plan.scenery["kind"].astype(str)}
    for kind, (fill, edge) in SCENERY_COLOURS.items():
        if kind in kinds:
            yield {"vehicle": "parked vehicle"}.get(kind, kind), make_box_sign(fill, edge)


def render_plan_legend(canvas: Canvas, entries: Iterable[tuple[str, Sign]], top: float) -> float:
    """Draw a legend below the panels, in as many lines as are needed; return where it ends."""
    x, y = GAP, top + 8.0
    for words, sign in entries:
        room = 28.0 + estimate_text_width(words) + 16.0
        if x > GAP and x + room > canvas.width:
            x, y = GAP, y + 22.0
        canvas.marks += sign((x + 11.0, y))
        canvas.add_text((x + 28.0, y + 3.8), words)
        x += room
    return y + 12.0


def convert_to_points(points: Floats) -> tuple[Point, ...]:
    """Return rows as points."""
    return tuple((float(x), float(y)) for x, y in points)

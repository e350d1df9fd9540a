"""Bird's-eye views of a drive's last seconds, as in the paper's figure 9."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.drawing.canvas import Canvas, Mark, Polyline
from analysis.drawing.markers import add_marker
from analysis.drawing.palette import ERROR_COLOURS, is_misled
from analysis.drive import DriveSnapshot, RecordedDrive, build_snapshot
from harness.types import ego_body
from harness.types.vocabulary import Floats

SECONDS_BEFORE = (4.0, 2.0, 0.0)
"""Seconds before the end at which a drive is shown."""
NEAREST, FARTHEST = 17.0, 42.0
"""Metres from the middle of a view to its edge."""
AIR = 9.0
"""Metres round what a view is about."""


@dataclass(frozen=True, slots=True, eq=False)
class BirdsEyeView:
    """A square piece of the world, rotated."""

    x: float  # its middle
    y: float
    yaw: float  # direction that points up
    half: float  # m to each edge

    def project_places(self, places: Floats, size: float) -> Floats:
        """Return places in a drawing of that size, as rows of x to the right and y down."""
        x, y = places[:, 0], places[:, 1]
        ahead = (x - self.x) * math.cos(self.yaw) + (y - self.y) * math.sin(self.yaw)
        right = (y - self.y) * math.cos(self.yaw) - (x - self.x) * math.sin(self.yaw)
        return np.column_stack([right, -ahead]) * (size / 2 / self.half) + size / 2


@dataclass(frozen=True, slots=True, eq=False)
class LastSeconds:
    """A drive's last moments, seen from one place."""

    drive: RecordedDrive
    snapshots: tuple[DriveSnapshot, ...]
    view: BirdsEyeView


def collect_last_seconds(drive: RecordedDrive) -> LastSeconds:
    """Return the moments before a drive's end, and a view of what happens in them."""
    rows = (drive.find_step_row(drive.end - before) for before in SECONDS_BEFORE)
    snapshots = tuple(build_snapshot(drive, row) for row in rows)
    return LastSeconds(drive, snapshots, compute_strip_view(snapshots, drive.place, drive.other))


def compute_strip_view(
    snapshots: tuple[DriveSnapshot, ...], place: tuple[float, float], other: int
) -> BirdsEyeView:
    """Return a view of the ego's way to the violation and of the other one's, if not too far."""
    # places that should be seen: the ego's, the violation's, the other's
    points = [
        (float(snapshot.state["ego_x"]), float(snapshot.state["ego_y"])) for snapshot in snapshots
    ]
    points.append(place)
    for snapshot in snapshots if other else ():
        known = snapshot.boxes["source"].astype(str) == "truth"
        other_boxes = snapshot.boxes[known & (snapshot.boxes["actor_id"] == other)]
        points += list(zip(other_boxes["world_x"], other_boxes["world_y"], strict=True))
    # seen with the ego's first heading up; far places are left out
    yaw = float(snapshots[0].state["ego_yaw"])
    known_points = np.array([point for point in points if np.isfinite(point).all()])
    near = np.linalg.norm(known_points - known_points[0], axis=1) < 2 * FARTHEST
    turned = BirdsEyeView(0.0, 0.0, yaw, 1.0).project_places(known_points[near], 2.0) - 1.0
    low, high = turned.min(axis=0), turned.max(axis=0)
    # half the side, m, with some air round the places
    half = min(max(float((high - low).max()) / 2 + AIR, NEAREST), FARTHEST)
    right, down = (low + high) / 2
    # the middle, back in the world
    x = -down * math.cos(yaw) - right * math.sin(yaw)
    y = -down * math.sin(yaw) + right * math.cos(yaw)
    return BirdsEyeView(float(x), float(y), yaw, half)


SIZE = 250.0
SMALLEST = 5.0
"""Sides of a drawing below which boxes are drawn larger than they are."""
CLOSEST = 4.0
"""Points of a line that are nearer to each other than this say nothing new."""
PARTNER, BELIEVED = 3.7, 1.8
"""Radius of a partner's sign, and of the sign at the place where it believes to be."""
EGO = (ego_body.LENGTH, ego_body.WIDTH)
"""Length and width of the ego's sign, m."""
LINES = {"route": ("route", 6.0), "lane_left": ("road", 0.8), "lane_right": ("road", 0.8)}
"""Colours and widths of what the map holds, in the order in which it is drawn."""
SCENERY = {"vegetation": "plant", "building": "building", "wall": "quiet", "vehicle": "line"}
"""Fill of what stands next to the road, in the order in which it is drawn."""
FOOTPRINT = ["x", "y", "length", "width", "yaw"]
CORNERS = np.array([[0.5, -0.5, -0.5, 0.5], [0.5, 0.5, -0.5, -0.5]])
"""Of a box of one by one: ahead and aside."""
OUTLINES = {"ego_alone": ("ego_alone", 0.35), "cooperative": ("cooperative", 0.0)}
"""Colour of a detection's outline, and by how many metres it is larger, not to hide another."""


def render_strip(story: LastSeconds) -> list[Canvas]:
    """Draw the last moments of a drive, each on its own canvas, all of one place."""
    ground = [*render_scenery_shapes(story.drive.scenery, story.view)]
    ground += render_lane_lines(story.drive.map, story.view)
    canvases = []
    for snapshot in story.snapshots:
        canvas = render_snapshot(story.drive, snapshot, story.view, ground)
        write_view_captions(canvas, story.drive, snapshot, story.view)
        canvases.append(canvas)
    return canvases


def render_snapshot(
    drive: RecordedDrive, snapshot: DriveSnapshot, view: BirdsEyeView, below: Iterable[Mark]
) -> Canvas:
    """Draw one planning step: road, ground truth, detections, partners and the violation."""
    description = f"bird's-eye view {snapshot.before:.1f} s before {drive.ending}"
    canvas = Canvas(SIZE, SIZE, description, list(below))
    boxes = snapshot.boxes
    sources = boxes["source"].astype(str)
    for _, box in boxes[sources == "truth"].iterrows():
        render_ground_truth_box(canvas, box, view)
    for source, (colour, larger) in OUTLINES.items():
        for _, box in boxes[(sources == source) & boxes["counted"]].iterrows():
            render_detection(canvas, box, view=view, colour=colour, larger=larger)
    for _, pose in snapshot.poses.iterrows():
        if str(pose["kind"]) != "ego":
            render_partner(canvas, pose, view)
    render_ego_arrow(canvas, snapshot, view)
    mark_violation(canvas, drive, view, boxes[sources == "truth"])
    label_patterns(canvas, boxes, view)
    return canvas


def render_lane_lines(lines: pd.DataFrame, view: BirdsEyeView) -> Iterator[Polyline]:
    """Yield the route and, above it, the lanes' edges, only what is in view."""
    for kind, (colour, width) in LINES.items():
        for line in extract_polylines(lines, kind):
            for piece in select_pieces_in_view(thin_polyline(view.project_places(line, SIZE))):
                yield Polyline(points=to_point_tuples(piece), stroke=colour, width=width)


def render_scenery_shapes(scenery: pd.DataFrame, view: BirdsEyeView) -> Iterator[Polyline]:
    """Yield the outlines of houses, walls, plants and parked vehicles that are in view."""
    for kind, fill in SCENERY.items():
        pieces = scenery[scenery["kind"].astype(str) == kind]
        for x, y, length, width, yaw in pieces[FOOTPRINT].to_numpy(np.float64):
            corners = project_box_points((x, y, yaw), CORNERS[0] * length, CORNERS[1] * width, view)
            if is_on_canvas(corners):
                edge = "" if kind == "vegetation" else "quiet"
                shape = to_point_tuples(corners)
                yield Polyline(
                    points=shape, stroke=edge, fill=fill, width=0.4, closed=True, title=kind
                )


def extract_polylines(lines: pd.DataFrame, kind: str) -> list[Floats]:
    """Return the polylines of one kind on a map, as rows of x, y and z.

    Args:
        lines: the table `map` of an attempt.
        kind: such as `route` or `lane_centre`.

    Returns:
        (points, 3) metres in the world, for each polyline.
    """
    rows = lines[lines["kind"].to_numpy(str) == kind]
    ends = np.flatnonzero(np.diff(rows["line"].to_numpy())) + 1
    return np.split(rows[["x", "y", "z"]].to_numpy(np.float64), ends) if len(rows) else []


def thin_polyline(points: Floats) -> Floats:
    """Return a line without points that are too close together."""
    keep = np.zeros(len(points), np.bool_)
    keep[[0, -1]] = True
    gone = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    keep[np.unique((gone // CLOSEST).astype(np.int64), return_index=True)[1]] = True
    return points[keep]


def select_pieces_in_view(points: Floats) -> Iterator[Floats]:
    """Yield the stretches of a line that touch the drawing."""
    low, high = np.minimum(points[:-1], points[1:]), np.maximum(points[:-1], points[1:])
    seen = np.flatnonzero(((high >= 0) & (low <= SIZE)).all(axis=1))
    for run in np.split(seen, np.flatnonzero(np.diff(seen) > 1) + 1) if len(seen) else ():
        yield points[run[0] : run[-1] + 2]


def render_ground_truth_box(canvas: Canvas, box: pd.Series, view: BirdsEyeView) -> None:
    """Draw a ground-truth box; in its error's colour, or light if not evaluated."""
    corners = project_box_corners(box, view)
    if not is_on_canvas(corners):
        return
    pattern = str(box["pattern"])
    colour = ERROR_COLOURS.get(pattern, "truth")
    title = f"{box['class']} {int(box['actor_id'])}" + (f": {pattern}" if pattern else "")
    # not evaluated: light
    if not box["counted"]:
        points = to_point_tuples(corners)
        canvas.marks.append(
            Polyline(
                points=points, fill="line", stroke="truth", width=0.6, closed=True, title=title
            )
        )
        return
    # evaluated: strong, with a line to where it heads
    opacity = 0.5 if pattern and not is_misled(pattern) else 0.85
    canvas.marks.append(
        Polyline(
            points=to_point_tuples(corners), fill=colour, closed=True, opacity=opacity, title=title
        )
    )
    canvas.marks.append(
        Polyline(points=to_point_tuples(compute_heading_line(box, view)), stroke="paper", width=1.2)
    )


def render_detection(
    canvas: Canvas, box: pd.Series, *, view: BirdsEyeView, colour: str, larger: float
) -> None:
    """Draw a detection as an outline, filled in its error's colour if it is one."""
    corners = project_box_corners(box, view, larger)
    if not is_on_canvas(corners):
        return
    pattern = str(box["pattern"])
    title = f"{box['source']}, {box['class']}, score {box['score']:.2f}"
    # filled where it is an error
    if pattern:
        fill, opacity = ERROR_COLOURS[pattern], 0.85 if is_misled(pattern) else 0.5
        canvas.marks.append(
            Polyline(points=to_point_tuples(corners), fill=fill, closed=True, opacity=opacity)
        )
    # the outline is dashed for what the ego alone detects
    alone = colour == "ego_alone"
    canvas.marks.append(
        Polyline(
            points=to_point_tuples(corners),
            stroke=colour,
            width=1.1 if alone else 1.5,
            closed=True,
            dashed=alone,
            title=title,
        )
    )


def render_partner(canvas: Canvas, pose: pd.Series, view: BirdsEyeView) -> None:
    """Draw a partner's true place as a diamond and, joined to it, its believed place as a dot."""
    sides = ("true", "believed")
    # (2, 2) true and believed, pixels
    ends = view.project_places(
        np.array([[pose[f"{side}_x"], pose[f"{side}_y"]] for side in sides]), SIZE
    )
    canvas.add_line(to_point_tuples(ends), "accent")
    for at, shape, side in zip(to_point_tuples(ends), ("diamond", "circle"), sides, strict=True):
        add_marker(
            canvas,
            at,
            PARTNER if side == "true" else BELIEVED,
            colour="accent",
            shape=shape,
            title=f"{pose['sender']}, {side} place",
        )


def render_ego_arrow(canvas: Canvas, snapshot: DriveSnapshot, view: BirdsEyeView) -> None:
    """Draw the ego as an arrow the size of a car."""
    length, width = EGO
    outline = np.array([(0.5, 0.0), (0.2, 0.5), (-0.5, 0.5), (-0.5, -0.5), (0.2, -0.5)])
    ahead, aside = outline[:, 0] * length, outline[:, 1] * width
    x, y, yaw = (float(snapshot.state[f"ego_{axis}"]) for axis in ("x", "y", "yaw"))
    points = project_box_points((x, y, yaw), ahead, aside, view)
    canvas.marks.append(
        Polyline(
            points=to_point_tuples(points), stroke="paper", fill="accent", closed=True, title="ego"
        )
    )


def mark_violation(
    canvas: Canvas, drive: RecordedDrive, view: BirdsEyeView, truth: pd.DataFrame
) -> None:
    """Mark the place of the violation, and the actor that was hit."""
    x, y = view.project_places(np.array([drive.place]), SIZE)[0].tolist()
    if math.isfinite(x) and math.isfinite(y):
        canvas.add_line([(x - 4, y - 4), (x + 4, y + 4)], "worse", 1.8)
        canvas.add_line([(x - 4, y + 4), (x + 4, y - 4)], "worse", 1.8)
    for _, box in truth[truth["actor_id"] == drive.other].iterrows() if drive.other else ():
        ring = project_box_corners(box, view)
        middle = ring.mean(axis=0)
        radius = float(np.linalg.norm(ring - middle, axis=1).max()) + 4
        turn = np.linspace(0, math.tau, 33)
        circle = middle + radius * np.column_stack([np.cos(turn), np.sin(turn)])
        canvas.add_line(to_point_tuples(circle), "worse", 1.3)


def label_patterns(canvas: Canvas, boxes: pd.DataFrame, view: BirdsEyeView) -> None:
    """Name the errors in view, where there is room for the name."""
    taken: list[tuple[float, float]] = []
    for _, box in boxes[boxes["pattern"].astype(str) != ""].iterrows():
        corners = project_box_corners(box, view)
        x, y = float(corners[:, 0].max()) + 3, float(corners[:, 1].mean()) + 3
        free = all(abs(x - a) > 30 or abs(y - b) > 9 for a, b in taken)
        if is_on_canvas(corners) and free and x < SIZE - 26 and 24 < y < SIZE - 24:
            canvas.add_text((x, y), str(box["pattern"]), size=8.5, bold=True)
            taken.append((x, y))


def write_view_captions(
    canvas: Canvas, drive: RecordedDrive, snapshot: DriveSnapshot, view: BirdsEyeView
) -> None:
    """Draw the time before the end, the ego's speed, its messages and a scale of 10 m."""
    band = ((0.0, 0.0), (SIZE, 0.0), (SIZE, 19.0), (0.0, 19.0))
    for down in (0.0, SIZE - 19):
        points = tuple((x, y + down) for x, y in band)
        canvas.marks.append(Polyline(points=points, fill="paper", closed=True, opacity=0.82))
    state = snapshot.state
    canvas.add_text((5, 13), f"{snapshot.before:.1f} s before the end", bold=True)
    canvas.add_text((SIZE - 5, 13), f"{3.6 * float(state['speed']):.0f} km/h", anchor="end")
    canvas.add_text((5, SIZE - 6), describe_messages(drive, state), colour="quiet")
    render_scale_bar(canvas, view)


def describe_messages(drive: RecordedDrive, state: pd.Series) -> str:
    """Return the messages of a planning step in words.

    Args:
        drive: which drive it is: some systems read no messages.
        state: row of the planning step.
    """
    if not drive.reads_messages:
        return "without cooperation"
    count, age = int(state["messages"]), float(state["oldest_age"])
    text = f"{count} message{'s' * (count != 1)}"
    text += f", oldest {age:.1f} s" if math.isfinite(age) else ""
    return text if count else "no message"


def render_scale_bar(canvas: Canvas, view: BirdsEyeView) -> None:
    """Draw how long 10 m are."""
    long = 10 * SIZE / 2 / view.half
    y = SIZE - 5.5
    canvas.add_line([(SIZE - 5 - long, y), (SIZE - 5, y)], "ink", 1.4)
    canvas.add_text((SIZE - 8 - long, y + 2), "10 m", anchor="end", colour="quiet", size=9)


def project_box_corners(box: pd.Series, view: BirdsEyeView, larger: float = 0.0) -> Floats:
    """Return a box's corners on the drawing; small ones are drawn larger than they are."""
    least = SMALLEST * 2 * view.half / SIZE
    length, width = (max(float(box[name]), least) + larger for name in ("length", "width"))
    return project_box_points(get_box_pose(box), CORNERS[0] * length, CORNERS[1] * width, view)


def compute_heading_line(box: pd.Series, view: BirdsEyeView) -> Floats:
    """Return a line from a box's middle to its front."""
    return project_box_points(
        get_box_pose(box), np.array([0.0, 0.5]) * float(box["length"]), np.zeros(2), view
    )


def get_box_pose(box: pd.Series) -> tuple[float, float, float]:
    """Return where a box is in the world."""
    return float(box["world_x"]), float(box["world_y"]), float(box["world_yaw"])


def project_box_points(
    pose: tuple[float, float, float], ahead: Floats, aside: Floats, view: BirdsEyeView
) -> Floats:
    """Return points given in a box's frame, on the drawing."""
    x, y, yaw = pose
    cos, sin = math.cos(yaw), math.sin(yaw)
    world = np.column_stack([x + ahead * cos - aside * sin, y + ahead * sin + aside * cos])
    return view.project_places(world, SIZE)


def is_on_canvas(points: Floats) -> bool:
    """Return whether a shape touches the drawing."""
    return bool(((points.max(axis=0) >= 0) & (points.min(axis=0) <= SIZE)).all())


def to_point_tuples(points: Floats) -> tuple[tuple[float, float], ...]:
    """Return rows as points."""
    return tuple((float(x), float(y)) for x, y in points)

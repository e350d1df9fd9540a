"""Pictures of towns from above."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import EllipseCollection, LineCollection, PolyCollection
from matplotlib.figure import Figure
from PIL import Image

from harness.carlite.arrays import Bools, Floats
from harness.carlite.labels import SemanticLabel
from harness.carlite.towns.model import LaneKind, SceneryShape, Town, TownLanes, TownScenery

GROUND = "#e9ecdf"
SURFACES = {
    LaneKind.SIDEWALK: "#cfc8bb",
    LaneKind.OTHER: "#b9cfa3",
    LaneKind.SHOULDER: "#77797d",
    LaneKind.PARKING: "#8c929b",
    LaneKind.BIKING: "#a5837a",
    LaneKind.DRIVING: "#6b6d72",
}
PIECES = {
    SemanticLabel.WALL: "#8d7f73",
    SemanticLabel.FENCE: "#a89f92",
    SemanticLabel.VEGETATION: "#47783a",
    SemanticLabel.STATIC: "#b06a3b",
    SemanticLabel.POLE: "#3c3c3c",
    SemanticLabel.GUARD_RAIL: "#20262e",
}
CARS = ("#b23a3a", "#33638f", "#e4e4e2", "#2f3236", "#c9a24a", "#5b7f73")
SIGNALS = {
    "traffic.traffic_light": "#12a150",
    "traffic.stop": "#d1202f",
    "traffic.yield": "#e69b00",
}
MARGIN = 22.0


def render_plan_view(town: Town, path: Path) -> None:
    """Draw a town from above; x to the right, y downwards, as CARLA has it."""
    low = town.lanes.points[:, :2].min(axis=0) - MARGIN
    high = town.lanes.points[:, :2].max(axis=0) + MARGIN
    width, height = high - low
    figure = Figure(figsize=(11, 11 * height / width + 0.5), dpi=110, facecolor="white")
    axes = figure.add_axes((0.0, 0.0, 1.0, height / (height + 0.5 * width / 11)))
    axes.set_facecolor(GROUND)
    axes.set(xlim=(low[0], high[0]), ylim=(high[1], low[1]), xticks=[], yticks=[])
    _render_relief(axes, town)
    _render_lanes(axes, town.lanes)
    _render_crosswalks(axes, town.crosswalks)
    _render_scenery(axes, town.scenery)
    _render_signals(axes, town)
    _render_scale_bar(axes, low, high)
    figure.text(0.012, 0.985, town.name, fontsize=15, weight="bold", va="top")
    figure.text(
        0.988,
        0.985,
        _format_town_summary(town),
        fontsize=9.5,
        va="top",
        ha="right",
        color="#444444",
    )
    save_picture(figure, path)


def save_picture(figure: Figure, path: Path, rare: bool = False) -> None:
    """Write a picture with 256 colours, which keeps it small: fine shades, or all `rare` hues."""
    png = BytesIO()
    figure.savefig(png, format="png")
    image = Image.open(png).convert("RGB")
    palette = Image.Quantize.MAXCOVERAGE if rare else Image.Quantize.MEDIANCUT
    image.quantize(256, palette, dither=Image.Dither.NONE).save(path, optimize=True)


def _format_town_summary(town: Town) -> str:
    lanes = town.lanes
    driving = lanes.kind == LaneKind.DRIVING
    kilometres = float(lanes.length[driving & (lanes.junction < 0)].sum()) / 1000
    junctions = len(np.unique(lanes.junction[lanes.junction >= 0]))
    return (
        f"{kilometres:.1f} km of driving lanes   {junctions} junctions   "
        f"{len(town.crosswalks)} crosswalks   {len(town.spawn_points)} spawn points   "
        f"{len(town.scenery.yaw)} pieces of scenery"
    )


def _render_relief(axes: Axes, town: Town) -> None:
    """Tint the ground by its height, if it has any."""
    ground = town.ground
    if float(ground.lower.max() - ground.lower.min()) < 0.5:
        return
    rows, columns = ground.lower.shape
    right, bottom = ground.x + (columns - 1) * ground.cell, ground.y + (rows - 1) * ground.cell
    # tints, and a line for every metre of height
    x = ground.x + ground.cell * np.arange(columns)
    y = ground.y + ground.cell * np.arange(rows)
    tints = mpl.colors.LinearSegmentedColormap.from_list("relief", [GROUND, "#d8d3ae", "#c8b48d"])
    extent = (ground.x, right, bottom, ground.y)
    axes.imshow(ground.lower, extent=extent, cmap=tints, zorder=0, interpolation="bilinear")
    levels = np.arange(1.0, float(ground.lower.max()) + 1, 1.0)
    axes.contour(x[::4], y[::4], ground.lower[::4, ::4], levels, colors="#a08c60", linewidths=0.4)


def compute_lane_edges(lanes: TownLanes) -> tuple[Floats, Floats]:
    """Return the left and right edge at every lane point."""
    normal = np.column_stack([-np.sin(lanes.yaw), np.cos(lanes.yaw)]) * lanes.width[:, None] / 2
    return lanes.points[:, :2] - normal, lanes.points[:, :2] + normal


def _render_lanes(axes: Axes, lanes: TownLanes) -> None:
    left, right = compute_lane_edges(lanes)
    lane = np.repeat(np.arange(len(lanes.first)), lanes.count)
    start = np.flatnonzero(lane[:-1] == lane[1:])
    # (segments, 4, 2) corners
    quads = np.stack([left[start], left[start + 1], right[start + 1], right[start]], axis=1)
    inside = lanes.junction[lane[start]] >= 0
    high = lanes.points[start, 2] > 3.0 + np.median(lanes.points[:, 2])
    # bridges over what is below them
    for level in (False, True):
        for kind, color in SURFACES.items():
            chosen = (lanes.kind[lane[start]] == kind) & (high == level)
            faces = PolyCollection(
                list(quads[chosen]), facecolors=color, edgecolors=color, linewidths=0.5, zorder=2
            )
            axes.add_collection(faces)
        _render_lane_marks(axes, lanes, left, start[(high == level) & ~inside])


def _render_lane_marks(axes: Axes, lanes: TownLanes, left: Floats, start: np.ndarray) -> None:
    """Draw the line at the left of each driving lane: white, dashed where it may be crossed."""
    lane = np.repeat(np.arange(len(lanes.first)), lanes.count)
    driving = start[(lanes.kind[lane[start]] == LaneKind.DRIVING)]
    has_left = lanes.left[lane[driving]] >= 0
    crossing = (lanes.change[driving] & 1) > 0
    dash = np.floor(lanes.station[driving] / 3.0) % 2 == 0
    for chosen, color in (
        (driving[has_left & (~crossing | dash)], "#f4f4f0"),
        (driving[~has_left], "#e3b93c"),
    ):
        lines = np.stack([left[chosen], left[chosen + 1]], axis=1)
        axes.add_collection(LineCollection(list(lines), colors=color, linewidths=0.45, zorder=2.5))


def _render_crosswalks(axes: Axes, crosswalks: tuple[Floats, ...]) -> None:
    """Stripe every crosswalk along the traffic it crosses."""
    stripes = []
    for polygon in crosswalks:
        corners = polygon[:4, :2]
        sides = np.hypot(*(np.roll(corners, -1, axis=0) - corners).T)
        corners = corners if sides[0] < sides[1] else np.roll(corners, -1, axis=0)
        a, b, c, d = corners
        count = max(int(np.hypot(*(d - a)) / 1.1), 2)
        for k in range(count):
            near, far = (k + 0.25) / count, (k + 0.75) / count
            stripes.append(
                [a + (d - a) * near, b + (c - b) * near, b + (c - b) * far, a + (d - a) * far]
            )
    axes.add_collection(PolyCollection(stripes, facecolors="#fbfbf7", zorder=3))


def _compute_piece_corners(scenery: TownScenery, chosen: Bools) -> Floats:
    """Return the corners of pieces, (N, 4, 2)."""
    c, s = np.cos(scenery.yaw[chosen]), np.sin(scenery.yaw[chosen])
    forward = np.column_stack([c, s]) * scenery.extent[chosen, :1]
    right = np.column_stack([-s, c]) * scenery.extent[chosen, 1:2]
    middle = scenery.centre[chosen, :2]
    corners = [middle + a * forward + b * right for a, b in ((1, 1), (1, -1), (-1, -1), (-1, 1))]
    return np.stack(corners, axis=1)


def _render_scenery(axes: Axes, scenery: TownScenery) -> None:
    round_ = scenery.shape == SceneryShape.CYLINDER
    # boxes
    for label, color in PIECES.items():
        boxes = _compute_piece_corners(scenery, (scenery.label == label) & ~round_)
        axes.add_collection(PolyCollection(list(boxes), facecolors=color, zorder=4))
    _render_buildings(axes, scenery)
    # cars in several colours
    cars = _compute_piece_corners(
        scenery, np.isin(scenery.label, [SemanticLabel.CAR, SemanticLabel.TRUCK])
    )
    paint = [CARS[k % len(CARS)] for k in range(len(cars))]
    axes.add_collection(
        PolyCollection(list(cars), facecolors=paint, edgecolors="#222222", linewidths=0.3, zorder=5)
    )
    # round pieces: poles and trunks
    for label, alpha in ((SemanticLabel.POLE, 1.0), (SemanticLabel.VEGETATION, 0.6)):
        chosen = round_ & (scenery.label == label)
        size = 2 * np.maximum(scenery.extent[chosen, 0], 0.35)
        circles = EllipseCollection(
            size,
            size,
            np.zeros(len(size)),
            units="xy",
            offsets=scenery.centre[chosen, :2],
            offset_transform=axes.transData,
            facecolors=PIECES[label],
            alpha=alpha,
            zorder=6 if label is SemanticLabel.VEGETATION else 5,
        )
        axes.add_collection(circles)


def _render_buildings(axes: Axes, scenery: TownScenery) -> None:
    """Draw buildings, darker the higher, each with a shadow as long as it is high."""
    chosen = scenery.label == SemanticLabel.BUILDING
    boxes, top = (
        _compute_piece_corners(scenery, chosen),
        scenery.centre[chosen, 2] + scenery.extent[chosen, 2],
    )
    # low ones first
    order = np.argsort(top, kind="stable")
    boxes, top = boxes[order], top[order]
    shadow = boxes + (np.minimum(top, 40.0) * 0.12)[:, None, None]
    axes.add_collection(PolyCollection(list(shadow), facecolors="#00000022", zorder=3.5))
    tints = mpl.colors.LinearSegmentedColormap.from_list("roofs", ["#dcc3a5", "#a97f63", "#6b4c42"])
    shade = tints(np.clip(top / 40, 0, 1))
    axes.add_collection(
        PolyCollection(
            list(boxes), facecolors=shade, edgecolors="#5a4a3c", linewidths=0.4, zorder=4.5
        )
    )


def _render_signals(axes: Axes, town: Town) -> None:
    for kind, color in SIGNALS.items():
        places = [signal.position[:2] for signal in town.signals if signal.type_id == kind]
        if places:
            x, y = np.array(places).T
            axes.scatter(x, y, s=13, c=color, edgecolors="white", linewidths=0.5, zorder=7)


def _render_scale_bar(axes: Axes, low: Floats, high: Floats) -> None:
    x, y = low[0] + 8, high[1] - 7
    axes.plot([x, x + 50], [y, y], color="#222222", lw=2.5, solid_capstyle="butt", zorder=8)
    axes.text(x + 25, y - 2.5, "50 m", ha="center", fontsize=8, zorder=8)

"""Plots routes and their hazards on their town's lanes, one panel each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from harness.files import write_whole
from harness.vocabulary import Floats, Route
from harness.world.hazards.spec import HazardSpec
from harness.world.lane_graph import LaneGraph
from harness.world.routes.kinds import NOT_RUN

GROUND, ROAD, CENTRE = "#eef0e8", "#c9cbcf", "#ffffff"
WAY, CHANGE, START, GOAL, HAZARD = "#1f5fae", "#7b3fb5", "#178a4c", "#22262b", "#d4322c"
MOST_COLUMNS = 8
PANEL = 2.6
"""Inches."""
MARGIN = 18.0
"""Metres round a route."""


def plot(
    routes: Sequence[Route],
    hazards: Mapping[str, Sequence[HazardSpec]],
    graphs: Mapping[str, LaneGraph],
    path: Path,
) -> None:
    """Write a picture of all routes; x to the right, y downwards, as CARLA has it."""
    columns = min(MOST_COLUMNS, math.ceil(math.sqrt(1.6 * len(routes))), len(routes))
    rows = math.ceil(len(routes) / columns)
    figure = Figure(figsize=(columns * PANEL, rows * (PANEL + 0.35)), dpi=110, layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes, route in zip(grid, routes, strict=False):
        _panel(axes, route, hazards.get(route.name, ()), graphs[route.town])
    for axes in grid[len(routes) :]:
        axes.set_axis_off()
    figure.legend(handles=_legend(), loc="outside upper left", ncols=5, frameon=False, fontsize=8)
    write_whole(path, partial(figure.savefig, format="png"))


def _legend() -> list[Line2D]:
    return [
        Line2D([], [], color=START, marker="o", ms=5, lw=0, label="start"),
        Line2D([], [], color=GOAL, marker="^", ms=6, lw=0, label="goal"),
        Line2D([], [], color=WAY, lw=3, label="route"),
        Line2D([], [], color=CHANGE, lw=3, label="changing lanes"),
        Line2D([], [], color=HAZARD, marker="o", ms=7, mfc="none", mew=1.8, lw=0, label="hazard"),
    ]


def _panel(axes: Axes, route: Route, hazards: Sequence[HazardSpec], graph: LaneGraph) -> None:
    low, high = route.xyz[:, :2].min(axis=0), route.xyz[:, :2].max(axis=0)
    middle, reach = (low + high) / 2, float((high - low).max()) / 2 + MARGIN
    axes.set(
        xlim=(middle[0] - reach, middle[0] + reach),
        ylim=(middle[1] + reach, middle[1] - reach),
        xticks=[],
        yticks=[],
        aspect="equal",
        facecolor=GROUND,
    )
    points_per_metre = PANEL * 72 * 0.92 / (2 * reach)
    _lanes(axes, graph, middle=middle, reach=reach, points_per_metre=points_per_metre)
    _way(axes, route, points_per_metre)
    run = [hazard for hazard in hazards if not hazard.kind.startswith(NOT_RUN)]
    for hazard in run:
        row = min(round(hazard.station), len(route.station) - 1)
        axes.plot(*route.xyz[row, :2], "o", ms=7, mfc="none", mec=HAZARD, mew=1.8, zorder=6)
    for spine in axes.spines.values():
        spine.set_color("#b9bcb5")
    names = ", ".join(dict.fromkeys(hazard.kind.replace("_", " ") for hazard in run))
    axes.set_title(f"{route.name}   {route.length:.0f} m", fontsize=8, loc="left", pad=3)
    axes.set_xlabel(names or " ", fontsize=7, color=HAZARD, loc="left", labelpad=2)
    _scale(axes, middle, reach)


def _lanes(
    axes: Axes, graph: LaneGraph, *, middle: Floats, reach: float, points_per_metre: float
) -> None:
    """Plot the lanes in view as broad lines, and their centres as fine ones."""
    strokes: list[Floats] = []
    widths: list[float] = []
    for first, count in graph.lanes.values():
        lane = graph.xyz[first : first + count, :2]
        if (np.abs(lane - middle).max(axis=1) < reach + 10.0).any() and count > 1:
            strokes.append(lane)
            widths.append(float(graph.width[first : first + count].mean()))
    axes.add_collection(
        LineCollection(
            strokes,
            linewidths=[points_per_metre * width for width in widths],
            colors=ROAD,
            capstyle="projecting",
            zorder=1,
        )
    )
    axes.add_collection(LineCollection(strokes, linewidths=0.5, colors=CENTRE, zorder=2))


def _way(axes: Axes, route: Route, points_per_metre: float) -> None:
    width = min(max(1.6 * points_per_metre, 1.6), 4.0)
    axes.plot(*route.xyz[:, :2].T, color=WAY, lw=width, solid_capstyle="round", zorder=3)
    changing = np.where(route.lane_change[:, None], route.xyz[:, :2], np.nan)
    axes.plot(*changing.T, color=CHANGE, lw=width, zorder=4)
    axes.plot(*route.xyz[0, :2], "o", ms=5, color=START, zorder=5)
    ahead = route.xyz[-1, :2] - route.xyz[max(len(route.xyz) - 4, 0), :2]
    turn = math.degrees(math.atan2(-ahead[1], ahead[0])) - 90.0
    axes.plot(*route.xyz[-1, :2], marker=(3, 0, turn), ms=8, color=GOAL, zorder=5)


def _scale(axes: Axes, middle: Floats, reach: float) -> None:
    length = 50.0 if reach > 60.0 else 20.0
    left, below = middle[0] - 0.94 * reach, middle[1] + 0.92 * reach
    axes.plot([left, left + length], [below, below], color="#444444", lw=1.2, zorder=7)
    axes.text(left, below - 0.03 * reach, f"{length:.0f} m", fontsize=5.5, color="#444444")

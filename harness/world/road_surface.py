"""The drivable area of a town from its map: its lanes on which wheels may stand.

The grid covers these lanes whole: a place that it calls off the road is on no driving lane, and on
no lane between one and the kerb. At the edge of a road it is larger by up to two cells
(decision 0084).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import carla
import numpy as np

from harness.common.drivable_area import DrivableArea, find_row_edges
from harness.types.vocabulary import Floats, Mask

CELL = 0.25
"""Metres."""
MOST_OF_GAP = 100.0
"""Square metres that lanes enclose and that are road as well: gaps in junctions have 25 at most,
the smallest island in a town 260."""
SURFACE_LANES = (
    carla.LaneType.Driving,
    carla.LaneType.Bidirectional,
    carla.LaneType.Parking,
    carla.LaneType.Shoulder,
    carla.LaneType.Biking,
    carla.LaneType.Stop,
    carla.LaneType.Entry,
    carla.LaneType.Exit,
    carla.LaneType.OnRamp,
    carla.LaneType.OffRamp,
)
"""Types of lanes that are road. Pavements, medians, verges, tracks and borders are not."""


def build_drivable_area(
    carla_map: carla.Map, cell: float = CELL, gap: float = MOST_OF_GAP
) -> DrivableArea:
    """Return where the roads of a town lie.

    Args:
        carla_map: of the town.
        cell: side of a cell, m.
        gap: square metres of an enclosed place that is filled; larger ones stay off the road.
    """
    places = sample_road_surface(carla_map, cell)
    # a margin of two cells round all roads; corners are whole cells, so that towns fit each other
    low = np.floor(places.min(axis=0) / cell) - 2
    columns, rows = (np.floor(places / cell) - low).astype(np.int64).T
    grid = np.zeros((rows.max() + 3, columns.max() + 3), np.bool_)
    grid[rows, columns] = True
    # samples are no farther apart than a cell: with the cells round them, no lane has a gap
    grid = fill_small_gaps(widen_by_a_cell(grid), gap / cell**2)
    x, y = (low * cell).tolist()
    return DrivableArea(cell=cell, corner=(x, y), drivable=grid)


def sample_road_surface(carla_map: carla.Map, spacing: float) -> Floats:
    """Return places on all lanes that are road, no farther apart along and across than a spacing.

    Args:
        carla_map: of the town.
        spacing: m.

    Returns:
        (N, 2) in the world; the edges of lanes are among them.
    """
    sections = np.array(
        [
            (place.x, place.y, math.radians(pose.rotation.yaw), lane.lane_width)
            for driving in carla_map.generate_waypoints(spacing)
            for lane in (driving, *iterate_lanes_aside(driving))
            for pose in (lane.transform,)
            for place in (pose.location,)
        ]
    )
    # (sections, across) shares of the width, from one edge to the other
    x, y, yaw, width = sections.T[:, :, None]
    aside = np.linspace(-0.5, 0.5, math.ceil(float(width.max()) / spacing) + 1) * width
    return np.stack([x - np.sin(yaw) * aside, y + np.cos(yaw) * aside], axis=-1).reshape(-1, 2)


def iterate_lanes_aside(driving: carla.Waypoint) -> Iterator[carla.Waypoint]:
    """Yield the lanes to both sides that are road, up to the next driving lane."""
    for step in ("get_left_lane", "get_right_lane"):
        lane = getattr(driving, step)()
        known = {(driving.road_id, driving.lane_id)}
        # behind the middle of a road, left is the way back
        while lane is not None and (lane.road_id, lane.lane_id) not in known:
            if lane.lane_type == carla.LaneType.Driving:
                break
            if lane.lane_type in SURFACE_LANES:
                yield lane
            known.add((lane.road_id, lane.lane_id))
            lane = getattr(lane, step)()


def widen_by_a_cell(grid: Mask) -> Mask:
    """Return the cells of a grid and the eight round each of them; its rim must be empty."""
    wide = grid.copy()
    wide[1:] |= grid[:-1]
    wide[:-1] |= grid[1:]
    tall = wide.copy()
    wide[:, 1:] |= tall[:, :-1]
    wide[:, :-1] |= tall[:, 1:]
    return wide


def fill_small_gaps(grid: Mask, most: float) -> Mask:
    """Return the grid with its small gaps filled: cells off the road that touch by their sides.

    Args:
        grid: of cells on the road.
        most: cells of a gap that is filled.
    """
    # runs of cells off the road: row, first column, column behind; and each run's way to its piece
    runs: list[tuple[int, int, int]] = []
    parents: list[int] = []
    above: list[int] = []  # runs of the row before
    for number, row in enumerate(~grid):
        edges, here = find_row_edges(row), []
        for begin, end in zip(edges[::2], edges[1::2], strict=True):
            run = len(runs)
            runs.append((number, begin, end))
            parents.append(run)
            here.append(run)
            for other in above:
                if runs[other][1] < end and begin < runs[other][2]:
                    parents[find_root(parents, other)] = find_root(parents, run)
        above = here
    # sizes of the pieces, in cells
    roots = [find_root(parents, run) for run in range(len(runs))]
    sizes = dict.fromkeys(roots, 0)
    for root, (_, begin, end) in zip(roots, runs, strict=True):
        sizes[root] += end - begin
    filled = grid.copy()
    for root, (number, begin, end) in zip(roots, runs, strict=True):
        if sizes[root] <= most:
            filled[number, begin:end] = True
    return filled


def find_root(parents: list[int], run: int) -> int:
    """Return the run that stands for the piece of another, and shorten the way there."""
    while parents[run] != run:
        parents[run] = parents[parents[run]]
        run = parents[run]
    return run

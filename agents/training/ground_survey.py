"""The surface of a town, surveyed by a LiDAR high above it while no actor is in the town.

The rays of that LiDAR are nearly vertical, so that roofs hide little. Between its rays, heights are
interpolated on a grid (`harness.common.ground_fields`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import carla
import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from harness.common.ground_fields import GroundField
from harness.types.vocabulary import Floats, Pose
from harness.world.attempt_context import AttemptContext
from harness.world.poses import to_carla_transform
from harness.world.rig import LidarMount, LidarScan, ScanningPost, read_rig

CELL = 0.5
"""Metres between grid points: what carlite's own ground has in towns of usual size."""
SQUARE = 50.0
"""Metres: each survey fills a square of that side."""
ABOVE = 250.0
"""Metres over the road."""
CHANNELS, COLUMNS = 168, 920
"""Rays along the radius and round the circle: 0.6 m apart at most."""
STEEPEST, FLATTEST = -89.9, -79.5
"""Degrees of the rays: they reach 45 m aside on the road and the corners of a square on roofs."""
BORDER = 40.0
"""Metres round all lanes; carlite's ground ends before."""
IN_REACH = 85.0
"""Metres from a lane beyond which nothing is surveyed: no LiDAR of the rig reaches it."""
ROUNDS = 5
"""Of finding the ray that passes over a grid point."""
GROUND = (1, 2, 10, 24, 25)
"""CARLA's tags: road, sidewalk, terrain, road line, ground."""
SEEN_THROUGH = (6, 7, 8, 9)
"""CARLA's tags: pole, traffic light, traffic sign, vegetation. The ground beneath is filled in."""
FARTHEST_OFF = 0.6
"""Metres from a grid point within which its nearest ray ended: walls are seen at a slant."""
FARTHEST_FILLED = 25.0
"""Metres from the nearest ground up to which it is filled in beneath something."""
SMOOTHING = 30
"""Rounds of smoothing what is filled in."""
Labels = NDArray[np.uint8]


def survey_ground(context: AttemptContext) -> GroundField:
    """Return the surface of the town of an episode; all actors must have left it."""
    waypoints = context.map.generate_waypoints(4.0)
    places = [waypoint.transform.location for waypoint in waypoints]
    post = ScanningPost(
        context,
        make_survey_mount(),
        period=0.0,
        reads_points=True,
        reads_surfaces=True,
        place=carla.Transform(),
    )
    context.world.tick()  # those that left are gone with it
    post.start_scanning()

    def scan_from(place: Pose) -> LidarScan:
        post.move_lidar(to_carla_transform(place))
        return post.collect_scan(context.world.tick())

    field = survey_squares(np.array([[place.x, place.y, place.z] for place in places]), scan_from)
    post.destroy_sensors()
    return field


def survey_squares(lanes: Floats, scan_from: Callable[[Pose], LidarScan]) -> GroundField:
    """Return the surface round lanes, square by square.

    Args:
        lanes: (N, 3) places on them, a few metres apart.
        scan_from: returns what the survey's LiDAR sees from a place.
    """
    # a grid round all lanes, at whole numbers of cells: carlite's own has its points there
    low = np.floor((lanes[:, :2].min(axis=0) - BORDER) / CELL) * CELL
    size = lanes[:, :2].max(axis=0) + BORDER - low
    shape = (math.ceil(size[1] / CELL), math.ceil(size[0] / CELL))
    surface, labels = np.full(shape, np.nan), np.zeros(shape, np.uint8)
    for place, rows, columns in iterate_squares(lanes, low, shape):
        x = low[0] + CELL * np.arange(columns.start, columns.stop)
        y = low[1] + CELL * np.arange(rows.start, rows.stop)
        square = read_square(scan_from(place), x, y)
        surface[rows, columns], labels[rows, columns] = square
    heights, tops, labels = split_surface(surface, labels)
    return GroundField(
        x=float(low[0]), y=float(low[1]), cell=CELL, heights=heights, tops=tops, labels=labels
    )


def make_survey_mount() -> LidarMount:
    """Return the LiDAR of the survey: it looks down, without losses or noise."""
    return replace(
        read_rig().roadside,
        yaw=0.0,
        channels=CHANNELS,
        range=2 * ABOVE,
        points_per_second=round(CHANNELS * COLUMNS / 0.05),
        upper_fov=FLATTEST,
        lower_fov=STEEPEST,
        dropoff_general_rate=0.0,
        dropoff_zero_intensity=0.0,
        noise_stddev=0.0,
        r_max=None,
    )


def iterate_squares(
    lanes: Floats, low: Floats, shape: tuple[int, int]
) -> Iterator[tuple[Pose, slice, slice]]:
    """Yield where the LiDAR stands for each square near a lane, and the square's grid points."""
    side = round(SQUARE / CELL)
    for row in range(0, shape[0], side):
        for column in range(0, shape[1], side):
            rows = slice(row, min(row + side, shape[0]))
            columns = slice(column, min(column + side, shape[1]))
            x = low[0] + CELL * (columns.start + columns.stop - 1) / 2
            y = low[1] + CELL * (rows.start + rows.stop - 1) / 2
            away = np.hypot(lanes[:, 0] - x, lanes[:, 1] - y)
            near = away < IN_REACH + SQUARE / math.sqrt(2)
            if near.any():
                yield Pose(x, y, float(lanes[near, 2].max()) + ABOVE), rows, columns


def read_square(scan: LidarScan, x: Floats, y: Floats) -> tuple[Floats, Labels]:
    """Return heights and labels of grid points, of a scan from above them.

    Args:
        scan: of the survey's LiDAR.
        x: (columns,) in the world.
        y: (rows,) in the world.
    """
    # (channels, columns of rays): places in the LiDAR's frame and labels; two columns come twice
    rays, tags, phase = sort_into_rays(scan)
    depths, ground = rays[..., 2], np.isin(tags, GROUND)
    here = scan.lidar_in_world
    east, south = np.meshgrid(x - here.x, y - here.y)
    aside, azimuth = np.hypot(east, south), np.arctan2(south, east)
    turn = np.remainder((azimuth - phase) / math.tau, 1.0) * COLUMNS
    left = turn.astype(np.int64)
    # which ray passes over a grid point depends on its height, a little
    depth = np.full(east.shape, np.nanmedian(depths))
    for _ in range(ROUNDS):
        elevation = np.degrees(np.arctan2(depth, aside))
        ring = (elevation - STEEPEST) / (FLATTEST - STEEPEST) * (CHANNELS - 1)
        ring = np.clip(ring, 0, CHANNELS - 1.001)
        nearest = np.rint(ring).astype(np.int64), np.rint(turn).astype(np.int64)
        # the nearest ray; of four rays on ground, their mean
        low = ring.astype(np.int64)
        level = ground[low, left] & ground[low, left + 1]
        level &= ground[low + 1, left] & ground[low + 1, left + 1]
        mean = ndimage.map_coordinates(depths, [ring, turn], order=1, mode="nearest")
        met = np.where(level, mean, depths[nearest])
        depth = np.where(np.isfinite(met), met, depth)
    # a ray that met something elsewhere, such as a wall's side, says nothing of the grid point
    off = np.hypot(rays[nearest][..., 0] - east, rays[nearest][..., 1] - south)
    seen = np.isfinite(met) & (off < FARTHEST_OFF)
    return np.where(seen, here.z + met, np.nan), np.where(seen, tags[nearest], 0).astype(np.uint8)


def sort_into_rays(scan: LidarScan) -> tuple[Floats, Labels, float]:
    """Return where each ray ended and on what, and the azimuth of column 0."""
    assert scan.surfaces is not None
    xyz = scan.points_in_lidar[:, :3].astype(np.float64)
    azimuth = np.arctan2(xyz[:, 1], xyz[:, 0])
    elevation = np.degrees(np.arctan2(xyz[:, 2], np.hypot(xyz[:, 0], xyz[:, 1])))
    ring = np.rint((elevation - STEEPEST) / (FLATTEST - STEEPEST) * (CHANNELS - 1))
    rings = np.clip(ring, 0, CHANNELS - 1).astype(np.int64)
    turns = azimuth * COLUMNS
    phase = math.atan2(np.sin(turns).mean(), np.cos(turns).mean()) / COLUMNS if len(xyz) else 0.0
    columns = np.remainder(np.rint((azimuth - phase) / math.tau * COLUMNS), COLUMNS)
    # the first columns again at the end, so that every ray has one to its right
    rays = np.full((CHANNELS, COLUMNS + 2, 3), np.nan)
    tags = np.zeros(rays.shape[:2], np.uint8)
    cells = rings, columns.astype(np.int64)
    rays[cells], tags[cells] = xyz, scan.surfaces.labels
    rays[:, COLUMNS:], tags[:, COLUMNS:] = rays[:, :2], tags[:, :2]
    return rays, tags, phase


def split_surface(surface: Floats, labels: Labels) -> tuple[Floats, Floats, Labels]:
    """Return the ground everywhere, tops of what stands on it, and labels.

    Ground that something hides is filled in from all sides; no label of a crown, pole or sign
    remains. Nothing is known where no ground is near.
    """
    ground = np.isin(labels, GROUND)
    if not ground.any():
        return np.full_like(surface, np.nan), np.full_like(surface, np.nan), labels
    solid = (labels > 0) & ~ground & ~np.isin(labels, SEEN_THROUGH)
    away, (rows, columns) = ndimage.distance_transform_edt(~ground, return_indices=True)
    heights = np.where(ground, surface, surface[rows, columns])
    # the nearest ground first, then smoothed
    around = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]]) / 4
    for _ in range(SMOOTHING):
        heights[~ground] = ndimage.convolve(heights, around, mode="nearest")[~ground]
    heights[away * CELL > FARTHEST_FILLED] = np.nan
    tops = np.where(solid, surface, np.nan)
    return heights, tops, np.where(ground | solid, labels, labels[rows, columns])

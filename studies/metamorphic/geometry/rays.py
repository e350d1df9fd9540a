"""The beams of a recorded sweep: those of its points, and those that came back with nothing.

A beam that returned is the ray through its point. The others are the cells of the LiDAR's grid of
rings and columns that hold no point.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numba
import numpy as np

from harness.types.vocabulary import Floats, Integers, Mask, Singles
from harness.world.rig import CARRIER_BODY, LidarMount, read_rig
from studies.metamorphic.scenes.operator import DoesNotApplyError
from studies.metamorphic.scenes.scene import AgentView

TURN = 0.05
"""Seconds in which a LiDAR of the rig turns once: a tick."""
MOST_OFF = 0.4
"""Of the spacing: how far from rings and columns one in a hundred points may lie."""
OVER_ROOF = 0.1
"""Metres that a beam may fall while it is above the car that carries the LiDAR."""
NOT_A_POINT = -1


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class BeamGrid:
    """Rings and columns of a sweep, and which of them each point belongs to."""

    elevations: Floats  # of each ring
    columns: int
    phase: float  # azimuth of column 0, from 0 up to the width of a column
    rings: Integers  # of each point
    column_of: Integers  # of each point

    @property
    def azimuths(self) -> Floats:
        """Return the azimuth of each column."""
        turns = np.arange(self.columns) / self.columns
        return np.asarray(self.phase + math.tau * turns, np.float64)

    @property
    def taken(self) -> Mask:
        """Return which cells hold a point, (rings, columns)."""
        cells = np.zeros((len(self.elevations), self.columns), np.bool_)
        cells[self.rings, self.column_of] = True
        return cells


@dataclass(frozen=True, slots=True, eq=False)
class LidarBeams:
    """Some beams of a sweep, as rays from its LiDAR."""

    directions: Floats  # (K, 3) unit vectors
    ranges: Floats  # (K,) m; inf where nothing came back
    points: Integers  # (K,) of the sweep, or NOT_A_POINT


def get_lidar_mount(view: AgentView) -> LidarMount:
    """Return the LiDAR that recorded a view."""
    rig = read_rig()
    return rig.roadside if view.agent < 0 else rig.vehicle


def fit_beam_grid(view: AgentView) -> BeamGrid:
    """Return the grid of a sweep; refuse one that another LiDAR has recorded."""
    # the grid of the rig's LiDAR: (channels,) elevations in rad, columns of a turn
    mount = get_lidar_mount(view)
    elevations = np.radians(np.linspace(mount.upper_fov, mount.lower_fov, mount.channels))
    columns = math.floor(mount.points_per_second * TURN / mount.channels + 0.5)
    # (points,) each, rad
    azimuth, elevation, _ = to_spherical(view.points_in_lidar)
    # rings from the top
    step = (elevations[0] - elevations[-1]) / (mount.channels - 1)
    rings, off = round_to_nearest((elevations[0] - elevation) / step)
    refuse_off_grid(view, "rings", off)
    # columns: azimuths of a sweep start anywhere, so their phase is estimated on a circle
    width = math.tau / columns
    turns = azimuth * columns
    phase = math.atan2(np.sin(turns).mean(), np.cos(turns).mean()) / columns if len(turns) else 0.0
    column_of, off = round_to_nearest((azimuth - phase) / width)
    refuse_off_grid(view, "columns", off)
    return BeamGrid(
        elevations=elevations,
        columns=columns,
        phase=phase,
        rings=np.clip(rings, 0, mount.channels - 1),
        column_of=np.remainder(column_of, columns),
    )


def to_spherical(points: Singles | Floats) -> tuple[Floats, Floats, Floats]:
    """Return azimuth, elevation and range of points."""
    x, y, z = points[:, :3].astype(np.float64).T
    flat = np.hypot(x, y)
    return np.arctan2(y, x), np.arctan2(z, flat), np.hypot(flat, z)


def round_to_nearest(places: Floats) -> tuple[Integers, Floats]:
    """Return the nearest whole numbers, and how far off they are."""
    whole = np.rint(places)
    return whole.astype(np.int64), np.abs(places - whole)


def refuse_off_grid(view: AgentView, what: str, off: Floats) -> None:
    """Refuse a sweep whose points do not lie where the LiDAR's beams are."""
    if len(off) and float(np.quantile(off, 0.99)) > MOST_OFF:
        raise DoesNotApplyError(f"{view.name}: points do not lie in the {what} of its LiDAR")


def select_beams_toward(
    view: AgentView, grid: BeamGrid, middle: Floats, radius: float
) -> LidarBeams:
    """Return the beams that pass a sphere, given in the LiDAR's frame.

    Args:
        view: of an agent.
        grid: of its sweep.
        middle: (3,) of the sphere, m.
        radius: m.

    Returns:
        Beams with a point first, then those that came back with nothing.
    """
    # a cone: (4,) its axis and the cosine of half its angle
    away = float(np.linalg.norm(middle))
    cosine = math.sqrt(1 - (radius / away) ** 2) if radius < away else -1.0
    cone = np.array([*(middle / max(away, 1e-9)), cosine])
    # beams with a point in it
    points = find_points_in_cone(view.points_in_lidar, cone)
    xyz = view.points_in_lidar[points, :3].astype(np.float64)
    ranges = np.linalg.norm(xyz, axis=1)
    # (beams, 3) beams without
    empty = find_empty_cells_in_cone(grid.taken, grid.elevations, grid.azimuths, cone)
    if view.agent >= 0:
        empty = empty[~is_stopped_by_carrier(empty)]
    return LidarBeams(
        np.concatenate([xyz / ranges[:, None], empty]),
        np.append(ranges, np.full(len(empty), np.inf)),
        np.append(points, np.full(len(empty), NOT_A_POINT)),
    )


@numba.njit(cache=True, nogil=True)
def find_points_in_cone(points: Singles, cone: Floats) -> Integers:
    """Return which points lie in a cone from the origin: axis `x y z`, cosine of its half angle."""
    inside, count = np.empty(len(points), np.int64), 0
    for n in range(len(points)):
        x, y, z = float(points[n, 0]), float(points[n, 1]), float(points[n, 2])
        along = x * cone[0] + y * cone[1] + z * cone[2]
        distance = np.sqrt(x * x + y * y + z * z)
        if distance > 0 and along >= cone[3] * distance:
            inside[count] = n
            count += 1
    return inside[:count].copy()


@numba.njit(cache=True, nogil=True)
def find_empty_cells_in_cone(
    taken: Mask, elevations: Floats, azimuths: Floats, cone: Floats
) -> Floats:
    """Return the directions in a cone of cells that hold no point, ring by ring."""
    directions, count = np.empty((taken.size, 3)), 0
    cos, sin = np.cos(azimuths), np.sin(azimuths)
    for ring in range(len(elevations)):
        flat, up = np.cos(elevations[ring]), np.sin(elevations[ring])
        for column in range(len(azimuths)):
            x, y = flat * cos[column], flat * sin[column]
            if not taken[ring, column] and x * cone[0] + y * cone[1] + up * cone[2] >= cone[3]:
                directions[count, 0], directions[count, 1], directions[count, 2] = x, y, up
                count += 1
    return directions[:count].copy()


def is_stopped_by_carrier(directions: Floats) -> Mask:
    """Return which beams without a point hit the car that carries the LiDAR.

    Recordings leave that car's points out. Such a beam falls while it is above the car; if it
    passed the roof, it would have come back from the ground.
    """
    behind, ahead, aside = CARRIER_BODY
    x, y, z = directions.T
    with np.errstate(divide="ignore"):
        out_x = np.where(x > 0, ahead / np.abs(x), -behind / np.abs(x))
        leaves = np.minimum(out_x, aside / np.abs(y))
    return np.asarray(leaves * z < -OVER_ROOF)


def is_on_carrier(view: AgentView, points: Singles) -> Mask:
    """Return which points a recording leaves out because they may be the car itself."""
    behind, ahead, aside = CARRIER_BODY
    x, y = points[:, 0], points[:, 1]
    inside = (x > behind) & (x < ahead) & (np.abs(y) < aside)
    return np.asarray(inside & (view.agent >= 0))

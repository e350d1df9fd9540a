"""CoDriving's driving request: the ego asks its partners for features along its planned path.

Liu et al., 2025, section IV-B. The ego's waypoints become a map of Gaussian bumps; each partner
multiplies its own confidence by that map, as it lies in the partner's frame, before the threshold
decides which cells are sent. The numbers are those of V2Xverse's published code
(`opencood/utils/waypoint2map.py`, `opencood/models/comm_modules/codriving.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from agents.perception.fusion.communication import CommunicationSettings
from agents.perception.grid import PillarGrid
from agents.perception.warping import compute_affine_matrix
from harness.types.geometry import transform_points
from harness.types.vocabulary import Floats, Pose

WORLD = Pose(0.0, 0.0)
GAIN, LEAST, MOST = 5.0, 1e-4, 1.0 - 1e-4
"""The request is multiplied by `GAIN` and kept between `LEAST` and `MOST`."""

REFERENCE_ROWS, REFERENCE_WIDTH = 96, 24.0
"""The map for which a radius is meant: 96 rows over 24 m."""


@dataclass(frozen=True, slots=True, eq=False)
class DrivingRequest:
    """Where the ego plans to be, in the LiDAR frame in which it planned."""

    waypoints_in_lidar: Floats  # (waypoints, 2): metres ahead and to the right
    lidar_in_world: Pose


def render_request_map(
    waypoints_in_lidar: Floats, shape: tuple[int, int], settings: CommunicationSettings
) -> Tensor:
    """Return the request (rows, columns) in the ego's frame, float64, 0 to 1.

    Args:
        waypoints_in_lidar: (waypoints, 2), metres ahead and to the right.
        shape: rows and columns of the map of confidences.
        settings: reach and width of the bumps, and the range that the map stands for.
    """
    rows, columns = shape
    low, high = settings.detection_range[:3], settings.detection_range[3:]
    length, width = high[0] - low[0], high[1] - low[1]
    # V2Xverse computes places in float32.
    places = np.asarray(waypoints_in_lidar, np.float32) * np.float32(columns / length)
    column = places[:, 0] + np.float32(columns * (high[0] / length))
    row = places[:, 1] + np.float32(rows * (high[1] / width))
    # the radius is given for 96 rows over 24 m: scaled to this map
    reach = int(settings.radius * rows / REFERENCE_ROWS * REFERENCE_WIDTH / width)
    sigma = (2 * reach + 1) / settings.sigma_reverse
    request_map = np.zeros(shape)
    # a waypoint outside the map adds nothing, not even the edge of its bump
    for at_row, at_column in zip(row, column, strict=True):
        if 0 <= at_row < rows and 0 <= at_column < columns:
            add_bump(request_map, (int(at_row), int(at_column)), reach=reach, sigma=sigma)
    return torch.from_numpy(request_map)


def add_bump(request_map: Floats, cell: tuple[int, int], *, reach: int, sigma: float) -> None:
    """Raise a map (rows, columns) to a Gaussian bump wherever it is lower.

    Args:
        request_map: the map, changed in place.
        cell: row and column of the middle.
        reach: cells to each side that the bump has.
        sigma: cells of one standard deviation.
    """
    (rows, columns), (row, column) = request_map.shape, cell
    # the part of the bump that lies on the map
    first_row, last_row = max(row - reach, 0), min(row + reach + 1, rows)
    first_column, last_column = max(column - reach, 0), min(column + reach + 1, columns)
    down = np.arange(first_row, last_row)[:, None] - float(row)
    along = np.arange(first_column, last_column)[None, :] - float(column)
    bump = np.exp(-(down**2 + along**2) / (2.0 * sigma**2))
    # as V2Xverse: what is below the resolution of numbers near 1 is nothing
    bump[bump < np.finfo(bump.dtype).eps] = 0.0
    # where bumps overlap the higher one counts
    part = request_map[first_row:last_row, first_column:last_column]
    np.maximum(part, bump, out=part)


def warp_request(request: Tensor, sender_in_ego: Pose, grid: PillarGrid) -> Tensor:
    """Return a request (rows, columns) of the ego as V2Xverse lays it on a sender's grid.

    V2Xverse inverts the transform of a warp by transposing its rotation and negating its shift.
    That is exact only where the sender has the ego's heading; results are compared with V2Xverse's,
    so the same is done here.

    Args:
        request: (rows, columns) on the ego's grid.
        sender_in_ego: the sender's LiDAR in the ego's LiDAR frame.
        grid: the window, the same for both.

    Returns:
        (rows, columns), 0 to 1.
    """
    rows, columns = request.shape
    theta = compute_affine_matrix(
        sender_in_ego, grid
    )  # (2, 3): from the ego's grid to the sender's
    tall = rows / columns
    # (2, 3): rotation transposed, shift negated, corrected for a map that is not square
    inverse = np.array(
        [
            [theta[0, 0], theta[1, 0] * tall * tall, -theta[0, 2]],
            [theta[0, 1] / tall / tall, theta[1, 1], -theta[1, 2]],
        ]
    )
    cells = functional.affine_grid(
        torch.from_numpy(inverse)[None], [1, 1, rows, columns], align_corners=False
    )
    return functional.grid_sample(request[None, None], cells, align_corners=False)[0, 0].clamp(0, 1)


def weigh_confidence(confidence: Tensor, warped: Tensor, highest: float) -> Tensor:
    """Return confidences (1, 1, rows, columns) after the request in the sender's frame.

    Args:
        confidence: the sender's best score of any class, in each cell.
        warped: the request (rows, columns) on the sender's grid.
        highest: the request's highest value at the ego.
    """
    factor = warped.to(confidence) * GAIN / (highest + 1e-7)
    return confidence * factor.clamp(LEAST, MOST)


def make_request(waypoints_in_world: Floats, lidar_in_world: Pose) -> DrivingRequest:
    """Return a request for features round waypoints (N, 2) in the world.

    Args:
        waypoints_in_world: (N, 2) metres.
        lidar_in_world: the ego's LiDAR, as it believes.

    Returns:
        Waypoints in the ego's LiDAR frame.
    """
    heights = np.zeros((len(waypoints_in_world), 2))
    points = np.column_stack([waypoints_in_world, heights]).astype(np.float32)
    in_lidar = transform_points(points, WORLD, lidar_in_world)
    return DrivingRequest(np.asarray(in_lidar[:, :2], np.float64), lidar_in_world)

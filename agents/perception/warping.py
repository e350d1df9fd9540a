"""Feature maps of partners in the ego's frame: warped to it, and rotated to its heading.

Warping moves the cells of a map. What a cell holds of directions, offsets and axes of boxes, is
still relative to the sender's heading; `FeatureRotation` is trained to convert it.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from agents.perception.grid import PillarGrid
from agents.perception.pointwise import apply_linear
from harness.types.geometry import build_pose_matrix
from harness.types.vocabulary import Floats, Pose

WAVES = 5
"""1, cosine and sine of the angle, and of its double: offsets turn once with it, axes twice."""


def warp_maps(maps: Tensor, partner_in_ego: Pose, grid: PillarGrid) -> Tensor:
    """Return maps (N, channels, rows, columns) of a partner on the ego's grid; zero beyond them.

    Args:
        maps: on the partner's grid.
        partner_in_ego: the partner's LiDAR in the ego's LiDAR frame.
        grid: the window, the same for both.

    Returns:
        The same shape on the ego's grid; bilinear between cells.
    """
    theta = torch.from_numpy(compute_affine_matrix(partner_in_ego, grid)).to(maps)
    cells = functional.affine_grid(
        theta.expand(len(maps), 2, 3), list(maps.shape), align_corners=False
    )
    return functional.grid_sample(maps, cells, align_corners=False)


def compute_affine_matrix(partner_in_ego: Pose, grid: PillarGrid) -> Floats:
    """Return (2, 3): from places on the ego's grid to the partner's, both from -1 to 1.

    Args:
        partner_in_ego: the partner's LiDAR in the ego's LiDAR frame.
        grid: the window, the same for both.
    """
    ego_in_partner = np.linalg.inv(build_pose_matrix(partner_in_ego))
    low, high = np.array(grid.low[:2]), np.array(grid.high[:2])
    # metres to shares of the window: -1 and 1 are its edges
    middle, half = (low + high) / 2, (high - low) / 2
    # rotation about the LiDAR, which need not be the middle of the window
    turn = ego_in_partner[:2, :2]
    shift = turn @ middle + ego_in_partner[:2, 3] - middle
    return np.column_stack([turn * half / half[:, None], shift / half])


class FeatureRotation(nn.Module):
    """A 1 x 1 convolution whose weights are waves of the angle between sender and receiver."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(WAVES, channels, channels))
        self.bias = nn.Parameter(torch.zeros(WAVES, channels))
        with torch.no_grad():
            self.weight[0] = torch.eye(channels)

    def forward(self, sent: Tensor, angle: float) -> Tensor:
        """Return a map (1, channels, rows, columns) as from a frame in which its sender is turned.

        Cells in which nothing was sent stay empty.
        """
        waves = torch.tensor(
            [1.0, math.cos(angle), math.sin(angle), math.cos(2 * angle), math.sin(2 * angle)],
            device=sent.device,
        )
        weight = torch.einsum("w,woi->oi", waves, self.weight)
        cells = sent.permute(0, 2, 3, 1)
        rotated = torch.relu(apply_linear(cells, weight, waves @ self.bias))
        return (rotated * (cells != 0).any(-1, keepdim=True)).permute(0, 3, 1, 2)

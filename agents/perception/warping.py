"""A partner's map as it would lie under the ego: moved by where the partner believes to be."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from agents.perception.grid import Grid
from harness.geometry import matrix
from harness.vocabulary import Floats, Pose


def seen_from(maps: Tensor, partner_in_ego: Pose, grid: Grid) -> Tensor:
    """Return maps (N, channels, rows, columns) of a partner on the ego's grid; zero beyond them."""
    theta = torch.from_numpy(sampling(partner_in_ego, grid)).to(maps)
    places = functional.affine_grid(
        theta.expand(len(maps), 2, 3), list(maps.shape), align_corners=False
    )
    return functional.grid_sample(maps, places, align_corners=False)


def sampling(partner_in_ego: Pose, grid: Grid) -> Floats:
    """Return (2, 3): from places on the ego's grid to the partner's, both from -1 to 1."""
    ego_in_partner = np.linalg.inv(matrix(partner_in_ego))
    low, high = np.array(grid.low[:2]), np.array(grid.high[:2])
    middle, half = (low + high) / 2, (high - low) / 2
    turn = ego_in_partner[:2, :2]
    shift = turn @ middle + ego_in_partner[:2, 3] - middle
    return np.column_stack([turn * half / half[:, None], shift / half])

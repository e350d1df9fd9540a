"""Lift and splat: features of pictures go to all depths that are likely, then down onto the map.

After Philion and Fidler, *Lift, Splat, Shoot* (ECCV 2020), with HEAL's depths for OPV2V (Lu et al.,
ICLR 2024): bins whose length increases linearly. One more bin stands for all that is farther; it
reaches no cell. A cell gets the sum over pixels and bins of likelihood times feature.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numba
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agents.perception.autograd import apply_function
from agents.perception.grid import PillarGrid
from harness.types.geometry import build_pose_matrix
from harness.types.vocabulary import CameraImage, Floats, Singles

Cells: TypeAlias = NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True)
class DepthBins:
    """Depths along a camera's axis; the bins' length increases linearly (LID)."""

    nearest: float = 2.0  # m
    farthest: float = 50.0  # m
    count: int = 48

    def list_depths(self) -> Floats:
        """Return the depth of each bin, (count,) metres: HEAL's `ddiscr` in mode LID."""
        step = 2.0 * (self.farthest - self.nearest) / (self.count * (self.count + 1))
        index = np.arange(self.count, dtype=np.float64)
        return np.asarray(self.nearest + step * index * (index + 1) / 2.0, np.float64)

    def list_edges(self) -> Floats:
        """Return the lower edges of the bins and the upper edge of the last, (count + 1,)."""
        depths = self.list_depths()
        middles = (depths[1:] + depths[:-1]) / 2.0
        return np.concatenate([[0.0], middles, [self.farthest]])


BINS = DepthBins()


def find_frustum_cells(
    images: Sequence[CameraImage],
    height: float,
    grid: PillarGrid,
    shape: tuple[int, int],
    *,
    bins: DepthBins = BINS,
) -> Cells:
    """Return the cell of the map below each depth of each feature of some images.

    Args:
        images: of one agent; intrinsics are of the pixels that the network reads.
        height: metres from the network's zero of heights up to the agent's LiDAR.
        grid: the window.
        shape: rows and columns of an image's features.
        bins: of depth.

    Returns:
        (images * rows * columns, bins), counted row by row; -1 outside the window.
    """
    parts = [_find_image_cells(image, height, grid, shape=shape, bins=bins) for image in images]
    return np.concatenate(parts) if parts else np.zeros((0, bins.count), np.int32)


def _find_image_cells(
    image: CameraImage,
    height: float,
    grid: PillarGrid,
    *,
    shape: tuple[int, int],
    bins: DepthBins,
) -> Cells:
    rows, columns = shape
    high, wide = image.pixels.shape[:2]
    # the middle of the pixels that a feature covers
    u = (np.arange(columns) + 0.5) * (wide / columns)
    v = (np.arange(rows) + 0.5) * (high / rows)
    (fx, _, cx), (_, fy, cy), _ = image.intrinsics
    right, down = np.meshgrid((u - cx) / fx, (v - cy) / fy)
    # (features, bins, 3) in the camera's frame: x ahead, y right, z up
    depths = bins.list_depths()
    rays = np.stack([np.ones_like(right), right, -down], axis=-1).reshape(-1, 1, 3)
    matrix = build_pose_matrix(image.camera_in_lidar)
    points = rays * depths[None, :, None] @ matrix[:3, :3].T + matrix[:3, 3]
    points[..., 2] += height
    inside = np.ones(points.shape[:2], bool)
    for axis in range(3):
        inside &= (points[..., axis] >= grid.low[axis]) & (points[..., axis] < grid.high[axis])
    column = np.floor((points[..., 0] - grid.low[0]) / grid.cell).astype(np.int32)
    row = np.floor((points[..., 1] - grid.low[1]) / grid.cell).astype(np.int32)
    return np.where(inside, row * grid.output_shape[1] + column, -1).astype(np.int32)


def splat_features(likely: Tensor, features: Tensor, cells: Cells, count: int) -> Tensor:
    """Return sums of features in cells, weighted by how likely each depth is.

    Args:
        likely: (features, bins) of depths.
        features: (features, channels).
        cells: (features, bins), -1 for none.
        count: of cells.

    Returns:
        (count, channels)
    """
    return apply_function(SplatFunction, likely, features, (cells, count))


class SplatFunction(torch.autograd.Function):
    """The sum over pixels and bins, and its gradients, in compiled passes on a processor."""

    @staticmethod
    def forward(ctx: Any, likely: Tensor, features: Tensor, target: tuple[Cells, int]) -> Tensor:
        """Return the sums of all cells; `target` has the cells, and how many there are."""
        cells, count = target
        ctx.save_for_backward(likely, features)
        ctx.cells = cells
        sums = sum_into_cells(to_array(likely), to_array(features), cells, count)
        return torch.from_numpy(sums).to(features.device)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        """Return the gradients of likelihoods and features."""
        likely, features = ctx.saved_tensors
        of_likely, of_features = gather_from_cells(
            to_array(likely), to_array(features), ctx.cells, to_array(gradients[0])
        )
        device = features.device
        return (
            torch.from_numpy(of_likely).to(device),
            torch.from_numpy(of_features).to(device),
            None,
        )


def to_array(numbers: Tensor) -> Singles:
    """Return a tensor's numbers in order, for compiled code."""
    array: Singles = numbers.detach().float().cpu().contiguous().numpy()
    return array


@numba.njit(cache=True, nogil=True)
def sum_into_cells(likely: Singles, features: Singles, cells: Cells, count: int) -> Singles:
    """Return (count, channels) sums."""
    channels = features.shape[1]
    sums = np.zeros((count, channels), np.float32)
    for i in range(len(cells)):
        feature = features[i]
        for d in range(cells.shape[1]):
            cell = cells[i, d]
            if cell >= 0:
                share = likely[i, d]
                target = sums[cell]
                for c in range(channels):
                    target[c] += share * feature[c]
    return sums


@numba.njit(cache=True, nogil=True, fastmath={"reassoc"})
def gather_from_cells(
    likely: Singles, features: Singles, cells: Cells, gradient: Singles
) -> tuple[Singles, Singles]:
    """Return the gradients (features, bins) and (features, channels)."""
    channels = features.shape[1]
    of_likely = np.zeros(likely.shape, np.float32)
    of_features = np.zeros(features.shape, np.float32)
    for i in range(len(cells)):
        feature, of_feature = features[i], of_features[i]
        for d in range(cells.shape[1]):
            cell = cells[i, d]
            if cell >= 0:
                share, given = likely[i, d], gradient[cell]
                total = np.float32(0.0)
                for c in range(channels):
                    total += given[c] * feature[c]
                    of_feature[c] += share * given[c]
                of_likely[i, d] = total
    return of_likely, of_features


def count_depth_shares(depth: Singles, shape: tuple[int, int], bins: DepthBins = BINS) -> Singles:
    """Return which share of a feature's pixels lies in each bin; the last is for all beyond.

    Args:
        depth: (rows, columns) metres along the camera's axis.
        shape: rows and columns of features.
        bins: of depth.

    Returns:
        (rows * columns of features, bins + 1), each row with the sum 1.
    """
    number = np.searchsorted(bins.list_edges(), depth, side="right") - 1
    kinds: Cells = np.clip(number, 0, bins.count).astype(np.int32)
    shares: Singles = _count_shares(kinds, *shape, bins.count + 1)
    return shares


@numba.njit(cache=True, nogil=True)
def _count_shares(number: Cells, rows: int, columns: int, kinds: int) -> Singles:
    high, wide = number.shape
    shares = np.zeros((rows * columns, kinds), np.float32)
    for y in range(high):
        for x in range(wide):
            shares[(y * rows // high) * columns + x * columns // wide, number[y, x]] += 1.0
    for i in range(len(shares)):
        shares[i] /= shares[i].sum()
    return shares

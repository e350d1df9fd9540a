"""From points to pillars: each gets the maximum over its points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numba
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_linear_bn_eval

from agents.perception.autograd import apply_function
from agents.perception.grid import PillarGrid
from harness.types.vocabulary import Singles

Numbers: TypeAlias = NDArray[np.int32]
Numbers64: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]

POINT_FEATURES = 10
"""x y z intensity, x y z from the mean of the pillar's points, x y z from its middle."""


class PillarLayer(nn.Module):
    """One linear layer for points."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.linear = nn.Linear(POINT_FEATURES, channels, bias=False)
        self.norm = nn.BatchNorm1d(channels, eps=1e-3, momentum=0.01)

    def forward(self, features: Tensor) -> Tensor:
        """Return the features of each point."""
        output: Tensor = torch.relu(self.norm(self.linear(features)))
        return output

    def compute_affine(self) -> tuple[Singles, Singles]:
        """Return weights (features, channels) and bias of what comes before the activation."""
        linear = self.linear
        if isinstance(self.norm, nn.BatchNorm1d):
            linear = fuse_linear_bn_eval(linear, self.norm)
        return np.ascontiguousarray(linear.weight.numpy().T), linear.bias.numpy()


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PillarFeatures:
    """The pillars that hold points, of one or several maps; all others are zero."""

    features: Tensor  # (pillars, channels)
    cells: Tensor  # (pillars,), counted row by row through all maps
    maps: int
    rows: int
    columns: int

    def to_dense(self) -> Tensor:
        """Return the maps (maps, channels, rows, columns)."""
        canvas = self.features.new_zeros(
            self.maps * self.rows * self.columns, self.features.shape[1]
        )
        canvas[self.cells] = self.features
        return canvas.view(self.maps, self.rows, self.columns, -1).permute(0, 3, 1, 2)


class PillarEncoder(nn.Module):
    """Points of one or several LiDARs to pillars.

    A pillar with room for more points has one more that is all zeros: V2Xverse trains it so.
    """

    def __init__(self, grid: PillarGrid, channels: int) -> None:
        super().__init__()
        self.grid, self.channels = grid, channels
        self.pfn_layers = nn.ModuleList([PillarLayer(channels)])

    def forward(self, clouds: Sequence[Singles]) -> PillarFeatures:
        """Return the pillars that hold points.

        Args:
            clouds: (points, 4) of each agent, in its raised LiDAR frame.

        Returns:
            The pillars of all agents, cell by cell.
        """
        grid = self.grid
        parameter = next(self.parameters())
        # inference on a processor: one compiled pass, without an array of all points' features
        if parameter.device.type == "cpu" and not (self.training or parameter.requires_grad):
            return self._encode_on_cpu(clouds)
        # (points + 1, POINT_FEATURES), (points,), (pillars,), (pillars,)
        features, pillars, cells, full = compute_point_features(clouds, grid)
        device = parameter.device
        # (points + 1, channels); the last row is of the point that is all zeros
        outputs = self.pfn_layers[0](torch.from_numpy(features).to(device))
        if device.type == "cpu":
            strongest = apply_function(PillarMaximum, outputs, pillars, full)
        else:
            points, padding = outputs[:-1], outputs[-1]
            number = torch.from_numpy(pillars).to(device)[:, None].expand(-1, self.channels)
            strongest = torch.where(
                torch.from_numpy(full).to(device)[:, None], torch.zeros_like(padding), padding
            )
            strongest = strongest.scatter_reduce(0, number, points, "amax")
        return self._make_pillars(strongest, torch.from_numpy(cells).to(device), clouds)

    def _make_pillars(
        self, features: Tensor, cells: Tensor, clouds: Sequence[Singles]
    ) -> PillarFeatures:
        return PillarFeatures(
            features=features,
            cells=cells,
            maps=len(clouds),
            rows=self.grid.rows,
            columns=self.grid.columns,
        )

    def _encode_on_cpu(self, clouds: Sequence[Singles]) -> PillarFeatures:
        """Return the same pillars from one compiled pass over the points of each cloud."""
        grid = self.grid
        layer = self.pfn_layers[0]
        assert isinstance(layer, PillarLayer)
        # the linear layer with its normalisation folded in
        weight, bias = layer.compute_affine()
        low, high = np.array(grid.low, np.float32), np.array(grid.high, np.float32)
        features, cells = [], []
        for number, cloud in enumerate(clouds):
            # (pillars, channels) and (pillars,)
            strongest, at = compute_strongest_features(
                cloud, low, high, np.float32(grid.pillar), grid.rows, grid.columns,
                grid.most_points, weight, bias,
            )  # fmt: skip
            features.append(torch.from_numpy(strongest))
            cells.append(torch.from_numpy(at).long() + number * grid.rows * grid.columns)
        return self._make_pillars(torch.cat(features), torch.cat(cells), clouds)


class PillarMaximum(torch.autograd.Function):
    """The maximum over each pillar's points; backwards, to the points that had it."""

    @staticmethod
    def forward(ctx: Any, outputs: Tensor, pillars: Numbers64, full: Flags) -> Tensor:
        """Return the maximum of each pillar; the last output is of a point that is all zeros."""
        strongest, ctx.who = compute_pillar_maxima(outputs.detach().numpy(), pillars, full)
        ctx.count = len(outputs)
        return torch.from_numpy(strongest)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        """Return the gradient of the outputs."""
        given = scatter_gradient(gradients[0].contiguous().numpy(), ctx.who, ctx.count)
        return torch.from_numpy(given), None, None


@numba.njit(cache=True, nogil=True)
def compute_pillar_maxima(
    outputs: Singles, pillars: Numbers64, full: Flags
) -> tuple[Singles, Numbers]:
    """Return each pillar's maximum, and the row of outputs that it is from; -1: of none."""
    # outputs: (points + 1, channels), the last row of a point that is all zeros
    last, channels = len(outputs) - 1, outputs.shape[1]
    # (pillars, channels), and the row of outputs that each maximum is from
    strongest = np.zeros((len(full), channels), np.float32)
    who = np.full((len(full), channels), -1, np.int32)
    # a pillar with room for more points has the point of zeros among them
    for pillar in range(len(full)):
        if not full[pillar]:
            strongest[pillar] = outputs[last]
            who[pillar] = last
    # the maximum over the points
    for j in range(last):
        pillar = pillars[j]
        for c in range(channels):
            if outputs[j, c] > strongest[pillar, c]:
                strongest[pillar, c] = outputs[j, c]
                who[pillar, c] = j
    return strongest, who


@numba.njit(cache=True, nogil=True)
def scatter_gradient(gradient: Singles, who: Numbers, count: int) -> Singles:
    """Return the gradient of so many outputs from that of the maxima."""
    channels = who.shape[1]
    # (outputs, channels): what was no maximum gets nothing
    given = np.zeros((count, channels), np.float32)
    for pillar in range(len(who)):
        for c in range(channels):
            if who[pillar, c] >= 0:
                given[who[pillar, c], c] += gradient[pillar, c]
    return given


@numba.njit(cache=True, nogil=True)
def compute_strongest_features(
    points: Singles,
    low: Singles,
    high: Singles,
    side: np.float32,
    rows: int,
    columns: int,
    most: int,
    weight: Singles,
    bias: Singles,
) -> tuple[Singles, Numbers]:
    """Return the maximum over each pillar's points, and over zeros if it has room; and its cell."""
    channels = len(bias)
    # points: (points, 4); weight: (POINT_FEATURES, channels); bias: (channels,)
    chosen, pillars, cells, counts, sums = assign_points(
        points, low, high, side, rows, columns, most
    )
    # (pillars, channels): a pillar with room holds a point of zeros, whose output is the bias
    strongest = np.zeros((len(cells), channels), np.float32)
    for pillar in range(len(cells)):
        if counts[pillar] < most:
            for c in range(channels):
                strongest[pillar, c] = max(bias[c], np.float32(0.0))
    # one row is used for all points: no array of all points' features is made
    feature = np.empty((1, POINT_FEATURES), np.float32)
    middle_z = (low[2] + high[2]) / 2
    for j in range(len(chosen)):
        pillar = pillars[j]
        row, column = cells[pillar] // columns, cells[pillar] % columns
        write_point_features(points, chosen[j], sums, pillar, counts[pillar], row, column, low,
            side, middle_z,
                 feature, 0)  # fmt: skip
        # ten local names: LLVM keeps them in registers, and does not read the row for each channel
        f0, f1, f2, f3, f4 = (
            feature[0, 0], feature[0, 1], feature[0, 2], feature[0, 3], feature[0, 4]
        )  # fmt: skip
        f5, f6, f7, f8, f9 = (
            feature[0, 5], feature[0, 6], feature[0, 7], feature[0, 8], feature[0, 9]
        )  # fmt: skip
        # linear layer, then the maximum over the pillar
        for c in range(channels):
            output = (
                bias[c] + f0 * weight[0, c] + f1 * weight[1, c] + f2 * weight[2, c]
                + f3 * weight[3, c] + f4 * weight[4, c] + f5 * weight[5, c] + f6 * weight[6, c]
                + f7 * weight[7, c] + f8 * weight[8, c] + f9 * weight[9, c]
            )  # fmt: skip
            strongest[pillar, c] = max(strongest[pillar, c], output)
    return strongest, cells


def compute_point_features(
    clouds: Sequence[Singles], grid: PillarGrid
) -> tuple[Singles, Numbers64, Numbers64, Flags]:
    """Return point features and a row of zeros, each point's pillar, and each pillar's cell.

    Pillars are numbered through all clouds; last comes which of them are full.

    Args:
        clouds: (points, 4) of each agent.
        grid: the window and its pillars.

    Returns:
        (points + 1, POINT_FEATURES), (points,), (pillars,) and (pillars,).
    """
    low, high = np.array(grid.low, np.float32), np.array(grid.high, np.float32)
    parts, count = [], 0
    # pillars and cells are numbered on from agent to agent
    for number, cloud in enumerate(clouds):
        features, pillars, cells, counts = compute_cloud_features(
            cloud, low, high, np.float32(grid.pillar), grid.rows, grid.columns,
            grid.most_points,
        )  # fmt: skip
        parts.append(
            (
                features,
                pillars.astype(np.int64) + count,
                cells.astype(np.int64) + number * grid.rows * grid.columns,
                counts >= grid.most_points,
            )
        )
        count += len(cells)
    features_of, pillars_of, cells_of, full_of = zip(*parts, strict=True)
    zeros = np.zeros((1, POINT_FEATURES), np.float32)
    return (
        np.concatenate([*features_of, zeros]),
        np.concatenate(pillars_of),
        np.concatenate(cells_of),
        np.concatenate(full_of),
    )


@numba.njit(cache=True, nogil=True)
def compute_cloud_features(
    points: Singles,
    low: Singles,
    high: Singles,
    side: np.float32,
    rows: int,
    columns: int,
    most: int,
) -> tuple[Singles, Numbers, Numbers, Numbers]:
    """Return features of the points that count, their pillars, the pillars' cells and counts."""
    chosen, pillars, cells, counts, sums = assign_points(
        points, low, high, side, rows, columns, most
    )
    # (points that count, POINT_FEATURES)
    features = np.empty((len(chosen), POINT_FEATURES), np.float32)
    middle_z = (low[2] + high[2]) / 2
    for j in range(len(chosen)):
        pillar = pillars[j]
        row, column = cells[pillar] // columns, cells[pillar] % columns
        write_point_features(points, chosen[j], sums, pillar, counts[pillar], row, column, low,
            side, middle_z,
                 features, j)  # fmt: skip
    return features, pillars, cells, counts


@numba.njit(cache=True, nogil=True)
def assign_points(
    points: Singles,
    low: Singles,
    high: Singles,
    side: np.float32,
    rows: int,
    columns: int,
    most: int,
) -> tuple[Numbers, Numbers, Numbers, Numbers, Singles]:
    """Return the points that count and their pillars; the pillars' cells, counts and sums."""
    # (rows * columns,): the pillar of each cell of the grid, -1 for none yet
    pillar_at = np.full(rows * columns, -1, np.int32)
    # buffers for as many pillars as points: cell, number of points, sum of x, y, z
    cells = np.empty(len(points), np.int32)
    counts = np.zeros(len(points), np.int32)
    sums = np.zeros((len(points), 3), np.float32)
    # the points that count, and the pillar of each
    chosen = np.empty(len(points), np.int32)
    pillars = np.empty(len(points), np.int32)
    many, kept = 0, 0
    for i in range(len(points)):
        z = points[i, 2]
        column = np.floor((points[i, 0] - low[0]) / side)
        row = np.floor((points[i, 1] - low[1]) / side)
        # points outside the window do not count
        if not (0 <= column < columns and 0 <= row < rows and low[2] <= z < high[2]):
            continue
        cell = int(row) * columns + int(column)
        # the first point of a cell opens its pillar
        pillar = pillar_at[cell]
        if pillar < 0:
            pillar = pillar_at[cell] = many
            cells[many] = cell
            many += 1
        # a full pillar takes no more points
        if counts[pillar] < most:
            counts[pillar] += 1
            for k in range(3):
                sums[pillar, k] += points[i, k]
            chosen[kept], pillars[kept] = i, pillar
            kept += 1
    return chosen[:kept], pillars[:kept], cells[:many], counts[:many], sums[:many]


@numba.njit(cache=True, nogil=True)
def write_point_features(
    points: Singles,
    i: int,
    sums: Singles,
    pillar: int,
    count: int,
    row: int,
    column: int,
    low: Singles,
    side: np.float32,
    middle_z: np.float32,
    features: Singles,
    j: int,
) -> None:
    """Write the features of point i, of a pillar with that sum and count, into row j."""
    # 0 to 3: x, y, z and intensity
    for k in range(4):
        features[j, k] = points[i, k]
    # 4 to 6: offset from the mean of the pillar's points
    for k in range(3):
        features[j, 4 + k] = points[i, k] - sums[pillar, k] / count
    # 7 to 9: offset from the middle of the cell, and of the window's height
    features[j, 7] = points[i, 0] - ((column + 0.5) * side + low[0])
    features[j, 8] = points[i, 1] - ((row + 0.5) * side + low[1])
    features[j, 9] = points[i, 2] - middle_z

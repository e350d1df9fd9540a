"""From points to a map: every pillar of the grid gets the maximum over its points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numba
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from agents.perception.grid import Grid
from harness.vocabulary import Singles

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


class PillarEncoder(nn.Module):
    """Points of one or several LiDARs to maps of pillars.

    A pillar with room for more points has one more that is all zeros: V2Xverse trains it so.
    """

    def __init__(self, grid: Grid, channels: int) -> None:
        super().__init__()
        self.grid, self.channels = grid, channels
        self.pfn_layers = nn.ModuleList([PillarLayer(channels)])

    def forward(self, clouds: Sequence[Singles]) -> Tensor:
        """Return maps (clouds, channels, rows, columns)."""
        grid = self.grid
        features, pillars, cells, full = point_features(clouds, grid)
        device = next(self.parameters()).device
        outputs = self.pfn_layers[0](torch.from_numpy(features).to(device))
        if device.type == "cpu" and not outputs.requires_grad:
            return self._on_processor(outputs, pillars, cells, full, len(clouds))
        points, padding = outputs[:-1], outputs[-1]
        number = torch.from_numpy(pillars).to(device)[:, None].expand(-1, self.channels)
        strongest = torch.where(
            torch.from_numpy(full).to(device)[:, None], torch.zeros_like(padding), padding
        )
        strongest = strongest.scatter_reduce(0, number, points, "amax")
        canvas = strongest.new_zeros(len(clouds) * grid.rows * grid.columns, self.channels)
        canvas[torch.from_numpy(cells).to(device)] = strongest
        maps = canvas.view(len(clouds), grid.rows, grid.columns, self.channels)
        return maps.permute(0, 3, 1, 2)

    def _on_processor(
        self, outputs: Tensor, pillars: Numbers64, cells: Numbers64, full: Flags, clouds: int
    ) -> Tensor:
        """Return the same maps as a GPU does, from one compiled loop over the points."""
        grid = self.grid
        maps = torch.zeros(clouds, grid.rows, grid.columns, self.channels)
        canvas = maps.view(-1, self.channels).numpy()
        strongest_features(outputs.numpy(), pillars, cells, full, canvas)
        return maps.permute(0, 3, 1, 2)


@numba.njit(cache=True, nogil=True)
def strongest_features(
    outputs: Singles, pillars: Numbers64, cells: Numbers64, full: Flags, canvas: Singles
) -> None:
    """Write into each pillar's cell the maximum over its points, and over zeros if it has room."""
    points, channels = len(pillars), outputs.shape[1]
    padding = outputs[points]
    for pillar in range(len(cells)):
        if not full[pillar]:
            strongest = canvas[cells[pillar]]
            for c in range(channels):
                strongest[c] = padding[c]
    for j in range(points):
        strongest, output = canvas[cells[pillars[j]]], outputs[j]
        for c in range(channels):
            strongest[c] = max(strongest[c], output[c])


def point_features(
    clouds: Sequence[Singles], grid: Grid
) -> tuple[Singles, Numbers64, Numbers64, Flags]:
    """Return point features and a row of zeros, each point's pillar, and each pillar's cell.

    Pillars are numbered through all clouds; last comes which of them are full.
    """
    low, high = np.array(grid.low, np.float32), np.array(grid.high, np.float32)
    parts, count = [], 0
    for number, cloud in enumerate(clouds):
        features, pillars, cells, counts = pillared(
            cloud, low, high, np.float32(grid.pillar), grid.rows, grid.columns,
            grid.points_per_pillar,
        )  # fmt: skip
        parts.append(
            (
                features,
                pillars.astype(np.int64) + count,
                cells.astype(np.int64) + number * grid.rows * grid.columns,
                counts >= grid.points_per_pillar,
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
def pillared(
    points: Singles,
    low: Singles,
    high: Singles,
    side: np.float32,
    rows: int,
    columns: int,
    most: int,
) -> tuple[Singles, Numbers, Numbers, Numbers]:
    """Return features of the points that count, their pillars, the pillars' cells and counts."""
    pillar_at = np.full(rows * columns, -1, np.int32)
    cells = np.empty(len(points), np.int32)
    counts = np.zeros(len(points), np.int32)
    sums = np.zeros((len(points), 3), np.float32)
    chosen = np.empty(len(points), np.int32)
    pillars = np.empty(len(points), np.int32)
    many, kept = 0, 0
    for i in range(len(points)):
        z = points[i, 2]
        column = np.floor((points[i, 0] - low[0]) / side)
        row = np.floor((points[i, 1] - low[1]) / side)
        if not (0 <= column < columns and 0 <= row < rows and low[2] <= z < high[2]):
            continue
        cell = int(row) * columns + int(column)
        pillar = pillar_at[cell]
        if pillar < 0:
            pillar = pillar_at[cell] = many
            cells[many] = cell
            many += 1
        if counts[pillar] < most:
            counts[pillar] += 1
            for k in range(3):
                sums[pillar, k] += points[i, k]
            chosen[kept], pillars[kept] = i, pillar
            kept += 1
    features = np.empty((kept, POINT_FEATURES), np.float32)
    middle_z = (low[2] + high[2]) / 2
    for j in range(kept):
        point, pillar = points[chosen[j]], pillars[j]
        row, column = cells[pillar] // columns, cells[pillar] % columns
        features[j, :4] = point[:4]
        for k in range(3):
            features[j, 4 + k] = point[k] - sums[pillar, k] / counts[pillar]
        features[j, 7] = point[0] - ((column + 0.5) * side + low[0])
        features[j, 8] = point[1] - ((row + 0.5) * side + low[1])
        features[j, 9] = point[2] - middle_z
    return features, pillars[:kept], cells[:many], counts[:many]

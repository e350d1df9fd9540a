"""Feature maps whose cells move: each cell is carried along, and shared out among four others.

Forward warping, as the softmax splatting of Niklaus and Liu (CVPR 2020): a field says where each
cell goes, not where it comes from, so that one field of velocities serves every age.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

LARGEST_IMPORTANCE = 6.0
"""Natural logarithm of the largest weight of a cell; the smallest is its inverse."""


def splat_maps(source: Tensor, moved: Tensor, importance: Tensor, empty: Tensor) -> Tensor:
    """Return maps after each cell has moved.

    Where several cells arrive, they are averaged by their weights. Where less than one whole cell
    arrives, the rest is `empty`. What leaves the map is lost.

    Args:
        source: (maps, channels, rows, columns).
        moved: (maps, 2, rows, columns), in cells: along columns (x), along rows (y).
        importance: (maps, 1, rows, columns), logarithms of the weights.
        empty: (channels,), what a cell holds in which nothing is.

    Returns:
        (maps, channels, rows, columns)
    """
    maps, channels, rows, columns = source.shape
    weight = importance.clamp(-LARGEST_IMPORTANCE, LARGEST_IMPORTANCE).exp()
    # a row for each cell: weighted features, weight, and one whole cell
    packed = torch.cat([source * weight, weight, torch.ones_like(weight)], 1)
    tokens = packed.permute(0, 2, 3, 1).reshape(-1, channels + 2)
    # where each cell goes, (maps, rows, columns) each
    x = moved[:, 0] + torch.arange(columns, device=source.device)
    y = moved[:, 1] + torch.arange(rows, device=source.device)[:, None]
    left, top = x.floor(), y.floor()
    first = torch.arange(maps, device=source.device)[:, None, None] * (rows * columns)
    total = torch.zeros_like(tokens)
    for right in (0, 1):
        for below in (0, 1):
            column, row = left + right, top + below
            share = (1 - (x - column).abs()) * (1 - (y - row).abs())
            inside = (column >= 0) & (column < columns) & (row >= 0) & (row < rows)
            share = share * inside
            place = row.clamp(0, rows - 1).long() * columns + column.clamp(0, columns - 1).long()
            total = total.index_add(0, (first + place).reshape(-1), tokens * share.reshape(-1, 1))
    mean = total[:, :channels] / total[:, channels : channels + 1].clamp_min(1e-9)
    arrived = total[:, channels + 1 :].clamp(max=1.0)
    filled = mean * arrived + empty * (1 - arrived)
    return filled.reshape(maps, rows, columns, channels).permute(0, 3, 1, 2)


def splat_levels(
    levels: tuple[Tensor, ...], moved: Tensor, importance: Tensor, empty: tuple[Tensor, ...]
) -> tuple[Tensor, ...]:
    """Return the levels of maps after each cell has moved, each level half as fine as the last.

    Args:
        levels: (maps, channels, rows, columns) each, the finest first.
        moved: (maps, 2, rows, columns), in cells of the finest level.
        importance: (maps, 1, rows, columns), of the finest level.
        empty: (channels,) of each level.
    """
    results = []
    for level, nothing in zip(levels, empty, strict=True):
        results.append(splat_maps(level, moved, importance, nothing))
        # a coarser cell moves as the mean of its four finer cells, in cells twice as large
        moved, importance = (
            functional.avg_pool2d(moved, 2) / 2,
            functional.avg_pool2d(importance, 2),
        )
    return tuple(results)

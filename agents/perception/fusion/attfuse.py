"""AttFuse: at each place the ego attends to whoever feels as it does (OPV2V, Xu et al., 2022)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from agents.perception.fusion.partners import Partner
from agents.perception.grid import Grid
from agents.perception.warping import seen_from


class AttFuse(nn.Module):
    """Scaled dot-product attention over agents, place by place; nothing to learn."""

    def __init__(self, grid: Grid) -> None:
        super().__init__()
        self.grid = grid

    def forward(self, ego: Tensor, partners: Sequence[Partner]) -> Tensor:
        """Return the ego's map after it has attended to all."""
        theirs = [seen_from(each.maps[0], each.in_ego, self.grid) for each in partners]
        return attended(torch.cat([ego, *theirs]))


def attended(maps: Tensor) -> Tensor:
    """Return what the first of some agents (agents, channels, rows, columns) gathers from all."""
    if len(maps) == 1:
        return maps
    alike = (maps[:1] * maps).sum(1, keepdim=True) / math.sqrt(maps.shape[1])
    return (torch.softmax(alike, 0) * maps).sum(0, keepdim=True)

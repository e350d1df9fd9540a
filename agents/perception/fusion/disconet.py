"""DiscoNet: each agent's share in each place is learnt from both features (Li et al., 2021).

Without distillation from a teacher, as in V2Xverse.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from agents.perception.fusion.partners import Partner
from agents.perception.grid import Grid
from agents.perception.warping import seen_from

WIDTHS = (16, 8)


class DiscoNet(nn.Module):
    """A matrix of weights for each agent, normalised over agents."""

    def __init__(self, grid: Grid, channels: int) -> None:
        super().__init__()
        self.grid = grid
        layers: list[nn.Module] = []
        before = 2 * channels
        for width in WIDTHS:
            layers += [nn.Conv2d(before, width, 1), nn.BatchNorm2d(width), nn.ReLU()]
            before = width
        self.weigh = nn.Sequential(*layers, nn.Conv2d(before, 1, 1))

    def forward(self, ego: Tensor, partners: Sequence[Partner]) -> Tensor:
        """Return the weighted mean of all maps."""
        if not partners:
            return ego
        theirs = [seen_from(each.maps[0], each.in_ego, self.grid) for each in partners]
        maps = torch.cat([ego, *theirs])
        weights = self.weigh(torch.cat([maps, ego.expand_as(maps)], dim=1))
        return (torch.softmax(weights, 0) * maps).sum(0, keepdim=True)

"""F-Cooper: of all that anybody feels about a place, the strongest counts (Chen et al., 2019)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from agents.perception.fusion.partners import Partner
from agents.perception.grid import Grid
from agents.perception.warping import seen_from


class FCooper(nn.Module):
    """The maximum over agents; nothing to learn."""

    def __init__(self, grid: Grid) -> None:
        super().__init__()
        self.grid = grid

    def forward(self, ego: Tensor, partners: Sequence[Partner]) -> Tensor:
        """Return the ego's map with what partners feel more strongly."""
        for partner in partners:
            ego = torch.maximum(ego, seen_from(partner.maps[0], partner.in_ego, self.grid))
        return ego

"""CoDriving: attention over agents on every level of the backbone (Liu et al., 2025).

Partners may keep to themselves where they are sure that nobody stands: they send only the places
at which their own detection is confident enough.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from agents.perception.fusion.attfuse import attended
from agents.perception.fusion.partners import Partner
from agents.perception.grid import Grid
from agents.perception.warping import seen_from


class CoDriving(nn.Module):
    """The same attention on each level; nothing to learn."""

    def __init__(self, grid: Grid) -> None:
        super().__init__()
        self.grid = grid

    def forward(self, ego: Sequence[Tensor], partners: Sequence[Partner]) -> tuple[Tensor, ...]:
        """Return the ego's levels after it has attended to all."""
        return tuple(
            attended(
                torch.cat([own, *(seen_from(p.maps[level], p.in_ego, self.grid) for p in partners)])
            )
            for level, own in enumerate(ego)
        )


def where_confident(
    levels: Sequence[Tensor], logits: Tensor, threshold: float
) -> tuple[Tensor, ...]:
    """Return levels with zeros wherever the best score of any class is below a threshold."""
    sure = (torch.sigmoid(logits).amax(1, keepdim=True) >= threshold).to(logits)
    masked = []
    for level in levels:
        masked.append(level * sure)
        sure = functional.max_pool2d(sure, 2)
    return tuple(masked)

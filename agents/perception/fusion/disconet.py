"""DiscoNet: the weight of each agent in each cell is learned from both features (Li et al., 2021).

Without distillation from a teacher, as in V2Xverse.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from agents.perception.fusion.base import FeatureSpec, IntermediateFusion
from agents.perception.pointwise import CellConvolution

WIDTHS = (16, 8)


class DiscoNet(IntermediateFusion):
    """A map of weights for each agent, normalised over agents."""

    safe_from_file = True

    def build(self, features: FeatureSpec) -> None:
        """Make the layers that weigh agents."""
        layers: list[nn.Module] = []
        before = 2 * features.channels
        for width in WIDTHS:
            layers += [CellConvolution(before, width, 1), nn.BatchNorm2d(width), nn.ReLU()]
            before = width
        self.weigh = nn.Sequential(*layers, CellConvolution(before, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        """Return the weighted mean of all maps.

        Args:
            x: (agents, channels, rows, columns), the ego first, in the ego's frame.

        Returns:
            (1, channels, rows, columns)
        """
        if len(x) == 1:
            return x
        # (agents, 1, rows, columns), from each agent's feature next to the ego's
        weights = self.weigh(torch.cat([x, x[:1].expand_as(x)], dim=1))
        return (torch.softmax(weights, 0) * x).sum(0, keepdim=True)

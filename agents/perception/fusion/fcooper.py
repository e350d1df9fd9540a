"""F-Cooper: in each cell the strongest feature of all agents counts (Chen et al., 2019)."""

from __future__ import annotations

import torch
from torch import Tensor

from agents.perception.designs import FULL_PLAIN, PublishedNetwork
from agents.perception.fusion.base import IntermediateFusion


class FCooper(IntermediateFusion):
    """The maximum over agents; no weights."""

    safe_from_file = True
    v2xverse = PublishedNetwork(
        core_method="intermediatemulticlass",
        design=FULL_PLAIN,
        settings={"fusion_method": "max"},
    )

    def forward(self, x: Tensor) -> Tensor:
        """Return the maximum of all agents' maps.

        Args:
            x: (agents, channels, rows, columns), the ego first, in the ego's frame.

        Returns:
            (1, channels, rows, columns)
        """
        strongest = x.amax(0, keepdim=True)
        return strongest.contiguous(memory_format=torch.channels_last)

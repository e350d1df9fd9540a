"""AttFuse: in each cell the ego attends to similar features (OPV2V, Xu et al., 2022)."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from agents.perception.fusion.base import IntermediateFusion


class AttFuse(IntermediateFusion):
    """Scaled dot-product attention over agents, cell by cell; no weights."""

    safe_from_file = True

    def forward(self, x: Tensor) -> Tensor:
        """Return the ego's map after it has attended to all."""
        return attend_to_agents(x)


def attend_to_agents(x: Tensor) -> Tensor:
    """Return what the first of some agents (agents, channels, rows, columns) gathers from all.

    Args:
        x: (agents, channels, rows, columns), the ego first, in the ego's frame.

    Returns:
        (1, channels, rows, columns)
    """
    if len(x) == 1:
        return x
    # (agents, 1, rows, columns): the ego's feature times that of each agent, cell by cell
    similarity = (x[:1] * x).sum(1, keepdim=True) / math.sqrt(x.shape[1])
    return (torch.softmax(similarity, 0) * x).sum(0, keepdim=True)

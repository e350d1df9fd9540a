"""CoDriving: attention over agents on every level of the backbone (Liu et al., 2025).

Partners may leave out what they are confident is empty: they send only the cells in which their own
detection score is high enough.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional

from agents.perception.designs import Published
from agents.perception.fusion.attfuse import attended
from agents.perception.fusion.base import FeatureSpec, IntermediateFusion, Maps, SparseFeatures
from harness.errors import UserError
from harness.vocabulary import Features, Singles

CONFIDENCE = {"lite": 0.01, "full": 0.0}


class CoDriving(IntermediateFusion):
    """The same attention on each level; no weights."""

    safe_from_file = True
    multi_scale = True
    v2xverse = Published(
        core_method="intermediatemulticlass",
        settings={
            "fusion_args.multi_scale": True,
            "fusion_args.agg_operator.mode": "ATTEN",
            "fusion_args.communication": None,
        },
    )

    def __init__(
        self,
        confidence: float | None = None,  # 0 to 1, of cells that are sent; null: of the size
    ) -> None:
        """Send cells with at least this score: 0 is all; if not set, 0.01 in lite, 0 in full."""
        super().__init__()
        if confidence is not None and not 0.0 <= confidence <= 1.0:
            raise UserError(f"fusion.confidence = {confidence:g}: must be between 0 and 1")
        self._given = confidence
        self.confidence = 0.0

    def build(self, features: FeatureSpec) -> None:
        """Choose the threshold."""
        self.confidence = CONFIDENCE[features.size] if self._given is None else self._given

    def send(self, maps: Maps, logits: Callable[[], Tensor]) -> Maps:
        """Return the levels where this agent is confident."""
        return where_confident(maps, logits(), self.confidence) if self.confidence else maps

    def payload(self, maps: tuple[Singles, ...]) -> Features:
        """Return the levels as a message."""
        return SparseFeatures(maps) if self.confidence else Features(maps)

    def forward(self, x: Tensor) -> Tensor:
        """Return one level of the ego's after it has attended to all."""
        return attended(x)


def where_confident(
    levels: Sequence[Tensor], logits: Tensor, threshold: float
) -> tuple[Tensor, ...]:
    """Return levels with zeros wherever the best score of any class is below a threshold."""
    mask = (torch.sigmoid(logits).amax(1, keepdim=True) >= threshold).to(logits)
    masked = []
    for level in levels:
        masked.append(level * mask)
        mask = functional.max_pool2d(mask, 2)
    return tuple(masked)

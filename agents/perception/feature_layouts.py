"""Which feature maps a network sends: what another network must share to fuse them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from agents.perception.fusion.base import FusionModule
from agents.perception.fusion.catalogue import find_shipped_class
from agents.perception.network import PerceptionNetwork
from harness.types.sharing import FeatureLayout

NEARLY_EMPTY = np.ones((1, 4), np.float32)
"""A cloud of one point: shapes do not depend on what is seen."""


def make_shipped_module(fusion: dict[str, Any] | None) -> FusionModule | None:
    """Return the fusion module of some settings; None where it is not a shipped one.

    Args:
        fusion: settings of the module with its `_target_`.
    """
    given = dict(fusion or {})
    kind = find_shipped_class(str(given.pop("_target_", None)))
    return None if kind is None else kind(**given)


@torch.inference_mode()
def measure_layout(network: PerceptionNetwork) -> FeatureLayout:
    """Return the layout of the maps that partners with a network send, by sending some.

    Args:
        network: with any weights.
    """
    design = network.design
    sent = network.eval().send_maps(network.encode_clouds([NEARLY_EMPTY]))
    widths = " ".join(map(str, (design.pillar_channels, *design.backbone.channels)))
    low, high = (
        " ".join(f"{edge:g}" for edge in corner) for corner in (design.grid.low, design.grid.high)
    )
    return FeatureLayout(
        encoder=f"{network.encoders} in size {design.size} ({design.backbone.kind} {widths})",
        grid=f"{design.grid.pillar * design.grid.stride:g} m from {low} to {high}",
        shapes=tuple(tuple(level.shape[1:]) for level in sent),
    )

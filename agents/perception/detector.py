"""A network at work: sweeps in, boxes out, in the vocabulary of the house.

The steps are pure; whoever calls them decides what is done where. All frames are LiDAR frames as
the house has them: raising and lowering happen in here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from agents.perception.decoding import agreed, candidates, each_once, inside
from agents.perception.folding import for_inference
from agents.perception.fusion.partners import Partner
from agents.perception.network import Maps, Network, one_thread
from agents.perception.raising import height_above, lowered_boxes, raised_points
from harness.vocabulary import Boxes, Features, Pose, Singles


class Detector:
    """Encodes, fuses and decodes; on a GPU if there is one, else on one core."""

    def __init__(self, network: Network) -> None:
        one_thread()
        for_inference(network)
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.network = network.to(self.device)
        self.design = network.design

    def height(self, points_in_lidar: Singles, lidar_in_world: Pose) -> float:
        """Return how high a LiDAR stands above the level that this network works with."""
        return height_above(self.design.level, points_in_lidar, lidar_in_world)

    @torch.inference_mode()
    def encode(self, points_in_lidar: Singles, height: float) -> Maps:
        """Return what a sweep becomes."""
        maps = self.network.encode([raised_points(points_in_lidar, height, self.design.grid)])
        return tuple(laid_out(each) for each in maps)

    @torch.inference_mode()
    def detect(self, ego: Maps, partners: Sequence[Partner], height: float) -> Boxes:
        """Return who is there, each once, wherever it stands; from one agent's maps or from all."""
        raw = self.network.heads(self.network.fuse(ego, partners))
        decoding = self.design.decoding
        found = candidates(raw, self.design.grid, decoding)
        best = each_once(found, decoding)
        if decoding.agreement is not None:
            best = agreed(best, found, decoding, decoding.agreement)
        return lowered_boxes(best, height)

    def together(self, boxes: Sequence[Boxes]) -> Boxes:
        """Return what several found, each road user once; all boxes in one frame."""
        return each_once(Boxes.join(list(boxes)), self.design.decoding)

    def windowed(self, boxes_in_lidar: Boxes, height: float) -> Boxes:
        """Return the boxes that stand where the network looks."""
        raised = lowered_boxes(boxes_in_lidar, -height)
        return lowered_boxes(inside(raised, self.design.grid), height)

    @torch.inference_mode()
    def packed(self, maps: Maps) -> Features:
        """Return maps as they are sent."""
        worth = self.network.worth_sending(maps)
        return Features(tuple(each[0].cpu().numpy() for each in worth))

    def unpacked(self, features: Features, like: Maps, sender: str) -> Maps:
        """Return maps as they are fused, if they are what this network's partners send."""
        shapes, own = [each.shape for each in features.maps], [tuple(m.shape[1:]) for m in like]
        if shapes != own:
            raise TypeError(f"{sender} sent maps of {shapes}, this network fuses {own}")
        return tuple(
            laid_out(torch.from_numpy(np.array(each, np.float32))[None].to(self.device))
            for each in features.maps
        )


def laid_out(maps: Tensor) -> Tensor:
    """Return maps with the channels of a place side by side: convolutions are quickest so."""
    return maps.contiguous(memory_format=torch.channels_last)

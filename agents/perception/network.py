"""A network: what all schemes share, and the fusion of one of them.

Encoding is done where the points are, fusing and detecting at the ego. With `fuse(ego, ())` the
same network tells what the ego has alone, and the ego is encoded only once for both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor, nn

from agents.perception.backbones import Backbone, Shrinking
from agents.perception.designs import Design, Scheme
from agents.perception.fusion.attfuse import AttFuse
from agents.perception.fusion.codriving import CoDriving, where_confident
from agents.perception.fusion.disconet import DiscoNet
from agents.perception.fusion.fcooper import FCooper
from agents.perception.fusion.partners import Partner
from agents.perception.fusion.v2vnet import V2VNet
from agents.perception.fusion.v2xvit import V2XViT
from agents.perception.grid import CODE_CHANNELS, SCORE_CHANNELS
from agents.perception.pillars import PillarEncoder
from agents.perception.turning import Turning
from harness.vocabulary import Singles

Maps: TypeAlias = tuple[Tensor, ...]
"""What an agent's points become: one map, or one for each level of the backbone."""

RARE = 0.01
"""How likely somebody stands anywhere, before anything has been learnt."""


@dataclass(frozen=True, slots=True, eq=False)
class Raw:
    """Output as it leaves the network."""

    logits: Tensor  # (maps, classes, rows, columns)
    codes: Tensor  # (maps, classes * codes, rows, columns)


class Network(nn.Module):
    """Points to maps, maps to one map, one map to scores and boxes everywhere."""

    def __init__(self, scheme: Scheme, design: Design) -> None:
        super().__init__()
        self.scheme, self.design = scheme, design
        self.pillar_vfe = PillarEncoder(design.grid, design.pillar_channels)
        self.backbone = Backbone(design.pillar_channels, design.backbone)
        joined = design.backbone.raised * len(design.backbone.channels)
        self.shrink_conv = Shrinking(
            joined, design.channels, design.shrink_kernel, design.shrink_stride
        )
        self.fusion_net = fusion_of(scheme, design)
        if design.turning and self.fusion_net is not None:
            self.turnings = nn.ModuleList(Turning(each) for each in sent_channels(scheme, design))
        self.cls_head = nn.Conv2d(design.channels, SCORE_CHANNELS, 1)
        self.reg_head = nn.Conv2d(design.channels, CODE_CHANNELS, 1)
        assert self.cls_head.bias is not None
        nn.init.constant_(self.cls_head.bias, -math.log((1 - RARE) / RARE))

    def encode(self, clouds: Sequence[Singles]) -> Maps:
        """Return the maps of some agents, each in its own raised LiDAR frame, one row for each."""
        levels = self.backbone.levels(self.pillar_vfe(clouds))
        if self.scheme == "codriving":
            return levels
        return (self.shrunk(levels),)

    def worth_sending(self, maps: Maps) -> Maps:
        """Return what a partner sends of its maps."""
        if self.scheme != "codriving" or self.design.confidence is None:
            return maps
        logits = self.cls_head(self.shrunk(maps))
        return where_confident(maps, logits, self.design.confidence)

    def fuse(self, ego: Maps, partners: Sequence[Partner]) -> Tensor:
        """Return one map of the ego's and what partners sent, in the ego's raised LiDAR frame."""
        if self.design.turning:
            partners = [self._turned(each) for each in partners]
        if isinstance(self.fusion_net, CoDriving):
            return self.shrunk(self.fusion_net(ego, partners))
        if self.fusion_net is None:
            return ego[0]
        fused: Tensor = self.fusion_net(ego[0], partners)
        return fused

    def _turned(self, partner: Partner) -> Partner:
        """Return what a partner sent as the ego would say it where the partner stands."""
        layers = zip(self.turnings, partner.maps, strict=True)
        maps = tuple(turning(sent, partner.in_ego.yaw) for turning, sent in layers)
        return Partner(maps, partner.in_ego)

    def heads(self, fused: Tensor) -> Raw:
        """Return scores and codes everywhere."""
        return Raw(self.cls_head(fused), self.reg_head(fused))

    def shrunk(self, levels: Maps) -> Tensor:
        """Return the one map that levels become."""
        one: Tensor = self.shrink_conv(self.backbone.joined(levels))
        return one

    @property
    def parameters_in_all(self) -> int:
        """How many numbers are learnt."""
        return sum(each.numel() for each in self.parameters())


def sent_channels(scheme: Scheme, design: Design) -> tuple[int, ...]:
    """Return how many channels the maps have that partners send."""
    return design.backbone.channels if scheme == "codriving" else (design.channels,)


def fusion_of(scheme: Scheme, design: Design) -> nn.Module | None:
    """Return the fusion of a scheme that fuses features; others have none."""
    grid, channels = design.grid, design.channels
    makers: dict[Scheme, Callable[[], nn.Module]] = {
        "fcooper": lambda: FCooper(grid),
        "attfuse": lambda: AttFuse(grid),
        "disconet": lambda: DiscoNet(grid, channels),
        "v2vnet": lambda: V2VNet(grid, channels, design.message_kernel, design.rounds),
        "v2xvit": lambda: V2XViT(grid, channels, design.transformer),
        "codriving": lambda: CoDriving(grid),
    }
    return makers[scheme]() if scheme in makers else None


def one_thread() -> None:
    """Compute on one core: equal inputs give equal bytes, and attempts run side by side."""
    torch.set_num_threads(1)

"""A network: what all schemes share, round the fusion module of one of them.

Points are encoded where they are measured; fusion and detection happen at the ego. With
`fuse(ego, ())` the same network detects from the ego's points alone, and the ego is encoded only
once for both. Why a fusion module gets its layers later: decision 0042.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from agents.perception.backbones import Backbone, DownsampleConv
from agents.perception.designs import NetworkDesign
from agents.perception.fusion.base import (
    FeatureSpec,
    FusionModule,
    IntermediateFusion,
    Maps,
    Partner,
)
from agents.perception.fusion.driving_request import DrivingRequest
from agents.perception.grid import CODE_CHANNELS, SCORE_CHANNELS
from agents.perception.pillars import PillarEncoder
from agents.perception.pointwise import CellConvolution
from agents.perception.sparse import SparseBackbone
from agents.perception.warping import FeatureRotation
from harness.types.vocabulary import Pose, Singles

PRIOR = 0.01
"""Score everywhere before training."""


@dataclass(frozen=True, slots=True, eq=False)
class RawOutput:
    """Output as it leaves the network."""

    logits: Tensor  # (maps, classes, rows, columns)
    codes: Tensor  # (maps, classes * codes, rows, columns)


class PerceptionNetwork(nn.Module):
    """Points to feature maps, feature maps to one map, one map to scores and boxes everywhere.

    Names of the parts are those of OpenCOOD, so that its checkpoints fit.

    Attributes:
        encoders: what makes maps of what agents sense, in words.
    """

    encoders = "pillars"

    def __init__(self, fusion: FusionModule, design: NetworkDesign) -> None:
        super().__init__()
        self.design = design
        # encoder and backbone, named as in checkpoints of OpenCOOD
        self.pillar_vfe = PillarEncoder(design.grid, design.pillar_channels)
        kind = SparseBackbone if design.backbone.kind == "sparse" else Backbone
        self.backbone: Backbone | SparseBackbone = kind(design.pillar_channels, design.backbone)
        self.shrink_conv = DownsampleConv(
            self.backbone.joined_channels,
            design.channels,
            design.shrink_kernel,
            design.shrink_stride,
        )
        # fusion, built for the maps that come out of the backbone
        features = FeatureSpec(
            grid=design.grid,
            size=design.size,
            channels=design.channels,
            level_channels=design.backbone.channels,
        )
        self.fusion_net = fusion.build_with_features(features)
        if design.rotates and isinstance(fusion, IntermediateFusion):
            channels = features.level_channels if fusion.multi_scale else (features.channels,)
            self.turnings = nn.ModuleList(FeatureRotation(count) for count in channels)
        # heads; scores begin at a small prior, so that the many empty cells do not dominate
        self.cls_head = CellConvolution(design.channels, SCORE_CHANNELS, 1)
        self.reg_head = CellConvolution(design.channels, CODE_CHANNELS, 1)
        assert self.cls_head.bias is not None
        nn.init.constant_(self.cls_head.bias, -math.log((1 - PRIOR) / PRIOR))

    @property
    def scheme(self) -> str:
        """The name of the scheme by which this network fuses."""
        return self.fusion_net.scheme

    @property
    def intermediate(self) -> IntermediateFusion | None:
        """The fusion module, if partners send feature maps."""
        return self.fusion_net if isinstance(self.fusion_net, IntermediateFusion) else None

    def encode_clouds(self, clouds: Sequence[Singles]) -> Maps:
        """Return the maps of some agents, each in its own raised LiDAR frame, one row for each.

        Args:
            clouds: (points, 4) of each agent.

        Returns:
            (agents, channels, rows, columns): the levels, or the one map that is detected on.
        """
        levels = self.backbone.compute_levels(self.pillar_vfe(clouds))
        return levels if self.multi_scale else (self.shrink_levels(levels),)

    def send_maps(
        self,
        maps: Maps,
        request: DrivingRequest | None = None,
        lidar_in_world: Pose | None = None,
    ) -> Maps:
        """Return what a partner sends of its maps, once the ego has asked if it has.

        Args:
            maps: the partner's feature maps.
            request: the ego's plan, or None before its first.
            lidar_in_world: where the partner believes its LiDAR to be; needed with a request.

        Returns:
            What `receive_maps` of the ego gets.
        """
        if self.intermediate is None:
            return maps

        def logits() -> Tensor:
            scores: Tensor = self.cls_head(self.to_detection_map(maps))
            return scores

        if request is None or lidar_in_world is None:
            return self.intermediate.send(maps, logits)
        return self.intermediate.send_on_request(maps, logits, request, lidar_in_world)

    def receive_maps(self, maps: Maps) -> Maps:
        """Return the maps of a message as they are fused."""
        return maps if self.intermediate is None else self.intermediate.receive(maps)

    def fuse_maps(self, ego: Maps, partners: Sequence[Partner]) -> Tensor:
        """Return one map of the ego's and what partners sent, in the ego's raised LiDAR frame.

        Args:
            ego: (1, channels, rows, columns) each.
            partners: maps on their grids, with their poses in the ego's raised LiDAR frame.

        Returns:
            (1, channels, rows, columns)
        """
        if self.intermediate is None:
            return ego[0]
        if self.design.rotates:
            partners = [self._rotate_partner(partner) for partner in partners]
        return self.to_detection_map(self.intermediate.fuse(ego, partners))

    def _rotate_partner(self, partner: Partner) -> Partner:
        """Return what a partner sent as the ego would describe it from the partner's place."""
        layers = zip(self.turnings, partner.maps, strict=True)
        maps = tuple(rotation(sent, partner.in_ego.yaw) for rotation, sent in layers)
        return Partner(maps, partner.in_ego)

    def run_heads(self, fused: Tensor) -> RawOutput:
        """Return scores and codes everywhere.

        Args:
            fused: (maps, channels, rows, columns).
        """
        return RawOutput(self.cls_head(fused), self.reg_head(fused))

    @property
    def multi_scale(self) -> bool:
        """Whether an agent's maps are the backbone's levels, or the one map made of them."""
        return self.intermediate is not None and self.intermediate.multi_scale

    def to_detection_map(self, maps: Maps) -> Tensor:
        """Return the one map that the heads take."""
        return self.shrink_levels(maps) if self.multi_scale else maps[0]

    def shrink_levels(self, levels: Maps) -> Tensor:
        """Return the one map that the backbone's levels become."""
        one: Tensor = self.shrink_conv(self.backbone.join_levels(levels))
        return one

    @property
    def parameter_count(self) -> int:
        """How many numbers are trained."""
        return sum(weights.numel() for weights in self.parameters())


def choose_device() -> torch.device:
    """Return what networks compute on: a GPU if there is one, else a processor."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def set_one_thread() -> None:
    """Compute on one core: equal inputs give equal bytes, and attempts run side by side."""
    torch.set_num_threads(1)


def disable_tf32() -> None:
    """Multiply whole floats on a GPU too, as processors do: torch's TF32 leaves 13 bits out."""
    torch.backends.cudnn.allow_tf32 = False

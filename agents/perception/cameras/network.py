"""A network of agents with LiDAR, cameras or both: other encoders, the same fusion and heads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
import torch
from torch import Tensor

from agents.perception.cameras.branch import (
    AgentImages,
    CameraBranch,
    FeatureAligner,
    SenseJoiner,
)
from agents.perception.designs import NetworkDesign
from agents.perception.fusion.base import FusionModule, Maps
from agents.perception.network import PerceptionNetwork
from harness.common.errors import UserError
from harness.types.vocabulary import Singles

Senses: TypeAlias = Literal["lidar", "camera", "both"]
"""What an agent perceives with."""
SENSES: tuple[Senses, ...] = get_args(Senses)


@dataclass(frozen=True, slots=True, eq=False)
class AgentInputs:
    """What one agent gives the network: of LiDAR and cameras, what its senses are."""

    senses: Senses
    cloud: Singles  # (points, 4) in the raised LiDAR frame; empty without LiDAR
    images: AgentImages  # none without cameras


class SeeingNetwork(PerceptionNetwork):
    """The network of a scheme, with a camera branch next to the pillars.

    The LiDAR's map is the one that others are aligned to, as HEAL's base agent's (Lu et al., ICLR
    2024): a camera's map passes an aligner, and an agent with both joins two maps.
    """

    encoders = "pillars and aligned cameras"

    def __init__(self, fusion: FusionModule, design: NetworkDesign) -> None:
        super().__init__(fusion, design)
        if self.multi_scale:
            raise UserError(
                f"system: {self.scheme} fuses several levels of a backbone for points; cameras give"
                " one map"
            )
        self.camera = CameraBranch(design.grid, design.channels)
        self.align_camera = FeatureAligner(design.channels)
        self.join_senses = SenseJoiner(design.channels)

    def encode_agents(self, agents: Sequence[AgentInputs]) -> tuple[Maps, Tensor]:
        """Return the maps of some agents, and the depth logits of their pictures' features.

        Args:
            agents: what each senses.

        Returns:
            (agents, channels, rows, columns) and (features of all pictures, bins + 1).
        """
        rows, columns = self.design.grid.output_shape
        parameter = self.cls_head.weight
        maps: list[Tensor] = [parameter.new_zeros(0)] * len(agents)
        depths = parameter.new_zeros(0, 0)
        # agents of one kind are encoded together
        scanning = [number for number, agent in enumerate(agents) if agent.senses != "camera"]
        seeing = [number for number, agent in enumerate(agents) if agent.senses != "lidar"]
        if scanning:
            (scanned,) = self.encode_clouds([agents[number].cloud for number in scanning])
            for row, number in enumerate(scanning):
                maps[number] = scanned[row : row + 1]
        if seeing:
            seen, depths = self.camera([agents[number].images for number in seeing])
            for row, number in enumerate(seeing):
                of_camera = self.align_camera(seen[row : row + 1])
                if agents[number].senses == "both":
                    of_camera = self.join_senses(maps[number], of_camera)
                maps[number] = of_camera
        assert all(one.shape[-2:] == (rows, columns) for one in maps)
        return (torch.cat(maps),), depths


NO_CLOUD: Singles = np.zeros((0, 4), np.float32)
NO_IMAGES = AgentImages((), 0.0)

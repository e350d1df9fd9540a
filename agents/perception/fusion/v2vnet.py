"""V2VNet: agents pass messages to each other, round after round (Wang et al., 2020).

In a round every agent receives a message from each agent, made of both features, keeps the maximum
of all in each cell, and updates its own features by a gated recurrent unit that has no memory yet.
In the last round only the ego needs to be updated.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from agents.perception.designs import FULL_COARSE, PublishedNetwork
from agents.perception.fusion.base import FeatureSpec, IntermediateFusion, Maps, Partner
from agents.perception.pointwise import TokenLinear
from harness.common.errors import UserError
from harness.types.geometry import compute_relative_pose
from harness.types.vocabulary import Pose

EGO = Pose(0.0, 0.0)


class GatedCell(nn.Module):
    """A convolutional gated recurrent unit, always at its first step.

    Without a memory the reset gate changes nothing, and weights that read the memory meet zeros:
    neither is computed, both are kept, as checkpoints have them.
    """

    def __init__(self, channels: int, kernel: int) -> None:
        super().__init__()
        self.channels, self.padding = channels, kernel // 2
        self.conv_gates = nn.Conv2d(3 * channels, 2 * channels, kernel, padding=kernel // 2)
        self.conv_can = nn.Conv2d(3 * channels, channels, kernel, padding=kernel // 2)

    def forward(self, x: Tensor) -> Tensor:
        """Return the first state after an input of twice the channels.

        Args:
            x: (1, 2 * channels, rows, columns).

        Returns:
            (1, channels, rows, columns)
        """
        count, gates, new = self.channels, self.conv_gates, self.conv_can
        assert gates.bias is not None
        assert new.bias is not None
        # the update gate and the candidate, in one convolution; the reset gate is left out
        weight = torch.cat([gates.weight[count:, : 2 * count], new.weight[:, : 2 * count]])
        bias = torch.cat([gates.bias[count:], new.bias])
        both = functional.conv2d(x, weight, bias, padding=self.padding)
        return torch.sigmoid(both[:, :count]) * torch.tanh(both[:, count:])


class GatedUnit(nn.Module):
    """The unit under the name that checkpoints know."""

    def __init__(self, channels: int, kernel: int) -> None:
        super().__init__()
        self.cell_list = nn.ModuleList([GatedCell(channels, kernel)])


class V2VNet(IntermediateFusion):
    """Messages, gated updates, and a linear layer at the end."""

    safe_from_file = True
    v2xverse = PublishedNetwork(
        core_method="intermediatemulticlass",
        design=FULL_COARSE,
        settings={
            "v2vnet.num_iteration": 2,
            "v2vnet.agg_operator": "max",
            "v2vnet.gru_flag": True,
        },
    )

    def __init__(
        self,
        kernel: int | None = None,  # side of the convolutions, in cells; null: by the size
        rounds: int | None = None,  # rounds of message passing; null: by the size
    ) -> None:
        """Take the side of convolutions in cells, an odd number, and the rounds of messages.

        What is not set is 1 and 1 in lite, 3 and 2 in full.
        """
        super().__init__()
        if kernel is not None and (kernel < 1 or kernel % 2 == 0):
            raise UserError(f"fusion.kernel = {kernel}: must be odd and at least 1")
        if rounds is not None and rounds < 1:
            raise UserError(f"fusion.rounds = {rounds}: must be at least 1")
        self.kernel, self.rounds = kernel, rounds

    def build(self, features: FeatureSpec) -> None:
        """Make the layers."""
        usual_kernel, usual_rounds = (1, 1) if features.size == "lite" else (3, 2)
        kernel, self.number = self.kernel or usual_kernel, self.rounds or usual_rounds
        self.channels, self.padding = features.channels, kernel // 2
        self.msg_cnn = nn.Conv2d(2 * self.channels, self.channels, kernel, padding=kernel // 2)
        self.conv_gru = GatedUnit(self.channels, kernel)
        self.mlp = TokenLinear(self.channels, self.channels)

    def fuse(self, ego: Maps, partners: Sequence[Partner]) -> Maps:
        """Return the ego's map after all rounds."""
        maps = [ego[0], *(partner.maps[0] for partner in partners)]
        poses = [EGO, *(partner.in_ego for partner in partners)]
        # a round: every agent receives; in the last round only the ego
        for number in range(self.number):
            receivers = 1 if number == self.number - 1 else len(maps)
            maps = [self.update_receiver(receiver, maps, poses) for receiver in range(receivers)]
        # the linear layer takes channels last
        fused: Tensor = self.mlp(maps[0].permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
        return (fused,)

    def update_receiver(
        self, receiver: int, maps: Sequence[Tensor], poses: Sequence[Pose]
    ) -> Tensor:
        """Return a receiver's map after the messages of all agents, itself included.

        Args:
            receiver: index of the agent that is updated.
            maps: (1, channels, rows, columns) of each agent, on its grid.
            poses: of each agent's LiDAR in the ego's LiDAR frame.

        Returns:
            (1, channels, rows, columns) on the receiver's grid.
        """
        at_receiver = maps[receiver]
        # the convolution of both features side by side is the sum of two: one is computed once
        from_receiver = functional.conv2d(
            at_receiver,
            self.msg_cnn.weight[:, self.channels :],
            self.msg_cnn.bias,
            padding=self.padding,
        )
        of_sender = self.msg_cnn.weight[:, : self.channels]
        strongest = from_receiver + functional.conv2d(at_receiver, of_sender, padding=self.padding)
        for sender, sent in enumerate(maps):
            if sender == receiver:
                continue
            # `reach`: 0 where the sender's map does not reach, so that the message counts as
            # nothing there
            pose = compute_relative_pose(poses[sender], poses[receiver])
            warped = self.warp(sent, pose)
            reach = self.warp(torch.ones_like(sent[:, :1]), pose)
            message = from_receiver + functional.conv2d(warped, of_sender, padding=self.padding)
            strongest = torch.maximum(strongest, message * reach)
        # (1, 2 * channels, rows, columns) into the gated unit
        state: Tensor = self.conv_gru.cell_list[0](torch.cat([at_receiver, strongest], dim=1))
        return state

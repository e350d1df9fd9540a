"""V2VNet: agents pass messages to each other, round after round (Wang et al., 2020).

In a round everybody hears a message from each agent, made of both features, keeps the strongest of
all in each place, and updates its own features by a gated recurrent unit that has no memory yet. In
the last round only the ego needs to listen.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from agents.perception.fusion.partners import Partner
from agents.perception.grid import Grid
from agents.perception.warping import seen_from
from harness.geometry import relative
from harness.vocabulary import Pose

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
        """Return the first state after an input of twice the channels."""
        count, gates, new = self.channels, self.conv_gates, self.conv_can
        assert gates.bias is not None
        assert new.bias is not None
        weight = torch.cat([gates.weight[count:, : 2 * count], new.weight[:, : 2 * count]])
        bias = torch.cat([gates.bias[count:], new.bias])
        both = functional.conv2d(x, weight, bias, padding=self.padding)
        return torch.sigmoid(both[:, :count]) * torch.tanh(both[:, count:])


class GatedUnit(nn.Module):
    """The unit under the name that checkpoints know."""

    def __init__(self, channels: int, kernel: int) -> None:
        super().__init__()
        self.cell_list = nn.ModuleList([GatedCell(channels, kernel)])


class V2VNet(nn.Module):
    """Messages, gated updates, and a linear layer at the end."""

    def __init__(self, grid: Grid, channels: int, kernel: int, rounds: int) -> None:
        super().__init__()
        self.grid, self.channels, self.rounds, self.padding = grid, channels, rounds, kernel // 2
        self.msg_cnn = nn.Conv2d(2 * channels, channels, kernel, padding=kernel // 2)
        self.conv_gru = GatedUnit(channels, kernel)
        self.mlp = nn.Linear(channels, channels)

    def forward(self, ego: Tensor, partners: Sequence[Partner]) -> Tensor:
        """Return the ego's map after all rounds."""
        maps = [ego, *(each.maps[0] for each in partners)]
        poses = [EGO, *(each.in_ego for each in partners)]
        for number in range(self.rounds):
            listeners = 1 if number == self.rounds - 1 else len(maps)
            maps = [self.updated(listener, maps, poses) for listener in range(listeners)]
        fused: Tensor = self.mlp(maps[0].permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
        return fused

    def updated(self, listener: int, maps: Sequence[Tensor], poses: Sequence[Pose]) -> Tensor:
        """Return a listener's map after it has heard everybody, itself included."""
        own = maps[listener]
        about_own = functional.conv2d(
            own, self.msg_cnn.weight[:, self.channels :], self.msg_cnn.bias, padding=self.padding
        )
        about_theirs = self.msg_cnn.weight[:, : self.channels]
        strongest = about_own + functional.conv2d(own, about_theirs, padding=self.padding)
        for speaker, theirs in enumerate(maps):
            if speaker == listener:
                continue
            pose = relative(poses[speaker], poses[listener])
            here = seen_from(theirs, pose, self.grid)
            reach = seen_from(torch.ones_like(theirs[:, :1]), pose, self.grid)
            message = about_own + functional.conv2d(here, about_theirs, padding=self.padding)
            strongest = torch.maximum(strongest, message * reach)
        state: Tensor = self.conv_gru.cell_list[0](torch.cat([own, strongest], dim=1))
        return state

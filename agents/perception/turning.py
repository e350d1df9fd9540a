"""What a map says of directions, as somebody who looks elsewhere would say it.

A sender encodes what it sees in its own frame: offsets and axes of boxes are told as it looks.
Moving the map to the receiver moves the places, not what is said there. This layer says it anew,
by a mixing of channels that depends on the angle between the two: offsets turn once with it, axes
twice.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

WAVES = 5
"""One, and sine and cosine of the angle and of its double."""


class Turning(nn.Module):
    """A convolution of single places, whose weights are waves of an angle."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(WAVES, channels, channels))
        self.bias = nn.Parameter(torch.zeros(WAVES, channels))
        with torch.no_grad():
            self.weight[0] = torch.eye(channels)

    def forward(self, sent: Tensor, angle: float) -> Tensor:
        """Return a map (1, channels, rows, columns) as from a frame in which its sender is turned.

        Where nothing was sent, nothing is said.
        """
        told = [1.0, math.cos(angle), math.sin(angle), math.cos(2 * angle), math.sin(2 * angle)]
        waves = torch.tensor(told, device=sent.device)
        weight = torch.einsum("w,woi->oi", waves, self.weight)
        places = sent.permute(0, 2, 3, 1)
        turned = torch.relu(functional.linear(places, weight, waves @ self.bias))
        return (turned * (places != 0).any(-1, keepdim=True)).permute(0, 3, 1, 2)

"""The flow network: from the last two maps of a sender to a velocity for each cell of the newer.

Small convolutions on two maps in one frame, in the manner of FlowNet, at 1.6 and 3.2 m. A field of
velocities, not of displacements: one field serves every age (decision 0152).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from agents.perception.flows.splatting import splat_levels

WIDTHS = (16, 24, 32)
"""Channels at 0.8, 1.6 and 3.2 m."""
FIELDS = 5
"""Velocity in x and y, displacement within the gap in x and y, logarithm of the weight."""
SPEED_UNIT = 10.0
"""m/s that an output of one means."""
MOST_SPEED = 30.0
"""m/s, in x and in y."""


def make_block(before: int, after: int, stride: int = 1, dilation: int = 1) -> nn.Sequential:
    """Return a convolution of 3 x 3 cells with its normalisation."""
    return nn.Sequential(
        nn.Conv2d(
            before,
            after,
            kernel_size=3,
            stride=stride,
            padding=dilation,
            dilation=dilation,
            bias=False,
        ),
        nn.BatchNorm2d(after),
        nn.ReLU(),
    )


class FlowNetwork(nn.Module):
    """Velocities of cells, and maps whose cells have moved.

    Attributes:
        empty: (channels,) of each level: what a cell holds that everything has left.
    """

    def __init__(self, channels: tuple[int, ...]) -> None:
        """Make layers for maps of so many channels, the finest level first; it alone is read."""
        super().__init__()
        fine, middle, coarse = WIDTHS
        self.enter = make_block(2 * channels[0], fine, stride=2)
        self.middle = make_block(fine + 1, middle)  # and a plane with the gap
        self.down = make_block(middle, coarse, stride=2)
        self.deep = nn.Sequential(make_block(coarse, coarse), make_block(coarse, coarse, 1, 2))
        self.up = make_block(coarse + middle, middle)
        self.leave = make_block(middle + channels[0], fine)
        self.head = nn.Conv2d(fine, FIELDS, 3, padding=1)
        assert self.head.bias is not None
        nn.init.normal_(self.head.weight, std=1e-3)
        nn.init.zeros_(self.head.bias)
        self.empty = nn.ParameterList(nn.Parameter(torch.zeros(count)) for count in channels)

    def forward(self, newer: Tensor, older: Tensor, gap: Tensor) -> tuple[Tensor, Tensor]:
        """Return velocities (maps, 2, rows, columns), m/s in x and y, and logarithms of weights.

        Args:
            newer: (maps, channels, rows, columns).
            older: the same, on the grid of the newer one.
            gap: (maps,) seconds between them.
        """
        half: Tensor = self.enter(torch.cat([newer, older], 1))
        plane = gap.view(-1, 1, 1, 1).expand(-1, 1, *half.shape[-2:])
        half = self.middle(torch.cat([half, plane], 1))
        quarter = self.deep(self.down(half))
        wide = functional.interpolate(quarter, scale_factor=2, mode="bilinear")
        half = self.up(torch.cat([wide, half], 1))
        wide = functional.interpolate(half, scale_factor=2, mode="bilinear")
        fields = self.head(self.leave(torch.cat([wide, newer], 1)))
        # a speed as it is seen, and one from how far things went within the gap
        within = fields[:, 2:4] / gap.view(-1, 1, 1, 1)
        velocity = (SPEED_UNIT * fields[:, :2] + within).clamp(-MOST_SPEED, MOST_SPEED)
        return velocity, fields[:, 4:]

    def move_levels(
        self,
        levels: tuple[Tensor, ...],
        velocity: Tensor,
        importance: Tensor,
        *,
        age: Tensor,
        cell: float,
    ) -> tuple[Tensor, ...]:
        """Return maps as they would be after some time.

        Args:
            levels: (maps, channels, rows, columns) each, the finest first.
            velocity: (maps, 2, rows, columns), m/s.
            importance: (maps, 1, rows, columns).
            age: (maps,) seconds.
            cell: metres, of the finest level.
        """
        moved = velocity * (age.view(-1, 1, 1, 1) / cell)
        return splat_levels(levels, moved, importance, tuple(self.empty))

    @property
    def parameter_count(self) -> int:
        """How many numbers are trained."""
        return sum(weights.numel() for weights in self.parameters())

"""Convolutions from a map of pillars to a map that boxes can be read from.

Modules are named as in OpenCOOD, so that its checkpoints fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from agents.perception.designs import BackboneDesign
from agents.perception.pillars import PillarFeatures
from agents.perception.pointwise import CellConvolution, CellUpsampling


class ResidualBlock(nn.Module):
    """Two convolutions whose output is added to their input."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(after)
        self.conv2 = nn.Conv2d(after, after, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(after)
        self.downsample = (
            nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))
            if stride != 1 or before != after
            else None
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return the map after this block.

        Args:
            x: (agents, channels before, rows, columns).

        Returns:
            (agents, channels after, rows / stride, columns / stride).
        """
        change: Tensor = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(change + (x if self.downsample is None else self.downsample(x)))


class ResidualLevels(nn.Module):
    """Levels of residual blocks."""

    def __init__(self, before: int, design: BackboneDesign) -> None:
        super().__init__()
        channels = [before, *design.channels]
        for number, ((inner, outer), blocks) in enumerate(
            zip(pairwise(channels), design.layers, strict=True)
        ):
            level = [ResidualBlock(inner, outer, 2)]
            level += [ResidualBlock(outer, outer, 1) for _ in range(blocks - 1)]
            self.add_module(f"layer{number}", nn.Sequential(*level))


class Backbone(nn.Module):
    """Levels, and the way back up from each to the finest."""

    def __init__(self, before: int, design: BackboneDesign) -> None:
        super().__init__()
        if design.kind == "residual":
            self.resnet = ResidualLevels(before, design)
        else:
            channels = pairwise([before, *design.channels])
            self.blocks = nn.ModuleList(
                make_plain_level(inner, outer, layers)
                for (inner, outer), layers in zip(channels, design.layers, strict=True)
            )
        self.deblocks = nn.ModuleList(
            make_upsampling_layers(channels, design.upsampled, 2**number)
            for number, channels in enumerate(design.channels)
        )
        self.joined_channels = design.upsampled * len(design.channels)

    def compute_levels(self, pillars: PillarFeatures) -> tuple[Tensor, ...]:
        """Return a map for each level, each half as fine as the one before.

        Args:
            pillars: of all agents.

        Returns:
            (agents, channels, rows, columns) for each level, the finest first.
        """
        maps = [pillars.to_dense()]
        for level in self.resnet.children() if hasattr(self, "resnet") else self.blocks:
            maps.append(level(maps[-1]))
        return tuple(maps[1:])

    def join_levels(self, levels: Sequence[Tensor]) -> Tensor:
        """Return all levels in one map, as fine as the first.

        Args:
            levels: (agents, channels, rows, columns) each, the finest first.

        Returns:
            (agents, joined channels, rows, columns) of the finest level.
        """
        return torch.cat(
            [upsample(level) for upsample, level in zip(self.deblocks, levels, strict=True)], dim=1
        )


class DownsampleConv(nn.Module):
    """Two convolutions to fewer channels."""

    def __init__(self, before: int, after: int, kernel: int, stride: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList([DoubleConv(before, after, kernel, stride)])

    def forward(self, x: Tensor) -> Tensor:
        """Return the map with fewer channels."""
        shrunk: Tensor = self.layers[0](x)
        return shrunk


class DoubleConv(nn.Module):
    """The two convolutions, under the name that they have in checkpoints."""

    def __init__(self, before: int, after: int, kernel: int, stride: int) -> None:
        super().__init__()
        first = CellConvolution(before, after, kernel, stride, padding=kernel // 2)
        second = nn.Conv2d(after, after, 3, padding=1)
        self.double_conv = nn.Sequential(first, nn.ReLU(), second, nn.ReLU())

    def forward(self, x: Tensor) -> Tensor:
        """Return the map with fewer channels."""
        shrunk: Tensor = self.double_conv(x)
        return shrunk


def make_plain_level(before: int, after: int, layers: int) -> nn.Sequential:
    """Return a convolution to half the size and some more; the first module holds no weights.

    Args:
        before: channels of the map that comes in.
        after: channels of the map that goes out.
        layers: convolutions after the one that halves the size.
    """
    modules: list[nn.Module] = [nn.Identity()]
    for number in range(layers + 1):
        stride, inner = (2, before) if number == 0 else (1, after)
        modules += make_convolution_layers(inner, after, stride)
    return nn.Sequential(*modules)


def make_convolution_layers(before: int, after: int, stride: int) -> list[nn.Module]:
    """Return a convolution, its normalisation and its activation."""
    return [
        nn.Conv2d(before, after, 3, stride, padding=1, bias=False),
        nn.BatchNorm2d(after, eps=1e-3, momentum=0.01),
        nn.ReLU(),
    ]


def make_upsampling_layers(before: int, after: int, factor: int) -> nn.Sequential:
    """Return the way up from a level that is so many times coarser than the first.

    Args:
        before: channels of the coarse level.
        after: channels of the result.
        factor: cells of the result along a cell of the level.
    """
    return nn.Sequential(
        CellUpsampling(before, after, factor),
        nn.BatchNorm2d(after, eps=1e-3, momentum=0.01),
        nn.ReLU(),
    )

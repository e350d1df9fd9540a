"""From pictures to the map that all agents share: a backbone, lift and splat, convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from agents.perception.backbones import ResidualBlock
from agents.perception.cameras.lifting import BINS, find_frustum_cells, splat_features
from agents.perception.grid import PillarGrid
from agents.perception.pointwise import CellConvolution
from harness.common.pictures import resize_image
from harness.types.vocabulary import CameraImage

WIDTH, HEIGHT = 256, 192
"""Pixels of the pictures that the network reads."""
STRIDE = 8
"""Pixels along a feature."""
FEATURE_SHAPE = (HEIGHT // STRIDE, WIDTH // STRIDE)
LIFTED = 32
"""Channels that are lifted."""


@dataclass(frozen=True, slots=True, eq=False)
class AgentImages:
    """The pictures of one agent, and how high its LiDAR is mounted."""

    images: tuple[CameraImage, ...]  # as the network reads them
    height: float  # m from the road up to the agent's LiDAR


def prepare_images(images: Sequence[CameraImage]) -> AgentImages:
    """Return an agent's images in the size that the network reads.

    Without a LiDAR the height of its frame is what was measured when the camera was mounted.
    """
    small = tuple(resize_image(image, WIDTH, HEIGHT) for image in images)
    heights = [image.above_road - image.camera_in_lidar.z for image in small]
    return AgentImages(small, float(np.mean(heights)) if heights else 0.0)


class ImageBackbone(nn.Module):
    """Four levels of convolutions; the two last are joined at a feature for eight pixels."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = make_layers(3, 16, 2)
        self.level2 = make_layers(16, 32, 2)
        self.level3 = nn.Sequential(*make_layers(32, 48, 2), ResidualBlock(48, 48, 1))
        self.level4 = nn.Sequential(*make_layers(48, 64, 2), ResidualBlock(64, 64, 1))
        self.join = nn.Sequential(
            CellConvolution(112, 48, 1), nn.BatchNorm2d(48), nn.ReLU(), *make_layers(48, 48, 1)
        )
        self.depth_head = CellConvolution(48, BINS.count + 1, 1)
        self.feature_head = CellConvolution(48, LIFTED, 1)

    def forward(self, pixels: Tensor) -> tuple[Tensor, Tensor]:
        """Return depth logits and features.

        Args:
            pixels: (images, 3, rows, columns), from -1 to 1.

        Returns:
            (images, bins + 1, rows / 8, columns / 8) and (images, lifted channels, the same).
        """
        fine = self.level3(self.level2(self.stem(pixels)))
        coarse = functional.interpolate(self.level4(fine), scale_factor=2, mode="nearest")
        joined = self.join(torch.cat([fine, coarse], dim=1))
        return self.depth_head(joined), self.feature_head(joined)


class MapEncoder(nn.Module):
    """Convolutions on the map at three scales, down and up again."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.down2 = nn.Sequential(*make_layers(LIFTED, 32, 2), ResidualBlock(32, 32, 1))
        self.down4 = nn.Sequential(*make_layers(32, 48, 2), ResidualBlock(48, 48, 1))
        self.from_down4 = make_layers(48, 32, 1)
        self.from_down2 = nn.Sequential(CellConvolution(32, 24, 1), nn.BatchNorm2d(24), nn.ReLU())
        self.from_lifted = nn.Sequential(
            CellConvolution(LIFTED, 24, 1), nn.BatchNorm2d(24), nn.ReLU()
        )
        self.last = nn.Sequential(*make_layers(24, 24, 1), CellConvolution(24, channels, 1))

    def forward(self, lifted: Tensor) -> Tensor:
        """Return the map that is fused and detected on.

        Args:
            lifted: (agents, lifted channels, rows, columns) sums in cells.

        Returns:
            (agents, channels, rows, columns)
        """
        middle = self.down2(lifted)
        coarse = self.from_down4(self.down4(middle))
        middle = middle + functional.interpolate(coarse, scale_factor=2, mode="nearest")
        fine = functional.interpolate(self.from_down2(middle), scale_factor=2, mode="nearest")
        encoded: Tensor = torch.relu(self.last(fine + self.from_lifted(lifted)))
        return encoded


class CameraBranch(nn.Module):
    """Pictures of agents to their maps."""

    def __init__(self, grid: PillarGrid, channels: int) -> None:
        super().__init__()
        self.grid = grid
        self.images = ImageBackbone()
        self.map = MapEncoder(channels)

    def forward(self, agents: Sequence[AgentImages]) -> tuple[Tensor, Tensor]:
        """Return the maps of agents, and the depth logits of all their features.

        Args:
            agents: pictures of each; an agent without any has an empty map.

        Returns:
            (agents, channels, rows, columns) and (features of all images, bins + 1).
        """
        rows, columns = self.grid.output_shape
        # where each feature of each agent lands; cells are counted through all agents
        cells = [
            find_frustum_cells(agent.images, agent.height, self.grid, FEATURE_SHAPE)
            for agent in agents
        ]
        numbered = np.concatenate(
            [
                np.where(at < 0, -1, at + number * rows * columns).astype(np.int32)
                for number, at in enumerate(cells)
            ]
        )
        with self._train_in_halves():
            logits, features = self._run_backbone([i for agent in agents for i in agent.images])
            likely = torch.softmax(logits, 1)[:, :-1]
            sums = splat_features(likely, features, numbered, len(agents) * rows * columns)
            lifted = sums.view(len(agents), rows, columns, LIFTED).permute(0, 3, 1, 2)
            return self.map(lifted).float(), logits

    def _train_in_halves(self) -> torch.autocast:
        """Return a context in which a processor that has bfloat16 trains with it: it is faster.

        Detection computes in whole floats everywhere.
        """
        halves = self.training and torch.cpu._is_avx512_bf16_supported()
        return torch.autocast("cpu", torch.bfloat16, enabled=halves)

    def _run_backbone(self, images: Sequence[CameraImage]) -> tuple[Tensor, Tensor]:
        """Return depth logits and features, a row for each feature."""
        parameter = next(self.parameters())
        if not images:
            return parameter.new_zeros(0, BINS.count + 1), parameter.new_zeros(0, LIFTED)
        pixels = torch.from_numpy(np.stack([image.pixels for image in images]))
        # (images, rows, columns, 3) in memory is channels last already
        scaled = pixels.to(parameter.device).permute(0, 3, 1, 2).float() / 127.5 - 1.0
        logits, features = self.images(scaled)
        return (
            logits.permute(0, 2, 3, 1).reshape(-1, BINS.count + 1).float(),
            features.permute(0, 2, 3, 1).reshape(-1, LIFTED).float(),
        )


class FeatureAligner(nn.Module):
    """Turns the map of one kind of encoder into what another kind would give.

    A small residual block, as HEAL aligns new kinds of agents (Lu et al., ICLR 2024); it changes
    nothing before it is trained.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.spread = nn.Conv2d(channels, channels, 5, padding=2, groups=channels)
        self.widen = CellConvolution(channels, 4 * channels, 1)
        self.narrow = CellConvolution(4 * channels, channels, 1)
        nn.init.zeros_(self.narrow.weight)
        assert self.narrow.bias is not None
        nn.init.zeros_(self.narrow.bias)

    def forward(self, maps: Tensor) -> Tensor:
        """Return the aligned maps, of the same shape."""
        change: Tensor = self.narrow(functional.gelu(self.widen(self.spread(maps))))
        return maps + change


class SenseJoiner(nn.Module):
    """Joins the maps of one agent's LiDAR and cameras, cell by cell and with its neighbours."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(2 * channels, 2 * channels, 3, padding=1)
        self.last = CellConvolution(2 * channels, channels, 1)
        nn.init.zeros_(self.last.weight)
        assert self.last.bias is not None
        nn.init.zeros_(self.last.bias)

    def forward(self, lidar: Tensor, camera: Tensor) -> Tensor:
        """Return the LiDAR's maps with what the cameras add; nothing before it is trained."""
        change: Tensor = self.last(torch.relu(self.first(torch.cat([lidar, camera], dim=1))))
        return lidar + change


def make_layers(before: int, after: int, stride: int) -> nn.Sequential:
    """Return a convolution of 3 x 3, its normalisation and its activation."""
    return nn.Sequential(
        nn.Conv2d(before, after, 3, stride, padding=1, bias=False),
        nn.BatchNorm2d(after),
        nn.ReLU(),
    )

"""Fusion modules: what partners send, and what the ego makes of it.

A scheme is a class. Its settings are the arguments of `__init__`; `build` makes the layers, once it
is known which feature maps the network gives it. For an intermediate fusion module of your own,
subclass `IntermediateFusion` and write `forward`: docs/how-to/own-fusion.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from agents.perception.designs import LITE, NetworkDesign, PublishedNetwork, Size
from agents.perception.fusion.driving_request import DrivingRequest
from agents.perception.grid import PillarGrid
from agents.perception.warping import warp_maps
from harness.common.errors import UserError
from harness.types.geometry import compute_relative_pose, transform_points
from harness.types.systems import FusionStage
from harness.types.vocabulary import Features, Pose, Singles

BuiltModule = TypeVar("BuiltModule", bound="FusionModule")
Maps: TypeAlias = tuple[Tensor, ...]
"""Feature maps of an agent, (1, channels, rows, columns): one, or one for each backbone level."""
Sweep: TypeAlias = tuple[Singles, Pose]
"""Points in a LiDAR's frame, and where that LiDAR is believed to have been in the world."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureSpec:
    """The feature maps that a network gives its fusion module.

    `level_channels` matter to modules with `multi_scale` only.

    Attributes:
        grid: metres and pillars.
        size: `lite` or `full`.
    """

    grid: PillarGrid  # the window, and the cells of the finest map
    size: Size
    channels: int  # of the map that is fused and detected on
    level_channels: tuple[int, ...]  # of the backbone's levels, finest first


@dataclass(frozen=True, slots=True, eq=False)
class Partner:
    """Feature maps in a partner's own LiDAR frame, and the pose of that frame in the ego's.

    Attributes:
        maps: (1, channels, rows, columns) each, as they were sent.
        in_ego: the partner's LiDAR in the ego's LiDAR frame, as believed.
    """

    maps: Maps
    in_ego: Pose


@dataclass(frozen=True, slots=True, eq=False)
class SparseFeatures(Features):
    """Feature maps of which only those cells are sent in which any channel is not zero."""

    @property
    def size_bytes(self) -> int:
        """Bytes on the air: a bit for every cell, float32 for all channels of the cells sent."""
        cells = sum(int(level[0].size) for level in self.maps)
        numbers = sum(len(level) * int(level.any(0).sum()) for level in self.maps)
        return 4 * numbers + (cells + 7) // 8


class FusionModule(nn.Module):
    """How one scheme fuses, at whatever stage: none, early, intermediate or late."""

    stage: ClassVar[FusionStage]
    """What partners send: nothing, points (early), features (intermediate) or boxes (late)."""
    scheme: ClassVar[str]
    """Its name on command lines and in file names: the class's in lower case, if not set."""
    trained_as: ClassVar[str]
    """The scheme whose weights it uses: its own, if not set."""
    trained_with_partners: ClassVar[bool] = True
    v2xverse: ClassVar[PublishedNetwork | None] = None
    """V2Xverse's network of this scheme, if it has one: `size: full`, and its checkpoints."""
    features: FeatureSpec

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        cls.scheme = vars(cls).get("scheme", cls.__name__.lower())
        cls.trained_as = vars(cls).get("trained_as", cls.scheme)

    @classmethod
    def choose_design(cls, size: Size) -> NetworkDesign:
        """Return what the network round this module is made of."""
        if size == "lite":
            return LITE
        if cls.v2xverse is None:
            raise UserError(f"system: {cls.scheme} comes in size lite only")
        return cls.v2xverse.design

    def take_published_settings(self, settings: Mapping[str, Any], path: Path) -> None:
        """Take what a checkpoint's `model.args` set of this scheme, before `build`.

        Args:
            settings: `model.args` of the checkpoint's `config.yaml`.
            path: that file, for messages.
        """

    def build_with_features(self: BuiltModule, features: FeatureSpec) -> BuiltModule:
        """Return this module with its layers, for these feature maps."""
        self.features = features
        self.build(features)
        return self

    def build(self, features: FeatureSpec) -> None:
        """Make the layers with weights; a module without weights needs none.

        Args:
            features: the window, and the channels of the maps.
        """

    def list_clouds(
        self, ego: Sweep, partners: Sequence[Sweep]
    ) -> tuple[list[Singles], list[Pose]]:
        """Return the clouds to encode, the ego's first, and the others' poses in its frame.

        Args:
            ego: points (N, 4) in the ego's LiDAR frame, and its pose in the world.
            partners: the same of each partner, each in its LiDAR frame.

        Returns:
            Clouds of (points, 4), and the poses of the second and further ones in the ego's LiDAR
            frame.
        """
        return [ego[0]], []


class NoFusion(FusionModule):
    """The ego's own points only."""

    stage = "none"
    scheme = "single"
    trained_with_partners = False
    v2xverse = PublishedNetwork(core_method="latemulticlass")


class LateFusion(FusionModule):
    """Partners send boxes; the network is that of `single`."""

    stage = "late"
    scheme = "late"
    trained_as = "single"
    trained_with_partners = False
    v2xverse = PublishedNetwork(core_method="latemulticlass")


class EarlyFusion(FusionModule):
    """Partners send points; the network sees all of them as one sweep."""

    stage = "early"
    scheme = "early"
    v2xverse = PublishedNetwork(core_method="earlymulticlass")

    def list_clouds(
        self, ego: Sweep, partners: Sequence[Sweep]
    ) -> tuple[list[Singles], list[Pose]]:
        """Return all points in the ego's frame."""
        return [merge_sweeps(ego[0], partners, ego[1])], []


class IntermediateFusion(FusionModule):
    """Partners send feature maps; `forward` fuses them with the ego's.

    `multi_scale` fuses each level of the backbone instead of the one map that is detected on.

    A sender calls `send` or `send_on_request`, and `payload`. The ego calls `receive` and `fuse`. A
    subclass needs `forward` only.
    """

    stage = "intermediate"
    multi_scale: ClassVar[bool] = False
    reads_requests = False
    """Whether senders receive the ego's plan: `send_on_request` then stands for `send`."""

    def list_clouds(
        self, ego: Sweep, partners: Sequence[Sweep]
    ) -> tuple[list[Singles], list[Pose]]:
        """Return each agent's points."""
        points = [ego[0], *(points for points, _ in partners)]
        return points, [compute_relative_pose(pose, ego[1]) for _, pose in partners]

    def send(self, maps: Maps, logits: Callable[[], Tensor]) -> Maps:
        """Return what a partner sends of its maps; `logits()` gives its own detection scores.

        Args:
            maps: the partner's, (1, channels, rows, columns) each.
            logits: gives (1, classes, rows, columns); they are computed when it is called.

        Returns:
            What `payload` gets; shapes may differ from those of `maps` if `receive` undoes it.
        """
        return maps

    def send_on_request(
        self,
        maps: Maps,
        logits: Callable[[], Tensor],
        request: DrivingRequest,
        lidar_in_world: Pose,
    ) -> Maps:
        """Return what a partner sends of its maps once it knows where the ego plans to be.

        Args:
            maps: the partner's feature maps, (1, channels, rows, columns) each.
            logits: gives the partner's own detection scores.
            request: the ego's plan of its last planning step.
            lidar_in_world: the pose that the partner believes its LiDAR has.
        """
        return self.send(maps, logits)

    def receive(self, maps: Maps) -> Maps:
        """Return the maps of a message in the shape of the ego's: undo what `send` compressed.

        Args:
            maps: as `send` returned them.

        Returns:
            (1, channels, rows, columns) each, in the shapes of the ego's maps.
        """
        return maps

    def payload(self, maps: tuple[Singles, ...]) -> Features:
        """Return maps as a message, which knows its size in bytes.

        Args:
            maps: (channels, rows, columns) each.
        """
        return Features(maps)

    def warp(self, maps: Tensor, in_ego: Pose) -> Tensor:
        """Return a partner's map in the ego's frame, with zeros where it does not reach.

        Args:
            maps: (N, channels, rows, columns) on the partner's grid.
            in_ego: the partner's LiDAR in the ego's LiDAR frame.

        Returns:
            The same shape on the ego's grid.
        """
        return warp_maps(maps, in_ego, self.features.grid)

    def fuse(self, ego: Maps, partners: Sequence[Partner]) -> Maps:
        """Return the ego's maps after fusion: warp what partners sent, then `forward`, by level.

        Args:
            ego: (1, channels, rows, columns) each.
            partners: their maps, each on its grid.

        Returns:
            (1, channels, rows, columns) each.
        """
        return tuple(
            self(
                torch.cat(
                    [
                        map_of_ego,
                        *(self.warp(partner.maps[level], partner.in_ego) for partner in partners),
                    ]
                )
            )
            for level, map_of_ego in enumerate(ego)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return the ego's map (1, channels, rows, columns) fused from those of all agents.

        `x` is (agents, channels, rows, columns), the ego first, all in the ego's frame.
        """
        raise NotImplementedError(f"{type(self).__name__} has no forward")


def merge_sweeps(points_of_ego: Singles, sweeps: Iterable[Sweep], lidar_in_world: Pose) -> Singles:
    """Return all sweeps in the ego's LiDAR frame, by the poses that their senders believed.

    Args:
        points_of_ego: (N, 4) in the ego's LiDAR frame.
        sweeps: points of each partner in its LiDAR frame, and its pose in the world.
        lidar_in_world: the ego's pose, as it believes.

    Returns:
        (points, 4)
    """
    moved = [transform_points(points, pose, lidar_in_world) for points, pose in sweeps]
    return np.concatenate([points_of_ego, *moved])

"""What networks are made of, in two sizes; fusion modules bring their own settings.

`full` are V2Xverse's networks: the same layers under the same names, so that their weights fit.
`lite` is small enough for one CPU core: coarser pillars, a wider window, a tenth of the channels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from agents.perception.grid import CODES, PillarGrid

Size = Literal["lite", "full"]
HeightReference = Literal["world", "road"]

SIZES: tuple[Size, ...] = get_args(Size)


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodingThresholds:
    """Thresholds from raw output to boxes."""

    score: float = 0.2  # lowest score of a candidate
    counts: float = 0.2  # score from which a detection counts where no operating point was chosen
    nms_overlap: float = 0.15  # IoU above which the lower score of a class is suppressed
    longest: float = 6.0  # m along x or y; longer boxes are dropped
    top_k: int = 1000  # boxes of a class that enter non-maximum suppression
    box_fusion_overlap: float | None = None  # IoU from which boxes are averaged; none: no fusion


@dataclass(frozen=True, slots=True, kw_only=True)
class BackboneDesign:
    """Convolutions in three levels, each half as fine as the one before, joined at the first's.

    `plain` and `residual` join levels side by side; `sparse` starts from pillars, and adds them up.
    """

    kind: Literal["plain", "residual", "sparse"]
    layers: tuple[int, ...]  # more of each level; `sparse` has none on its first
    channels: tuple[int, ...]
    upsampled: int = 0  # channels of each level when they are joined side by side
    among_pillars: tuple[int, ...] = ()  # of `sparse`: channels of convolutions among pillars alone


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkDesign:
    """A network before it has weights, but for its fusion module.

    Attributes:
        size: `lite` or `full`.
        grid: the window, in metres.
        decoding: thresholds.
        pillar_channels: of the features of a pillar.
        backbone: its levels.
        shrink_kernel: cells to a side, of the convolution before fusion.
        shrink_stride: of that convolution.
    """

    size: Size
    grid: PillarGrid
    decoding: DecodingThresholds
    height_reference: HeightReference  # zero of heights: the world's, or the road
    pillar_channels: int
    backbone: BackboneDesign
    channels: int  # of the map that is fused and detected on
    shrink_kernel: int
    shrink_stride: int
    rotates: bool  # features to the receiver's heading; V2Xverse's are warped only


def set_grid_stride(grid: PillarGrid, stride: int) -> PillarGrid:
    """Return V2Xverse's grid with other output cells: its codes count cells and pillar heights."""
    across, up = grid.pillar * stride, (grid.high[2] - grid.low[2]) * stride
    scales = (across, across, up, across, across, up, 1.0, 1.0)
    return replace(grid, stride=stride, scales=scales)


FULL_GRID = set_grid_stride(
    PillarGrid(
        low=(-36.0, -12.0, -22.0),
        high=(36.0, 12.0, 14.0),
        pillar=0.125,
        stride=2,
        points_per_pillar=32,
        scales=(),
    ),
    2,
)
LITE_GRID = PillarGrid(
    low=(-51.2, -38.4, -3.0),
    high=(51.2, 38.4, 5.0),
    pillar=0.4,
    stride=2,
    points_per_pillar=None,
    scales=(0.8, 0.8, *[1.0] * (len(CODES) - 2)),
    turns=2,
)

FULL = NetworkDesign(
    size="full",
    grid=FULL_GRID,
    decoding=DecodingThresholds(),
    height_reference="world",
    pillar_channels=64,
    backbone=BackboneDesign(
        kind="residual", layers=(3, 4, 5), channels=(64, 128, 256), upsampled=128
    ),
    channels=128,
    shrink_kernel=3,
    shrink_stride=1,
    rotates=False,
)
FULL_PLAIN = replace(
    FULL,
    backbone=BackboneDesign(kind="plain", layers=(3, 5, 8), channels=(64, 128, 256), upsampled=128),
    channels=256,
)
FULL_COARSE = replace(FULL_PLAIN, grid=set_grid_stride(FULL_GRID, 4), shrink_stride=2)
"""Fused at four pillars a cell, not two."""
LITE = NetworkDesign(
    size="lite",
    grid=LITE_GRID,
    decoding=DecodingThresholds(
        score=0.2, counts=0.3, longest=14.0, top_k=300, box_fusion_overlap=0.3
    ),
    height_reference="road",
    pillar_channels=32,
    backbone=BackboneDesign(
        kind="sparse", layers=(0, 1, 1), channels=(24, 48, 64), among_pillars=(16,)
    ),
    channels=16,
    shrink_kernel=1,
    shrink_stride=1,
    rotates=True,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedNetwork:
    """V2Xverse's network of a scheme: `size: full`, and what its checkpoints must say."""

    core_method: str  # `fusion.core_method` of its config.yaml
    design: NetworkDesign = FULL
    settings: Mapping[str, object] = field(default_factory=dict)
    """Under `model.args`: they change outputs, while the weights would fit all the same."""
    size_multiple: int = 1  # rows and columns of the fused map are a multiple of it

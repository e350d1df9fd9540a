"""What each network is made of, in two sizes.

`full` are V2Xverse's networks: the same layers under the same names, so that their weights fit.
`lite` is small enough for one CPU core: coarser pillars, a wider window, a tenth of the channels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from agents.perception.fusion.v2xvit import TransformerDesign
from agents.perception.grid import CODES, Grid
from harness.errors import UserError

FusionScheme = Literal["fcooper", "attfuse", "disconet", "v2vnet", "v2xvit", "codriving"]
Scheme = Literal["single", "early", "late"] | FusionScheme
Size = Literal["lite", "full"]
Level = Literal["world", "road"]

FUSION_SCHEMES: tuple[FusionScheme, ...] = get_args(FusionScheme)
SCHEMES: tuple[Scheme, ...] = ("single", "early", "late", *FUSION_SCHEMES)
SIZES: tuple[Size, ...] = get_args(Size)


@dataclass(frozen=True, slots=True)
class Decoding:
    """From raw output to boxes."""

    score: float = 0.2  # less is nobody
    overlap: float = 0.15  # more, within a class, is the same one again
    longest: float = 6.0  # m along x or y; longer is nobody
    at_most: int = 1000  # boxes of a class that are compared with each other
    agreement: float | None = None  # overlap from which lesser boxes help to place the best


@dataclass(frozen=True, slots=True)
class BackboneDesign:
    """Convolutions in three levels, each half as fine as the one before, joined at the first's."""

    kind: Literal["plain", "residual"]
    layers: tuple[int, ...]
    channels: tuple[int, ...]
    raised: int  # channels of each level when they are joined


@dataclass(frozen=True, slots=True)
class Design:
    """A network before it has weights."""

    grid: Grid
    decoding: Decoding
    level: Level  # what height is told from: the world's zero, or the road
    pillar_channels: int
    backbone: BackboneDesign
    channels: int  # of the map that is fused and detected on
    shrink_kernel: int
    shrink_stride: int
    transformer: TransformerDesign  # v2xvit's
    message_kernel: int  # v2vnet's
    rounds: int
    confidence: float | None  # codriving's: partners send where they are so sure; none: everything
    turning: bool  # whether maps are turned to how the receiver looks; V2Xverse's are moved only


FULL_GRID = Grid(
    low=(-36.0, -12.0, -22.0),
    high=(36.0, 12.0, 14.0),
    pillar=0.125,
    stride=2,
    points_per_pillar=32,
    scales=(0.25, 0.25, 72.0, 0.25, 0.25, 72.0, 1.0, 1.0),
)
LITE_GRID = Grid(
    low=(-51.2, -38.4, -3.0),
    high=(51.2, 38.4, 5.0),
    pillar=0.4,
    stride=2,
    points_per_pillar=16,
    scales=(0.8, 0.8, *[1.0] * (len(CODES) - 2)),
    turns=2,
)

RESIDUAL = BackboneDesign("residual", (3, 4, 5), (64, 128, 256), 128)
PLAIN = BackboneDesign("plain", (3, 5, 8), (64, 128, 256), 128)
SMALL = BackboneDesign("plain", (1, 1, 2), (24, 32, 64), 24)

TRANSFORMER = TransformerDesign(
    depth=3,
    heads=8,
    head_channels=32,
    windows=(4, 8, 16),
    window_heads=(16, 8, 4),
    window_head_channels=(16, 32, 64),
    patch=1,
    types=2,
    prior_channels=3,
)
SMALL_TRANSFORMER = TransformerDesign(
    depth=1,
    heads=4,
    head_channels=8,
    windows=(4, 8),
    window_heads=(4, 4),
    window_head_channels=(8, 8),
    patch=2,
    types=1,
    prior_channels=0,
)

FULL_BACKBONES: dict[Scheme, BackboneDesign] = {
    "single": RESIDUAL,
    "early": RESIDUAL,
    "late": RESIDUAL,
    "codriving": RESIDUAL,
    "fcooper": PLAIN,
    "v2vnet": PLAIN,
    "v2xvit": PLAIN,
}
COARSE: tuple[Scheme, ...] = ("v2vnet", "v2xvit")
"""Schemes that fuse at four pillars a cell when full, not two."""


def design_of(scheme: Scheme, size: Size) -> Design:
    """Return what the network of a scheme is made of."""
    if size == "lite":
        return Design(
            LITE_GRID,
            Decoding(score=0.3, longest=14.0, at_most=300, agreement=0.3),
            level="road",
            pillar_channels=24,
            backbone=SMALL,
            channels=24,
            shrink_kernel=1,
            shrink_stride=1,
            transformer=SMALL_TRANSFORMER,
            message_kernel=1,
            rounds=1,
            confidence=0.01,
            turning=True,
        )
    if scheme not in FULL_BACKBONES:
        there = ", ".join(FULL_BACKBONES)
        raise UserError(f"system: {scheme} comes in size lite only; in full there are {there}")
    shrink_stride = 2 if scheme in COARSE else 1
    return Design(
        strided(FULL_GRID, 2 * shrink_stride),
        Decoding(),
        level="world",
        pillar_channels=64,
        backbone=FULL_BACKBONES[scheme],
        channels=128 if FULL_BACKBONES[scheme] is RESIDUAL else 256,
        shrink_kernel=3,
        shrink_stride=shrink_stride,
        transformer=TRANSFORMER,
        message_kernel=3,
        rounds=2,
        confidence=None,
        turning=False,
    )


def strided(grid: Grid, stride: int) -> Grid:
    """Return V2Xverse's grid with other output cells: its codes count cells and pillar heights."""
    across, up = grid.pillar * stride, (grid.high[2] - grid.low[2]) * stride
    return Grid(
        grid.low,
        grid.high,
        grid.pillar,
        stride,
        grid.points_per_pillar,
        (across, across, up, across, across, up, 1.0, 1.0),
    )

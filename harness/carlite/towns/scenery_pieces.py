"""Pieces of scenery on their way into a town's arrays."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from harness.carlite.arrays import Floats
from harness.carlite.bodies import build_body_library
from harness.carlite.labels import SemanticLabel
from harness.carlite.towns import lookup
from harness.carlite.towns.model import SceneryShape, TownGround, TownScenery

FOUNDATION = 0.3
"""Things are sunk this deep, so that sloping ground leaves no gap below them."""


@dataclass(frozen=True)
class SceneryPiece:
    """A thing on the ground: its base is `lift` above the ground at its centre.

    Attributes:
        half: half length, half width, half height; a cylinder's first two are its radius.
        level: about how high the ground is that it stands on, where roads cross over roads.
    """

    x: float
    y: float
    yaw: float
    half: tuple[float, float, float]
    _: KW_ONLY
    label: SemanticLabel
    shape: SceneryShape = SceneryShape.BOX
    body: str = ""
    lift: float = 0.0
    level: float = 0.0
    solid: bool = True


@dataclass
class SceneryPieces:
    """Collects pieces and sets them on the ground."""

    pieces: list[SceneryPiece] = field(default_factory=list)

    def add(self, *pieces: SceneryPiece) -> None:
        """Put pieces down, in order."""
        self.pieces.extend(pieces)

    def place_pieces(self, ground: TownGround) -> TownScenery:
        """Set everything on the ground."""
        # (pieces, 3) half sizes and centres, m
        half = np.array([piece.half for piece in self.pieces]).reshape(-1, 3)
        centre = np.array([(p.x, p.y, p.level) for p in self.pieces]).reshape(-1, 3)
        yaw = np.array([piece.yaw for piece in self.pieces])
        lift = np.array([piece.lift for piece in self.pieces])
        shape = np.array([piece.shape for piece in self.pieces], np.uint8)
        # what stands on the ground reaches into it, so that no gap shows on a slope
        below, lowest = _find_ground_below(ground, centre, yaw, half)
        top = below + lift + 2 * half[:, 2]
        rooted = (lift == 0) & (shape != SceneryShape.BODY)
        bottom = np.where(rooted, lowest - FOUNDATION, below + lift)
        bodies = build_body_library()
        return TownScenery(
            centre=np.column_stack([centre[:, :2], (top + bottom) / 2]),
            extent=np.column_stack([half[:, :2], (top - bottom) / 2]),
            yaw=yaw,
            shape=shape,
            body=np.array(
                [bodies.find_body_index(p.body) if p.body else -1 for p in self.pieces], np.int32
            ),
            label=np.array([piece.label for piece in self.pieces], np.uint8),
            solid=np.array([piece.solid for piece in self.pieces], np.bool_),
        )


def _find_ground_below(
    ground: TownGround, centre: Floats, yaw: Floats, half: Floats
) -> tuple[Floats, Floats]:
    """Return the height of the ground below the centre of each box, and below its lowest corner."""
    arrays = lookup.to_ground_arrays(ground)
    below = lookup.find_ground_heights(*arrays, centre)
    lowest = below.copy()
    along = np.column_stack([np.cos(yaw), np.sin(yaw), 0 * yaw]) * half[:, :1]
    across = np.column_stack([-np.sin(yaw), np.cos(yaw), 0 * yaw]) * half[:, 1:2]
    for a, b in ((1, 1), (1, -1), (-1, -1), (-1, 1)):
        np.minimum(
            lowest, lookup.find_ground_heights(*arrays, centre + a * along + b * across), out=lowest
        )
    return below, lowest

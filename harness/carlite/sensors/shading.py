"""Plain colours for the scene: one per label or object."""

from __future__ import annotations

import numpy as np

from harness.carlite.arrays import Floats
from harness.carlite.labels import SemanticLabel

PAINTS = np.array(
    [
        [178, 34, 38], [28, 62, 122], [220, 222, 224], [40, 42, 46], [128, 132, 138],
        [18, 92, 72], [205, 160, 60], [92, 112, 140],
    ],
    np.float64,
)  # fmt: skip
FACADES = np.array(
    [[178, 158, 136], [160, 120, 100], [196, 190, 178], [150, 152, 158], [188, 170, 130]],
    np.float64,
)
CLOTHES = np.array([[62, 74, 110], [130, 58, 62], [84, 98, 72], [188, 176, 150]], np.float64)


def _build_palette() -> Floats:
    colours = np.full((256, 3), 130.0)
    for label, colour in {
        SemanticLabel.ROAD: (88, 88, 92),
        SemanticLabel.SIDEWALK: (168, 164, 158),
        SemanticLabel.WALL: (170, 160, 148),
        SemanticLabel.FENCE: (126, 112, 92),
        SemanticLabel.POLE: (108, 112, 116),
        SemanticLabel.TRAFFIC_LIGHT: (52, 56, 54),
        SemanticLabel.TRAFFIC_SIGN: (196, 186, 70),
        SemanticLabel.VEGETATION: (84, 122, 62),
        SemanticLabel.TERRAIN: (122, 140, 88),
        SemanticLabel.ROAD_LINE: (224, 222, 214),
        SemanticLabel.GROUND: (140, 132, 118),
        SemanticLabel.BRIDGE: (142, 140, 136),
        SemanticLabel.GUARD_RAIL: (156, 160, 164),
        SemanticLabel.WATER: (70, 104, 132),
        SemanticLabel.STATIC: (150, 128, 102),
        SemanticLabel.DYNAMIC: (164, 132, 88),
    }.items():
        colours[label] = colour
    return colours


PALETTE = _build_palette()

"""Plain colours for the scene: one per label or object, lit by one sun."""

from __future__ import annotations

import numpy as np

from harness.carlite.arrays import Bytes, Floats, Int32s, Ints
from harness.carlite.labels import SemanticLabel

SUN = np.array([-0.45, -0.55, 0.70])
AMBIENT, SUNLIGHT = 0.55, 0.5
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


def compute_face_colours(
    normals: Floats, labels: Bytes, *, things: Int32s, actors: Ints, rotation: Floats
) -> Floats:
    """Return the lit colour of each face; cars, houses and people differ by object.

    Args:
        normals: (faces, 3) in the sensor's frame, of any length.
        labels: (faces,)
        things: (faces,) number of the thing.
        actors: (faces,) id of the actor; 0 for the town.
        rotation: (3, 3) of the sensor.

    Returns:
        (faces, 3) red, green and blue.
    """
    # (faces,) a number of the object, which chooses among the colours of its kind
    variety = np.where(actors > 0, actors, things) * 7 // 3
    colours = PALETTE[labels]
    for choice, members in (
        (
            PAINTS,
            (
                SemanticLabel.CAR,
                SemanticLabel.TRUCK,
                SemanticLabel.BUS,
                SemanticLabel.MOTORCYCLE,
                SemanticLabel.BICYCLE,
            ),
        ),
        (FACADES, (SemanticLabel.BUILDING,)),
        (CLOTHES, (SemanticLabel.PEDESTRIAN, SemanticLabel.RIDER)),
    ):
        chosen = np.isin(labels, members)
        colours[chosen] = choice[variety[chosen] % len(choice)]
    # (faces,) cosine between normal and sun
    size = np.maximum(np.linalg.norm(normals, axis=1), 1e-12)
    facing = (normals @ rotation.T) @ SUN / (np.linalg.norm(SUN) * size)
    lit: Floats = colours * (AMBIENT + SUNLIGHT * facing.clip(0, 1))[:, None]
    return lit

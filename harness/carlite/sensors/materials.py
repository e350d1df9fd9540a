"""What faces are made of: their colour in light, and the pattern on them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from harness.carlite.arrays import Bytes, Float32s, Floats, Int32s
from harness.carlite.compiled import compiled
from harness.carlite.labels import SemanticLabel
from harness.carlite.sensors.shading import CLOTHES, FACADES, PAINTS, PALETTE
from harness.carlite.sensors.things import PlacedThings

PLAIN, FACADE, BODYWORK, LEAVES, DECK, STONE, LAMP_POST = 0, 1, 2, 3, 4, 5, 6
STEEP = 0.5
CAR, TRUCK, BUS = int(SemanticLabel.CAR), int(SemanticLabel.TRUCK), int(SemanticLabel.BUS)
LINEAR_PALETTE = ((PALETTE / 255) ** 2.2).astype(np.float32)
LINEAR_PAINTS = ((PAINTS / 255) ** 2.2).astype(np.float32)
LINEAR_FACADES = ((FACADES / 255) ** 2.2).astype(np.float32)
LINEAR_CLOTHES = ((CLOTHES / 255) ** 2.2).astype(np.float32)
OF_LABEL = np.zeros(256, np.int32)
"""The material of a label's faces."""
for _label, _material in {
    SemanticLabel.BUILDING: FACADE,
    SemanticLabel.CAR: BODYWORK,
    SemanticLabel.TRUCK: BODYWORK,
    SemanticLabel.BUS: BODYWORK,
    SemanticLabel.VEGETATION: LEAVES,
    SemanticLabel.ROAD: DECK,
    SemanticLabel.WALL: STONE,
    SemanticLabel.BRIDGE: STONE,
    SemanticLabel.SIDEWALK: STONE,
    SemanticLabel.POLE: LAMP_POST,
}.items():
    OF_LABEL[_label] = _material
VARIED = np.zeros(256, np.int32)
"""1 for labels whose objects have one of the paints, 2 facades, 3 clothes."""
for _name in ("CAR", "TRUCK", "BUS", "MOTORCYCLE", "BICYCLE"):
    VARIED[SemanticLabel[_name]] = 1
VARIED[SemanticLabel.BUILDING] = 2
VARIED[[SemanticLabel.PEDESTRIAN, SemanticLabel.RIDER]] = 3


class FaceMaterials(NamedTuple):
    """What is the same all over a face.

    Attributes:
        kind: (faces,) PLAIN, FACADE and so on.
        colour: (faces, 3) linear red, green and blue.
        facing: (faces,) cosine to the light that throws shadows, at least 0.
        open_to_sky: (faces,) share of the sky's light.
        tangent: (faces, 2) horizontal unit vector along the face.
        base, tall: (faces,) the lowest point of the thing in the world, and its height, m.
        mirrors: (1,) 1 if a face may mirror the sky.
    """

    kind: Int32s
    colour: Float32s
    facing: Float32s
    open_to_sky: Float32s
    tangent: Float32s
    base: Float32s
    tall: Float32s
    mirrors: Float32s


def list_face_materials(
    normals: Floats,
    labels: Bytes,
    things: Int32s,
    placed: PlacedThings,
    *,
    rotation: Floats,
    key: Floats,
) -> FaceMaterials:
    """Return the materials of the faces drawn.

    Args:
        normals: (faces, 3) in the sensor's frame, of any length.
        labels: (faces,).
        things: (faces,) number of the thing.
        placed: the things.
        rotation: (3, 3) of the sensor.
        key: (3,) direction to the light.
    """
    count = len(labels)
    materials = FaceMaterials(
        np.empty(count, np.int32), np.empty((count, 3), np.float32), np.empty(count, np.float32),
        np.empty(count, np.float32), np.empty((count, 2), np.float32),
        np.empty(count, np.float32), np.empty(count, np.float32), np.zeros(1, np.float32),
    )  # fmt: skip
    _fill_materials(normals, labels, things, placed, rotation, key, materials)
    return materials


@compiled
def _fill_materials(
    normals: Floats,
    labels: Bytes,
    things: Int32s,
    placed: PlacedThings,
    rotation: Floats,
    key: Floats,
    materials: FaceMaterials,
) -> None:
    for face in range(len(labels)):
        label, thing = labels[face], things[face]
        a, b, c = normals[face, 0], normals[face, 1], normals[face, 2]
        size = max(np.sqrt(a * a + b * b + c * c), 1e-12)
        x = (rotation[0, 0] * a + rotation[0, 1] * b + rotation[0, 2] * c) / size
        y = (rotation[1, 0] * a + rotation[1, 1] * b + rotation[1, 2] * c) / size
        z = (rotation[2, 0] * a + rotation[2, 1] * b + rotation[2, 2] * c) / size
        kind = OF_LABEL[label]
        materials.facing[face] = max(x * key[0] + y * key[1] + z * key[2], 0.0)
        materials.open_to_sky[face] = 0.72 + 0.28 * z
        flat = np.sqrt(x * x + y * y)
        if kind == FACADE and flat < STEEP:
            kind = STONE
        # two decks are seen from either side
        if kind == DECK:
            materials.facing[face] = abs(x * key[0] + y * key[1] + z * key[2]) if z > 0 else 0.0
        materials.kind[face] = kind
        if kind in (FACADE, BODYWORK):
            materials.mirrors[0] = 1.0
        materials.tangent[face, 0] = -y / max(flat, 1e-6)
        materials.tangent[face, 1] = x / max(flat, 1e-6)
        half = 0.0
        for j in range(3):
            half += abs(placed.matrix[thing, 2, j])
        materials.base[face], materials.tall[face] = placed.centre[thing, 2] - half, 2 * half
        # cars, houses and people differ by object
        actor = placed.actor[thing]
        variety = (actor if actor > 0 else thing) * 7 // 3
        for k in range(3):
            colour = LINEAR_PALETTE[label, k]
            if VARIED[label] == 1:
                colour = LINEAR_PAINTS[variety % len(LINEAR_PAINTS), k]
            elif VARIED[label] == 2:
                colour = LINEAR_FACADES[variety % len(LINEAR_FACADES), k]
                if kind == STONE:
                    colour = np.float32(0.6) * colour
            elif VARIED[label] == 3:
                colour = LINEAR_CLOTHES[variety % len(LINEAR_CLOTHES), k]
            materials.colour[face, k] = colour


@compiled
def may_be_open(u: np.float32, v: np.float32, level: np.int32) -> np.bool:
    """Return whether there may be a door or a window at a place of a facade, see `find_window`."""
    door = (level == 0) & (u > np.float32(0.3)) & (u < np.float32(0.7)) & (v < np.float32(0.72))
    window = (u > np.float32(0.22)) & (u < np.float32(0.78))
    window = window & (v > np.float32(0.28)) & (v < np.float32(0.82))
    is_open: np.bool = door | window
    return is_open


@compiled
def find_window(u: np.float32, v: np.float32, level: int, number: int) -> int:
    """Return what is at a place of a facade: 0 wall, 1 glass, 2 frame, 3 door.

    Args:
        u: place in the window's part of the wall, from 0 to 1.
        v: the same, upwards.
        level: number of the storey.
        number: the window's own, from 0 to 1023.
    """
    has_door = level == 0 and number % 7 == 0
    if has_door and np.float32(0.3) < u < np.float32(0.7) and v < np.float32(0.72):
        return 3
    if not (np.float32(0.22) < u < np.float32(0.78) and np.float32(0.28) < v < np.float32(0.82)):
        return 0
    if has_door:
        return 0
    inside = np.float32(0.26) < u < np.float32(0.74) and np.float32(0.32) < v < np.float32(0.78)
    return 1 if inside and abs(u - np.float32(0.5)) > np.float32(0.02) else 2


@compiled
def find_bodywork(
    label: int, ahead: float, aside: float, height: float, upright: float, long: float, tall: float
) -> int:
    """Return what is at a place of a vehicle: 0 paint, 1 glass, 2 tyre, 3 trim, 4 plate, 5 hub.

    Args:
        label: CAR, TRUCK or BUS.
        ahead: from -1 at the tail to 1 at the nose.
        aside: from -1 to 1.
        height: m above the ground.
        upright: share of the sky that the face sees: 1 for one that looks up.
        long: m, half the vehicle's length.
        tall: m, its height.
    """
    car = label == CAR
    what = 0
    # windows: a cabin's, a bus's between its posts, a truck's in front
    if label == BUS:
        if 0.42 * tall < height < 0.78 * tall and upright < 0.8:
            post = ahead * long / 1.5
            what = 3 if post - np.floor(post) < 0.07 and abs(ahead) < 0.95 else 1
    elif label == TRUCK:
        if ahead > 0.66 and 0.52 * tall < height < 0.72 * tall and upright < 0.85:
            what = 1
    elif 0.645 * tall < height < 0.93 * tall and upright < 0.955:
        what = 0 if abs(ahead + 0.10) < 0.018 and abs(aside) > 0.5 else 1
    # the underside, plates and the grille
    if height < 0.28 or (ahead > 0.9 and abs(aside) < 0.45 and 0.48 < height < 0.62):
        what = 3
    elif abs(ahead) > 0.9 and abs(aside) < 0.27:
        low = 0.34 if ahead > 0 else 0.62
        what = 4 if low < height < low + 0.12 else what
    # two axles, where the bodies have them
    if abs(aside) > 0.7 and height < 1.1:
        radius = 0.33 if car else 0.48
        from_axle = min(abs(ahead - 0.60), abs(ahead + 0.58)) * long
        square = from_axle * from_axle + (height - radius) * (height - radius)
        if square < radius * radius * 1.08:
            what = 5 if square < radius * radius * 0.36 else 2
    return what

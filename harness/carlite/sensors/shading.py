"""Plain colours for the scene: one per label or object, lit by one sun, paling in the distance."""

from __future__ import annotations

import numpy as np

from harness.carlite.arrays import Bytes, Floats, Int32s, Ints
from harness.carlite.compiled import compiled
from harness.carlite.labels import SemanticLabel
from harness.carlite.sensors.fan import RayFan
from harness.carlite.sensors.lamps import find_lamp_colour
from harness.carlite.sensors.markings import (
    GroundMarkings,
    cover_with_paint,
    find_marking_cell,
)
from harness.carlite.sensors.rasterise import GROUND
from harness.carlite.sensors.relief import GroundRelief, compute_relief_slope, find_relief_label
from harness.carlite.sensors.things import PlacedThings

ROAD = int(SemanticLabel.ROAD)
SUN = np.array([-0.45, -0.55, 0.70])
AMBIENT, SUNLIGHT = 0.55, 0.5
HAZE_DISTANCE = 400.0
HORIZON, ZENITH = np.array([214.0, 224.0, 232.0]), np.array([96.0, 146.0, 205.0])
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


@compiled
def paint_picture(
    fan: RayFan,
    nearness: Floats,
    source: Int32s,
    colours: Floats,
    labels: Bytes,
    lamps: Int32s,
    owners: Int32s,
    placed: PlacedThings,
    relief: GroundRelief,
    markings: GroundMarkings,
    rotation: Floats,
    origin: Floats,
    image: Bytes,
) -> None:
    """Fill a picture, blue first."""
    # the angle between neighbouring rays in the middle of the picture
    ray_apart = (fan.slopes[-1] - fan.slopes[0]) / max(len(fan.slopes) - 1, 1)
    width, height = nearness.shape
    # image: (height, width, 4), top row first; rows of rays are bottom row first
    for row in range(height):
        slope = fan.slopes[height - 1 - row]
        for column in range(width):
            face = source[column, height - 1 - row]
            x, y = fan.cosine[column], fan.sine[column]
            z = x * slope
            length = np.sqrt(1 + z * z)
            # sky: how high above the horizon; all else: how much haze is before it
            red = green = blue = clear = rise = flat = light = 0.0
            painted = False
            if face < GROUND:
                up = (rotation[2, 0] * x + rotation[2, 1] * y + rotation[2, 2] * z) / length
                rise = np.sqrt(min(max(up, 0.0), 1.0))
            else:
                flat = 1 / nearness[column, height - 1 - row]
                clear = np.exp(-flat * length / HAZE_DISTANCE)
            # the colour of a face, shaded before
            if face >= 0:
                red, green, blue = colours[face, 0], colours[face, 1], colours[face, 2]
                painted = labels[face] == ROAD
                light = red / PALETTE[ROAD, 0]
                # a lens where the ray meets one; a lit one shines through half of the haze
                if lamps[face] > 0:
                    x, y, z = x * flat, y * flat, z * flat
                    lens, lens_red, lens_green, lens_blue = find_lamp_colour(
                        lamps[face],
                        placed.centre[owners[face]],
                        placed.matrix[owners[face]],
                        origin[0] + rotation[0, 0] * x + rotation[0, 1] * y + rotation[0, 2] * z,
                        origin[1] + rotation[1, 0] * x + rotation[1, 1] * y + rotation[1, 2] * z,
                        origin[2] + rotation[2, 0] * x + rotation[2, 1] * y + rotation[2, 2] * z,
                    )
                    if lens > 0:
                        red, green, blue = lens_red, lens_green, lens_blue
                    if lens > 1:
                        clear = np.sqrt(clear)
            elif face == GROUND:
                # the ground: its label's colour, lit by the slope where the ray meets it
                x, y, z = x * flat, y * flat, z * flat
                at = origin[0] + rotation[0, 0] * x + rotation[0, 1] * y + rotation[0, 2] * z
                grid_x = (at - relief.x) / relief.cell
                at = origin[1] + rotation[1, 0] * x + rotation[1, 1] * y + rotation[1, 2] * z
                grid_y = (at - relief.y) / relief.cell
                light = _compute_ground_light(relief, grid_x, grid_y)
                label = find_relief_label(relief.labels, grid_x, grid_y)
                red, green = PALETTE[label, 0] * light, PALETTE[label, 1] * light
                blue = PALETTE[label, 2] * light
                painted = label == ROAD
            # paint on the road, as far as it covers the pixel
            if painted:
                x, y = flat * fan.cosine[column], flat * fan.sine[column]
                z = flat * fan.cosine[column] * slope
                share, paint_red, paint_green, paint_blue = _find_paint(
                    markings, rotation, origin, x, y, z, ray_apart
                )
                red += share * (paint_red * light - red)
                green += share * (paint_green * light - green)
                blue += share * (paint_blue * light - blue)
            # mixed with haze or sky
            image[row, column, 2] = _mix_haze(red, HORIZON[0], ZENITH[0], clear, rise)
            image[row, column, 1] = _mix_haze(green, HORIZON[1], ZENITH[1], clear, rise)
            image[row, column, 0] = _mix_haze(blue, HORIZON[2], ZENITH[2], clear, rise)
            image[row, column, 3] = 255


@compiled
def _find_paint(
    markings: GroundMarkings,
    rotation: Floats,
    origin: Floats,
    x: float,
    y: float,
    z: float,
    ray_apart: float,
) -> tuple[float, float, float, float]:
    """Return how much of a pixel is painted, and the paint's colour, at a sensor's-frame point."""
    dx = rotation[0, 0] * x + rotation[0, 1] * y + rotation[0, 2] * z
    dy = rotation[1, 0] * x + rotation[1, 1] * y + rotation[1, 2] * z
    dz = rotation[2, 0] * x + rotation[2, 1] * y + rotation[2, 2] * z
    east, north, up = origin[0] + dx, origin[1] + dy, origin[2] + dz
    cell = find_marking_cell(markings, east, north)
    if cell < 0 or markings.first[cell] == markings.first[cell + 1]:
        return 0.0, 0.0, 0.0, 0.0
    # the footprint: a pixel's width across the view, drawn out along it by the slant
    level = np.sqrt(dx * dx + dy * dy)
    far = np.sqrt(level * level + dz * dz)
    wide = ray_apart * x
    deep = wide * far / max(abs(dz), 1e-3)
    view_x, view_y = dx / max(level, 1e-9), dy / max(level, 1e-9)
    total, red, green, blue = 0.0, 0.0, 0.0, 0.0
    for entry in range(markings.first[cell], markings.first[cell + 1]):
        strip = markings.listed[entry]
        share = cover_with_paint(markings, strip, east, north, up, view_x, view_y, deep, wide)
        if share > 0:
            total += share
            red += share * markings.colours[strip, 0]
            green += share * markings.colours[strip, 1]
            blue += share * markings.colours[strip, 2]
    if total == 0:
        return 0.0, 0.0, 0.0, 0.0
    return min(total, 1.0), red / total, green / total, blue / total


@compiled
def _mix_haze(colour: float, horizon: float, zenith: float, clear: float, rise: float) -> int:
    """See a colour through the air: the sky where there is none."""
    sky = horizon + rise * (zenith - horizon)
    return int(min(max(colour * clear + sky * (1 - clear), 0.0), 255.0))


@compiled
def _compute_ground_light(relief: GroundRelief, column: float, row: float) -> float:
    rise_x, rise_y = compute_relief_slope(relief.heights, relief.cell, column, row)
    facing = (SUN[2] - rise_x * SUN[0] - rise_y * SUN[1]) / np.sqrt(1 + rise_x**2 + rise_y**2)
    light: float = AMBIENT + SUNLIGHT * min(max(facing, 0.0), 1.0)
    return light

"""Paint a picture: colours of faces and ground, lamps, paint on the road, haze and sky.

A picture is painted column by column, and each column in passes: what needs no decision is computed
for all of its pixels at once, which the compiler turns into vector instructions; colours are then
looked up pixel by pixel.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from harness.carlite.arrays import Bytes, Floats, Int32s, Ints
from harness.carlite.compiled import compiled
from harness.carlite.labels import SemanticLabel
from harness.carlite.sensors.exponential import (
    PowerBuffer,
    make_power_buffer,
    replace_by_exponentials,
)
from harness.carlite.sensors.fan import RayFan
from harness.carlite.sensors.lamps import find_lamp_colour
from harness.carlite.sensors.markings import (
    GroundMarkings,
    cover_with_paint,
    find_marking_cell,
)
from harness.carlite.sensors.rasterise import GROUND
from harness.carlite.sensors.relief import GroundRelief, compute_relief_slope, find_relief_label
from harness.carlite.sensors.shading import AMBIENT, PALETTE, SUN, SUNLIGHT
from harness.carlite.sensors.things import PlacedThings

Pixels: TypeAlias = NDArray[np.uint32]

ROAD = int(SemanticLabel.ROAD)
HAZE_DISTANCE = 400.0
HORIZON, ZENITH = np.array([214.0, 224.0, 232.0]), np.array([96.0, 146.0, 205.0])
STRIP = 16
"""Columns painted before they go to the picture: a row of as many pixels is a cache line."""


class PaintBuffers(NamedTuple):
    """Numbers of one column while it is painted, used again for every column.

    Attributes:
        clear: (rows,) the share of a pixel's own colour that the air lets through.
        rise: (rows,) how high above the horizon, 0 for all but the sky.
        flat: (rows,) horizontal distances in the camera's frame.
        grid_x, grid_y: (rows,) where the rays end, in cells of the ground.
        cell: (rows,) where the rays end, as a cell of the markings.
        red, green, blue: (rows,) before the haze.
        powers: (rows,) for exponentials.
        strip: (STRIP, rows) finished pixels.
    """

    clear: Floats
    rise: Floats
    flat: Floats
    grid_x: Floats
    grid_y: Floats
    red: Floats
    green: Floats
    blue: Floats
    cell: Ints
    powers: PowerBuffer
    strip: Pixels


def make_paint_buffers(rows: int) -> PaintBuffers:
    """Return buffers for pictures of so many rows."""
    return PaintBuffers(
        clear=np.empty(rows),
        rise=np.empty(rows),
        flat=np.empty(rows),
        grid_x=np.empty(rows),
        grid_y=np.empty(rows),
        red=np.empty(rows),
        green=np.empty(rows),
        blue=np.empty(rows),
        cell=np.empty(rows, np.int64),
        powers=make_power_buffer(rows),
        strip=np.empty((STRIP, rows), np.uint32),
    )


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
    buffers: PaintBuffers,
    image: Pixels,
) -> None:
    """Fill a picture of pixels, alpha highest, then red, green and blue."""
    # the angle between neighbouring rays in the middle of the picture
    ray_apart = (fan.slopes[-1] - fan.slopes[0]) / max(len(fan.slopes) - 1, 1)
    width, height = nearness.shape
    for column in range(width):
        _measure_air(fan, column, nearness[column], source[column], rotation, buffers)
        _locate_ray_ends(fan, column, relief, markings, rotation, origin, buffers)
        _colour_pixels(
            fan, column, source[column], colours, labels, lamps, owners, placed,
            relief, markings, rotation, origin, ray_apart, buffers,
        )  # fmt: skip
        _mix_haze(buffers, buffers.strip[column % STRIP])
        # image: (height, width), top row first; rows of rays are bottom row first
        if column % STRIP == STRIP - 1 or column == width - 1:
            first = column - column % STRIP
            for row in range(height):
                for k in range(column - first + 1):
                    image[height - 1 - row, first + k] = buffers.strip[k, row]


@compiled
def _measure_air(
    fan: RayFan,
    column: int,
    nearness: Floats,
    source: Int32s,
    rotation: Floats,
    buffers: PaintBuffers,
) -> None:
    """Write how clear the air before each pixel is, how high the sky is, and distances."""
    clear, rise, flat = buffers.clear, buffers.rise, buffers.flat
    x, y = fan.cosine[column], fan.sine[column]
    up_x, up_y, up_z = rotation[2, 0], rotation[2, 1], rotation[2, 2]
    rows = len(nearness)
    for row in range(rows):
        z = x * fan.slopes[row]
        length = np.sqrt(1 + z * z)
        up = (up_x * x + up_y * y + up_z * z) / length
        sky = source[row] < GROUND
        rise[row] = np.sqrt(min(max(up, 0.0), 1.0)) if sky else 0.0
        flat[row] = 1 / nearness[row]
        clear[row] = -flat[row] * length / HAZE_DISTANCE
    replace_by_exponentials(clear, rows, buffers.powers)
    for row in range(rows):
        clear[row] = 0.0 if source[row] < GROUND else clear[row]


@compiled
def _locate_ray_ends(
    fan: RayFan,
    column: int,
    relief: GroundRelief,
    markings: GroundMarkings,
    rotation: Floats,
    origin: Floats,
    buffers: PaintBuffers,
) -> None:
    """Write where the rays end, in cells of the ground and of the markings."""
    grid_x, grid_y, cells, flats = buffers.grid_x, buffers.grid_y, buffers.cell, buffers.flat
    cosine, sine = fan.cosine[column], fan.sine[column]
    east_x, east_y, east_z, east = rotation[0, 0], rotation[0, 1], rotation[0, 2], origin[0]
    north_x, north_y, north_z, north = rotation[1, 0], rotation[1, 1], rotation[1, 2], origin[1]
    left, front, cell = relief.x, relief.y, relief.cell
    for row in range(len(flats)):
        flat = flats[row]
        x, y, z = cosine * flat, sine * flat, cosine * fan.slopes[row] * flat
        grid_x[row] = (east + east_x * x + east_y * y + east_z * z - left) / cell
        grid_y[row] = (north + north_x * x + north_y * y + north_z * z - front) / cell
    for row in range(len(flats)):
        x, y = flats[row] * cosine, flats[row] * sine
        z = flats[row] * cosine * fan.slopes[row]
        dx = east_x * x + east_y * y + east_z * z
        dy = north_x * x + north_y * y + north_z * z
        cells[row] = find_marking_cell(markings, east + dx, north + dy)


@compiled
def _colour_pixels(
    fan: RayFan,
    column: int,
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
    ray_apart: float,
    buffers: PaintBuffers,
) -> None:
    """Write the colours of a column's pixels; a lit lamp shines through half of the haze."""
    cosine, sine = fan.cosine[column], fan.sine[column]
    for row in range(len(source)):
        face = source[row]
        red = green = blue = light = 0.0
        painted = False
        # the colour of a face, shaded before
        if face >= 0:
            red, green, blue = colours[face, 0], colours[face, 1], colours[face, 2]
            painted = labels[face] == ROAD
            light = red / PALETTE[ROAD, 0]
            # a lens where the ray meets one
            if lamps[face] > 0:
                flat = buffers.flat[row]
                x, y, z = cosine * flat, sine * flat, cosine * fan.slopes[row] * flat
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
                    buffers.clear[row] = np.sqrt(buffers.clear[row])
        elif face == GROUND:
            # the ground: its label's colour, lit by the slope where the ray meets it
            light = _compute_ground_light(relief, buffers.grid_x[row], buffers.grid_y[row])
            label = find_relief_label(relief.labels, buffers.grid_x[row], buffers.grid_y[row])
            red, green = PALETTE[label, 0] * light, PALETTE[label, 1] * light
            blue = PALETTE[label, 2] * light
            painted = label == ROAD
        # paint on the road, as far as it covers the pixel
        cell = buffers.cell[row]
        if painted and cell >= 0 and markings.first[cell] < markings.first[cell + 1]:
            flat = buffers.flat[row]
            share, paint_red, paint_green, paint_blue = _find_paint(
                markings, cell, rotation, origin,
                flat * cosine, flat * sine, flat * cosine * fan.slopes[row], ray_apart,
            )  # fmt: skip
            if share > 0:
                red += share * (paint_red * light - red)
                green += share * (paint_green * light - green)
                blue += share * (paint_blue * light - blue)
        buffers.red[row], buffers.green[row], buffers.blue[row] = red, green, blue


@compiled
def _find_paint(
    markings: GroundMarkings,
    cell: int,
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
def _mix_haze(buffers: PaintBuffers, pixels: Pixels) -> None:
    """See the colours of a column through the air: the sky where there is none."""
    for row in range(len(pixels)):
        clear, rise = buffers.clear[row], buffers.rise[row]
        red = _mix_channel(buffers.red[row], HORIZON[0], ZENITH[0], clear, rise)
        green = _mix_channel(buffers.green[row], HORIZON[1], ZENITH[1], clear, rise)
        blue = _mix_channel(buffers.blue[row], HORIZON[2], ZENITH[2], clear, rise)
        pixels[row] = 0xFF000000 | red << 16 | green << 8 | blue


@compiled
def _mix_channel(
    colour: float, horizon: float, zenith: float, clear: float, rise: float
) -> np.int32:
    sky = horizon + rise * (zenith - horizon)
    return np.int32(min(max(colour * clear + sky * (1 - clear), 0.0), 255.0))


@compiled
def _compute_ground_light(relief: GroundRelief, column: float, row: float) -> float:
    rise_x, rise_y = compute_relief_slope(relief.heights, relief.cell, column, row)
    facing = SUN[2]
    if rise_x != 0 or rise_y != 0:
        facing = (SUN[2] - rise_x * SUN[0] - rise_y * SUN[1]) / np.sqrt(1 + rise_x**2 + rise_y**2)
    light: float = AMBIENT + SUNLIGHT * min(max(facing, 0.0), 1.0)
    return light

"""Paint a picture: colours of faces and ground in light and shadow, patterns, lamps, air and sky.

A picture is painted column by column, and each column in passes: what needs no decision is computed
for all of its pixels at once, which the compiler turns into vector instructions; colours are looked
up run by run of the same surface. Colours are linear until the last pass, which exposes and encodes
them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from harness.carlite.arrays import Bytes, Float32s, Floats, Int32s
from harness.carlite.compiled import compiled
from harness.carlite.sensors.daylight import Daylight
from harness.carlite.sensors.fan import RayFan
from harness.carlite.sensors.ground_look import GroundLook, colour_ground, wet_ground
from harness.carlite.sensors.lamplight import LampLight, find_lamp_light
from harness.carlite.sensors.markings import GroundMarkings, cover_with_paint
from harness.carlite.sensors.materials import FaceMaterials
from harness.carlite.sensors.paint_buffers import ONE, STRIP, ZERO, PaintBuffers, Pixels
from harness.carlite.sensors.rasterise import GROUND, NOTHING
from harness.carlite.sensors.shadows import ShadowMap, find_lit_share
from harness.carlite.sensors.surfaces import LAMP_GLOW, colour_face
from harness.carlite.sensors.things import PlacedThings
from harness.carlite.sensors.vault import colour_sky, find_sky_light

TONES = 2048
"""Steps of the curve from linear light, by its root, to a byte."""
BRIGHTEST = 2.25


class PaintedScene(NamedTuple):
    """What a picture is painted from, other than the rays.

    Attributes:
        faces: materials of the faces drawn.
        labels, lamps, owners: (faces,) label, code of its lamps, number of the thing.
        placed: the things.
        ground, markings: the ground's colours and the paint on it.
        light: the weather's.
        shadows: of the scene.
        lamp_light: on the ground at night.
        noise: the grain of surfaces.
        tones: (TONES,) the byte of each brightness.
        exposure: what light is multiplied with before.
    """

    faces: FaceMaterials
    labels: Bytes
    lamps: Int32s
    owners: Int32s
    placed: PlacedThings
    ground: GroundLook
    markings: GroundMarkings
    light: Daylight
    shadows: ShadowMap
    lamp_light: LampLight
    noise: Bytes
    tones: Bytes
    exposure: float


@compiled
def paint_picture(
    fan: RayFan,
    nearness: Floats,
    source: Int32s,
    scene: PaintedScene,
    rotation: Floats,
    origin: Floats,
    buffers: PaintBuffers,
    image: Pixels,
) -> None:
    """Fill a picture of pixels, alpha highest, then red, green and blue."""
    # the angle between neighbouring rays in the middle of the picture
    ray_apart = (fan.slopes[-1] - fan.slopes[0]) / max(len(fan.slopes) - 1, 1)
    width, height = nearness.shape
    light = scene.light
    for column in range(width):
        wide = ray_apart * fan.cosine[column]
        _locate_ray_ends(fan, column, nearness[column], rotation, origin, buffers)
        _colour_runs(source[column], scene, origin, ray_apart, buffers)
        _paint_markings(scene.markings, origin, wide, buffers)
        _shade_column(scene.shadows, buffers)
        _light_column(light, scene.lamp_light, buffers)
        if light.wet > 0 or scene.faces.mirrors[0] > 0:
            _mirror_column(source[column], scene.faces, light, origin, buffers)
        _expose_column(light, scene.tones, scene.exposure, buffers, buffers.strip[column % STRIP])
        # image: (height, width), top row first; rows of rays are bottom row first
        if column % STRIP == STRIP - 1 or column == width - 1:
            first = column - column % STRIP
            for row in range(height):
                for k in range(column - first + 1):
                    image[height - 1 - row, first + k] = buffers.strip[k, row]


@compiled
def _locate_ray_ends(
    fan: RayFan,
    column: int,
    nearness: Floats,
    rotation: Floats,
    origin: Floats,
    buffers: PaintBuffers,
) -> None:
    """Write where the rays end, and how far that is; begin with surfaces without light."""
    cosine, sine = fan.cosine[column], fan.sine[column]
    slopes, flat = fan.slopes, buffers.flat
    # each loop writes one array: the compiler makes vector instructions of loops with few arrays
    for row in range(len(nearness)):
        flat[row] = 1 / nearness[row]
    for row in range(len(nearness)):
        z = cosine * slopes[row]
        buffers.far[row] = flat[row] * np.sqrt(1 + z * z)
    for axis in range(3):
        ahead = rotation[axis, 0] * cosine + rotation[axis, 1] * sine
        up, begin = rotation[axis, 2] * cosine, origin[axis]
        end = buffers.x if axis == 0 else (buffers.y if axis == 1 else buffers.z)
        for row in range(len(nearness)):
            end[row] = begin + flat[row] * (ahead + up * slopes[row])
    _fill_numbers(buffers.bare, ONE)
    _fill_numbers(buffers.dome, ZERO)
    _fill_numbers(buffers.shone, ZERO)
    _fill_numbers(buffers.glow, ZERO)
    _fill_numbers(buffers.mirror, ZERO)
    for row in range(len(nearness)):
        buffers.painted[row] = 0


@compiled
def _fill_numbers(numbers: Float32s, value: np.float32) -> None:
    for n in range(len(numbers)):
        numbers[n] = value


@compiled
def _colour_runs(
    source: Int32s, scene: PaintedScene, origin: Floats, ray_apart: float, buffers: PaintBuffers
) -> None:
    """Write the colours of a column's pixels, run by run of the same surface."""
    row = 0
    while row < len(source):
        face = source[row]
        end = row + 1
        while end < len(source) and source[end] == face:
            end += 1
        if face == NOTHING:
            colour_sky(scene.light.sky, origin, row, end, buffers)
        elif face == GROUND:
            colour_ground(scene.ground, scene.light.key, scene.noise, row, end, buffers)
            if scene.light.wet > 0:
                wet_ground(scene.light.wet, scene.light.puddles, scene.noise, row, end, buffers)
        else:
            thing = scene.owners[face]
            colour_face(
                scene.faces, face, scene.labels[face], scene.lamps[face], thing,
                scene.placed.centre[thing], scene.placed.matrix[thing], scene.light.dark,
                scene.exposure, scene.noise, ray_apart, row, end, buffers,
            )  # fmt: skip
        row = end


@compiled
def _paint_markings(
    markings: GroundMarkings, origin: Floats, wide: float, buffers: PaintBuffers
) -> None:
    """Cover what is painted on roads, as far as the paint covers a pixel."""
    left, front = np.float32(markings.x), np.float32(markings.y)
    for row in range(len(buffers.painted)):
        if buffers.painted[row] == 0:
            continue
        x, y = buffers.x[row] - left, buffers.y[row] - front
        if not (0 <= x < markings.columns and 0 <= y < markings.rows):
            continue
        column_at, row_at = int(x), int(y)
        cell = row_at * markings.columns + column_at
        if markings.first[cell] == markings.first[cell + 1]:
            continue
        share, paint_red, paint_green, paint_blue = _find_paint(
            markings, cell, buffers.x[row], buffers.y[row], buffers.z[row],
            buffers.x[row] - origin[0], buffers.y[row] - origin[1], buffers.z[row] - origin[2],
            buffers.far[row], wide,
        )  # fmt: skip
        if share > 0:
            buffers.red[row] += share * (paint_red - buffers.red[row])
            buffers.green[row] += share * (paint_green - buffers.green[row])
            buffers.blue[row] += share * (paint_blue - buffers.blue[row])


@compiled
def _find_paint(
    markings: GroundMarkings,
    cell: int,
    x: float,
    y: float,
    z: float,
    dx: float,
    dy: float,
    dz: float,
    far: float,
    ray_apart: float,
) -> tuple[float, float, float, float]:
    """Return how much of a pixel is painted, and the paint's linear colour.

    The point is given in the world and, by dx, dy and dz, from the camera, `far` metres away.
    """
    # the footprint: a pixel's width across the view, drawn out along it by the slant
    wide = ray_apart * far
    deep = wide * far / max(abs(dz), 1e-3)
    reach = (deep + wide) * 0.500001 + 1e-3
    total, red, green, blue = 0.0, 0.0, 0.0, 0.0
    for entry in range(markings.first[cell], markings.first[cell + 1]):
        strip = markings.listed[entry]
        # most strips of a cell are farther away than the footprint can reach
        place = markings.strips[strip]
        aside = (y - place[1]) * place[3] - (x - place[0]) * place[4]
        if abs(aside) > place[6] + reach:
            continue
        level = max(np.sqrt(dx * dx + dy * dy), 1e-9)
        share = cover_with_paint(
            markings, strip, x, y, z, dx / level, dy / level, deep, wide
        )  # fmt: skip
        if share > 0:
            total += share
            red += share * markings.light[strip, 0]
            green += share * markings.light[strip, 1]
            blue += share * markings.light[strip, 2]
    if total == 0:
        return 0.0, 0.0, 0.0, 0.0
    return min(total, 1.0), red / total, green / total, blue / total


@compiled
def _shade_column(shadows: ShadowMap, buffers: PaintBuffers) -> None:
    """Take the light that throws shadows from where it does not get to."""
    for row in range(len(buffers.shone)):
        if buffers.shone[row] > 0:
            share = find_lit_share(shadows, buffers.x[row], buffers.y[row], buffers.z[row])
            buffers.shone[row] *= np.float32(share)


@compiled
def _light_column(light: Daylight, lamp_light: LampLight, buffers: PaintBuffers) -> None:
    """Multiply colours with the light that reaches them."""
    if light.dark > 0:
        strength = np.float32(0.30 * light.dark)
        for row in range(len(buffers.dome)):
            lamp = ZERO
            if buffers.dome[row] > 0:
                lamp = strength * find_lamp_light(lamp_light, buffers.x[row], buffers.y[row])
                lamp /= ONE + buffers.above[row] * buffers.above[row] * np.float32(0.04)
            buffers.lamp[row] = lamp
    for k in range(3):
        colour = buffers.red if k == 0 else (buffers.green if k == 1 else buffers.blue)
        sky, sun = light.ambient[k], light.key_colour[k]
        if light.dark > 0:
            warm = LAMP_GLOW[k]
            for row in range(len(colour)):
                shine = buffers.glow[row] + warm * buffers.lamp[row]
                colour[row] *= shine + sky * buffers.dome[row] + sun * buffers.shone[row]
        else:
            _light_channel(colour, buffers.dome, buffers.shone, buffers.glow, sky, sun)


@compiled
def _light_channel(
    colour: Float32s,
    dome: Float32s,
    shone: Float32s,
    glow: Float32s,
    sky: np.float32,
    sun: np.float32,
) -> None:
    for row in range(len(colour)):
        colour[row] *= glow[row] + sky * dome[row] + sun * shone[row]


@compiled
def _mirror_column(
    source: Int32s, faces: FaceMaterials, light: Daylight, origin: Floats, buffers: PaintBuffers
) -> None:
    """Add what smooth surfaces mirror of the sky, by Schlick's approximation of Fresnel's law."""
    sky = light.sky
    for row in range(len(source)):
        mirror = buffers.mirror[row]
        if mirror <= 0:
            continue
        part = ONE / buffers.far[row]
        x = (buffers.x[row] - np.float32(origin[0])) * part
        y = (buffers.y[row] - np.float32(origin[1])) * part
        z = (buffers.z[row] - np.float32(origin[2])) * part
        face = source[row]
        if face >= 0:
            # a wall or a pane: its horizontal normal is square to its tangent
            across, along = faces.tangent[face, 1], -faces.tangent[face, 0]
            turned = x * across + y * along
            grazing = ONE - abs(turned)
            square = grazing * grazing
            rate = np.float32(0.05) + np.float32(0.5) * square * square * grazing
            x -= np.float32(2) * turned * across
            y -= np.float32(2) * turned * along
            z = max(abs(z), np.float32(0.35))
        else:
            z = min(max(-z, ZERO), ONE)
            grazing = ONE - z
            square = grazing * grazing
            rate = np.float32(0.02) + np.float32(0.98) * square * square * grazing
        share = mirror * rate
        sky_red, sky_green, sky_blue = find_sky_light(sky, x, y, z)
        buffers.red[row] += share * (sky_red - buffers.red[row])
        buffers.green[row] += share * (sky_green - buffers.green[row])
        buffers.blue[row] += share * (sky_blue - buffers.blue[row])


@compiled
def _expose_column(
    light: Daylight, tones: Bytes, exposure_of_film: float, buffers: PaintBuffers, pixels: Pixels
) -> None:
    """See the colours of a column through the air, expose them and make bytes of them."""
    alpha, start = np.float32(light.extinction / 16), np.float32(light.fog_start)
    clear = buffers.flat
    for row in range(len(pixels)):
        # exp(-x) is ((1 - x / 16) / (1 + x / 16)) ^ 8 to some thousandths
        depth = min(max(buffers.far[row] - start, ZERO) * alpha * buffers.bare[row], ONE)
        ratio = (ONE - depth) / (ONE + depth)
        ratio = ratio * ratio
        ratio = ratio * ratio
        clear[row] = ratio * ratio
    exposure = np.float32(exposure_of_film)
    _expose_channel(buffers.red, clear, light.fog[0], exposure, buffers.code_red)
    _expose_channel(buffers.green, clear, light.fog[1], exposure, buffers.code_green)
    _expose_channel(buffers.blue, clear, light.fog[2], exposure, buffers.code_blue)
    for row in range(len(pixels)):
        red, green = tones[buffers.code_red[row]], tones[buffers.code_green[row]]
        blue = tones[buffers.code_blue[row]]
        pixels[row] = 0xFF000000 | red << 16 | green << 8 | blue


@compiled
def _expose_channel(
    colour: Float32s, clear: Float32s, fog: np.float32, exposure: np.float32, code: Int32s
) -> None:
    """Write steps of the tone curve."""
    top = np.float32(BRIGHTEST)
    scale = np.float32((TONES - 1) / np.sqrt(BRIGHTEST))
    for row in range(len(colour)):
        seen = exposure * (fog + clear[row] * (colour[row] - fog))
        code[row] = np.int32(scale * np.sqrt(min(max(seen, ZERO), top)))

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
from harness.carlite.compiled import compiled, vectorised
from harness.carlite.sensors.daylight import Daylight
from harness.carlite.sensors.fan import RayFan
from harness.carlite.sensors.ground_look import GroundLook, colour_ground, wet_ground
from harness.carlite.sensors.lamplight import LampLight, find_lamps_light
from harness.carlite.sensors.markings import GroundMarkings
from harness.carlite.sensors.materials import FaceMaterials
from harness.carlite.sensors.mirrors import mirror_runs
from harness.carlite.sensors.paint_buffers import ONE, STRIP, ZERO, PaintBuffers, Pixels
from harness.carlite.sensors.rasterise import GROUND, NOTHING
from harness.carlite.sensors.road_paint import paint_roads
from harness.carlite.sensors.shadows import ShadowMap, shade_run
from harness.carlite.sensors.surfaces import LAMP_GLOW, colour_face
from harness.carlite.sensors.things import PlacedThings
from harness.carlite.sensors.vault import colour_sky

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
        shine: (cells, 2) how squarely the light falls on the ground.
        light: the weather's.
        shadows: of the scene.
        lamp_light: on the ground at night.
        noise: the grain of surfaces.
        tones: (TONES,) the byte of each brightness, as a whole number.
        exposure: what light is multiplied with before.
    """

    faces: FaceMaterials
    labels: Bytes
    lamps: Int32s
    owners: Int32s
    placed: PlacedThings
    ground: GroundLook
    shine: Float32s
    markings: GroundMarkings
    light: Daylight
    shadows: ShadowMap
    lamp_light: LampLight
    noise: Bytes
    tones: Int32s
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
        runs = list_runs(source[column], buffers.runs)
        _colour_runs(source[column], scene, origin, ray_apart, runs, buffers)
        paint_roads(scene.markings, origin, wide, buffers)
        _light_column(light, scene.lamp_light, buffers)
        if light.wet > 0 or scene.faces.mirrors[0] > 0:
            mirror_runs(source[column], scene.faces, light.sky, origin, runs, buffers)
        _expose_column(light, scene.tones, scene.exposure, buffers, buffers.strip[column % STRIP])
        # image: (height, width), top row first; rows of rays are bottom row first
        if column % STRIP == STRIP - 1:
            _copy_strip(buffers.strip, column + 1 - STRIP, image)
    first = width - width % STRIP
    for column in range(first, width):
        for row in range(height):
            image[height - 1 - row, column] = buffers.strip[column - first, row]


@vectorised
def _copy_strip(strip: Pixels, first: int, image: Pixels) -> None:
    """Write finished columns to the picture, `first` being the first of them."""
    height = image.shape[0]
    for row in range(height):
        for k in range(STRIP):
            image[height - 1 - row, first + k] = strip[k, row]


@vectorised
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
    ahead_x = rotation[0, 0] * cosine + rotation[0, 1] * sine
    ahead_y = rotation[1, 0] * cosine + rotation[1, 1] * sine
    ahead_z = rotation[2, 0] * cosine + rotation[2, 1] * sine
    up_x, up_y, up_z = rotation[0, 2] * cosine, rotation[1, 2] * cosine, rotation[2, 2] * cosine
    begin_x, begin_y, begin_z = origin[0], origin[1], origin[2]
    for row in range(len(nearness)):
        slope = fan.slopes[row]
        flat, z = np.float32(1 / nearness[row]), cosine * slope
        buffers.far[row] = flat * np.sqrt(1 + z * z)
        buffers.x[row] = begin_x + flat * (ahead_x + up_x * slope)
        buffers.y[row] = begin_y + flat * (ahead_y + up_y * slope)
        buffers.z[row] = begin_z + flat * (ahead_z + up_z * slope)
    for row in range(len(nearness)):
        buffers.bare[row], buffers.dome[row], buffers.shone[row] = ONE, ZERO, ZERO
        buffers.glow[row], buffers.mirror[row], buffers.painted[row] = ZERO, ZERO, 0


@compiled
def list_runs(source: Int32s, runs: Int32s) -> int:
    """Write where runs of the same surface begin in a column, and its end; return how many."""
    count = 0
    before = source[0]
    runs[0] = 0
    for row in range(1, len(source)):
        if source[row] != before:
            count += 1
            runs[count], before = row, source[row]
    runs[count + 1] = len(source)
    return count + 1


@compiled
def _colour_runs(
    source: Int32s,
    scene: PaintedScene,
    origin: Floats,
    ray_apart: float,
    runs: int,
    buffers: PaintBuffers,
) -> None:
    """Write the colours of a column's pixels and their shadows, run by run of the same surface."""
    for n in range(runs):
        row, end = buffers.runs[n], buffers.runs[n + 1]
        face = source[row]
        if face == NOTHING:
            colour_sky(scene.light.sky, origin, row, end, buffers)
        elif face == GROUND:
            colour_ground(scene.ground, scene.shine, scene.noise, row, end, buffers)
            shade_run(scene.shadows, row, end, buffers)
            if scene.light.wet > 0:
                wet_ground(scene.light.wet, scene.light.puddles, scene.noise, row, end, buffers)
        else:
            thing = scene.owners[face]
            colour_face(
                scene.faces, face, scene.labels[face], scene.lamps[face], thing,
                scene.placed.centre[thing], scene.placed.matrix[thing], scene.light.dark,
                scene.exposure, scene.noise, ray_apart, row, end, buffers,
            )  # fmt: skip
            if scene.faces.facing[face] > 0:
                shade_run(scene.shadows, row, end, buffers)


@compiled
def _light_column(light: Daylight, lamp_light: LampLight, buffers: PaintBuffers) -> None:
    """Multiply colours with the light that reaches them."""
    if light.dark > 0:
        find_lamps_light(lamp_light, np.float32(0.30 * light.dark), buffers)
        _light_by_lamps(light, buffers)
    else:
        _light_by_day(light, buffers)


@vectorised
def _light_by_day(light: Daylight, buffers: PaintBuffers) -> None:
    sky_red, sky_green, sky_blue = light.ambient[0], light.ambient[1], light.ambient[2]
    sun_red, sun_green, sun_blue = light.key_colour[0], light.key_colour[1], light.key_colour[2]
    for row in range(len(buffers.red)):
        glow, dome, shone = buffers.glow[row], buffers.dome[row], buffers.shone[row]
        buffers.red[row] *= glow + sky_red * dome + sun_red * shone
        buffers.green[row] *= glow + sky_green * dome + sun_green * shone
        buffers.blue[row] *= glow + sky_blue * dome + sun_blue * shone


@vectorised
def _light_by_lamps(light: Daylight, buffers: PaintBuffers) -> None:
    sky_red, sky_green, sky_blue = light.ambient[0], light.ambient[1], light.ambient[2]
    sun_red, sun_green, sun_blue = light.key_colour[0], light.key_colour[1], light.key_colour[2]
    for row in range(len(buffers.red)):
        glow, dome, shone = buffers.glow[row], buffers.dome[row], buffers.shone[row]
        lamp = buffers.lamp[row]
        shine = glow + LAMP_GLOW[0] * lamp
        buffers.red[row] *= shine + sky_red * dome + sun_red * shone
        shine = glow + LAMP_GLOW[1] * lamp
        buffers.green[row] *= shine + sky_green * dome + sun_green * shone
        shine = glow + LAMP_GLOW[2] * lamp
        buffers.blue[row] *= shine + sky_blue * dome + sun_blue * shone


@vectorised
def _expose_column(
    light: Daylight, tones: Int32s, exposure_of_film: float, buffers: PaintBuffers, pixels: Pixels
) -> None:
    """See the colours of a column through the air, expose them and make bytes of them."""
    alpha, start = np.float32(light.extinction / 16), np.float32(light.fog_start)
    fog_red, fog_green, fog_blue = light.fog[0], light.fog[1], light.fog[2]
    exposure = np.float32(exposure_of_film)
    for row in range(len(pixels)):
        # exp(-x) is ((1 - x / 16) / (1 + x / 16)) ^ 8 to some thousandths
        depth = min(max(buffers.far[row] - start, ZERO) * alpha * buffers.bare[row], ONE)
        ratio = (ONE - depth) / (ONE + depth)
        ratio = ratio * ratio
        ratio = ratio * ratio
        clear = ratio * ratio
        red = tones[_find_tone(exposure * (fog_red + clear * (buffers.red[row] - fog_red)))]
        green = tones[_find_tone(exposure * (fog_green + clear * (buffers.green[row] - fog_green)))]
        blue = tones[_find_tone(exposure * (fog_blue + clear * (buffers.blue[row] - fog_blue)))]
        pixels[row] = np.uint32(0xFF000000) | np.uint32(red << 16 | green << 8 | blue)


@compiled
def _find_tone(seen: np.float32) -> np.int32:
    """Return the step of the tone curve of a brightness."""
    scale = np.float32((TONES - 1) / np.sqrt(BRIGHTEST))
    return np.int32(scale * np.sqrt(min(max(seen, ZERO), np.float32(BRIGHTEST))))

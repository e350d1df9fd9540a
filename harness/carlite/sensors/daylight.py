"""Light and sky of a picture: what the weather and the hour make of them, prepared once."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.carlite.arrays import Float32s, Floats
from harness.carlite.compiled import compiled
from harness.carlite.sensors.noise_table import NOISE_SIDE, make_noise_table
from harness.carlite.sensors.vault import SKY_SIDE, encode_sky_light
from harness.carlite.sensors.weather import (
    HAZE_HEIGHT,
    LEAST_FALLOFF,
    SceneWeather,
    compute_extinction,
    compute_sun_direction,
    compute_wetness,
)

NIGHT = np.array([0.010, 0.013, 0.022])
BLUE, GREY = np.array([0.62, 0.80, 1.00]), np.array([0.86, 0.90, 0.94])
NOON_SUN, LOW_SUN = np.array([1.0, 0.95, 0.86]), np.array([1.0, 0.50, 0.20])
HIGH_SKY, HORIZON_SKY = np.array([0.10, 0.27, 0.60]), np.array([0.60, 0.72, 0.82])
NIGHT_SKY, NIGHT_HORIZON = np.array([0.004, 0.006, 0.014]), np.array([0.012, 0.014, 0.022])
DUST_COLOUR = np.array([0.62, 0.47, 0.30])
LOWEST_SHADOWS = math.sin(math.radians(8.0))
"""Shadows are no longer than those of a sun this high; its sine."""


class Daylight(NamedTuple):
    """Light, air and ground of one weather; colours are linear, 1 is white in the noon's sun.

    Attributes:
        key: (3,) unit vector to the light that throws shadows: the sun, or the zenith where the
            sun is hidden or down.
        key_colour, ambient, fog: (3,).
        extinction: 1/m.
        fog_start: m before which there is no fog.
        wet, puddles: from 0 to 1.
        dark: how much lamps and windows shine, from 0 by day to 1 at night.
        exposure: what an eye used to this light multiplies with.
        sky: (SKY_SIDE, SKY_SIDE) the upper half of all directions, see `vault.py`.
    """

    key: Floats
    key_colour: Float32s
    ambient: Float32s
    fog: Float32s
    extinction: float
    fog_start: float
    wet: float
    puddles: float
    dark: float
    exposure: float
    sky: NDArray[np.uint32]


@lru_cache(maxsize=2)
def prepare_daylight(weather: SceneWeather) -> Daylight:
    """Return the light of a weather; the latest ones are kept."""
    sun = compute_sun_direction(weather)
    high = float(sun[2])
    clouds = min(max(weather.cloudiness, 0.0), 100.0) / 100
    dust = min(max(weather.dust_storm, 0.0), 100.0) / 100
    alpha = compute_extinction(weather)
    # how light it is, how red the sun, how much of it comes through
    day = _ease(high, -0.12, 0.20)
    low = 1 - _ease(high, 0.02, 0.45)
    through = _ease(high, 0.0, 0.12) * (1 - clouds) ** 1.2 * math.exp(-150 * alpha)
    sun_colour = (NOON_SUN + low * (LOW_SUN - NOON_SUN)) * 1.75 * through
    dome = BLUE + max(clouds, min(1.0, 60 * alpha)) * (GREY - BLUE)
    ambient = dome * day * (0.42 + 0.30 * clouds) + NIGHT
    key, key_colour = sun, sun_colour
    # without a sun the open sky overhead throws faint shadows
    if through < 0.12:
        key = np.array([0.0, 0.0, 1.0])
        key_colour, ambient = sun_colour + 0.55 * ambient, 0.62 * ambient
    elif high < LOWEST_SHADOWS:
        flat = math.sqrt((1 - LOWEST_SHADOWS**2) / max(1 - high * high, 1e-12))
        key = np.array([sun[0] * flat, sun[1] * flat, LOWEST_SHADOWS])
    level = float(0.7 * key_colour.mean() + ambient.mean())
    exposure = 0.92 * (1.35 / level) ** 0.33
    # the sky and the air
    horizon = HORIZON_SKY + low * day * (np.array([0.85, 0.55, 0.34]) - HORIZON_SKY)
    horizon = horizon + clouds * (0.62 * GREY - horizon)
    horizon = (horizon + dust * (DUST_COLOUR - horizon)) * (
        0.08 + 0.92 * through**0.2 if through else 0.5
    )
    horizon = horizon * day + NIGHT_HORIZON * (1 + 2 * clouds)
    zenith = HIGH_SKY * day + NIGHT_SKY
    wet, puddles = compute_wetness(weather)
    sky = np.empty((SKY_SIDE, SKY_SIDE), np.uint32)
    thickness = alpha * HAZE_HEIGHT / max(weather.fog_falloff, LEAST_FALLOFF)
    lit = 0.55 * sun_colour + 0.9 * ambient / max(float(ambient.max()), 1e-9) * day * (
        0.78 - 0.35 * clouds
    )
    paint_sky(
        sky, sun, horizon, zenith, sun_colour * 30, lit + NIGHT_SKY, clouds, thickness,
        make_noise_table(),
    )  # fmt: skip
    return Daylight(
        key=key,
        key_colour=key_colour.astype(np.float32),
        ambient=ambient.astype(np.float32),
        fog=horizon.astype(np.float32),
        extinction=alpha,
        fog_start=max(weather.fog_distance, 0.0),
        wet=wet,
        puddles=puddles,
        dark=1 - _ease(high, -0.08, 0.10) * (1 - 0.3 * clouds),
        exposure=exposure,
        sky=sky,
    )


def _ease(value: float, low: float, high: float) -> float:
    """Return 0 up to `low`, 1 from `high` on, and a smooth way between."""
    part = min(max((value - low) / (high - low), 0.0), 1.0)
    return part * part * (3 - 2 * part)


@compiled
def paint_sky(
    sky: NDArray[np.uint32],
    sun: Floats,
    horizon: Floats,
    zenith: Floats,
    disc: Floats,
    cloud: Floats,
    clouds: float,
    thickness: float,
    noise: Float32s,
) -> None:
    """Fill the sky: a gradient, the sun and its glow, clouds, and the haze before them."""
    side = len(sky)
    cover = 1.02 - clouds
    for i in range(side):
        for j in range(side):
            # the direction of a place in the disc, by a paraboloid
            u, v = (j + 0.5) * 2 / side - 1, (i + 0.5) * 2 / side - 1
            square = min(u * u + v * v, 1.0)
            x, y, z = 2 * u / (1 + square), 2 * v / (1 + square), (1 - square) / (1 + square)
            rise = np.sqrt(z)
            facing = min(max(x * sun[0] + y * sun[1] + z * sun[2], 0.0), 1.0)
            glow = facing**8
            glow = 0.004 * glow + 0.010 * glow**8 + 0.03 * glow**64
            shown = 1.0 if facing > 0.99985 else 0.0
            # clouds on a plane high above
            amount = 0.0
            if clouds > 0.0 and z > 0.0:
                far = 34.0 / (z + 0.10)
                value = _mix_noise(noise, x * far, y * far)
                amount = min(max((value - 0.75 * cover) / 0.22, 0.0), 1.0)
                amount *= min(z * 8, 1.0) * min(clouds * 3, 1.0)
            # the haze takes most near the horizon
            depth = min(thickness / max(z, 0.004), 15.0)
            ratio = (1 - depth / 32) / (1 + depth / 32)
            air = ratio * ratio
            air *= air
            air *= air
            air *= air
            light = glow + shown * (1 - clouds)
            sky[i, j] = encode_sky_light(
                _layer_sky(horizon[0], zenith[0], disc[0], cloud[0], rise, light, amount, air),
                _layer_sky(horizon[1], zenith[1], disc[1], cloud[1], rise, light, amount, air),
                _layer_sky(horizon[2], zenith[2], disc[2], cloud[2], rise, light, amount, air),
            )


@compiled
def _layer_sky(
    horizon: float,
    zenith: float,
    disc: float,
    cloud: float,
    rise: float,
    light: float,
    amount: float,
    air: float,
) -> float:
    """Return one colour of the sky, behind clouds, behind haze."""
    value = horizon + rise * (zenith - horizon) + disc * light
    value += amount * (cloud - value)
    return horizon + air * (value - horizon)


@compiled
def _mix_noise(noise: Float32s, x: float, y: float) -> float:
    """Return smooth noise of two sizes, from 0 to 1."""
    total = 0.0
    for octave in range(2):
        scale, weight = (1.0, 0.72) if octave == 0 else (3.7, 0.28)
        a, b = x * scale, y * scale
        i, j = int(np.floor(b)), int(np.floor(a))
        v, u = b - i, a - j
        i, j = i & (NOISE_SIDE - 1), j & (NOISE_SIDE - 1)
        i2, j2 = (i + 1) & (NOISE_SIDE - 1), (j + 1) & (NOISE_SIDE - 1)
        low = noise[i, j] + u * (noise[i, j2] - noise[i, j])
        high = noise[i2, j] + u * (noise[i2, j2] - noise[i2, j])
        total += weight * (low + v * (high - low))
    return total

"""The weather of pictures: CARLA's numbers, and what follows from them for light and air.

Extinction of fog and rain is that of the LiDAR's weather (docs/explanation/weather.md):
Koschmieder's law for a visibility, and Marshall and Palmer's drops for a rate of rain.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np

from harness.carlite.arrays import Floats

CLEAREST, THICKEST = 5000.0, 50.0
"""Visibility in m where `fog_density` is 0 and where it is 100."""
HEAVIEST_RAIN = 50.0
"""mm/h where `precipitation` is 100."""
HAZE_HEIGHT = 20.0
"""Metres that the fog reaches up where `fog_falloff` is 1."""
LEAST_FALLOFF = 0.02
DUST = 0.03
"""Extinction in 1/m of the strongest dust storm."""


@dataclass(frozen=True, kw_only=True)
class SceneWeather:
    """CARLA's `WeatherParameters`, with the defaults of a server; angles in degrees, most in %."""

    cloudiness: float = 0.0
    precipitation: float = 0.0
    precipitation_deposits: float = 0.0
    wind_intensity: float = 0.0
    sun_azimuth_angle: float = 0.0
    sun_altitude_angle: float = 45.0
    fog_density: float = 2.0
    fog_distance: float = 0.75
    fog_falloff: float = 0.1
    wetness: float = 0.0
    scattering_intensity: float = 1.0
    mie_scattering_scale: float = 0.03
    rayleigh_scattering_scale: float = 0.0331
    dust_storm: float = 0.0


LIMITS = {
    "sun_azimuth_angle": (-36000.0, 36000.0),
    "sun_altitude_angle": (-90.0, 90.0),
    "fog_distance": (0.0, 1e5),
    "fog_falloff": (0.0, 1e3),
}


def make_scene_weather(numbers: Mapping[str, float]) -> SceneWeather:
    """Return the weather of CARLA's numbers; each is moved to where it means something.

    What is no number counts as the default.
    """
    kept: dict[str, float] = {}
    for field in fields(SceneWeather):
        low, high = LIMITS.get(field.name, (0.0, 100.0))
        value = float(numbers[field.name])
        if math.isfinite(value):
            kept[field.name] = min(max(value, low), high)
    return SceneWeather(**kept)


def compute_fog_visibility(density: float) -> float:
    """Return the meteorological optical range in m of a `fog_density` in %.

    CARLA does not say what its density means in metres: here the range falls from 5 km to 50 m,
    evenly in its logarithm.
    """
    share = min(max(density, 0.0), 100.0) / 100
    return CLEAREST * math.exp(share * math.log(THICKEST / CLEAREST))


def compute_fog_density(visibility: float) -> float:
    """Return the `fog_density` in % whose visibility is one in m, at least 0 and at most 100."""
    density = 100 * math.log(CLEAREST / visibility) / math.log(CLEAREST / THICKEST)
    return min(max(density, 0.0), 100.0)


def compute_extinction(weather: SceneWeather) -> float:
    """Return the share of light that a metre of air takes, 1/m, from 0 to some 0.1.

    Fog: ln 20 / V (Koschmieder, 1924). Rain of R mm/h: drops N(D) = 8000 exp(-L D), L = 4.1
    R^-0.21 / mm (Marshall and Palmer, 1948), which take 1e-6 pi 8000 / L^3.
    """
    alpha = math.log(20) / compute_fog_visibility(weather.fog_density)
    rate = HEAVIEST_RAIN * _compute_share(weather.precipitation)
    if rate > 0:
        alpha += 1e-6 * math.pi * 8000 / (4.1 * rate**-0.21) ** 3
    return alpha + DUST * _compute_share(weather.dust_storm) ** 2


def compute_sun_direction(weather: SceneWeather) -> Floats:
    """Return the unit vector to the sun, (3,): azimuth 0 is the world's x, 90 degrees its y."""
    altitude = math.radians(weather.sun_altitude_angle)
    azimuth = math.radians(weather.sun_azimuth_angle)
    flat = math.cos(altitude)
    return np.array([flat * math.cos(azimuth), flat * math.sin(azimuth), math.sin(altitude)])


def compute_wetness(weather: SceneWeather) -> tuple[float, float]:
    """Return how wet the ground is, and how much of it puddles may cover, both from 0 to 1."""
    wet, deposits = _compute_share(weather.wetness), _compute_share(weather.precipitation_deposits)
    return max(wet, min(2 * deposits, 1.0)), deposits


def _compute_share(percent: float) -> float:
    return min(max(percent, 0.0), 100.0) / 100

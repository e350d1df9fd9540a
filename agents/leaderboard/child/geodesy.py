"""Latitude and longitude as CARLA's Leaderboard computes them from places of the world.

Standard library only, Python 3.7 or newer: the module is read by the agent's own Python.
"""

from __future__ import annotations

import math
import re

EARTH_RADIUS = 6378137.0
DEFAULT_REFERENCE = (42.0, 2.0)


def read_reference(opendrive: str) -> tuple[float, float]:
    """Return the latitude and longitude, degrees, of a map's origin."""
    match = re.search(r"<geoReference>(.*?)</geoReference>", opendrive, re.DOTALL)
    text = match.group(1) if match else ""
    matches = [re.search(rf"\+{name}=([-+0-9.eE]+)", text) for name in ("lat_0", "lon_0")]
    numbers = [
        float(value.group(1)) if value else default
        for value, default in zip(matches, DEFAULT_REFERENCE)  # noqa: B905
    ]
    return numbers[0], numbers[1]


def to_degrees(reference: tuple[float, float], x: float, y: float) -> tuple[float, float]:
    """Return the latitude, which falls with y, and the longitude of a place in the world."""
    latitude, longitude = reference
    scale = math.cos(math.radians(latitude))
    east = scale * math.radians(longitude) * EARTH_RADIUS + x
    tangent = math.tan(math.radians(90.0 + latitude) / 2.0)
    north = scale * EARTH_RADIUS * math.log(tangent) - y
    turned = math.degrees(math.atan(math.exp(north / (EARTH_RADIUS * scale))))
    return 2.0 * turned - 90.0, math.degrees(east / (EARTH_RADIUS * scale))

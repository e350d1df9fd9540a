"""Satellite positioning: the world's metres as latitude, longitude and altitude.

The projection is the client's own (`carla.Map.transform_to_geolocation`): a transverse Mercator
projection of a sphere about the town's reference, in which latitude grows with y. As with all
sensors here, noise depends on `noise_seed` and on the frames since the first one, so that an
episode played again is sensed alike.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple, Protocol

import msgpack

from harness.carlite.randomness import make_random_stream
from harness.carlite.sensors.protocol import SensorPose
from harness.carlite.towns.model import Town

EARTH_RADIUS = 6_378_137.0
SCALE = 0.9996
DEFAULT_REFERENCE = (42.0, 2.0)
_AXES = ("lat", "lon", "alt")


class TownScene(Protocol):
    """A scene that knows its town."""

    town: Town


class GeoReference(NamedTuple):
    """Where on the globe the origin of a town lies, in degrees."""

    latitude: float
    longitude: float

    def to_geodetic(self, x: float, y: float, z: float) -> tuple[float, float, float]:
        """Return latitude and longitude in degrees and the altitude in metres of a place."""
        east = x / (SCALE * EARTH_RADIUS)
        north = y / (SCALE * EARTH_RADIUS) + math.radians(self.latitude)
        latitude = math.asin(math.sin(north) / math.cosh(east))
        turn = math.atan2(math.sinh(east), math.cos(north))
        return math.degrees(latitude), self.longitude + math.degrees(turn), z


@lru_cache(maxsize=8)
def read_geo_reference(opendrive: str) -> GeoReference:
    """Read the reference from an OpenDRIVE text; where it names none, take the client's default."""
    match = re.search(r"<geoReference>(.*?)</geoReference>", opendrive, re.DOTALL)
    text = match.group(1) if match else ""
    values = [re.search(rf"\+{name}=([-+0-9.eE]+)", text) for name in ("lat_0", "lon_0")]
    return GeoReference(
        *(
            float(value.group(1)) if value else default
            for value, default in zip(values, DEFAULT_REFERENCE, strict=True)
        )
    )


class GnssSensor:
    """`sensor.other.gnss`: the body is msgpack `[latitude, longitude, altitude]`."""

    def __init__(self, attributes: Mapping[str, str], seed: int, sensor_id: int) -> None:
        self._deviation = [float(attributes[f"noise_{axis}_stddev"]) for axis in _AXES]
        self._bias = [float(attributes[f"noise_{axis}_bias"]) for axis in _AXES]
        self._noise = (seed, "gnss", attributes["noise_seed"])
        self._first_frame: int | None = None

    def capture(self, scene: TownScene, pose: SensorPose, frame: int, dt: float) -> bytes:
        """Return the measured position."""
        if self._first_frame is None:
            self._first_frame = frame
        place = read_geo_reference(scene.town.opendrive).to_geodetic(*pose.position)
        errors = [0.0, 0.0, 0.0]
        if any(self._deviation):
            errors = (
                make_random_stream(*self._noise, frame - self._first_frame)
                .standard_normal(3)
                .tolist()
            )
        measured = [
            value + bias + deviation * error
            for value, bias, deviation, error in zip(
                place, self._bias, self._deviation, errors, strict=True
            )
        ]
        return bytes(msgpack.packb(measured))

"""Latitude and longitude of the world of a simulator, near one point."""

from __future__ import annotations

import math
from dataclasses import dataclass

from harness.common.errors import UserError

EARTH_RADIUS = 6_378_137.0
"""Metres: the equatorial radius of WGS 84; CARLA's own projection has it, too."""


@dataclass(frozen=True, slots=True)
class GeoReference:
    """Where the origin of the world is; x is to the east, y to the south.

    The plane touches the earth at the origin, and the earth is a sphere. Sender and receiver use
    the same projection, so what it leaves out cancels.
    """

    latitude: float = 49.0  # degrees, of the world's origin
    longitude: float = 8.0  # degrees

    def __post_init__(self) -> None:
        if not abs(self.latitude) <= 80:
            raise UserError(f"latitude = {self.latitude} degrees: must be -80 to 80")
        if not abs(self.longitude) <= 179:
            raise UserError(f"longitude = {self.longitude} degrees: must be -179 to 179")

    def locate_point(self, x: float, y: float) -> tuple[float, float]:
        """Return latitude and longitude, in degrees, of a point in metres."""
        north, east = self._metres_a_degree
        return self.latitude - y / north, self.longitude + x / east

    def place_point(self, latitude: float, longitude: float) -> tuple[float, float]:
        """Return x and y, in metres, of a point in degrees."""
        north, east = self._metres_a_degree
        return (longitude - self.longitude) * east, (self.latitude - latitude) * north

    @property
    def _metres_a_degree(self) -> tuple[float, float]:
        """Of latitude and of longitude."""
        north = math.radians(1.0) * EARTH_RADIUS
        return north, north * math.cos(math.radians(self.latitude))

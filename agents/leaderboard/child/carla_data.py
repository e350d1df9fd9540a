"""CARLA's data types, for a Python that has no wheel of `carla`: what agents compute with.

Standard library only, Python 3.7 or newer. Nothing here reaches a simulator.
"""

from __future__ import annotations

import math
from typing import Any


class Vector3D:
    """Metres, or metres a second."""

    def __init__(self, x: float = 0.0, y: float = 0.0, z: float = 0.0) -> None:
        self.x, self.y, self.z = float(x), float(y), float(z)

    def __add__(self, other: Any) -> Any:
        return type(self)(self.x + other.x, self.y + other.y, self.z + other.z)

    def __sub__(self, other: Any) -> Any:
        return type(self)(self.x - other.x, self.y - other.y, self.z - other.z)

    def __mul__(self, factor: float) -> Any:
        return type(self)(self.x * factor, self.y * factor, self.z * factor)

    __rmul__ = __mul__

    def __truediv__(self, factor: float) -> Any:
        return self * (1.0 / factor)

    def __eq__(self, other: object) -> bool:
        mine = (self.x, self.y, self.z)
        return isinstance(other, Vector3D) and mine == (other.x, other.y, other.z)

    def __hash__(self) -> int:
        return hash((self.x, self.y, self.z))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(x={self.x:f}, y={self.y:f}, z={self.z:f})"

    def length(self) -> float:
        """Return how long it is."""
        return math.sqrt(self.x**2 + self.y**2 + self.z**2)


class Location(Vector3D):
    """A place, metres."""

    def distance(self, other: Any) -> float:
        """Return metres to another place."""
        return float((self - other).length())


class Rotation:
    """Degrees."""

    def __init__(self, pitch: float = 0.0, yaw: float = 0.0, roll: float = 0.0) -> None:
        self.pitch, self.yaw, self.roll = float(pitch), float(yaw), float(roll)

    def get_forward_vector(self) -> Vector3D:
        """Return where it looks."""
        pitch, yaw = math.radians(self.pitch), math.radians(self.yaw)
        flat = math.cos(pitch)
        return Vector3D(flat * math.cos(yaw), flat * math.sin(yaw), math.sin(pitch))


class Transform:
    """A place and a direction."""

    def __init__(self, location: Any = None, rotation: Any = None) -> None:
        self.location = Location() if location is None else location
        self.rotation = Rotation() if rotation is None else rotation

    def get_forward_vector(self) -> Vector3D:
        """Return where it looks."""
        return self.rotation.get_forward_vector()


class VehicleControl:
    """Pedals, wheel and gear."""

    def __init__(  # noqa: PLR0917 - CARLA's own order
        self,
        throttle: float = 0.0,
        steer: float = 0.0,
        brake: float = 0.0,
        hand_brake: bool = False,
        reverse: bool = False,
        manual_gear_shift: bool = False,
        gear: int = 0,
    ) -> None:
        self.throttle, self.steer, self.brake = float(throttle), float(steer), float(brake)
        self.hand_brake, self.reverse = hand_brake, reverse
        self.manual_gear_shift, self.gear = manual_gear_shift, gear


class GeoLocation:
    """Degrees and metres."""

    def __init__(
        self, latitude: float = 0.0, longitude: float = 0.0, altitude: float = 0.0
    ) -> None:
        self.latitude, self.longitude, self.altitude = latitude, longitude, altitude


TYPES = (Vector3D, Location, Rotation, Transform, VehicleControl, GeoLocation)

"""Cooperative awareness messages of `sensor.other.v2x`: when one is due, and what it says.

As CARLA 0.9.16's CaService: after 4 degrees, 4 m or 0.5 m/s, at most every `gen_cam_min` seconds,
at least every `gen_cam_max`. Three messages without such a change end the shorter interval, as
ETSI EN 302 637-2 has it; CARLA leaves that number open.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from harness.carlite.randomness import make_random_stream
from harness.carlite.sensors.protocol import Vector
from harness.carlite.sensors.v2x_records import CAM_ID, PROTOCOL

TURNED, FARTHER, FASTER = math.radians(4.0), 4.0, 0.5
CALM_LIMIT = 3
LOW_FREQUENCY = 0.5
"""Seconds between messages with the vehicle's lights."""
SOON = 1e-6
LOUDEST = 1e5
"""In any unit: fields hold no more than that."""
ACCELERATION_LIMITS = (-160, 161)
NOISE = (
    "lat", "lon", "alt", "head", "accel_x", "accel_y", "accel_z", "yawrate", "vel_x",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class StationState:
    """The vehicle that carries a sensor, at a moment.

    Attributes:
        place: latitude and longitude in degrees, altitude in metres.
        heading: radians, clockwise from north.
        speed: m/s, forward.
        acceleration: m/s² forward, to the right and up, with that of the ground's support.
        yaw_rate: radians a second.
        size: length and width in metres.
    """

    station: int
    station_type: int
    position: Vector
    place: Vector
    heading: float
    speed: float
    acceleration: Vector
    yaw_rate: float
    size: tuple[float, float]
    lights: int = 0  # CARLA's flags
    role: int = 0


class AwarenessService:
    """One sensor's messages."""

    def __init__(self, attributes: Mapping[str, str], seed: int) -> None:
        self._shortest = float(attributes["gen_cam_min"])
        self._longest = float(attributes["gen_cam_max"])
        self._fixed = attributes["fixed_rate"].lower() == "true"
        self._noise = (seed, "v2x", attributes["noise_seed"])
        names = {
            name: (
                f"noise_{name[:-2]}_stddev{name[-2:]}"
                if name[-2:] in ("_x", "_y", "_z")
                else f"noise_{name}_stddev"
            )
            for name in NOISE
        }
        self._deviation = [float(attributes[names[name]]) for name in NOISE]
        self._bias = [float(attributes.get(f"noise_{name}_bias", 0.0)) for name in NOISE]
        self._interval = self._longest
        self._calm = 0
        self._sent_at = -math.inf
        self._low_at = -math.inf
        self._last: StationState | None = None
        self._count = 0

    def make_message(self, state: StationState, now: float) -> dict[str, int] | None:
        """Return the fields of the message that is due now; None: none is."""
        if not self._is_due(state, now):
            return None
        self._sent_at, self._last = now, state
        numbers = self._write_fields(state, now)
        if now - self._low_at >= LOW_FREQUENCY - SOON:
            self._low_at = now
            numbers |= {"low": 1, "role": state.role, "lights": code_lights(state.lights)}
        self._count += 1
        return numbers

    def _is_due(self, state: StationState, now: float) -> bool:
        passed = now - self._sent_at + SOON
        if passed < self._shortest:
            return False
        last = self._last
        if last is None or self._fixed:
            return True
        turned = abs(math.remainder(state.heading - last.heading, math.tau))
        if (
            turned > TURNED
            or math.dist(state.position, last.position) > FARTHER
            or abs(state.speed - last.speed) > FASTER
        ):
            self._interval, self._calm = min(passed, self._longest), 0
            return True
        if passed < self._interval:
            return False
        self._calm += 1
        if self._calm >= CALM_LIMIT:
            self._interval = self._longest
        return True

    def _write_fields(self, state: StationState, now: float) -> dict[str, int]:
        """Return the fields that every message has, with the sensor's noise."""
        error = [0.0] * len(NOISE)
        if any(self._deviation):
            samples = make_random_stream(*self._noise, self._count).standard_normal(len(NOISE))
            error = [
                size * one for size, one in zip(self._deviation, samples.tolist(), strict=True)
            ]
        noise = {
            name: min(LOUDEST, max(-LOUDEST, one + bias))
            for name, one, bias in zip(NOISE, error, self._bias, strict=True)
        }
        latitude, longitude, altitude = state.place
        heading = math.degrees(state.heading) + noise["head"]
        speed = abs(state.speed) + noise["vel_x"]
        yaw_rate = math.degrees(state.yaw_rate) + noise["yawrate"]
        forward, right, up = (
            code_acceleration(value + noise[f"accel_{axis}"])
            for value, axis in zip(state.acceleration, "xyz", strict=True)
        )
        return {
            "protocol": PROTOCOL,
            "message": CAM_ID,
            "station": state.station,
            "time": round(1000 * now) % 65536,
            "station_type": state.station_type,
            "latitude": round(1e6 * (latitude + noise["lat"])) * 10,
            "longitude": round(1e6 * (longitude + noise["lon"])) * 10,
            "semi_major": 4095,
            "semi_minor": 4095,
            "orientation": 3601,
            "altitude": round(100 * (altitude + noise["alt"])),
            "altitude_confidence": 15,
            "high": 1,
            "heading": round(10 * (heading % 360.0)),
            "heading_confidence": 10,
            "speed": min(16382, max(0, round(100 * speed))),
            "speed_confidence": 3,
            "direction": int(state.speed < 0),
            "length": round(10 * state.size[0]),
            "length_confidence": 4,
            "width": round(10 * state.size[1]),
            "longitudinal": forward,
            "longitudinal_confidence": 102,
            "curvature": 30001,
            "curvature_confidence": 7,
            "yaw_rate": code_yaw_rate(yaw_rate),
            "yaw_rate_confidence": 8,
            "has_lateral": 1,
            "lateral": right,
            "lateral_confidence": 102,
            "has_vertical": 1,
            "vertical": up,
            "vertical_confidence": 102,
        }


def code_acceleration(value: float) -> int:
    """Return tenths of m/s²; 161 for what the field cannot hold."""
    tenths = round(10 * value)
    low, unknown = ACCELERATION_LIMITS
    return tenths if low <= tenths <= unknown else unknown


def code_yaw_rate(degrees: float) -> int:
    """Return hundredths of a degree a second; 32767 for what the field cannot hold."""
    hundredths = round(100 * degrees)
    return hundredths if abs(hundredths) <= 32766 else 32767


def code_lights(flags: int) -> int:
    """Return ETSI's byte of exterior lights from CARLA's flags.

    Bit 7 is the low beam; then high beam, left, right, daytime, reverse, fog, parking.
    """
    # CARLA: position 1, low 2, high 4, brake 8, right 16, left 32, reverse 64, fog 128
    order = (2, 4, 32, 16, 0, 64, 128, 1)
    return sum(1 << (7 - at) for at, flag in enumerate(order) if flags & flag)

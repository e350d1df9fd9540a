"""The structures that the client reads from frames of `sensor.other.v2x` and `v2x_custom`.

A frame's body is one structure after another, in the layout of the client's C++ compiler. Pointers
of its vectors must be zero: the client follows them.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

CAM_SIZE, CUSTOM_SIZE = 464, 136
LONGEST_TEXT = 99
"""Bytes of a custom message; a zero follows."""
PROTOCOL = 2
CUSTOM_ID, CAM_ID = 0, 2

# bytes from the start of a CAM, of 64-bit numbers
CAM_NUMBERS = {
    "protocol": 8,
    "message": 16,
    "station": 24,
    "time": 32,  # ms modulo 65536
    "station_type": 40,
    "latitude": 48,  # 1e-7 degrees
    "longitude": 56,
    "semi_major": 64,
    "semi_minor": 72,
    "orientation": 80,
    "altitude": 88,  # cm
    "altitude_confidence": 96,
    "high": 104,  # 1: of a vehicle
    "heading": 112,  # 0.1 degrees clockwise from north
    "heading_confidence": 120,
    "speed": 128,  # cm/s
    "speed_confidence": 136,
    "direction": 144,  # 0 forward, 1 backward
    "length": 152,  # 0.1 m
    "length_confidence": 160,
    "width": 168,  # 0.1 m
    "longitudinal": 176,  # 0.1 m/s²
    "longitudinal_confidence": 184,
    "curvature": 192,
    "curvature_confidence": 200,
    "curvature_mode": 208,
    "yaw_rate": 216,  # 0.01 degrees/s
    "yaw_rate_confidence": 224,
    "lateral": 280,
    "lateral_confidence": 288,
    "vertical": 304,
    "vertical_confidence": 312,
    "low": 408,  # 1: of a vehicle
    "role": 416,
}
CAM_BYTES = {"has_lateral": 272, "has_vertical": 296, "lights": 424}


def pack_cam(power: float, numbers: Mapping[str, int]) -> bytes:
    """Return a CAM with its received power in dBm; what is not named is zero."""
    body = bytearray(CAM_SIZE)
    struct.pack_into("<f", body, 0, power)
    for name, value in numbers.items():
        if name in CAM_BYTES:
            body[CAM_BYTES[name]] = value
        else:
            struct.pack_into("<q", body, CAM_NUMBERS[name], value)
    return bytes(body)


def pack_custom(power: float, station: int, text: bytes) -> bytes:
    """Return a custom message with its received power in dBm."""
    body = bytearray(CUSTOM_SIZE)
    struct.pack_into("<fxxxxqqq", body, 0, *(power, PROTOCOL, CUSTOM_ID, station))
    body[32 : 32 + len(text)] = text
    return bytes(body)

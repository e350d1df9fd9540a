"""What every message says of its station: where it is, and of what type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from harness.channel.messages.errors import MessageError
from harness.channel.messages.quantities import (
    CENTIMETRE,
    GEO_STEP,
    count_steps,
    get_middle,
)

DENM_ID, CAM_ID, CPM_ID = 1, 2, 14
"""Message ids of ETSI TS 102 894-2."""
PROTOCOL_VERSION = 2
"""Of the messages that are written."""
MESSAGE_NAMES = {DENM_ID: "DENM", CAM_ID: "CAM", CPM_ID: "CPM"}
PASSENGER_CAR, ROADSIDE_UNIT = 5, 15
"""Station types of ETSI TS 102 894-2 that are often needed."""
UNKNOWN_LATITUDE, UNKNOWN_LONGITUDE, UNKNOWN_ALTITUDE = 900000001, 1800000001, 800001
UNKNOWN_AXIS, UNKNOWN_DIRECTION, UNKNOWN_CONFIDENCE = 4095, 3601, 127


@dataclass(frozen=True, slots=True)
class Position:
    """A place on earth."""

    latitude: float  # degrees
    longitude: float  # degrees
    altitude: float = 0.0  # m


def write_position(position: Position) -> dict[str, Any]:
    """Return a position as the field `ReferencePosition`; how good it is stays open."""
    return {
        "latitude": count_steps(position.latitude, GEO_STEP, -900000000, 900000000),
        "longitude": count_steps(position.longitude, GEO_STEP, -1799999999, 1800000000),
        "positionConfidenceEllipse": {
            "semiMajorConfidence": UNKNOWN_AXIS,
            "semiMinorConfidence": UNKNOWN_AXIS,
            "semiMajorOrientation": UNKNOWN_DIRECTION,
        },
        "altitude": {
            "altitudeValue": count_steps(position.altitude, CENTIMETRE, -100000, 800000),
            "altitudeConfidence": "unavailable",
        },
    }


def read_position(value: dict[str, Any]) -> Position:
    """Return the position of a field `ReferencePosition`; an unknown altitude is 0.

    Raises:
        MessageError: latitude or longitude is unknown.
    """
    latitude, longitude = value["latitude"], value["longitude"]
    if latitude == UNKNOWN_LATITUDE or longitude == UNKNOWN_LONGITUDE:
        raise MessageError("latitude or longitude: unknown")
    altitude = value["altitude"]["altitudeValue"]
    return Position(
        latitude=get_middle(latitude, GEO_STEP),
        longitude=get_middle(longitude, GEO_STEP),
        altitude=0.0 if altitude == UNKNOWN_ALTITUDE else get_middle(altitude, CENTIMETRE),
    )


def refuse_other_messages(octets: bytes, message_id: int) -> None:
    """Refuse bytes that begin as another message does.

    Raises:
        MessageError: the message is of another type, or none.
    """
    if len(octets) < 6:
        raise MessageError(f"{len(octets)} bytes are no message: the header has 6")
    if octets[1] != message_id:
        name = MESSAGE_NAMES.get(octets[1], f"of type {octets[1]}")
        raise MessageError(f"the message is {name}, not {MESSAGE_NAMES[message_id]}")

"""Decentralised environmental notification messages: hazards (ETSI EN 302 637-3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from harness.channel.messages.denm_format import DENM, USUAL_VALIDITY
from harness.channel.messages.quantities import (
    CENTIMETRE,
    count_angle,
    count_milliseconds,
    count_steps,
    get_angle,
    get_middle,
)
from harness.channel.messages.station import (
    DENM_ID,
    PASSENGER_CAR,
    PROTOCOL_VERSION,
    UNKNOWN_CONFIDENCE,
    Position,
    read_position,
    refuse_other_messages,
    write_position,
)

ACCIDENT, OBSTACLE, PEOPLE_ON_ROAD, STATIONARY_VEHICLE, COLLISION_RISK = 2, 10, 12, 94, 97
"""Cause codes of ETSI TS 102 894-2."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Denm:
    """An event at a place.

    Attributes:
        station_id: of the sender.
        sequence_number: of the event at its sender, 0 to 65535.
        detection_time: seconds since 2004 (TAI).
        reference_time: seconds since 2004 (TAI), of this version of the message.
        cause: a cause code, such as OBSTACLE.
        validity: whole seconds since the detection.
        cancelled: whether the event is over.
        speed: m/s, of what the event is about; None: unknown.
        heading: radians, clockwise from north; None: unknown.
    """

    station_id: int
    sequence_number: int
    detection_time: float
    reference_time: float
    position: Position
    cause: int
    sub_cause: int = 0
    quality: int = 0  # 1 lowest to 7 highest; 0: unavailable
    validity: int = USUAL_VALIDITY
    station_type: int = PASSENGER_CAR
    cancelled: bool = False
    speed: float | None = None
    heading: float | None = None


def encode_denm(denm: Denm) -> bytes:
    """Return the bytes of a message.

    Raises:
        MessageError: a value that the message cannot hold.
    """
    management: dict[str, Any] = {
        "actionID": {
            "originatingStationID": denm.station_id,
            "sequenceNumber": denm.sequence_number,
        },
        "detectionTime": count_milliseconds(denm.detection_time),
        "referenceTime": count_milliseconds(denm.reference_time),
        "eventPosition": write_position(denm.position),
        "validityDuration": denm.validity,
        "stationType": denm.station_type,
    }
    if denm.cancelled:
        management["termination"] = "isCancellation"
    content: dict[str, Any] = {
        "management": management,
        "situation": {
            "informationQuality": denm.quality,
            "eventType": {"causeCode": denm.cause, "subCauseCode": denm.sub_cause},
        },
    }
    if location := write_location(denm):
        content["location"] = location
    header = {
        "protocolVersion": PROTOCOL_VERSION,
        "messageID": DENM_ID,
        "stationID": denm.station_id,
    }
    return DENM.encode({"header": header, "denm": content})


def write_location(denm: Denm) -> dict[str, Any]:
    """Return the location container, with an empty trace; nothing if there is nothing to say."""
    location: dict[str, Any] = {}
    if denm.speed is not None:
        location["eventSpeed"] = {
            "speedValue": count_steps(denm.speed, CENTIMETRE, 0, 16382),
            "speedConfidence": UNKNOWN_CONFIDENCE,
        }
    if denm.heading is not None:
        location["eventPositionHeading"] = {
            "headingValue": count_angle(denm.heading),
            "headingConfidence": UNKNOWN_CONFIDENCE,
        }
    return {**location, "traces": [[]]} if location else {}


def decode_denm(octets: bytes) -> Denm:
    """Return what a message says of an event; a cause that it does not name is 0.

    Raises:
        MessageError: the bytes are no DENM.
    """
    refuse_other_messages(octets, DENM_ID)
    content = DENM.decode(octets)["denm"]
    management, location = content["management"], content.get("location", {})
    situation = content.get("situation", {})
    cause = situation.get("eventType", {})
    speed = location.get("eventSpeed", {}).get("speedValue", 16383)
    heading = location.get("eventPositionHeading", {}).get("headingValue", 3601)
    return Denm(
        station_id=management["actionID"]["originatingStationID"],
        sequence_number=management["actionID"]["sequenceNumber"],
        detection_time=management["detectionTime"] / 1000,
        reference_time=management["referenceTime"] / 1000,
        position=read_position(management["eventPosition"]),
        cause=cause.get("causeCode", 0),
        sub_cause=cause.get("subCauseCode", 0),
        quality=situation.get("informationQuality", 0),
        validity=management["validityDuration"],
        station_type=management["stationType"],
        cancelled="termination" in management,
        speed=None if speed == 16383 else get_middle(speed, CENTIMETRE) if speed else 0.0,
        heading=None if heading >= 3600 else get_angle(heading),
    )

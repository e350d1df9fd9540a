"""Cooperative awareness messages: what a vehicle says of itself (ETSI EN 302 637-2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from harness.channel.messages.cam_format import CAM
from harness.channel.messages.errors import MessageError
from harness.channel.messages.quantities import (
    CENTIMETRE,
    DECIMETRE,
    TENTH_OF_DEGREE,
    count_angle,
    count_milliseconds,
    count_steps,
    get_angle,
    get_middle,
)
from harness.channel.messages.station import (
    CAM_ID,
    PASSENGER_CAR,
    PROTOCOL_VERSION,
    UNKNOWN_CONFIDENCE,
    Position,
    read_position,
    refuse_other_messages,
    write_position,
)

YAW_RATE_STEP = TENTH_OF_DEGREE / 10
"""Radians a second."""
UNKNOWN_SPEED, UNKNOWN_YAW_RATE, UNKNOWN_ACCELERATION = 16383, 32767, 161
UNKNOWN_LENGTH, UNKNOWN_WIDTH = 1023, 62
VEHICLE_CONTAINER = "basicVehicleContainerHighFrequency"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cam:
    """A vehicle's own state.

    Attributes:
        station_id: of the sender, 0 to 4294967295.
        time: seconds since 2004 (TAI); modulo 65.536 s is sent, and that is read.
        heading: radians, clockwise from north.
        yaw_rate: radians a second, to the left.
        exterior_lights: eight of 0 and 1 if the low-frequency container is sent: low beam, high
            beam, left, right, daytime, reverse, fog, parking.
    """

    station_id: int
    time: float
    position: Position
    heading: float
    speed: float  # m/s, of the magnitude
    length: float  # m
    width: float  # m
    longitudinal_acceleration: float = 0.0  # m/s², forward
    yaw_rate: float = 0.0
    backward: bool = False
    station_type: int = PASSENGER_CAR
    exterior_lights: str | None = None


def encode_cam(cam: Cam) -> bytes:
    """Return the bytes of a message.

    Raises:
        MessageError: a value that the message cannot hold.
    """
    parameters: dict[str, Any] = {
        "basicContainer": {
            "stationType": cam.station_type,
            "referencePosition": write_position(cam.position),
        },
        "highFrequencyContainer": (VEHICLE_CONTAINER, write_motion(cam)),
    }
    if cam.exterior_lights is not None:
        low = {"vehicleRole": "default", "exteriorLights": cam.exterior_lights, "pathHistory": []}
        parameters["lowFrequencyContainer"] = ("basicVehicleContainerLowFrequency", low)
    return CAM.encode(
        {
            "header": {
                "protocolVersion": PROTOCOL_VERSION,
                "messageID": CAM_ID,
                "stationID": cam.station_id,
            },
            "cam": {
                "generationDeltaTime": count_milliseconds(cam.time) % 65536,
                "camParameters": parameters,
            },
        }
    )


def write_motion(cam: Cam) -> dict[str, Any]:
    """Return the high-frequency container; curvature is unavailable."""
    unknown = UNKNOWN_CONFIDENCE
    return {
        "heading": {"headingValue": count_angle(cam.heading), "headingConfidence": unknown},
        "speed": {
            "speedValue": count_steps(cam.speed, CENTIMETRE, 0, 16382),
            "speedConfidence": unknown,
        },
        "driveDirection": "backward" if cam.backward else "forward",
        "vehicleLength": {
            "vehicleLengthValue": count_steps(cam.length, DECIMETRE, 1, 1022),
            "vehicleLengthConfidenceIndication": "unavailable",
        },
        "vehicleWidth": count_steps(cam.width, DECIMETRE, 1, 61),
        "longitudinalAcceleration": {
            "longitudinalAccelerationValue": count_steps(
                cam.longitudinal_acceleration, DECIMETRE, -160, 160
            ),
            "longitudinalAccelerationConfidence": 102,
        },
        "curvature": {"curvatureValue": 1023, "curvatureConfidence": "unavailable"},
        "curvatureCalculationMode": "unavailable",
        "yawRate": {
            "yawRateValue": count_steps(cam.yaw_rate, YAW_RATE_STEP, -32766, 32766),
            "yawRateConfidence": "unavailable",
        },
    }


def decode_cam(octets: bytes) -> Cam:
    """Return what a vehicle's message says; a value that it does not have is 0.

    Raises:
        MessageError: the bytes are no CAM, or not of a vehicle.
    """
    refuse_other_messages(octets, CAM_ID)
    value = CAM.decode(octets)
    parameters = value["cam"]["camParameters"]
    kind, motion = parameters["highFrequencyContainer"]
    if kind != VEHICLE_CONTAINER:
        raise MessageError("the CAM is of a roadside unit, which has no speed")
    _, low = parameters.get("lowFrequencyContainer", ("", {}))
    speed = motion["speed"]["speedValue"]
    heading = motion["heading"]["headingValue"]
    return Cam(
        station_id=value["header"]["stationID"],
        time=value["cam"]["generationDeltaTime"] / 1000,
        position=read_position(parameters["basicContainer"]["referencePosition"]),
        heading=get_angle(heading) if heading < 3600 else 0.0,
        # no speed is exactly that
        speed=get_known(speed, CENTIMETRE, UNKNOWN_SPEED) if speed else 0.0,
        length=get_known(motion["vehicleLength"]["vehicleLengthValue"], DECIMETRE, UNKNOWN_LENGTH),
        width=get_known(motion["vehicleWidth"], DECIMETRE, UNKNOWN_WIDTH),
        longitudinal_acceleration=get_known(
            motion["longitudinalAcceleration"]["longitudinalAccelerationValue"],
            DECIMETRE,
            UNKNOWN_ACCELERATION,
        ),
        yaw_rate=get_known(motion["yawRate"]["yawRateValue"], YAW_RATE_STEP, UNKNOWN_YAW_RATE),
        backward=motion["driveDirection"] == "backward",
        station_type=parameters["basicContainer"]["stationType"],
        exterior_lights=low.get("exteriorLights"),
    )


def get_known(number: int, step: float, unknown: int) -> float:
    """Return the middle of what a number of steps stands for; 0 where it stands for unknown."""
    return 0.0 if number == unknown else get_middle(number, step)

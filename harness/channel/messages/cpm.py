"""Collective perception messages: what a station perceives of others (ETSI TS 103 324).

Objects stand in a plane that touches the earth at the sender: x to the east, y to the north, z up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from harness.channel.messages.cpm_format import (
    CPM,
    OBJECTS_CONTAINER,
    ROADSIDE_CONTAINER,
    SENSORS_CONTAINER,
    VEHICLE_CONTAINER,
)
from harness.channel.messages.quantities import (
    CENTIMETRE,
    DECIMETRE,
    MILLISECOND,
    count_angle,
    count_milliseconds,
    count_steps,
    get_angle,
    get_middle,
)
from harness.channel.messages.station import (
    CPM_ID,
    PASSENGER_CAR,
    PROTOCOL_VERSION,
    UNKNOWN_CONFIDENCE,
    Position,
    read_position,
    refuse_other_messages,
    write_position,
)
from harness.types.vocabulary import CYCLIST, PEDESTRIAN, VEHICLE

LIDAR = 2
"""The sensor type of ETSI TS 102 894-2."""
UNKNOWN_COORDINATE_CONFIDENCE, UNKNOWN_DIMENSION_CONFIDENCE, UNKNOWN_VELOCITY = 4096, 32, 16383
OLDEST = 2047
"""Milliseconds: an object's age as the message can say it, at most."""
FARTHEST = 131070
"""Centimetres from the sender along an axis, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PerceivedObject:
    """A road user as a station perceives it.

    Attributes:
        object_id: of the station, 0 to 65535.
        east: metres from the station's reference position to the centre of the box.
        yaw: radians of the box's length, counter-clockwise from east.
        velocity: m/s to the east and to the north; None: not known.
        measured: seconds from the message's time to the measurement: negative for an earlier one.
        age: seconds since the station detected it first; 2.047 stands for more, too.
        class_index: into `CLASSES`.
        confidence: in the class, 0 to 1; 1 % is the smallest that can be sent.
    """

    object_id: int
    east: float
    north: float
    up: float
    yaw: float
    length: float
    width: float
    height: float
    class_index: int
    confidence: float
    velocity: tuple[float, float] | None = None
    measured: float = 0.0
    age: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cpm:
    """What a station perceives.

    Attributes:
        station_id: of the sender.
        time: seconds since 2004 (TAI).
        position: to which objects are relative.
        orientation: radians of a vehicle, clockwise from north; None: a roadside unit.
        objects: those that this message has.
        perceived: number of all objects that the station perceives, 0 to 255.
        sensor_range: metres, if the message describes the station's LiDAR; None: it does not.
        segment: which of how many segments this message is, from 1; None: the whole.
    """

    station_id: int
    time: float
    position: Position
    orientation: float | None
    objects: tuple[PerceivedObject, ...]
    perceived: int
    sensor_range: float | None = None
    segment: tuple[int, int] | None = None


def encode_cpm(cpm: Cpm) -> bytes:
    """Return the bytes of a message.

    Raises:
        MessageError: a value that the message cannot hold.
    """
    if cpm.orientation is None:
        station: dict[str, Any] = {"containerId": ROADSIDE_CONTAINER, "containerData": {}}
    else:
        station = {
            "containerId": VEHICLE_CONTAINER,
            "containerData": {"orientationAngle": write_angle(cpm.orientation)},
        }
    containers = [station]
    if cpm.sensor_range is not None:
        containers.append(write_sensor(cpm.sensor_range))
    if cpm.objects:
        objects = {
            "numberOfPerceivedObjects": min(cpm.perceived, 255),
            "perceivedObjects": [write_object(seen) for seen in cpm.objects],
        }
        containers.append({"containerId": OBJECTS_CONTAINER, "containerData": objects})
    header = {"protocolVersion": PROTOCOL_VERSION, "messageId": CPM_ID, "stationId": cpm.station_id}
    management: dict[str, Any] = {
        "referenceTime": count_milliseconds(cpm.time),
        "referencePosition": write_position(cpm.position),
    }
    if cpm.segment is not None:
        number, total = cpm.segment
        management["segmentationInfo"] = {"totalMsgNo": total, "thisMsgNo": number}
    payload = {"managementContainer": management, "cpmContainers": containers}
    return CPM.encode({"header": header, "payload": payload})


def write_sensor(reach: float) -> dict[str, Any]:
    """Return the container of one LiDAR that sees all round."""
    shape = {"radius": count_steps(reach, DECIMETRE, 0, 4095)}
    sensor = {
        "sensorId": 1,
        "sensorType": LIDAR,
        "perceptionRegionShape": ("circular", shape),
        "shadowingApplies": True,
    }
    return {"containerId": SENSORS_CONTAINER, "containerData": [sensor]}


def write_object(seen: PerceivedObject) -> dict[str, Any]:
    """Return an object as a field of the container."""
    value: dict[str, Any] = {
        "objectId": seen.object_id,
        "measurementDeltaTime": max(-2048, min(2047, count_milliseconds(seen.measured))),
        "position": {
            "xCoordinate": write_coordinate(seen.east),
            "yCoordinate": write_coordinate(seen.north),
            "zCoordinate": write_coordinate(seen.up),
        },
        "angles": {"zAngle": write_angle(seen.yaw)},
        "objectDimensionZ": write_dimension(seen.height),
        "objectDimensionY": write_dimension(seen.width),
        "objectDimensionX": write_dimension(seen.length),
        "objectAge": max(0, min(OLDEST, count_milliseconds(seen.age))),
        "classification": [
            {
                "objectClass": write_class(seen.class_index),
                "confidence": count_steps(100 * seen.confidence, 1.0, 1, 100),
            }
        ],
    }
    if seen.velocity is not None:
        east, north = (
            {
                "value": count_steps(part, CENTIMETRE, -16382, 16382),
                "confidence": UNKNOWN_CONFIDENCE,
            }
            for part in seen.velocity
        )
        value["velocity"] = ("cartesianVelocity", {"xVelocity": east, "yVelocity": north})
    return value


def write_angle(angle: float) -> dict[str, Any]:
    """Return an angle in radians as a field."""
    return {"value": count_angle(angle), "confidence": UNKNOWN_CONFIDENCE}


def write_coordinate(metres: float) -> dict[str, Any]:
    """Return a coordinate as a field."""
    steps = count_steps(metres, CENTIMETRE, -FARTHEST, FARTHEST)
    return {"value": steps, "confidence": UNKNOWN_COORDINATE_CONFIDENCE}


def write_dimension(metres: float) -> dict[str, Any]:
    """Return a length, width or height as a field."""
    steps = count_steps(metres, DECIMETRE, 1, 254)
    return {"value": steps, "confidence": UNKNOWN_DIMENSION_CONFIDENCE}


def write_class(class_index: int) -> tuple[str, Any]:
    """Return what a road user is as a field."""
    if class_index == PEDESTRIAN:
        return "vruSubClass", ("pedestrian", 1)
    if class_index == CYCLIST:
        return "vruSubClass", ("bicyclistAndLightVruVehicle", 1)
    return "vehicleSubClass", PASSENGER_CAR


def decode_cpm(octets: bytes) -> Cpm:
    """Return what a message says; objects without a box that is known in the plane are left out.

    Raises:
        MessageError: the bytes are no CPM.
    """
    refuse_other_messages(octets, CPM_ID)
    value = CPM.decode(octets)
    management = value["payload"]["managementContainer"]
    containers = {
        container["containerId"]: container["containerData"]
        for container in value["payload"]["cpmContainers"]
    }
    vehicle, seen = containers.get(VEHICLE_CONTAINER), containers.get(OBJECTS_CONTAINER, {})
    orientation = None if vehicle is None else vehicle["orientationAngle"]["value"]
    split = management.get("segmentationInfo")
    return Cpm(
        station_id=value["header"]["stationId"],
        time=management["referenceTime"] * MILLISECOND,
        position=read_position(management["referencePosition"]),
        orientation=None if orientation is None else get_angle(orientation),
        objects=tuple(
            read_object(field) for field in seen.get("perceivedObjects", ()) if has_box(field)
        ),
        perceived=seen.get("numberOfPerceivedObjects", 0),
        sensor_range=read_range(containers.get(SENSORS_CONTAINER, [])),
        segment=None if split is None else (split["thisMsgNo"], split["totalMsgNo"]),
    )


def has_box(field: dict[str, Any]) -> bool:
    """Return whether an object has an id, a direction, a length and a width."""
    return (
        "objectId" in field
        and field.get("angles", {"zAngle": {"value": 3601}})["zAngle"]["value"] < 3600
        and all(field.get(f"objectDimension{axis}", {"value": 256})["value"] < 255 for axis in "XY")
    )


def read_object(field: dict[str, Any]) -> PerceivedObject:
    """Return the object of a field; what has no height is 1.5 m high and stands on the ground."""
    position = field["position"]
    up = position.get("zCoordinate")
    height = field.get("objectDimensionZ", {"value": 256})["value"]
    classes = field.get(
        "classification", [{"objectClass": ("vehicleSubClass", 0), "confidence": 101}]
    )
    best = max(classes, key=lambda named: named["confidence"] % 101)
    confidence = best["confidence"]
    return PerceivedObject(
        object_id=field["objectId"],
        east=get_middle(position["xCoordinate"]["value"], CENTIMETRE),
        north=get_middle(position["yCoordinate"]["value"], CENTIMETRE),
        up=0.0 if up is None else get_middle(up["value"], CENTIMETRE),
        yaw=get_angle(field["angles"]["zAngle"]["value"]),
        length=get_middle(field["objectDimensionX"]["value"], DECIMETRE),
        width=get_middle(field["objectDimensionY"]["value"], DECIMETRE),
        height=get_middle(height, DECIMETRE) if height < 255 else 1.5,
        class_index=read_class(best["objectClass"]),
        confidence=get_middle(confidence, 0.01) if confidence < 101 else 0.5,
        velocity=read_velocity(field.get("velocity")),
        measured=field["measurementDeltaTime"] * MILLISECOND,
        age=field.get("objectAge", 0) * MILLISECOND,
    )


def read_class(field: tuple[str, Any]) -> int:
    """Return the class of a road user: an index into `CLASSES`."""
    kind, value = field
    if kind == "vruSubClass":
        return PEDESTRIAN if value[0] in ("pedestrian", "animal") else CYCLIST
    if kind == "groupSubClass":
        return PEDESTRIAN
    return VEHICLE


def read_velocity(field: tuple[str, Any] | None) -> tuple[float, float] | None:
    """Return m/s to the east and to the north; None where they are not known."""
    if field is None:
        return None
    kind, value = field
    if kind == "polarVelocity":
        speed, angle = value["velocityMagnitude"]["speedValue"], value["velocityDirection"]["value"]
        if speed >= 16382 or angle >= 3600:
            return None
        return make_velocity(get_middle(speed, CENTIMETRE) if speed else 0.0, get_angle(angle))
    parts = [value[f"{axis}Velocity"]["value"] for axis in "xy"]
    if UNKNOWN_VELOCITY in parts:
        return None
    east, north = (get_middle(part, CENTIMETRE) for part in parts)
    return east, north


def make_velocity(speed: float, angle: float) -> tuple[float, float]:
    """Return a speed in a direction, counter-clockwise from east, as its two parts."""
    return speed * math.cos(angle), speed * math.sin(angle)


def read_range(sensors: list[dict[str, Any]]) -> float | None:
    """Return the radius of the first sensor that has one, in metres."""
    for sensor in sensors:
        kind, shape = sensor.get("perceptionRegionShape", ("", {}))
        if kind == "circular":
            return get_middle(shape["radius"], DECIMETRE)
    return None

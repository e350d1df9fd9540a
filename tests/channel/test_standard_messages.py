"""CAM, DENM and CPM: what is read is what was written, and bytes that other programs wrote."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.channel.messages.cam import Cam, decode_cam, encode_cam
from harness.channel.messages.cam_format import CAM
from harness.channel.messages.cpm import Cpm, PerceivedObject, decode_cpm, encode_cpm
from harness.channel.messages.cpm_format import CPM
from harness.channel.messages.denm import PEOPLE_ON_ROAD, Denm, decode_denm, encode_denm
from harness.channel.messages.denm_format import DENM
from harness.channel.messages.errors import MessageError
from harness.channel.messages.georeference import GeoReference
from harness.channel.messages.station import Position
from harness.common.errors import UserError
from harness.types.geometry import wrap_angle
from harness.types.vocabulary import PEDESTRIAN

ROUNDING = 1e-6
HALF_TENTH_OF_DEGREE = math.radians(0.05) + ROUNDING

# Written by pycrate 0.8.1 (CAM, DENM) and asn1tools 0.169 (CPM, from ETSI's modules), from values
# that were made up for this test; `tests.channel.outside_messages` compares many more.
CAM_BYTES = (
    "020212345678d431405a56dce64e1860c680f00a07083ccbcc184fa122b68402e092501be66204d0dfb00a7080880afd"
    "a7c02a6c698006c7da7e02b16360"
)
DENM_BYTES = (
    "020112345678e7891a2b3c0003943503fe00050d40ff8fa52b6e73270c306340780503841e65e64800780630f141802c"
    "04613384620003506612cd11118421b93ab1b4b13632babd6af6ad5a632ad0"
)
CPM_BYTES = (
    "020e123456782286a07fc0ca95b73993861831a03c0281c20f32f310400615221040e00c044215e5980878050134fa00"
    "117cec09a403af4e900ebff4dfff3cda31002cc0e064c3be2212c15dc9016b300200128003fda9fff04e27ff80467e38"
    "5fc4817e489300"
)


def pick(value: Any, path: str) -> Any:
    """Return a part of a value: names and numbers with dots, the second of a pair by itself."""
    for name in path.split("."):
        value = value[1] if isinstance(value, tuple) else value
        value = value[int(name)] if name.isdigit() else value[name]
    return value


@pytest.mark.parametrize(
    ("layout", "text", "parts"),
    [
        (
            CAM,
            CAM_BYTES,
            {
                "header.stationID": 305419896,
                "cam.generationDeltaTime": 54321,
                "cam.camParameters.basicContainer.referencePosition.latitude": 487718450,
                "cam.camParameters.highFrequencyContainer.speed.speedValue": 1389,
                "cam.camParameters.highFrequencyContainer.curvature.curvatureValue": -25,
                "cam.camParameters.lowFrequencyContainer.exteriorLights": "10001000",
                "cam.camParameters.lowFrequencyContainer.pathHistory.1.pathPosition"
                ".deltaLongitude": 690,
            },
        ),
        (
            DENM,
            DENM_BYTES,
            {
                "denm.management.referenceTime": 694310400500,
                "denm.management.validityDuration": 30,
                "denm.situation.eventType.causeCode": 12,
                "denm.alacarte.stationaryVehicle.carryingDangerousGoods.companyName": "Crucible",
                "denm.alacarte.stationaryVehicle.vehicleIdentification.vDS": "ZZZ1JZ",
            },
        ),
        (
            CPM,
            CPM_BYTES,
            {
                "payload.managementContainer.segmentationInfo.totalMsgNo": 2,
                "payload.cpmContainers.0.containerData.orientationAngle.value": 2705,
                "payload.cpmContainers.1.containerData.0.perceptionRegionShape.radius": 700,
                "payload.cpmContainers.2.containerData.perceivedObjects.0.position.yCoordinate"
                ".value": -5678,
                "payload.cpmContainers.2.containerData.perceivedObjects.0.objectAge": 1500,
                "payload.cpmContainers.2.containerData.perceivedObjects.1.velocity"
                ".velocityMagnitude.speedValue": 140,
            },
        ),
    ],
    ids=["CAM", "DENM", "CPM"],
)
def test_bytes_of_other_programs(layout: Any, text: str, parts: dict[str, Any]) -> None:
    octets = bytes.fromhex(text)
    value = layout.decode(octets)
    for path, expected in parts.items():
        assert pick(value, path) == expected, path
    assert layout.encode(value) == octets


def test_objects_of_another_program() -> None:
    cpm = decode_cpm(bytes.fromhex(CPM_BYTES))
    # the second object has no box: no size, no direction
    (car,) = cpm.objects
    assert (cpm.perceived, car.object_id) == (5, 17)
    assert cpm.sensor_range == pytest.approx(69.95)
    assert [car.east, car.north] == pytest.approx([12.335, -56.785])
    assert list(car.velocity or ()) == pytest.approx([-8.055, 0.115])
    assert [car.measured, car.age, car.confidence] == pytest.approx([-0.05, 1.5, 0.865])


angles = st.floats(-math.pi, math.pi)
speeds = st.floats(-160.0, 160.0)
metres = st.floats(-1300.0, 1300.0)
sizes = st.floats(0.11, 25.0)
positions = st.builds(
    Position,
    latitude=st.floats(-80.0, 80.0),
    longitude=st.floats(-179.0, 179.0),
    altitude=st.floats(-900.0, 7000.0),
)
seen = st.builds(
    PerceivedObject,
    object_id=st.integers(0, 65535),
    east=metres,
    north=metres,
    up=metres,
    yaw=angles,
    length=sizes,
    width=sizes,
    height=sizes,
    class_index=st.integers(0, 2),
    confidence=st.floats(0.0, 1.0),
    velocity=st.none() | st.tuples(speeds, speeds),
    measured=st.integers(-2000, 2000).map(lambda ms: ms / 1000),
    age=st.integers(0, 2047).map(lambda ms: ms / 1000),
)
cpms = st.builds(
    Cpm,
    station_id=st.integers(0, 2**32 - 1),
    time=st.integers(0, 2**42 - 1).map(lambda ms: ms / 1000),
    position=positions,
    orientation=st.none() | angles,
    objects=st.lists(seen, max_size=4).map(tuple),
    perceived=st.integers(0, 255),
    sensor_range=st.none() | st.floats(1.0, 400.0),
)


@given(cpms)
def test_a_cpm_comes_back_within_half_a_step(cpm: Cpm) -> None:
    octets = encode_cpm(cpm)
    back = decode_cpm(octets)
    # what was read is written as the same bytes
    assert encode_cpm(back) == octets
    assert (back.station_id, round(1000 * back.time)) == (cpm.station_id, round(1000 * cpm.time))
    check_position(back.position, cpm.position)
    assert (back.orientation is None) == (cpm.orientation is None)
    assert len(back.objects) == len(cpm.objects)
    for got, sent in zip(back.objects, cpm.objects, strict=True):
        for name in ("east", "north", "up"):
            assert abs(getattr(got, name) - getattr(sent, name)) <= 0.005 + ROUNDING
        for name in ("length", "width", "height"):
            assert abs(getattr(got, name) - getattr(sent, name)) <= 0.05 + ROUNDING
        assert abs(wrap_angle(got.yaw - sent.yaw)) <= HALF_TENTH_OF_DEGREE
        assert abs(got.confidence - sent.confidence) <= 0.005 + ROUNDING
        assert (got.velocity is None) == (sent.velocity is None)
        for part, other in zip(got.velocity or (), sent.velocity or (), strict=True):
            assert abs(part - other) <= 0.005 + ROUNDING
        assert (got.object_id, got.class_index) == (sent.object_id, sent.class_index)
        assert [got.measured, got.age] == pytest.approx([sent.measured, sent.age], abs=1e-9)


def check_position(got: Position, sent: Position) -> None:
    """Compare what was read of a position with what was written."""
    assert abs(got.latitude - sent.latitude) <= 0.51e-7
    assert abs(got.longitude - sent.longitude) <= 0.51e-7
    assert abs(got.altitude - sent.altitude) <= 0.005 + ROUNDING


@given(
    st.builds(
        Cam,
        station_id=st.integers(0, 2**32 - 1),
        time=st.integers(0, 2**40).map(lambda ms: ms / 1000),
        position=positions,
        heading=angles,
        speed=st.floats(0.0, 160.0),
        length=st.floats(0.11, 100.0),
        width=st.floats(0.11, 6.0),
        longitudinal_acceleration=st.floats(-15.0, 15.0),
        yaw_rate=st.floats(-5.0, 5.0),
        backward=st.booleans(),
        station_type=st.integers(0, 255),
        exterior_lights=st.none() | st.just("10000001"),
    )
)
def test_a_cam_comes_back_within_half_a_step(cam: Cam) -> None:
    octets = encode_cam(cam)
    back = decode_cam(octets)
    assert encode_cam(back) == octets
    check_position(back.position, cam.position)
    assert round(1000 * back.time) == round(1000 * cam.time) % 65536
    assert abs(wrap_angle(back.heading - cam.heading)) <= HALF_TENTH_OF_DEGREE
    for name, half in (
        ("speed", 0.005),
        ("length", 0.05),
        ("width", 0.05),
        ("longitudinal_acceleration", 0.05),
        ("yaw_rate", math.radians(0.005)),
    ):
        assert abs(getattr(back, name) - getattr(cam, name)) <= half + ROUNDING, name
    exact = ("station_id", "backward", "station_type", "exterior_lights")
    assert [getattr(back, name) for name in exact] == [getattr(cam, name) for name in exact]


DENM_EXAMPLE = Denm(
    station_id=7,
    sequence_number=3,
    detection_time=694310400.0,
    reference_time=694310400.5,
    position=Position(49.0, 8.0, 110.0),
    cause=PEOPLE_ON_ROAD,
    quality=5,
    validity=30,
    speed=1.4,
    heading=1.0,
)


@pytest.mark.parametrize(
    "denm",
    [
        DENM_EXAMPLE,
        replace(DENM_EXAMPLE, cancelled=True, validity=600),
        replace(DENM_EXAMPLE, speed=None, heading=None),
        replace(DENM_EXAMPLE, speed=0.0),
    ],
)
def test_a_denm_comes_back(denm: Denm) -> None:
    octets = encode_denm(denm)
    back = decode_denm(octets)
    assert encode_denm(back) == octets
    check_position(back.position, denm.position)
    for name, half in (("speed", 0.005), ("heading", HALF_TENTH_OF_DEGREE)):
        got, sent = getattr(back, name), getattr(denm, name)
        assert got is sent is None or abs(got - sent) <= half + ROUNDING
    same = replace(back, position=denm.position, speed=denm.speed, heading=denm.heading)
    assert same == denm


def test_another_message_is_refused() -> None:
    octets = encode_denm(DENM_EXAMPLE)
    with pytest.raises(MessageError, match="the message is DENM, not CPM"):
        decode_cpm(octets)
    with pytest.raises(MessageError, match="2 bytes are no message"):
        decode_cam(b"\x02\x02")


def test_numbers_that_no_message_can_hold() -> None:
    with pytest.raises(MessageError, match="nan is no finite number"):
        encode_denm(replace(DENM_EXAMPLE, position=Position(math.nan, 8.0)))
    with pytest.raises(MessageError, match=r"stationType: 300 is no number from 0 to 255"):
        encode_denm(replace(DENM_EXAMPLE, station_type=300))


def test_a_pedestrian_is_a_vulnerable_road_user() -> None:
    cpm = decode_cpm(bytes.fromhex(CPM_BYTES))
    walker = replace(cpm.objects[0], class_index=PEDESTRIAN)
    value = CPM.decode(encode_cpm(replace(cpm, objects=(walker,))))
    objects = value["payload"]["cpmContainers"][2]["containerData"]["perceivedObjects"]
    assert objects[0]["classification"][0]["objectClass"] == ("vruSubClass", ("pedestrian", 1))


@given(st.floats(-2000.0, 2000.0), st.floats(-2000.0, 2000.0), st.floats(-70.0, 70.0))
def test_a_point_of_the_world_comes_back(x: float, y: float, latitude: float) -> None:
    reference = GeoReference(latitude=latitude, longitude=8.0)
    back = reference.place_point(*reference.locate_point(x, y))
    assert list(back) == pytest.approx([x, y], abs=1e-6)
    # y is to the south
    assert reference.locate_point(0.0, 100.0)[0] < latitude


def test_a_world_at_the_pole_is_refused() -> None:
    with pytest.raises(UserError, match="latitude"):
        GeoReference(latitude=89.0)

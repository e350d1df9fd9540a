"""The codec is strict, and the bytes are the ones a client reads."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.carlite.actors import ActorKind, ActorTable
from harness.carlite.errors import CallError
from harness.carlite.wire import codec, frames, snapshot
from harness.carlite.wire.codec import Rotation, Wide
from harness.carlite.wire.records import (
    Actor,
    ActorDescription,
    AttributeValue,
    BoundingBox,
    EnvironmentObject,
    EpisodeSettings,
    Transform,
    VehicleControl,
    WalkerControl,
    WeatherParameters,
)


def test_a_record_is_its_fields_in_order() -> None:
    control = VehicleControl(
        throttle=0.5,
        steer=-0.25,
        brake=0.0,
        hand_brake=True,
        reverse=False,
        manual_gear_shift=True,
        gear=2,
    )
    assert codec.encode_record(control) == [0.5, -0.25, 0.0, True, False, True, 2]
    description = ActorDescription(3, "vehicle.a.b", (AttributeValue("color", 5, "1,2,3"),))
    box = BoundingBox((0.0, 0.0, 1.0), (2.0, 1.0, 0.5), actor_id=7)
    assert codec.encode_record(
        Actor(
            id=7,
            parent_id=0,
            description=description,
            bounding_box=box,
            semantic_tags=b"\x0e",
            stream_token=b"",
        )
    ) == [
        7,
        0,
        [3, "vehicle.a.b", [["color", 5, "1,2,3"]]],
        [[0.0, 0.0, 1.0], [2.0, 1.0, 0.5], [0.0, 0.0, 0.0], 7],
        b"\x0e",
        b"",
    ]


def test_degrees_exist_only_on_the_wire() -> None:
    sent = [[1.0, 2.0, 3.0], [10.0, -90.0, 180.0]]
    pose = codec.decode_record(Transform, sent)
    assert pose.rotation == pytest.approx((math.pi / 18, -math.pi / 2, math.pi))
    location, rotation = codec.encode_record(pose)
    assert location == sent[0]
    assert np.array_equal(np.array(rotation, np.float32), np.array(sent[1], np.float32))


@pytest.mark.parametrize(
    "record",
    [
        EpisodeSettings(),
        EpisodeSettings(synchronous_mode=True, fixed_delta_seconds=0.05),
        WeatherParameters(cloudiness=80.0),
        WalkerControl((1.0, 0.0, 0.0), 1.4, True),
        EnvironmentObject(
            transform=Transform((1.0, 2.0, 3.0), Rotation((0.0, 0.5, 0.0))),
            bounding_box=BoundingBox((1.0, 2.0, 3.0), (1.0, 1.0, 1.0)),
            id=Wide(2**63 + 1),
            name="wall",
            label=4,
        ),
    ],
)
def test_what_is_written_can_be_read(record: object) -> None:
    back = codec.decode_record(type(record), codec.encode_record(record))
    assert back == record


def test_optionals_carry_their_presence() -> None:
    assert codec.encode_record(EpisodeSettings())[2] == [False]
    assert codec.encode_record(EpisodeSettings(fixed_delta_seconds=0.1))[2] == [True, 0.1]


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ([math.nan, 0.0, 0.0, False, False, False, 0], "VehicleControl.throttle"),
        ([0.0, math.inf, 0.0, False, False, False, 0], "VehicleControl.steer"),
        ([0.0, 0.0, 1e30, False, False, False, 0], "VehicleControl.brake"),
        ([0.0, 0.0, 0.0, 1, False, False, 0], "VehicleControl.hand_brake"),
        ([0.0, 0.0, 0.0, False, False, False, 0.5], "VehicleControl.gear"),
        ([0.0, 0.0, 0.0, False, False, False, 2**40], "VehicleControl.gear"),
        ([True, 0.0, 0.0, False, False, False, 0], "VehicleControl.throttle"),
        ([0.0] * 6, "VehicleControl: expected a list of 7"),
        (None, "VehicleControl: expected a list of 7"),
        ("abcdefg", "VehicleControl: expected a list of 7"),
    ],
)
def test_readers_name_what_is_wrong(value: object, complaint: str) -> None:
    with pytest.raises(CallError, match=complaint.replace(".", r"\.")):
        codec.decode_record(VehicleControl, value)


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text(max_size=5)
    | st.binary(max_size=30),
    lambda inner: st.lists(inner, max_size=17) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=40,
)  # fmt: skip
RECORDS = (
    Transform, EpisodeSettings, WeatherParameters, ActorDescription, VehicleControl,
    WalkerControl, EnvironmentObject,
)  # fmt: skip


@given(JUNK)
def test_junk_is_refused_and_nothing_worse(junk: object) -> None:
    for record in RECORDS:
        try:
            codec.decode_record(record, junk)
        except CallError:
            continue
        pytest.fail(f"{record.__name__} took {junk!r}")


def table_of_five() -> ActorTable:
    table = ActorTable()
    table.add_actor(2, kind=ActorKind.SPECTATOR, position=(1.0, 2.0, 3.0))
    table.add_actor(3, kind=ActorKind.TRAFFIC_LIGHT, rotation=(0.0, math.pi / 2, 0.0))
    table.add_actor(
        4, kind=ActorKind.VEHICLE, position=(10.0, 20.0, 0.5), rotation=(0.1, -1.0, 0.2),
        velocity=(3.0, 4.0, 0.0), angular_velocity=(0.0, 0.0, 1.0), acceleration=(0.5, 0.0, -0.5),
        throttle=0.25, steer=-0.5, brake=0.75, hand_brake=True, gear=-1, speed_limit=10.0,
        light_state=1, has_light=True, light_id=3, manual_gear=True,
    )  # fmt: skip
    table.add_actor(
        5, kind=ActorKind.WALKER, walk_direction=(0.0, 1.0, 0.0), walk_speed=1.5, jump=True
    )
    table.add_actor(6, kind=ActorKind.SENSOR, position=(-1.0, -2.0, -3.0))
    return table


def test_snapshot_bytes() -> None:
    table = table_of_five()
    light = np.zeros(1, snapshot.SIGNAL)
    light["sign_id"], light["green"], light["yellow"], light["red"] = b"951", 10.0, 3.0, 2.0
    light["elapsed"], light["pole_index"], light["frozen"], light["state"] = 1.5, 4, True, 2
    records = snapshot.pack_actors(table, np.array([1]), light)
    body = snapshot.pack_snapshot(
        records, episode_id=7, platform_timestamp=1.25, dt=0.05, flags=snapshot.MAP_CHANGE
    )

    assert body[:36] == struct.pack("<QdfiiiI", 7, 1.25, 0.05, 0, 0, 0, 1)
    assert len(body) == 36 + 5 * 119
    rows = [body[36 + 119 * i :][:119] for i in range(5)]
    assert rows[0] == struct.pack("<IB3f", 2, 1, 1, 2, 3) + bytes(102)
    assert rows[1][:65] == struct.pack("<IB15f", 3, 1, *[0] * 4, 90, *[0] * 10)
    assert rows[1][65:] == struct.pack("<32s4fI?B", b"951", 10, 3, 2, 1.5, 4, True, 2)
    motion = (
        10, 20, 0.5, *np.degrees([0.1, -1.0, 0.2]), 3, 4, 0, 0, 0, np.degrees(1.0), 0.5, 0, -0.5,
    )  # fmt: skip
    assert rows[2][:65] == struct.pack("<IB15f", 4, 1, *motion)
    block = struct.pack(
        "<3f???ifB?IB", 0.25, -0.5, 0.75, True, False, True, -1, 36.0, 1, True, 3, 0
    )
    assert rows[2][65:] == block + bytes(54 - len(block))
    assert rows[3][65:] == struct.pack("<4f?", 0, 1, 0, 1.5, True) + bytes(37)
    assert rows[4][65:] == bytes(54)


def test_frame_header_bytes() -> None:
    pose = struct.pack("<6f", 1, 2, 3, 4, 5, 6)
    header = frames.pack_frame_header(frames.FrameKind.LIDAR, 12, 0.6, pose)
    assert header == struct.pack("<QQd6f", 11, 12, 0.6, 1, 2, 3, 4, 5, 6)
    assert len(frames.pack_frame_header(frames.FrameKind.WORLD, 1, 0.05)) == 48

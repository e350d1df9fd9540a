"""DENMs about persons on the road: when they are sent, what they load, what the ego knows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from harness.channel.channel import Channel
from harness.channel.messages.collective_perception import CpmFormat
from harness.channel.messages.denm import PEOPLE_ON_ROAD, decode_denm
from harness.channel.messages.georeference import GeoReference
from harness.channel.messages.notification import PERSON_SIZE, SentDenm
from harness.types.geometry import transform_boxes
from harness.types.vocabulary import (
    CYCLIST,
    PEDESTRIAN,
    VEHICLE,
    Boxes,
    Floats,
    Mask,
    Message,
    Pose,
)
from tests.channel.radios import open_free_radio

STEP = 0.2
WORLD = Pose(0.0, 0.0)
LIDAR = Pose(100.0, -20.0, 5.0, yaw=0.3)
NAME = "roadside-2"
KERB = -22.0
"""Metres: the road of these tests has larger y in the world."""


def find_beyond_kerb(points_in_world: Floats) -> Mask:
    """Return which points are on the road."""
    return np.asarray(points_in_world[:, 1] > KERB)


def make_message(step: int, people: list[tuple[float, float]], kind: int = PEDESTRIAN) -> Message:
    """Return a message of a step: road users at places in the world, and a parked car."""
    rows = [[x, y, 0.9, 0.6, 0.6, 1.8, 0.0] for x, y in people]
    rows.append([130.0, -25.0, 0.8, 4.5, 1.9, 1.6, 0.0])
    classes = [kind] * len(people) + [VEHICLE]
    in_world = Boxes(np.array(rows), np.array(classes), np.full(len(rows), 0.8))
    return Message(
        sender=NAME,
        kind="roadside",
        capture_frame=4 * step,
        capture_time=STEP * step,
        lidar_in_world=LIDAR,
        payload=transform_boxes(in_world, WORLD, LIDAR),
    )


def open_channel(**settings: object) -> Channel:
    """Return a channel with CPMs and DENMs, at the start of an episode."""
    channel = Channel()
    channel.message_format = CpmFormat(denms=True, **settings)  # type: ignore[arg-type]
    channel.reset(1, "route")
    assert channel.message_format.notifications is not None
    channel.message_format.notifications.find_on_road = find_beyond_kerb
    return channel


def send(channel: Channel, message: Message) -> None:
    """Let a message go from where it was captured."""
    channel.audit.note_capture(
        message.sender, message.capture_frame, message.capture_time, message.lidar_in_world
    )
    channel.send_message(message, 0.0)


def list_sent(channel: Channel) -> list[SentDenm]:
    """Return the DENMs of an episode."""
    assert channel.message_format is not None
    assert channel.message_format.notifications is not None
    return channel.message_format.notifications.rows


def walk(steps: int, place: Callable[[int], list[tuple[float, float]]]) -> Channel:
    """Return a channel on which a unit saw people at their places, step by step."""
    channel = open_channel()
    for step in range(steps):
        send(channel, make_message(step, place(step)))
    return channel


def test_an_event_is_new_then_updated_then_cancelled() -> None:
    # 1.5 m/s over the road from y = -22.95 on, on the road from step 4, gone from step 12 on
    def place(step: int) -> list[tuple[float, float]]:
        return [(110.0, -22.95 + 0.3 * step)] if step < 12 else []

    sent = list_sent(walk(20, place))
    assert [(one.trigger, round(one.time, 6)) for one in sent] == [
        ("new", 0.8),
        ("update", 1.4),
        ("update", 2.0),
        ("cancellation", 3.2),
    ]
    messages = [decode_denm(one.octets) for one in sent]
    assert {one.cause for one in messages} == {PEOPLE_ON_ROAD}
    assert {one.sequence_number for one in messages} == {0}
    assert [one.cancelled for one in messages] == [False, False, False, True]
    origin = GeoReference(49.0, 8.0)
    for one, message in zip(sent[:3], messages[:3], strict=True):
        x, y = origin.place_point(message.position.latitude, message.position.longitude)
        expected = 110.0, place(round(one.time / STEP))[0][1]
        assert (x, y) == pytest.approx(expected, abs=0.01)
        assert (one.x, one.y) == pytest.approx(expected, abs=0.01)
        # towards larger y, which is south
        assert message.speed == pytest.approx(1.5, abs=0.01)
        assert message.heading == pytest.approx(math.pi, abs=0.01)


def test_who_steps_back_is_no_event_any_more() -> None:
    channel = walk(4, lambda step: [(110.0, -21.5 - 0.3 * step)])
    assert [(one.trigger, one.time) for one in list_sent(channel)] == [
        ("new", 0.0),
        ("cancellation", 0.4),
    ]


def test_people_off_the_road_and_cyclists_are_no_event() -> None:
    assert list_sent(walk(6, lambda step: [(110.0, -23.0)])) == []
    channel = open_channel()
    for step in range(6):
        send(channel, make_message(step, [(110.0, -21.0)], kind=CYCLIST))
    assert list_sent(channel) == []


def test_two_persons_are_two_events() -> None:
    sent = list_sent(walk(1, lambda step: [(110.0, -21.0), (120.0, -20.0)]))
    assert [(one.event, one.trigger) for one in sent] == [(0, "new"), (1, "new")]
    assert [one.x for one in sent] == pytest.approx([110.0, 120.0], abs=0.01)


def test_the_ego_knows_a_person_by_the_denm_where_no_cpm_has_one() -> None:
    channel = open_channel()
    send(channel, make_message(0, []))
    (given,) = channel.deliver_messages(0.0, {NAME})
    assert isinstance(given.payload, Boxes)
    assert given.payload.classes.tolist() == [VEHICLE]
    # a CPM at most every 0.1 s: the one with the person is not generated
    quick = replace(make_message(1, [(110.0, -21.0)]), capture_time=0.05, capture_frame=1)
    send(channel, quick)
    (given,) = channel.deliver_messages(0.05, {NAME})
    assert given.capture_time == 0.0
    assert isinstance(given.payload, Boxes)
    assert given.payload.classes.tolist() == [VEHICLE, PEDESTRIAN]
    known = transform_boxes(given.payload, given.lidar_in_world, WORLD).geometry[-1]
    assert known[:2] == pytest.approx([110.0, -21.0], abs=0.01)
    assert known[3:6] == pytest.approx(PERSON_SIZE)
    # quality 6 of 7
    assert given.payload.scores[-1] == pytest.approx(5.5 / 7)
    # a CPM with the person: one box, that of the CPM
    send(channel, make_message(1, [(110.2, -21.0)]))
    (given,) = channel.deliver_messages(0.2, {NAME})
    assert isinstance(given.payload, Boxes)
    assert sorted(given.payload.classes.tolist()) == [VEHICLE, PEDESTRIAN]
    assert given.payload.geometry[:, 3].max() > PERSON_SIZE[0]
    channel.audit.verify_deliveries()


def test_an_event_ends_with_its_validity() -> None:
    channel = open_channel(keep=0.0)
    send(channel, make_message(0, [(110.0, -21.0)]))
    counts = []
    for now in (0.0, 1.0, 1.9, 2.1):
        channel.deliver_messages(now, {NAME})
        assert channel.message_format is not None
        assert channel.message_format.notifications is not None
        counts.append(len(channel.message_format.notifications.list_known(NAME)))
    assert counts == [1, 1, 1, 0]


def test_a_station_out_of_range_is_not_heard() -> None:
    channel = open_channel()
    send(channel, make_message(0, [(110.0, -21.0)]))
    assert channel.deliver_messages(0.0, set()) == ()
    assert channel.message_format is not None
    assert channel.message_format.notifications is not None
    assert channel.message_format.notifications.list_known(NAME) == []
    channel.deliver_messages(0.2, {NAME})
    assert len(channel.message_format.notifications.list_known(NAME)) == 1


def test_denms_load_the_channel() -> None:
    parts: dict[bool, list[tuple[str, int]]] = {}
    for denms in (False, True):
        channel = Channel()
        channel.message_format = CpmFormat(denms=denms)
        link = open_free_radio(channel, ego_x=90.0)
        for step in range(6):
            send(channel, make_message(step, [(110.0, -21.0), (112.0, -21.0)]))
        parts[denms] = [(one.part, one.size_bytes) for one in link.carriages]
    assert [one for one in parts[True] if not one[0].startswith("DENM")] == parts[False]
    # two persons: at 0 and after each half second, in steps of 0.2 s
    names = [part for part, _ in parts[True] if part.startswith("DENM")]
    assert names == ["DENM", "DENM 2"] * 2
    assert all(40 < size < 60 for part, size in parts[True] if part.startswith("DENM"))


def test_without_denms_nothing_is_sent() -> None:
    assert CpmFormat().notifications is None

"""Segments of CPMs: what is in them, what is lost with one, and what the ego then knows."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from harness.channel.channel import Channel
from harness.channel.interference.removed import Removed
from harness.channel.links.carla_loss import CarlaLink
from harness.channel.links.trace import TraceLink
from harness.channel.messages.collective_perception import LARGEST, CpmFormat
from harness.channel.messages.cpm import Cpm, PerceivedObject, decode_cpm, encode_cpm
from harness.channel.messages.cpm_format import CPM
from harness.channel.messages.segmentation import MOST_SEGMENTS, SMALLEST_LIMIT, split_cpm
from harness.common.errors import UserError
from harness.types.vocabulary import VEHICLE, Boxes, Message, Pose
from tests.channel.random_messages import make_random_cpm

LIDAR = Pose(12.0, -5.0, 2.0, yaw=0.4)
STEP = 0.2


def fill_one_by_one(cpm: Cpm, largest: int) -> list[list[int]]:
    """Return the ids in each segment: by confidence, one object after the other, while they fit."""
    segments: list[list[PerceivedObject]] = [[]]
    for seen in sorted(cpm.objects, key=lambda one: one.confidence, reverse=True):
        sensor = cpm.sensor_range if len(segments) == 1 else None
        tried = replace(cpm, objects=(*segments[-1], seen), sensor_range=sensor, segment=(1, 2))
        if len(encode_cpm(tried)) <= largest:
            segments[-1].append(seen)
        else:
            segments.append([seen])
    return [[seen.object_id for seen in segment] for segment in segments[:MOST_SEGMENTS]]


@pytest.mark.parametrize("seed", range(12))
def test_segments_are_those_that_are_filled_one_by_one(seed: int) -> None:
    rng = random.Random(seed)
    cpm, largest = make_random_cpm(rng.randrange(2, 60), rng), rng.randrange(SMALLEST_LIMIT, 700)
    parts = split_cpm(cpm, largest)
    if len(encode_cpm(cpm)) <= largest:
        assert parts == (cpm,)
        return
    ids = [[seen.object_id for seen in part.objects] for part in parts]
    assert ids == fill_one_by_one(cpm, largest)
    for number, part in enumerate(parts, 1):
        octets = encode_cpm(part)
        assert len(octets) <= largest
        assert part.segment == (number, len(parts))
        # the layout of the standard has the same numbers, and the rest of the whole message
        value = CPM.decode(octets)["payload"]["managementContainer"]
        assert value["segmentationInfo"] == {"totalMsgNo": len(parts), "thisMsgNo": number}
        read = decode_cpm(octets)
        assert (read.segment, read.perceived) == (part.segment, cpm.perceived)
        assert (read.sensor_range is None) == (number > 1 or cpm.sensor_range is None)


def test_a_message_below_the_maximum_is_as_without_one() -> None:
    boxes = make_boxes(30)
    for largest in (None, LARGEST, 16_000):
        made = CpmFormat(largest=largest).write_message(make_message(boxes, 0))
        plain = CpmFormat(largest=None).write_message(make_message(boxes, 0))
        assert made is not None
        assert plain is not None
        assert made.octets == plain.octets
        assert made.segments == ()


def test_one_object_fits_into_the_smallest_limit() -> None:
    for seed in range(30):
        for part in split_cpm(make_random_cpm(7, random.Random(seed)), SMALLEST_LIMIT):
            assert len(encode_cpm(part)) <= SMALLEST_LIMIT


def make_boxes(count: int) -> Boxes:
    """Return so many cars, 6 m apart, of falling scores."""
    rows = [[6.0 * (n % 10), 6.0 * (n // 10), -1.0, 4.5, 1.9, 1.5, 0.1] for n in range(count)]
    scores = np.linspace(0.95, 0.2, count)
    return Boxes(np.array(rows), np.full(count, VEHICLE, np.int64), scores)


def make_message(boxes: Boxes, step: int) -> Message:
    """Return a message of a step, from a LiDAR that stands."""
    return Message(
        sender="vehicle-7",
        kind="vehicle",
        capture_frame=4 * step,
        capture_time=STEP * step,
        lidar_in_world=LIDAR,
        payload=boxes,
    )


def open_channel(cpm: CpmFormat, *disturbances: Removed, seed: int = 1) -> Channel:
    """Return a channel with a format, at the start of an episode."""
    channel = Channel(disturbances)
    channel.message_format = cpm
    channel.reset(seed, "route")
    return channel


def send(channel: Channel, message: Message) -> None:
    """Let a message go from where it was captured."""
    channel.audit.note_capture(
        message.sender, message.capture_frame, message.capture_time, message.lidar_in_world
    )
    channel.send_message(message)


def test_what_no_segment_has_room_for_is_left_out_and_sent_next() -> None:
    cpm = CpmFormat(largest=150)
    boxes = make_boxes(60)
    first = cpm.write_message(make_message(boxes, 0))
    second = cpm.write_message(make_message(boxes, 1))
    assert first is not None
    assert second is not None
    assert len(first.segments) == MOST_SEGMENTS
    sizes = [len(segment.octets) for segment in first.segments]
    assert max(sizes) <= 150
    assert cpm.rows[0].size_bytes == first.size_bytes == sum(sizes)
    sent = sum(segment.objects for segment in first.segments)
    assert (cpm.rows[0].included, cpm.rows[0].left_out) == (sent, 60 - sent)
    # those that were sent have not changed: the others follow
    ids = [
        {seen.object_id for part in one.segments for seen in decode_cpm(part.octets).objects}
        for one in (first, second)
    ]
    assert 0 < len(ids[0]) < 60
    assert not ids[0] & ids[1]


def write_trace(folder: Path, lines: list[tuple[float, int]]) -> Path:
    """Write delays and losses as a file of a trace link."""
    file = folder / "trace.csv"
    file.write_text("delay,lost\n" + "".join(f"{delay},{lost}\n" for delay, lost in lines))
    return file


@pytest.mark.parametrize("seed", range(6))
def test_the_ego_knows_what_is_in_the_segments_that_arrived(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    lines = [(rng.choice([0.0, 0.05, 0.25, 0.5]), int(rng.random() < 0.4)) for _ in range(40)]
    link = TraceLink(str(write_trace(tmp_path, lines)), block=40)
    cpm = CpmFormat(inclusion=False, largest=300, keep=0.5)
    channel = open_channel(cpm)
    channel.link = link
    channel.reset(seed, "route")
    boxes = make_boxes(25)
    # (capture, arrival, ids) of all segments, by the link's carriages and the bytes that left
    segments: list[tuple[float, float, set[int]]] = []
    for step in range(14):
        now = STEP * step
        before = len(link.carriages)
        send(channel, make_message(boxes, step))
        carried = link.carriages[before:]
        sent = channel.segments[len(channel.segments) - len(carried) :]
        assert [one.part for one in carried][:2] == ["", "segment 2"]
        for carriage, segment in zip(carried, sent, strict=True):
            ids = {seen.object_id for seen in decode_cpm(segment.segment.octets).objects}
            segments.append((now, carriage.arrival, ids))
            assert carriage.size_bytes == len(segment.segment.octets)
            assert segment.outcome == carriage.outcome
        given = channel.deliver_messages(now, {"vehicle-7"})
        # reference: of every object the newest capture that has arrived, and is not overtaken
        arrived = [one for one in segments if one[1] <= now + 1e-6]
        captures = [capture for capture, _, _ in arrived]
        if not captures:
            assert given == ()
            continue
        newest = max(captures)
        known = {
            number
            for capture, arrival, ids in arrived
            for number in ids
            if newest - capture <= 0.5 + 1e-6 and not is_overtaken(arrival, capture, segments)
        }
        (message,) = given
        assert message.capture_time == newest
        assert isinstance(message.payload, Boxes)
        off = message.payload.geometry[:, None, :2] - boxes.geometry[None, :, :2]
        assert set(np.linalg.norm(off, axis=2).argmin(1).tolist()) == known
        assert len(message.payload) == len(known)
    assert any(math.isnan(arrival) for _, arrival, _ in segments)
    channel.audit.verify_deliveries()


def is_overtaken(
    arrival: float, capture: float, segments: list[tuple[float, float, set[int]]]
) -> bool:
    """Return whether a newer message was given at a step before this segment arrived."""
    step = math.ceil(arrival / STEP - 1e-6) * STEP  # the first that could be given it
    return any(
        newer > capture and math.ceil(at / STEP - 1e-6) * STEP < step - 1e-6
        for newer, at, _ in segments
        if not math.isnan(at)
    )


def test_a_lost_message_has_lost_all_of_its_segments(tmp_path: Path) -> None:
    channel = open_channel(CpmFormat(largest=300))
    channel.link = TraceLink(str(write_trace(tmp_path, [(0.0, 1)])), block=1)
    channel.reset(1, "route")
    send(channel, make_message(make_boxes(25), 0))
    assert channel.deliver_messages(0.0, {"vehicle-7"}) == ()
    (record,) = channel.audit.close_audit()
    assert record.fate == "lost"
    assert {one.outcome for one in channel.segments} == {"lost"}
    assert sum(len(one.segment.octets) for one in channel.segments) == record.size_bytes


def test_segments_of_a_message_have_their_random_streams() -> None:
    link = CarlaLink()
    link.reset(3)
    message = make_message(make_boxes(1), 2)
    names = [link.name_stream(replace(message, part=part)) for part in ("", "segment 2")]
    assert names == [("vehicle-7", "8"), ("vehicle-7", "8", "segment 2")]


def test_a_disturbance_changes_segments() -> None:
    boxes = make_boxes(40)
    whole = open_channel(CpmFormat(largest=300))
    removing = open_channel(CpmFormat(largest=300), Removed(share=0.5))
    for channel in (whole, removing):
        send(channel, make_message(boxes, 0))
    (plain,) = whole.deliver_messages(0.0, {"vehicle-7"})
    (cut,) = removing.deliver_messages(0.0, {"vehicle-7"})
    assert isinstance(cut.payload, Boxes)
    assert isinstance(plain.payload, Boxes)
    assert 0 < len(cut.payload) < len(plain.payload) == 40
    assert 1 < len(removing.segments) < len(whole.segments)
    by_id = {
        seen.object_id: seen
        for one in whole.segments
        for seen in decode_cpm(one.segment.octets).objects
    }
    for one in removing.segments:
        part = decode_cpm(one.segment.octets)
        assert all(by_id[seen.object_id] == seen for seen in part.objects)
        assert part.segment == (one.segment.number, len(removing.segments))
        assert part.perceived == len(cut.payload)


@pytest.mark.parametrize("largest", [99, 0, -5, 16_001])
def test_bad_limits_are_one_line(largest: int) -> None:
    with pytest.raises(UserError, match=r"message_format\.largest = .* or null"):
        CpmFormat(largest=largest)

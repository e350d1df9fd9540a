"""Boxes over ETSI's CPM: the rules, the bytes, what the ego keeps, and what disturbances change."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from harness.channel.channel import Channel
from harness.channel.interference.removed import Removed
from harness.channel.messages.collective_perception import CpmFormat
from harness.channel.messages.cpm import decode_cpm, encode_cpm
from harness.channel.messages.inclusion import ObjectFollower, select_objects
from harness.common.errors import AttemptError, UserError
from harness.types.geometry import transform_boxes, wrap_angle
from harness.types.vocabulary import (
    CYCLIST,
    PEDESTRIAN,
    VEHICLE,
    Boxes,
    Message,
    Points,
    Pose,
)

LIDAR = Pose(120.3, -45.7, 2.1, yaw=0.7)
WORLD = Pose(0.0, 0.0)
STEP = 0.2


def make_boxes(*rows: tuple[float, float, float, int]) -> Boxes:
    """Return boxes from x, y, yaw and class; metres and radians."""
    sizes = {VEHICLE: (4.51, 1.93, 1.52), PEDESTRIAN: (0.42, 0.38, 1.74), CYCLIST: (1.8, 0.6, 1.7)}
    geometry = [[x, y, -1.234, *sizes[kind], yaw] for x, y, yaw, kind in rows]
    kinds = np.array([row[3] for row in rows], np.int64)
    return Boxes(np.array(geometry).reshape(-1, 7), kinds, np.full(len(rows), 0.87))


def make_message(boxes: Boxes, step: int, sender: str = "vehicle-7") -> Message:
    """Return a message of a step, from a LiDAR that stands."""
    kind = "vehicle" if sender.startswith("vehicle") else "roadside"
    return Message(
        sender=sender,
        kind="vehicle" if kind == "vehicle" else "roadside",
        capture_frame=4 * step,
        capture_time=STEP * step,
        lidar_in_world=LIDAR,
        payload=boxes,
    )


def included_in(made: Message | None) -> int:
    """Return the number of objects in a message; -1 for none."""
    return -1 if made is None or made.octets is None else len(decode_cpm(made.octets).objects)


def drive(rows: list[list[tuple[float, float, float, int]]]) -> list[int]:
    """Return how many objects the message of each step includes."""
    cpm = CpmFormat()
    return [
        included_in(cpm.write_message(make_message(make_boxes(*there), step)))
        for step, there in enumerate(rows)
    ]


def test_what_is_read_is_off_by_what_the_fields_leave_out() -> None:
    boxes = make_boxes((12.345, -6.789, 0.5, VEHICLE), (-30.01, 18.2, -3.1, PEDESTRIAN))
    made = CpmFormat().write_message(make_message(boxes, 3))
    assert made is not None
    assert isinstance(made.payload, Boxes)
    off = made.payload.geometry - boxes.geometry
    # half a step of the object's and of the sender's position along both axes
    assert np.abs(off[:, :2]).max() <= math.hypot(0.0107, 0.0107)
    assert np.abs(off[:, 2]).max() <= 0.0101
    assert np.abs(off[:, 3:6]).max() <= 0.0501
    assert max(abs(wrap_angle(yaw)) for yaw in off[:, 6]) <= math.radians(0.0501)
    assert made.payload.scores == pytest.approx(boxes.scores, abs=0.0051)
    assert np.array_equal(made.payload.classes, boxes.classes)
    assert made.octets is not None
    assert made.size_bytes == len(made.octets)


def test_a_parked_car_is_sent_once_a_second() -> None:
    parked = [[(10.0, 2.0, 0.0, VEHICLE)]] * 11
    assert drive(parked) == [1, -1, -1, -1, -1, 1, -1, -1, -1, -1, 1]


def test_a_station_that_perceives_nothing_sends_once_a_second() -> None:
    assert drive([[]] * 6) == [0, -1, -1, -1, -1, 0]


@pytest.mark.parametrize(
    ("metres_a_step", "sent"),
    [
        # velocity is not known at first, then a jump of it; afterwards every 4 m only
        (3.0, [1, 1, -1, 1, -1, 1, -1]),
        (0.08, [1, -1, -1, -1, -1, 1, -1]),  # 0.4 m/s
    ],
)
def test_a_car_is_sent_again_after_four_metres_or_half_a_metre_a_second(
    metres_a_step: float, sent: list[int]
) -> None:
    rows = [[(10.0 + step * metres_a_step, 2.0, 0.0, VEHICLE)] for step in range(7)]
    assert drive(rows) == sent


def test_a_turn_of_four_degrees_is_sent() -> None:
    follower = ObjectFollower()
    angle, x, y, chosen = 0.0, 0.0, 0.0, []
    for step in range(12):
        if step > 8:
            angle += math.radians(6)
        x, y = x + 0.5 * math.cos(angle), y + 0.5 * math.sin(angle)
        objects = follower.follow_boxes(make_boxes((x, y, angle, VEHICLE)), step * STEP)
        if now := select_objects(objects, step * STEP):
            chosen.append(step)
            objects[now[0]].note_inclusion(step * STEP)
    # first, its speed, a second later; then the turn, whose velocity is smoothed
    assert chosen == [0, 1, 6, 10, 11]


def test_one_new_pedestrian_brings_all_of_them() -> None:
    walkers = [(5.0, 1.0, 0.0, PEDESTRIAN), (9.0, 1.0, 0.0, CYCLIST), (14.0, 4.0, 0.0, PEDESTRIAN)]
    rows = [walkers[:2], walkers[:2], walkers, walkers, walkers, walkers]
    # half a second is over at the third step after an inclusion
    assert drive(rows) == [2, -1, 3, -1, -1, 3]


def test_objects_keep_their_ids_where_detections_change_places() -> None:
    follower = ObjectFollower()
    first = follower.follow_boxes(make_boxes((0, 0, 0, VEHICLE), (8, 0, 0, VEHICLE)), 0.0)
    ids = [one.object_id for one in first]
    second = follower.follow_boxes(
        make_boxes((8.5, 0, 0, VEHICLE), (30, 9, 0, VEHICLE), (0.5, 0, 0, VEHICLE)), STEP
    )
    assert [one.object_id for one in second] == [ids[1], 2, ids[0]]
    assert list(second[2].velocity or ()) == pytest.approx([2.5, 0.0])
    # an object that was not detected for more than a second is a new one
    (again,) = follower.follow_boxes(make_boxes((8.5, 0, 0, VEHICLE)), 1.5)
    assert again.object_id == 3


def test_without_the_rules_every_message_has_all() -> None:
    cpm = CpmFormat(inclusion=False)
    boxes = make_boxes((10.0, 2.0, 0.0, VEHICLE), (14.0, 4.0, 0.0, PEDESTRIAN))
    made = [cpm.write_message(make_message(boxes, step)) for step in range(6)]
    assert [included_in(one) for one in made] == [2] * 6
    assert [(row.perceived, row.included, row.left_out) for row in cpm.rows] == [(2, 2, 0)] * 6
    # the first has no velocities; a second later the sensor is described again
    sizes = [row.size_bytes for row in cpm.rows]
    assert sizes == [sizes[0], *[sizes[1]] * 4, sizes[5]]
    assert 0 < sizes[1] < sizes[5]
    assert {row.native_bytes for row in cpm.rows} == {66}


def give(channel: Channel, message: Message) -> tuple[Message, ...]:
    """Send a message, and return what has arrived at its moment."""
    channel.audit.note_capture(
        message.sender, message.capture_frame, message.capture_time, message.lidar_in_world
    )
    channel.send_message(message)
    return channel.deliver_messages(message.capture_time, {message.sender})


def open_channel(cpm: CpmFormat, *disturbances: Removed) -> Channel:
    """Return a channel with a format, at the start of an episode."""
    channel = Channel(disturbances)
    channel.message_format = cpm
    channel.reset(1, "route")
    return channel


def test_the_ego_keeps_what_messages_leave_out() -> None:
    channel = open_channel(CpmFormat())
    # one parks, one drives 2 m a step
    for step in range(6):
        rows = [(10.0, 2.0, 0.0, VEHICLE), (-30.0 + 2.0 * step, 5.0, 0.0, VEHICLE)]
        boxes = make_boxes(*rows)
        (given,) = give(channel, make_message(boxes, step))
        assert isinstance(given.payload, Boxes)
        assert len(given.payload) == 2
        # each message stands for its own moment
        at = round(given.capture_time / STEP)
        expected = make_boxes(rows[0], (-30.0 + 2.0 * at, 5.0, 0.0, VEHICLE))
        assert given.payload.geometry[:, :2] == pytest.approx(expected.geometry[:, :2], abs=0.03)
    channel.audit.verify_deliveries()


def test_the_ego_forgets_what_is_gone() -> None:
    channel = open_channel(CpmFormat(keep=1.0))
    both = make_boxes((10.0, 2.0, 0.0, VEHICLE), (30.0, 5.0, 0.0, VEHICLE))
    counts = []
    for step in range(12):
        boxes = both if step == 0 else both[np.array([0])]
        (given,) = give(channel, make_message(boxes, step))
        counts.append(len(given.payload.classes) if isinstance(given.payload, Boxes) else -1)
    assert counts == [2] * 10 + [1] * 2


def test_what_never_left_is_not_known() -> None:
    channel = open_channel(CpmFormat())
    boxes = make_boxes((10.0, 2.0, 0.0, VEHICLE))
    (first,) = give(channel, make_message(boxes, 0))
    cpm = channel.message_format
    assert cpm is not None
    # the second object is announced in a message that never leaves
    more = make_boxes((10.0, 2.0, 0.0, VEHICLE), (20.0, 2.0, 0.0, VEHICLE))
    assert cpm.write_message(make_message(more, 1)) is not None
    (second,) = give(channel, make_message(more, 2))
    assert second.payload.size_bytes == first.payload.size_bytes


def test_a_disturbance_changes_bytes_and_boxes() -> None:
    boxes = make_boxes(*((5.0 * n, 2.0, 0.0, VEHICLE) for n in range(1, 9)))
    plain = open_channel(CpmFormat(inclusion=False))
    removing = open_channel(CpmFormat(inclusion=False), Removed(share=0.5))
    (whole,) = give(plain, make_message(boxes, 0))
    (cut,) = give(removing, make_message(boxes, 0))
    assert isinstance(cut.payload, Boxes)
    assert isinstance(whole.payload, Boxes)
    assert 0 < len(cut.payload) < 8 == len(whole.payload)
    assert cut.octets is not None
    assert whole.octets is not None
    assert len(cut.octets) < len(whole.octets)
    # the objects that are left keep their ids, and their boxes are those of the whole message
    by_id = {seen.object_id: seen for seen in decode_cpm(whole.octets).objects}
    assert all(by_id[seen.object_id] == seen for seen in decode_cpm(cut.octets).objects)
    assert removing.audit.records["vehicle-7", 0].size_bytes == len(cut.octets)


def test_bytes_of_bytes_are_the_same() -> None:
    made = CpmFormat().write_message(make_message(make_boxes((1.0, 2.0, 3.0, CYCLIST)), 0))
    assert made is not None
    assert made.octets is not None
    assert encode_cpm(decode_cpm(made.octets)) == made.octets


def test_a_roadside_unit_has_no_orientation() -> None:
    boxes = make_boxes((1.0, 2.0, 0.0, VEHICLE))
    for sender, known in (("vehicle-7", True), ("roadside-0", False)):
        made = CpmFormat().write_message(make_message(boxes, 0, sender))
        assert made is not None
        assert made.octets is not None
        orientation = decode_cpm(made.octets).orientation
        assert (orientation is not None) == known
        if orientation is not None:
            expected = LIDAR.yaw + math.pi / 2
            assert abs(wrap_angle(orientation - expected)) < math.radians(0.06)


def test_more_objects_than_a_message_holds() -> None:
    boxes = make_boxes(*((float(n % 20), 6.0 * (n // 20), 0.0, VEHICLE) for n in range(300)))
    scores = np.linspace(0.0, 1.0, 300)
    made = CpmFormat().write_message(make_message(Boxes(boxes.geometry, boxes.classes, scores), 0))
    assert made is not None
    assert isinstance(made.payload, Boxes)
    assert len(made.payload) == 255
    assert made.payload.scores.min() > 0.14


def test_points_are_no_boxes() -> None:
    message = replace(make_message(make_boxes(), 0), payload=Points(np.zeros((3, 4), np.float32)))
    with pytest.raises(AttemptError, match="a CPM carries boxes, not Points"):
        CpmFormat().write_message(message)


def test_bad_settings_are_one_line() -> None:
    with pytest.raises(UserError, match=r"message_format\.keep = -1"):
        CpmFormat(keep=-1)


def test_boxes_stand_upright_in_a_tilted_frame() -> None:
    tilted = Pose(5.0, 6.0, 2.0, yaw=1.0, pitch=0.05, roll=-0.03)
    boxes = make_boxes((20.0, -4.0, 0.4, VEHICLE))
    message = replace(make_message(boxes, 0), lidar_in_world=tilted)
    made = CpmFormat().write_message(message)
    assert made is not None
    assert isinstance(made.payload, Boxes)
    there = transform_boxes(boxes, tilted, WORLD).geometry
    back = transform_boxes(made.payload, tilted, WORLD).geometry
    assert back == pytest.approx(there, abs=0.06)


def test_velocities_are_given_on_where_the_message_states_them() -> None:
    cpm = CpmFormat(inclusion=False)
    given = []
    for step in range(3):
        made = cpm.write_message(make_message(make_boxes((2.0 * step, 1.0, 0.0, VEHICLE)), step))
        assert made is not None
        given.append(cpm.read_messages([made]).velocities_in_world)
    # the first detection has no velocity
    assert given[0] is not None
    assert np.isnan(given[0]).all()
    assert given[2] is not None
    assert given[2].shape == (1, 2)
    # 2 m in 0.2 s along the LiDAR's x
    assert given[2][0] == pytest.approx([10 * math.cos(0.7), 10 * math.sin(0.7)], abs=0.1)

"""CAMs of connected vehicles: when they are sent, what they load, what the ego knows by them."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from harness.channel.channel import Channel
from harness.channel.interference.pose_error import Constant
from harness.channel.links.trace import TraceLink
from harness.channel.messages.awareness import GenerationRule, MotionState
from harness.channel.messages.cam import decode_cam
from harness.channel.messages.collective_perception import CpmFormat
from harness.types.geometry import transform_boxes, wrap_angle
from harness.types.vocabulary import (
    VEHICLE,
    Boxes,
    CarrierState,
    Floats,
    Message,
    Observation,
    Pose,
)
from tests.channel.radios import open_free_radio

STEP = 0.2
WORLD = Pose(0.0, 0.0)
CAR = CarrierState(
    box_in_lidar=np.array([-0.5, 0.1, -1.1, 4.6, 1.9, 1.5, 0.0]), speed=10.0, yaw_rate=0.1
)
PERCEIVED = Boxes(
    np.array([[12.0, 3.0, -1.0, 4.5, 1.9, 1.5, 0.1]]), np.array([VEHICLE]), np.array([0.8])
)


def list_due(states: list[tuple[float, MotionState]]) -> list[float]:
    """Return when CAMs are due, by the text: the interval is read from all that was sent before."""
    sent: list[tuple[float, MotionState, bool]] = []  # time, state, by motion
    for now, state in states:
        if not sent:
            sent.append((now, state, False))
            continue
        passed = now - sent[-1][0]
        last = sent[-1][1]
        moved = (
            math.hypot(state.xy[0] - last.xy[0], state.xy[1] - last.xy[1]) > 4
            or abs(state.speed - last.speed) > 0.5
            or math.degrees(abs(wrap_angle(state.heading - last.heading))) > 4
        )
        # T_GenCam: that between the newest CAM by motion and the one before it, for three CAMs
        interval = 1.0
        by_motion = [number for number, one in enumerate(sent) if one[2]]
        if by_motion and len(sent) - 1 - by_motion[-1] < 3:
            at = by_motion[-1]
            interval = min(sent[at][0] - sent[at - 1][0], 1.0)
        if passed >= 0.1 - 1e-6 and (moved or passed >= interval - 1e-6):
            sent.append((now, state, moved))
    return [now for now, _, _ in sent]


@pytest.mark.parametrize("seed", range(20))
def test_cams_are_due_as_by_the_text(seed: int) -> None:
    rng = random.Random(seed)
    tick = rng.choice([0.05, 0.1, 0.2])
    x, y, speed, heading = 0.0, 0.0, rng.uniform(0, 15), rng.uniform(-3, 3)
    states = []
    for number in range(300):
        # stretches of calm, of acceleration and of turning
        phase = (number // 40 + seed) % 3
        speed = max(0.0, speed + (rng.uniform(-4, 4) * tick if phase == 1 else 0.0))
        heading += rng.uniform(-0.6, 0.6) * tick if phase == 2 else 0.0
        x, y = x + speed * tick * math.cos(heading), y + speed * tick * math.sin(heading)
        states.append((number * tick, MotionState(xy=(x, y), speed=speed, heading=heading)))
    rule = GenerationRule()
    due = [now for now, state in states if rule.find_trigger(state, now)]
    assert due == list_due(states)
    gaps = np.diff(due)
    assert gaps.min() > 0.1 - 1e-6
    assert gaps.max() < 1.0 + tick


def test_a_vehicle_that_stands_sends_once_a_second() -> None:
    rule = GenerationRule()
    still = MotionState(xy=(1.0, 2.0), speed=0.0, heading=0.5)
    triggers = [rule.find_trigger(still, STEP * step) for step in range(11)]
    assert triggers == ["first", *["", "", "", "", "time"] * 2]


def make_message(step: int, boxes: Boxes = PERCEIVED, x: float = 0.0) -> Message:
    """Return a message of a step, from a LiDAR at (100 + x, -20)."""
    return Message(
        sender="vehicle-7",
        kind="vehicle",
        capture_frame=4 * step,
        capture_time=STEP * step,
        lidar_in_world=Pose(100.0 + x, -20.0, 1.9, yaw=0.3),
        payload=boxes,
    )


def open_channel(cpm: CpmFormat, seed: int = 1) -> Channel:
    """Return a channel with a format, at the start of an episode."""
    channel = Channel()
    channel.message_format = cpm
    channel.reset(seed, "route")
    return channel


def send(channel: Channel, message: Message, car: CarrierState | None = CAR) -> None:
    """Let a message go from where it was captured."""
    channel.audit.note_capture(
        message.sender, message.capture_frame, message.capture_time, message.lidar_in_world
    )
    channel.send_message(message, 0.0, car)


def place_car(message: Message) -> Floats:
    """Return x, y and yaw of the car in the world, by hand."""
    pose = message.lidar_in_world
    ahead, aside = CAR.box_in_lidar[:2]
    cosine, sine = math.cos(pose.yaw), math.sin(pose.yaw)
    return np.array(
        [pose.x + cosine * ahead - sine * aside, pose.y + sine * ahead + cosine * aside, pose.yaw]
    )


def test_the_ego_knows_the_sender_by_its_cam() -> None:
    channel, plain = open_channel(CpmFormat(cams=True)), open_channel(CpmFormat())
    for step in (0, 400):  # 80 s later, the time of a CAM starts again
        message = make_message(step)
        for one in (channel, plain):
            send(one, message)
        (given,) = channel.deliver_messages(message.capture_time, {"vehicle-7"})
        (without,) = plain.deliver_messages(message.capture_time, {"vehicle-7"})
        # CPMs are the same, and the sender's car is one more
        assert given.octets == without.octets
        assert isinstance(given.payload, Boxes)
        assert isinstance(without.payload, Boxes)
        assert given.payload.geometry[:-1] == pytest.approx(without.payload.geometry, abs=1e-9)
        assert given.payload.geometry[-1, :2] == pytest.approx(CAR.box_in_lidar[:2], abs=0.08)
        assert given.payload.geometry[-1, 3:5] == pytest.approx([4.6, 1.9], abs=0.051)
        assert given.velocities_in_world is not None
        assert given.velocities_in_world[-1] == pytest.approx(
            [10 * math.cos(0.3), 10 * math.sin(0.3)], abs=0.03
        )
        row = channel.awareness.rows[-1]  # type: ignore[union-attr]
        expected = place_car(message)
        assert [row.x, row.y, row.yaw] == pytest.approx(expected.tolist(), abs=0.06)
        assert row.time == message.capture_time
        assert decode_cam(row.octets).yaw_rate == pytest.approx(0.1, abs=1e-3)
    channel.audit.verify_deliveries()


def test_an_old_cam_is_moved_by_its_speed_until_it_is_too_old(tmp_path: Path) -> None:
    file = tmp_path / "trace.csv"
    # of each capture the CAM and the CPM; all CAMs but the first are lost
    file.write_text("delay,lost\n0,0\n0,0\n" + "0,1\n0,0\n" * 9)
    channel = open_channel(CpmFormat(cams=True, inclusion=False, keep=0.7), find_seed(file))
    channel.link = TraceLink(str(file), block=20)
    channel.reset(find_seed(file), "route")
    counts, places = [], []
    for step in range(6):
        message = make_message(step, x=10.0 * STEP * step * math.cos(0.3))
        # a change of speed brings a CAM at each step
        send(channel, message, replace(CAR, speed=10.0 + step))
        (given,) = channel.deliver_messages(message.capture_time, {"vehicle-7"})
        assert isinstance(given.payload, Boxes)
        counts.append(len(given.payload))
        places.append(transform_boxes(given.payload, given.lidar_in_world, WORLD).geometry[-1])
    assert [one.outcome for one in channel.awareness.rows] == [  # type: ignore[union-attr]
        "arrived",
        *["lost"] * 5,
    ]
    # known for 0.7 s, where its speed of 10 m/s has taken it
    assert counts == [2, 2, 2, 2, 1, 1]
    start = place_car(make_message(0))
    for step in range(4):
        way = 10 * STEP * step
        expected = start[0] + way * math.cos(0.3), start[1] + way * math.sin(0.3)
        assert places[step][:2] == pytest.approx(expected, abs=0.1)


def find_seed(file: Path) -> int:
    """Return a seed with which the trace starts at its first line."""
    for seed in range(400):
        link = TraceLink(str(file), block=20)
        link.reset(seed)
        link.make_carriage(make_message(0), None)
        carriages = [link.make_carriage(make_message(n), None) for n in range(1, 20)]
        if [one.lost for one in carriages] == [False, *[True, False] * 9]:
            return seed
    raise AssertionError("no seed")


def test_cams_load_the_channel() -> None:
    parts: dict[bool, list[tuple[str, int]]] = {}
    for cams in (False, True):
        channel = open_channel(CpmFormat(cams=cams))
        link = open_free_radio(channel, ego_x=60.0)
        for step in range(6):
            send(channel, make_message(step))
        parts[cams] = [(one.part, one.size_bytes) for one in link.carriages]
    assert [one for one in parts[True] if one[0] != "CAM"] == parts[False]
    sizes = [size for part, size in parts[True] if part == "CAM"]
    # first with lights, and one of each second
    assert len(sizes) == 2
    assert min(sizes) > 30
    # a CPM does not wait for the CAM, and no two messages share a slot
    assert max(one.queue for one in link.carriages) < 0.105
    starts = [round(one.time + one.queue, 6) for one in link.carriages]
    assert len(set(starts)) == len(starts)


def test_a_cam_states_where_its_sender_believes_to_be() -> None:
    error = Constant(x=3.0, y=-2.0, yaw=0.0)
    channel = Channel([error])
    channel.message_format = CpmFormat(cams=True)
    channel.reset(1, "route")
    message = make_message(0)
    pose = message.lidar_in_world
    channel.audit.note_capture("vehicle-7", 0, 0.0, pose)
    believed = channel.add_pose_shifts(
        Observation(
            sender="vehicle-7",
            kind="vehicle",
            frame=0,
            time=0.0,
            lidar_in_world=pose,
            points_in_lidar=np.zeros((0, 4), np.float32),
        )
    )
    channel.send_message(replace(message, lidar_in_world=believed.lidar_in_world), 0.0, CAR)
    (row,) = channel.awareness.rows  # type: ignore[union-attr]
    shift = believed.lidar_in_world.x - pose.x, believed.lidar_in_world.y - pose.y
    assert math.hypot(*shift) > 1
    x, y, _ = place_car(message)
    assert [row.x, row.y] == pytest.approx([x + shift[0], y + shift[1]], abs=0.06)


def test_without_cams_nothing_is_sent() -> None:
    channel = open_channel(CpmFormat())
    send(channel, make_message(0))
    assert channel.awareness is None
    roadside = open_channel(CpmFormat(cams=True))
    send(roadside, make_message(0), None)
    assert roadside.awareness is not None
    assert roadside.awareness.rows == []

"""Boxes of late messages, moved by age: next to written-out places, and to an arc in steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from harness.channel.compensation.boxes import WORLD, BoxCompensation, move_box
from harness.channel.compensation.motion import GATE, TOP_SPEED, BoxMotion, SenderMotion
from harness.channel.defences.defence import Judgement
from harness.channel.messages.collective_perception import CpmFormat
from harness.common.errors import UserError
from harness.types.geometry import transform_boxes
from harness.types.vocabulary import (
    PEDESTRIAN,
    VEHICLE,
    Boxes,
    EgoObservation,
    Floats,
    Message,
    Points,
    Pose,
)

CAR, PERSON = [4.5, 1.9, 1.6], [0.5, 0.5, 1.7]
SENDER = Pose(30.0, -8.0, 7.5, yaw=math.radians(100.0))
PERIOD = 0.2


def boxes_at(places: Sequence[Sequence[float]], kinds: Sequence[int] | None = None) -> Boxes:
    """Return boxes in the world at x, y and yaw."""
    kinds = [VEHICLE] * len(places) if kinds is None else kinds
    sizes = [CAR if kind == VEHICLE else PERSON for kind in kinds]
    rows = [[x, y, 0.8, *size, yaw] for (x, y, yaw), size in zip(places, sizes, strict=True)]
    return Boxes(
        np.array(rows).reshape(len(rows), 7), np.array(kinds, np.int64), np.full(len(rows), 0.8)
    )


def message_of(boxes_in_world: Boxes, time: float, sender: str = "roadside-0") -> Message:
    return Message(
        sender=sender,
        kind="roadside",
        capture_frame=round(20 * time),
        capture_time=time,
        lidar_in_world=SENDER,
        payload=transform_boxes(boxes_in_world, WORLD, SENDER),
    )


def observe(time: float) -> EgoObservation:
    return EgoObservation(
        sender="ego",
        kind="ego",
        frame=round(20 * time),
        time=time,
        lidar_in_world=Pose(0.0, 0.0, 1.9),
        points_in_lidar=np.zeros((0, 4), np.float32),
        vehicle_in_world=Pose(0.0, 0.0),
        lidar_in_vehicle=Pose(0.0, 0.0, 1.9),
        speed=0.0,
        lights=(),
    )


def place_in_world(message: Message) -> Floats:
    assert isinstance(message.payload, Boxes)
    return transform_boxes(message.payload, message.lidar_in_world, WORLD).geometry


def drive_past(compensation: BoxCompensation, late: int, steps: int = 12) -> Message:
    """Let a car pass at 10 m/s, each message so many steps late; return the last as it is given."""
    given = None
    for step in range(late, steps + 1):
        captured = PERIOD * (step - late)
        boxes = boxes_at([[10.0 * captured, 2.0, 0.0], [40.0, 5.0, 0.3]])
        given = compensation.compensate_messages(
            observe(PERIOD * step), [message_of(boxes, captured)]
        )[0]
    assert given is not None
    return given


@pytest.mark.parametrize("late", [1, 3, 5])
def test_a_box_is_where_its_road_user_is_now(late: int) -> None:
    compensation = BoxCompensation()
    moved = place_in_world(drive_past(compensation, late))
    # the car at 10 m/s after 12 steps; what stands stays where it was
    assert moved[0, :2] == pytest.approx([10.0 * PERIOD * 12, 2.0], abs=0.15)
    assert moved[1, :2] == pytest.approx([40.0, 5.0], abs=1e-9)
    last = compensation.rows[-1]
    assert last.age == pytest.approx(late * PERIOD)
    assert last.sources == ("estimated", "estimated")
    assert last.moved[:, :2] == pytest.approx(moved[:, :2])


def test_a_message_on_time_is_the_same_object() -> None:
    compensation = BoxCompensation()
    for step in range(4):
        sent = message_of(boxes_at([[3.0 * step, 0.0, 0.0]]), PERIOD * step)
        assert compensation.compensate_messages(observe(PERIOD * step), [sent])[0] is sent
    assert not compensation.rows


def test_a_box_that_was_heard_of_once_stays_to_the_last_bit() -> None:
    compensation = BoxCompensation()
    sent = message_of(boxes_at([[3.0, 0.0, 0.0]]), 0.0)
    assert compensation.compensate_messages(observe(0.4), [sent])[0] is sent
    assert compensation.rows[-1].sources == ("none",)
    # with a second one, a box of a new road user still does
    later = message_of(boxes_at([[5.0, 0.0, 0.0], [60.0, 0.0, 0.0]]), PERIOD)
    (given,) = compensation.compensate_messages(observe(0.6), [later])
    assert isinstance(given.payload, Boxes)
    assert isinstance(later.payload, Boxes)
    assert (given.payload.geometry[1] == later.payload.geometry[1]).all()
    assert (given.payload.geometry[0] != later.payload.geometry[0]).any()


def test_the_same_message_moves_on_while_no_newer_one_arrives() -> None:
    compensation = BoxCompensation(certainty=0.0)
    sent = [message_of(boxes_at([[8.0 * t, 0.0, 0.0]]), t) for t in (0.0, 0.2, 0.4)]
    for one in sent:
        compensation.compensate_messages(observe(one.capture_time), [one])
    far = [
        place_in_world(compensation.compensate_messages(observe(now), [sent[-1]])[0])[0, 0]
        for now in (0.6, 0.8, 1.0)
    ]
    steps = np.diff([3.2, *far])
    assert steps == pytest.approx(steps[0], abs=1e-9)
    assert 1.0 < steps[0] < 1.7


def test_longest_age_ends_the_move() -> None:
    near = place_in_world(drive_past(BoxCompensation(longest=0.2), 5))[0, 0]
    assert near == pytest.approx(10.0 * PERIOD * 7 + 2.0, abs=0.15)
    assert place_in_world(drive_past(BoxCompensation(longest=0.0), 5))[0, 0] == pytest.approx(14.0)


def test_velocities_of_the_message_come_first_and_can_be_left_alone() -> None:
    boxes = boxes_at([[0.0, 0.0, 0.0], [20.0, 0.0, 0.0]])
    stated = np.array([[5.0, -2.0], [np.nan, np.nan]])
    sent = replace(message_of(boxes, 0.0), velocities_in_world=stated)
    first = BoxCompensation()
    moved = place_in_world(first.compensate_messages(observe(0.5), [sent])[0])
    assert moved[:, :2] == pytest.approx(np.array([[2.5, -1.0], [20.0, 0.0]]))
    assert first.rows[-1].sources == ("message", "none")
    alone = BoxCompensation(velocity="estimated")
    assert alone.compensate_messages(observe(0.5), [sent])[0] is sent
    # an estimate where the message states none, unless only the message counts
    second = boxes_at([[1.0, -0.4, 0.0], [22.0, 0.0, 0.0]])
    later = replace(message_of(second, 0.2), velocities_in_world=stated)
    first.compensate_messages(observe(0.5), [later])
    assert first.rows[-1].sources == ("message", "estimated")
    only = BoxCompensation(velocity="message")
    only.compensate_messages(observe(0.5), [sent])
    only.compensate_messages(observe(0.5), [later])
    assert only.rows[-1].sources == ("message", "none")


def test_objects_of_cpms_are_moved_by_the_velocities_that_these_state() -> None:
    cpm, compensation = CpmFormat(inclusion=False), BoxCompensation(velocity="message")
    for step in range(4):
        boxes = boxes_at([[9.0 * PERIOD * step, 2.0, 0.0]])
        written = cpm.write_message(message_of(boxes, PERIOD * step))
        assert written is not None
        read = cpm.read_messages([written])
        (given,) = compensation.compensate_messages(observe(PERIOD * (step + 2)), [read])
    # two steps later; velocities in steps of 1 cm/s, smoothed by the sender
    assert place_in_world(given)[0, :2] == pytest.approx([9.0 * PERIOD * 5, 2.0], abs=0.05)
    assert [row.sources for row in compensation.rows] == [("none",), *[("message",)] * 3]


@pytest.mark.parametrize("turn_rate", [0.0, 0.4, -0.7])
def test_a_turn_is_an_arc(turn_rate: float) -> None:
    row = boxes_at([[1.0, 2.0, 0.5]]).geometry[0]
    velocity = np.array([6.0 * math.cos(0.5), 6.0 * math.sin(0.5)])
    moved = move_box(row, BoxMotion((velocity[0], velocity[1]), turn_rate), 1.5, "constant_turn")
    # the same in steps of a tenth of a millisecond
    place, small = row[:2].copy(), 1e-4
    for number in range(15000):
        angle = 0.5 + turn_rate * small * (number + 0.5)
        place += small * 6.0 * np.array([math.cos(angle), math.sin(angle)])
    assert moved[:2] == pytest.approx(place, abs=1e-6)
    assert moved[6] == pytest.approx(0.5 + 1.5 * turn_rate)
    straight = move_box(
        row, BoxMotion((velocity[0], velocity[1]), turn_rate), 1.5, "constant_velocity"
    )
    assert straight[:2] == pytest.approx(row[:2] + 1.5 * velocity)
    assert straight[6] == row[6]


def test_an_estimated_turn_follows_a_bend() -> None:
    speed, rate = 8.0, 0.3
    errors = {}
    for model in ("constant_velocity", "constant_turn"):
        compensation = BoxCompensation(motion=model)
        for step in range(5, 20):
            yaw = rate * PERIOD * (step - 5)
            radius = speed / rate
            boxes = boxes_at([[radius * math.sin(yaw), radius * (1 - math.cos(yaw)), yaw]])
            (given,) = compensation.compensate_messages(
                observe(PERIOD * step), [message_of(boxes, PERIOD * (step - 5))]
            )
        yaw = rate * PERIOD * 19
        now = [radius * math.sin(yaw), radius * (1 - math.cos(yaw))]
        errors[model] = math.dist(place_in_world(given)[0, :2], now)
    assert errors["constant_turn"] < 0.6 * errors["constant_velocity"]


def test_what_jitters_stands() -> None:
    random = np.random.default_rng(5)
    places = {}
    for certainty in (0.0, 2.0):
        motion = SenderMotion(certainty)
        speeds = []
        for step in range(60):
            x, y = random.normal(0.0, 0.3, 2)
            (known,) = motion.estimate_motions(boxes_at([[x, y, 0.0]]), PERIOD * step)
            speeds.append(0.0 if known is None else math.hypot(*known.velocity))
        places[certainty] = float(np.mean(speeds))
    assert places[2.0] < 0.2 * places[0.0]


def test_boxes_are_kept_apart_by_class_and_place() -> None:
    motion = SenderMotion(0.0)
    kinds = [VEHICLE, PEDESTRIAN]
    for step in range(5):
        away = PERIOD * step
        boxes = boxes_at([[6.0 * away, 0.0, 0.0], [1.0, 1.0 + away, 0.0]], kinds)
        known = motion.estimate_motions(boxes, PERIOD * step)
    assert known[0] is not None
    assert known[1] is not None
    assert known[0].velocity == pytest.approx((6.0, 0.0), abs=0.4)
    assert known[1].velocity == pytest.approx((0.0, 1.0), abs=0.4)
    # farther than the gate is another one
    (new,) = motion.estimate_motions(boxes_at([[4.8 + 1.2 + GATE[VEHICLE] + 0.5, 0.0, 0.0]]), 1.0)
    assert new is None


def test_no_box_is_faster_than_its_class_can_be() -> None:
    motion = SenderMotion(0.0)
    for step in range(8):
        # a filter may overshoot; what is given does not
        boxes = boxes_at([[0.9 * step, 0.0, 0.0]], [PEDESTRIAN])
        (known,) = motion.estimate_motions(boxes, 0.1 * step)
        assert known is None or math.hypot(*known.velocity) <= TOP_SPEED[PEDESTRIAN] + 1e-9


def test_boxes_that_a_defence_rejects_take_their_velocities_along() -> None:
    sent = replace(
        message_of(boxes_at([[0.0, 0.0, 0.0], [9.0, 0.0, 0.0]]), 0.0),
        velocities_in_world=np.array([[1.0, 0.0], [2.0, 0.0]]),
    )
    left = Judgement(check="x", message=sent, kept=np.array([False, True])).apply_judgement()
    assert left is not None
    assert left.velocities_in_world is not None
    assert left.velocities_in_world.tolist() == [[2.0, 0.0]]


def test_another_start_forgets_all() -> None:
    compensation = BoxCompensation()
    first = place_in_world(drive_past(compensation, 3))
    compensation.reset()
    assert not compensation.rows
    assert (place_in_world(drive_past(compensation, 3)) == first).all()


def test_points_are_refused_in_a_drive_too() -> None:
    sent = replace(message_of(boxes_at([]), 0.0), payload=Points(np.zeros((1, 4), np.float32)))
    with pytest.raises(TypeError, match="roadside-0 sent no boxes"):
        BoxCompensation().compensate_messages(observe(0.2), [sent])


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"motion": "bicycle"}, "box_compensation.motion = bicycle: must be constant_velocity"),
        ({"velocity": "both"}, "box_compensation.velocity = both: must be message_first"),
        ({"longest": -1.0}, "box_compensation.longest = -1"),
        ({"certainty": -1.0}, "box_compensation.certainty = -1"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, object], words: str) -> None:
    with pytest.raises(UserError, match=words):
        BoxCompensation(**settings)  # type: ignore[arg-type]

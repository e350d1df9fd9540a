"""Late feature maps: which two messages are compared, and for how long."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from harness.channel.compensation.features import LONGEST_GAP, FeatureCompensation
from harness.common.errors import UserError
from harness.types.flows import MovedFeatures, SentFeatures
from harness.types.vocabulary import Boxes, EgoObservation, Features, Message, Pose

PERIOD = 0.2


@dataclass
class NotingFlow:
    """Notes what it is asked for, and writes the sum of times into the map."""

    asked: list[tuple[float, float, float]] = field(default_factory=list)
    cells: int = 3

    def move_features(
        self, newer: SentFeatures, older: SentFeatures, *, seconds: float
    ) -> MovedFeatures:
        self.asked.append((round(newer.time, 6), round(older.time, 6), round(seconds, 6)))
        maps = tuple(level + np.float32(seconds) for level in newer.features.maps)
        features = replace(newer.features, maps=maps)
        return MovedFeatures(features=features, cells=self.cells, mean=1.0, greatest=2.0)


@dataclass
class FlowGiver:
    """A system that has a flow network."""

    flow: NotingFlow
    given: list[str | None] = field(default_factory=list)

    def find_flow_problem(self, flow: str | None, **settings: object) -> str | None:
        return None

    def list_flow_files(self, flow: str | None, **settings: object) -> list[str]:
        return []

    def make_flow(self, flow: str | None) -> NotingFlow:
        self.given.append(flow)
        return self.flow


def message_of(time: float, sender: str = "roadside-0", value: float = 0.0) -> Message:
    return Message(
        sender=sender,
        kind="roadside",
        capture_frame=round(20 * time),
        capture_time=time,
        lidar_in_world=Pose(10.0 * time, 0.0),
        payload=Features((np.full((2, 4, 4), value, np.float32),)),
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


def make_pair(**settings: object) -> tuple[FeatureCompensation, NotingFlow]:
    flow = NotingFlow()
    compensation = FeatureCompensation(**settings)  # type: ignore[arg-type]
    compensation.use_system(FlowGiver(flow))
    return compensation, flow


def give(compensation: FeatureCompensation, now: float, *messages: Message) -> tuple[Message, ...]:
    return compensation.compensate_messages(observe(now), messages)


def test_a_message_on_time_is_the_same_object_and_teaches() -> None:
    compensation, flow = make_pair()
    for step in range(3):
        sent = message_of(PERIOD * step)
        assert give(compensation, PERIOD * step, sent)[0] is sent
    assert not flow.asked
    assert not compensation.moved_maps
    # late now: it is compared with the one before
    give(compensation, 0.6, message_of(0.4))
    assert flow.asked == [(0.4, 0.2, 0.2)]


def test_one_message_alone_stays_the_same_object() -> None:
    compensation, flow = make_pair()
    sent = message_of(0.0)
    for now in (0.2, 0.4, 0.6):
        assert give(compensation, now, sent)[0] is sent
    assert not flow.asked
    assert [row.known for row in compensation.moved_maps] == [False] * 3
    assert [row.age for row in compensation.moved_maps] == pytest.approx([0.2, 0.4, 0.6])


def test_the_same_message_moves_on_while_no_newer_one_arrives() -> None:
    compensation, flow = make_pair()
    give(compensation, 0.2, message_of(0.0))
    for now in (0.4, 0.6, 0.8):
        (given,) = give(compensation, now, message_of(0.2))
        assert isinstance(given.payload, Features)
        assert given.payload.maps[0] == pytest.approx(now - 0.2)
        # placed by the pose that it was sent with
        assert given.lidar_in_world == message_of(0.2).lidar_in_world
    assert flow.asked == [(0.2, 0.0, 0.2), (0.2, 0.0, 0.4), (0.2, 0.0, 0.6)]
    assert [row.known for row in compensation.moved_maps] == [False, True, True, True]


def test_longest_age_ends_the_move() -> None:
    compensation, flow = make_pair(longest=0.3)
    give(compensation, 0.2, message_of(0.0))
    give(compensation, 0.9, message_of(0.2))
    assert flow.asked == [(0.2, 0.0, 0.3)]
    assert compensation.moved_maps[-1].age == pytest.approx(0.7)
    none, flow = make_pair(longest=0.0)
    give(none, 0.2, message_of(0.0))
    late = message_of(0.2)
    assert give(none, 0.9, late)[0] is late
    assert not flow.asked


def test_messages_far_apart_have_no_motion() -> None:
    compensation, flow = make_pair()
    give(compensation, 0.2, message_of(0.0))
    late = message_of(LONGEST_GAP + 0.1)
    assert give(compensation, 1.0, late)[0] is late
    assert not flow.asked


def test_an_older_message_after_a_newer_one_is_left_alone() -> None:
    compensation, flow = make_pair()
    for time in (0.0, 0.2, 0.4):
        give(compensation, 0.5, message_of(time))
    flow.asked.clear()
    old = message_of(0.2)
    assert give(compensation, 0.6, old)[0] is old
    assert not flow.asked
    give(compensation, 0.6, message_of(0.4))
    assert flow.asked == [(0.4, 0.2, 0.2)]


def test_senders_are_independent() -> None:
    together, flow = make_pair()
    alone, other = make_pair()
    for step in range(4):
        sent = [message_of(PERIOD * step, name) for name in ("vehicle-1", "vehicle-2")]
        now = PERIOD * step + 0.3
        # the second sends every other step
        pair = sent if step % 2 == 0 else sent[:1]
        both = give(together, now, *pair)
        (single,) = give(alone, now, sent[0])
        assert isinstance(both[0].payload, Features)
        assert isinstance(single.payload, Features)
        assert (both[0].payload.maps[0] == single.payload.maps[0]).all()
    assert other.asked == [(0.2, 0.0, 0.3), (0.4, 0.2, 0.3), (0.6, 0.4, 0.3)]
    assert [one for one in flow.asked if one not in other.asked] == [(0.4, 0.0, 0.3)]


def test_an_attempt_begins_without_memory() -> None:
    compensation, flow = make_pair()
    give(compensation, 0.4, message_of(0.0), message_of(0.0, "vehicle-1"))
    compensation.reset()
    sent = message_of(0.2)
    assert give(compensation, 0.4, sent)[0] is sent
    assert not flow.asked
    assert len(compensation.moved_maps) == 1


def test_a_message_in_which_nothing_moves_is_the_same_object() -> None:
    compensation, flow = make_pair()
    flow.cells = 0
    give(compensation, 0.2, message_of(0.0))
    late = message_of(0.2)
    assert give(compensation, 0.4, late)[0] is late
    assert flow.asked


def test_what_is_sent_is_left_unchanged() -> None:
    compensation, _ = make_pair()
    give(compensation, 0.2, message_of(0.0))
    late = message_of(0.2, value=1.0)
    assert isinstance(late.payload, Features)
    late.payload.maps[0].setflags(write=False)
    (given,) = give(compensation, 0.4, late)
    assert given is not late
    assert (late.payload.maps[0] == 1.0).all()


def test_boxes_and_systems_without_a_flow_network_are_refused() -> None:
    compensation, _ = make_pair()
    with pytest.raises(TypeError, match="sent no feature maps"):
        give(compensation, 0.2, replace(message_of(0.0), payload=Boxes.none()))
    with pytest.raises(UserError, match="needs the flow network of a system"):
        FeatureCompensation().use_system(object())
    with pytest.raises(UserError, match="longest = -1"):
        FeatureCompensation(longest=-1.0)


def test_the_file_of_the_settings_reaches_the_system() -> None:
    giver = FlowGiver(NotingFlow())
    FeatureCompensation(weights="mine.safetensors").use_system(giver)
    FeatureCompensation().use_system(giver)
    assert giver.given == ["mine.safetensors", None]

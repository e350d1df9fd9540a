"""Interference that is not what was asked for fails the attempt, and says how."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from harness.channel.channel import Channel
from harness.channel.disturbance import Disturbance
from harness.channel.effects import Shift
from harness.channel.interference.latency import Fixed
from harness.channel.interference.pose_error import Constant
from harness.common.errors import AttemptError
from harness.types.vocabulary import Boxes, CarrierState, Message, Observation, Points
from tests.channel.episode import FIRST_FRAME, PERIOD, Episode, time_of, where


def complaint(episode: Episode) -> str:
    """Return what the door finds wrong."""
    with pytest.raises(AttemptError) as problem:
        episode.channel.audit.verify_deliveries()
    assert problem.value.failure == "interference_not_delivered"
    return str(problem.value)


class NothingHappens(Disturbance):
    name = "nothing_happens"


class SaysItsMessagesAreNew(Fixed):
    def alter(self, message: Message) -> Message:
        return replace(message, capture_time=message.capture_time + 2 * PERIOD)


class SaysItsMessagesAreOthers(Fixed):
    def alter(self, message: Message) -> Message:
        return replace(message, capture_frame=message.capture_frame + 1)


class MovesMessagesBesides(Constant):
    def alter(self, message: Message) -> Message:
        pose = message.lidar_in_world
        return replace(message, lidar_in_world=replace(pose, x=pose.x + 0.25))


class SaysItCorrupts(Disturbance):
    name = "says_it_corrupts"

    def alter(self, message: Message) -> Message:
        assert isinstance(message.payload, Boxes)
        return replace(message, payload=message.payload[np.arange(len(message.payload))])


class Dawdles(Channel):
    """A channel with a fault: messages take one planning step longer than asked."""

    def send_message(
        self, message: Message, computed: float | None = 0.0, carrier: CarrierState | None = None
    ) -> None:
        super().send_message(message, computed, carrier)
        waiting = self._underway[message.sender]
        waiting[-1] = replace(waiting[-1], arrives=waiting[-1].arrives + PERIOD)


class ForgetsTheEgo(Channel):
    """A channel with a fault: the ego believes the truth, whatever was asked."""

    def add_pose_shifts(self, observation: Observation) -> Observation:
        believed = super().add_pose_shifts(observation)
        return observation if observation.kind == "ego" else believed


def test_inert_by_name() -> None:
    text = complaint(Episode(Fixed(0.4), NothingHappens()).run())
    assert text == "nothing_happens: changed nothing in 18 messages that reached the system"


def test_a_payload_that_comes_out_as_it_was_is_inert() -> None:
    assert complaint(Episode(SaysItCorrupts()).run()).startswith(
        "says_it_corrupts: changed nothing"
    )


def test_wrong_age_by_name() -> None:
    text = complaint(Episode(SaysItsMessagesAreNew(0.4)).run())
    assert f"message of roadside-0 at frame {FIRST_FRAME} was 0.800 s old when delivered" in text
    assert "0.400 s by its stamp" in text


def test_wrong_age_by_a_channel_that_dawdles() -> None:
    episode = Episode()
    episode.channel = Dawdles([Fixed(0.4)])
    episode.channel.reset(1, "route-4")
    text = complaint(episode.run())
    assert "was 0.600 s old when delivered, 0.400 s as asked" in text


def test_wrong_frame_by_name() -> None:
    text = complaint(Episode(SaysItsMessagesAreOthers(0.4)).run())
    assert f"at frame {FIRST_FRAME} claims to be one of roadside-0 at frame" in text


def test_never_delivered_by_name() -> None:
    episode = Episode(Fixed(0.4)).run(5)
    episode.channel._underway.clear()
    episode.step([])
    episode.step([("roadside-0", "roadside")])
    frame = FIRST_FRAME + 4 * 4
    assert f"at frame {frame} was due at {time_of(6):.3f} s and never delivered" in complaint(
        episode
    )


def test_wrong_displacement_by_name() -> None:
    text = complaint(Episode(MovesMessagesBesides(0.5, 0.1, 2.0)).run())
    assert text.startswith(
        f"roadside-0 at frame {FIRST_FRAME} is displaced by (0.750 m, 0.100 m, 2.000 deg),"
        " not (0.500 m, 0.100 m, 2.000 deg)"
    )


def test_wrong_displacement_of_the_ego_by_name() -> None:
    episode = Episode()
    episode.channel = ForgetsTheEgo([Constant(0.5, 0.1, 2.0, kinds=["ego"])])
    episode.channel.reset(1, "route-4")
    text = complaint(episode.run())
    assert text.startswith(f"ego at frame {FIRST_FRAME} is displaced by (0.000 m")
    assert text.endswith("(and 19 more)")


def test_all_is_well_and_written_down() -> None:
    episode = Episode(Fixed(0.4), Constant(0.5, -0.1, 2.0)).run(6)
    episode.channel.audit.verify_deliveries()
    records = episode.channel.audit.close_audit()
    assert [record.fate for record in records] == ["delivered"] * 4 + ["in_flight"] * 2
    for step, record in enumerate(records[:4]):
        assert record.delivered_time == time_of(step + 2)
        assert record.age_measured == pytest.approx(0.4)
        assert record.age_asked == pytest.approx(record.age_measured)
        assert record.measured_shift == pytest.approx(Shift(0.5, -0.1, yaw=np.radians(2.0)))
        assert record.asked_shift == pytest.approx(record.measured_shift)
        assert record.size_bytes == 5 * 33
    assert episode.channel.audit.close_audit() == records


def test_senses_and_truth_stay_as_they_are() -> None:
    episode = Episode(Constant(0.5, -0.1, 2.0, kinds=["ego", "roadside"])).run(3)
    for (sender, step), believed in episode.beliefs.items():
        true = where(sender, step)
        assert believed.lidar_in_world.x == pytest.approx(true.x + 0.5)
        assert believed.lidar_in_world.z == true.z
        assert believed.time == time_of(step)
    sent = [message.payload for now in episode.given for message in now]
    assert all(isinstance(boxes, Boxes) and len(boxes) == 5 for boxes in sent)


def test_what_has_been_sent_cannot_be_changed() -> None:
    (message,) = Episode().run(1).given[0]
    with pytest.raises(AttributeError):
        message.capture_time = 0.0  # type: ignore[misc]
    assert isinstance(message.payload, Boxes)
    with pytest.raises(ValueError, match="read-only"):
        message.payload.geometry[0, 0] = 0.0


def test_a_buffer_may_be_used_again_once_it_has_been_sent() -> None:
    buffer = np.zeros((9, 4), np.float32)
    episode = Episode(Fixed(PERIOD)).run(1, payload=lambda: Points(buffer[:5]))
    buffer[:] = 1.0
    (message,) = episode.step([("roadside-0", "roadside")])
    assert isinstance(message.payload, Points)
    assert not message.payload.in_lidar.any()


def test_a_payload_that_cannot_be_sent_is_refused_with_those_that_can() -> None:
    with pytest.raises(AttemptError, match="share returned NoneType, not Boxes") as problem:
        Episode().run(1, payload=lambda: None)  # type: ignore[arg-type,return-value]
    assert problem.value.failure == "agent_exception"


def test_another_episode_begins_with_an_empty_book_and_empty_air() -> None:
    episode = Episode(Fixed(0.4)).run(5)
    episode.channel.reset(2, "route-4")
    assert not episode.channel.audit.close_audit()
    assert episode.channel.deliver_messages(time_of(5), {"roadside-0"}) == ()

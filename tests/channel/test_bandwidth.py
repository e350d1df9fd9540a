"""A radio that sends so many bytes a second."""

from __future__ import annotations

import pytest

from harness.channel.interference.bandwidth import Bandwidth
from harness.channel.interference.latency import Fixed
from harness.channel.interference.loss import Loss
from harness.common.errors import AttemptError, UserError
from harness.types.vocabulary import Boxes, Kind, Message, Points
from tests.channel.episode import Episode, some_boxes, some_points

SWEEP = 16 * 400
"""Bytes of a sweep in these tests."""


def sweep() -> Points:
    return some_points(400)


def test_a_message_takes_as_long_as_its_bytes() -> None:
    episode = Episode(Bandwidth(SWEEP / 0.15)).run(6, payload=sweep)
    episode.channel.audit.verify_deliveries()
    assert [record.delay for record in episode.channel.audit.close_audit()] == pytest.approx(
        [0.15] * 6
    )
    assert episode.ages() == [[]] + [[1]] * 5


def test_raw_points_suffer_where_boxes_pass() -> None:
    points = Episode(Bandwidth(SWEEP / 0.5)).run(20, payload=sweep)
    boxes = Episode(Bandwidth(SWEEP / 0.5)).run(20)
    for episode in (points, boxes):
        episode.channel.audit.verify_deliveries()
    assert max(age for now in boxes.ages() for age in now) == 1
    assert points.fates().count("unsent") > 5
    assert boxes.fates().count("unsent") == 0


def test_only_the_newest_waits_for_a_busy_radio() -> None:
    episode = Episode(Bandwidth(SWEEP / 0.45)).run(9, payload=sweep)
    episode.channel.audit.verify_deliveries()
    # Sending begins at 0, 0.45, 0.9, 1.35 and 1.8 s, with what was captured at 0, 0.4, 0.8 s...
    assert [step for step, fate in enumerate(episode.fates()) if fate != "unsent"] == [
        0,
        2,
        4,
        6,
        8,
    ]
    assert episode.ages() == [[], [], [], [3], [4], [3], [4], [3], [4]]


def test_who_becomes_free_at_the_moment_of_capture_sends_what_has_waited() -> None:
    episode = Episode(Bandwidth(SWEEP / 0.5)).run(7, payload=sweep)
    episode.channel.audit.verify_deliveries()
    assert [step for step, fate in enumerate(episode.fates()) if fate != "unsent"] == [0, 2, 4, 6]


def test_every_sender_has_a_separate_radio() -> None:
    partners: list[tuple[str, Kind]] = [("vehicle-1", "vehicle"), ("vehicle-2", "vehicle")]
    episode = Episode(Bandwidth(SWEEP / 0.15)).run(6, partners, sweep)
    assert episode.ages() == [[]] + [[1, 1]] * 5
    episode.channel.audit.verify_deliveries()


def test_adds_to_latency_and_lost_messages_take_their_time_too() -> None:
    late = Episode(Fixed(0.3), Bandwidth(SWEEP / 0.15)).run(6, payload=sweep)
    assert [record.delay for record in late.channel.audit.close_audit()] == pytest.approx(
        [0.45] * 6
    )
    late.channel.audit.verify_deliveries()
    every = Episode(Bandwidth(SWEEP / 0.5)).run(30, payload=sweep)
    lossy = Episode(Loss(0.4), Bandwidth(SWEEP / 0.5)).run(30, payload=sweep)
    assert [record.delay for record in lossy.channel.audit.close_audit()] == [
        record.delay for record in every.channel.audit.close_audit()
    ]
    lossy.channel.audit.verify_deliveries()


def test_empty_messages_are_no_fault_but_an_idle_radio_is() -> None:
    Episode(Bandwidth(1000.0)).run(5, payload=Boxes.none).channel.audit.verify_deliveries()

    class Instant(Bandwidth):
        def delay(self, message: Message) -> float:
            super().delay(message)
            return 0.0

    with pytest.raises(AttemptError, match="bandwidth: changed nothing"):
        Episode(Instant(1000.0)).run(5, payload=some_boxes).channel.audit.verify_deliveries()


def test_no_bandwidth_at_all_is_refused() -> None:
    with pytest.raises(UserError, match="must be > 0"):
        Bandwidth(0.0)

"""Wrong clocks of partners: stamps are wrong as asked, and delivery is not changed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from harness.channel.interference.clock_offset import ClockOffset
from harness.channel.interference.counterfactual import Counterfactual
from harness.channel.interference.latency import Fixed
from harness.channel.messages.collective_perception import CpmFormat
from harness.common.errors import AttemptError, UserError
from harness.types.vocabulary import Kind
from tests.channel.episode import FIRST_FRAME, TICKS, Episode, time_of

STEPS = 15
TWO: tuple[tuple[str, Kind], ...] = (("roadside-0", "roadside"), ("vehicle-1", "vehicle"))


def collect_errors(episode: Episode) -> dict[tuple[str, int], float]:
    """Return by how much the stamps that the system was given are ahead, by sender and step."""
    return {
        (message.sender, (message.capture_frame - FIRST_FRAME) // TICKS): message.capture_time
        - time_of((message.capture_frame - FIRST_FRAME) // TICKS)
        for now in episode.given
        for message in now
    }


def test_stamps_are_wrong_by_the_offset_and_drift_of_their_senders() -> None:
    episode = Episode(ClockOffset(0.1, 5000.0)).run(STEPS, TWO)
    errors = collect_errors(episode)
    rates = []
    for sender, _ in TWO:
        of_sender = np.array([errors[sender, step] for step in range(STEPS)])
        # a straight line in time
        steps = np.diff(of_sender)
        assert steps == pytest.approx(np.full(STEPS - 1, steps.mean()), abs=1e-9)
        rates.append((of_sender[0], steps.mean() / 0.2))
    assert len(set(rates)) == 2
    assert all(abs(offset) < 0.5 and abs(drift) < 0.025 for offset, drift in rates)
    assert all(abs(offset) > 1e-4 and abs(drift) > 1e-6 for offset, drift in rates)
    # measured at the system's door, as asked
    episode.channel.audit.verify_deliveries()
    for record in episode.channel.audit.close_audit():
        step = (record.capture_frame - FIRST_FRAME) // TICKS
        assert record.clock_asked == pytest.approx(errors[record.sender, step], abs=1e-9)
        assert record.clock_measured == pytest.approx(record.clock_asked, abs=1e-9)
    usage = episode.channel.audit.build_record()
    assert usage["misdated"] == usage["uses"] == 2 * STEPS
    assert usage["disturbances"] == {"clock_offset": 2 * STEPS}


def test_offsets_have_their_deviation_and_change_with_the_seed() -> None:
    offsets = []
    for seed in range(200):
        (message,) = Episode(ClockOffset(0.1), seed=seed).run(1).given[0]
        offsets.append(message.capture_time - time_of(0))
    # a sample of 200 is within 15 % of the deviation, but for 1 in 300
    assert np.std(offsets) == pytest.approx(0.1, rel=0.15)
    assert abs(np.mean(offsets)) < 0.025


@pytest.mark.parametrize("late", [(), (Fixed(0.4),)])
def test_delivery_is_that_of_right_clocks(late: tuple[Fixed, ...]) -> None:
    """Also an offset beyond the greatest age loses nothing: delivery has a clock of its own."""
    wrong = Episode(ClockOffset(5.0), *late, maximum_age=1.0).run(STEPS, TWO)
    right = Episode(*late, maximum_age=1.0).run(STEPS, TWO)
    for given, expected in zip(wrong.given, right.given, strict=True):
        assert [one.capture_frame for one in given] == [one.capture_frame for one in expected]
        for one, other in zip(given, expected, strict=True):
            assert one.capture_time != other.capture_time
            assert one.lidar_in_world == other.lidar_in_world
            assert np.array_equal(one.payload.geometry, other.payload.geometry)  # type: ignore[union-attr]
        ages = [
            episode.channel.audit.list_ages(now, 0.0)
            for episode, now in ((wrong, given), (right, expected))
        ]
        assert ages[0] == ages[1]
    wrong.channel.audit.verify_deliveries()
    records = [
        [
            replace(one, clock_asked=0.0, clock_measured=0.0)
            for one in made.channel.audit.close_audit()
        ]
        for made in (wrong, right)
    ]
    assert records[0] == records[1]


def test_messages_of_a_standard_are_stamped_too() -> None:
    episode = Episode(ClockOffset(0.1))
    episode.channel.message_format = CpmFormat(inclusion=False)
    episode.channel.reset(1, "route-4")
    episode.run(5)
    assert len(set(np.round([*collect_errors(episode).values()], 6))) == 1
    episode.channel.audit.verify_deliveries()


def test_windows_have_right_clocks_outside() -> None:
    errors = collect_errors(Episode(Counterfactual(ClockOffset(0.1), [(8, 20)])).run(10))
    wrong = [step for (_, step), error in errors.items() if abs(error) > 1e-9]
    assert wrong == [2, 3, 4]


def test_a_stamp_that_is_not_as_asked_fails_the_attempt() -> None:
    episode = Episode(ClockOffset(0.1)).run(4)
    key, record = next(iter(episode.channel.audit.records.items()))
    record.clock_measured += 0.01
    assert key[0] == "roadside-0"
    with pytest.raises(AttemptError, match="is stamped"):
        episode.channel.audit.verify_deliveries()


def test_right_clocks_are_no_disturbance_and_bad_settings_are_refused() -> None:
    assert ClockOffset(0.0).size_zero
    assert "misdated" not in Episode(ClockOffset(0.0)).run(3).channel.audit.build_record()
    tiny = Episode(ClockOffset(1e-9)).run(5)
    with pytest.raises(AttemptError, match="s is no offset"):
        tiny.channel.audit.verify_deliveries()
    for settings, words in (
        ({"offset": -1.0}, "clock_offset.offset = -1 s"),
        ({"offset": 1.0, "drift": float("nan")}, "clock_offset.drift = nan ppm"),
        ({"offset": 1.0, "kinds": ["ego"]}, "kinds has ego"),
    ):
        with pytest.raises(UserError, match=words):
            ClockOffset(**settings)

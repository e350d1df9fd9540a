"""Carrier sensing: access by hand, collisions, and what a partner gets of the channel."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from harness.channel.links.csma import (
    SLOT,
    CarrierField,
    CarrierRules,
    Frame,
    find_access,
    find_busy_times,
    get_reactive_interval,
    measure_busy_ratio,
)
from harness.channel.links.its_g5 import ItsG5Link
from harness.common.errors import UserError
from tests.channel.test_sidelink import drive

RULES = CarrierRules(airtime=512e-6, period=0.1, arbitration=6, noise=1e-10, preamble=4.1)
AIFS = 32e-6 + 6 * 13e-6


def test_a_frame_waits_for_silence_and_counts_down_in_silence_only() -> None:
    assert RULES.interval == pytest.approx(110e-6)
    assert find_access([], 1.0, 3, AIFS) == pytest.approx(1.0 + AIFS + 3 * SLOT)
    # ready while the channel is busy
    assert find_access([(0.9, 1.1)], 1.0, 3, AIFS) == pytest.approx(1.1 + AIFS + 3 * SLOT)
    # two of five slots pass before the next frame; the other three after it
    begin = 1.0 + AIFS + 2.5 * SLOT
    busy = [(begin, begin + 0.001)]
    assert find_access(busy, 1.0, 5, AIFS) == pytest.approx(begin + 0.001 + AIFS + 3 * SLOT)
    # a gap shorter than AIFS counts nothing
    short = [(1.0, 1.1), (1.1 + AIFS / 2, 1.2)]
    assert find_access(short, 1.0, 5, AIFS) == pytest.approx(1.2 + AIFS + 5 * SLOT)


def test_busy_times_are_those_of_strong_frames() -> None:
    nothing = np.zeros(2)
    frames = [Frame(0, 0.0, 0.2, nothing), Frame(1, 0.1, 0.3, nothing), Frame(0, 0.5, 0.6, nothing)]
    assert find_busy_times(frames, np.array([1.0, 1.0])) == [(0.0, 0.3), (0.5, 0.6)]
    assert find_busy_times(frames, np.array([1.0, 1e-9])) == [(0.0, 0.2), (0.5, 0.6)]
    assert measure_busy_ratio([(0.0, 0.3), (0.5, 0.6)], 0.2, 0.7) == pytest.approx(0.4)


def test_stations_that_hear_one_another_take_turns() -> None:
    field = CarrierField(RULES, 30, 1)
    field.note_powers(np.full((30, 30), 1e-6) * (1 - np.eye(30)))
    frames = list(field.run_until(3.0))
    assert len(frames) == pytest.approx(30 * 30, abs=30)
    received = np.array([(frame.sinr > 0).sum() for frame in frames])
    # 15 % of the time is busy: some share a slot, and most do not
    assert (received == 29).mean() > 0.95
    # out of range all send at any time
    field = CarrierField(RULES, 30, 1)
    field.note_powers(np.full((30, 30), 1e-12))
    deaf = list(field.run_until(3.0))
    overlaps = [one.end > two.start for one, two in pairwise(deaf)]
    assert np.mean(overlaps) > 0.08
    assert all((frame.sinr == 0).all() for frame in deaf)


def test_a_lone_partner_waits_for_aifs_and_slots_only() -> None:
    link = drive(ItsG5Link(stations=0), 50.0, 300)
    for carriage in link.carriages:
        waited = (carriage.queue - AIFS) / SLOT
        assert waited == pytest.approx(round(waited), abs=1e-3)
        assert 1 <= round(waited) <= 15
        assert carriage.airtime == pytest.approx(512e-6)
        assert carriage.delay == pytest.approx(carriage.queue + carriage.airtime)
        assert not carriage.lost


def test_congestion_control_spaces_out_the_frames() -> None:
    """20 kB are 15 frames: 28 ms without, and 50 ms for each of 14 with congestion control."""
    free = drive(ItsG5Link(stations=0, dcc="none"), 50.0, 20_000).carriages[0]
    assert free.fragments == 15
    assert free.delay == pytest.approx(free.airtime + 15 * (AIFS + 8 * SLOT), abs=15 * 7 * SLOT)
    spaced = drive(ItsG5Link(stations=0, longest_queue=60), 50.0, 20_000).carriages[0]
    assert spaced.delay == pytest.approx(14 * 0.05, abs=0.02)
    assert [get_reactive_interval(busy) for busy in (0.0, 0.35, 0.45, 0.55, 0.9)] == [
        *(0.05, 0.1, 0.2, 0.25, 1.0)
    ]


def test_other_stations_delay_and_disturb() -> None:
    """The channel is busy for at most 512 µs of 1 ms with 100 stations."""
    link = drive(ItsG5Link(stations=100, dcc="none"), 400.0, 300)
    assert 0.2 < np.mean([one.busy for one in link.carriages]) < 0.55
    alone = drive(ItsG5Link(stations=0), 400.0, 300)
    queues = [np.mean([one.queue for one in each.carriages]) for each in (link, alone)]
    assert queues[0] > 1.5 * queues[1]
    assert link.carriages == drive(ItsG5Link(stations=100, dcc="none"), 400.0, 300).carriages


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"mcs": 8}, "link.mcs = 8: must be from 0 to 7"),
        ({"mcs": 7}, "link.mcs = 7: no published curve"),
        ({"dcc": "x"}, "link.dcc = 'x'"),
        ({"largest": 0}, "link.largest = 0 B"),
        ({"arbitration": 1}, "link.arbitration = 1"),
    ],
)
def test_bad_settings_of_its_g5_are_one_line(settings: dict, words: str) -> None:
    with pytest.raises(UserError, match=words) as raised:
        ItsG5Link(**settings)
    assert "\n" not in str(raised.value)

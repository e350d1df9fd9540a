"""Scheduling of a sidelink: emissions, exclusion, and reception against another simulator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import pytest

from harness.channel.links.cellular import LteLink, NrLink
from harness.channel.links.radio import RadioLink
from harness.channel.links.sidelink import (
    SidelinkField,
    SidelinkRules,
    compute_emission,
    select_resources,
)
from harness.channel.links.sidelink_link import SidelinkLink
from harness.channel.links.sight import AirSurroundings
from harness.common.errors import UserError
from harness.types.vocabulary import VEHICLE, Features, Message, Pose
from tests.channel.episode import Episode
from tests.channel.test_radio_links import CAR, ON_EGO, episode_on

AnyRadio = TypeVar("AnyRadio", bound=RadioLink)
RULES = NrLink().rules
ALWAYS: dict[str, Any] = {"with_queue": False, "with_airtime": False, "with_loss": False}


def test_a_packet_leaks_less_the_further_away() -> None:
    """Values by hand: QPSK of LTE next to a block, 20 lg 0.175 - 3 - 0/10 - 3 = -21.1 dB."""
    rules = replace(RULES, magnitude=0.175, emission_margins=(3.0, 6.0, 3.0, 3.0))
    emission = compute_emission(rules, 0, 1)
    assert emission[0] == 1.0
    assert np.all(np.diff(emission[:3]) < 0)
    first = np.array([max(-25 - 10 * np.log10(5) - 6, -21.14 - 5 * k / 10) for k in range(10)])
    assert emission[1] == pytest.approx((10 ** (first / 10)).mean(), rel=2e-3)
    # the image of the first subchannel is in the last: -28 dB
    assert emission[4] == pytest.approx(10**-2.8 + 10 ** (-(25 + 6.99 + 6) / 10), rel=0.02)


def choose(sensed: list[float], reserved: list[bool], rules: SidelinkRules) -> list[int]:
    open_ = np.ones(len(sensed), bool)
    open_[0] = False
    chosen = select_resources(
        np.array(sensed),
        np.array(reserved),
        open_,
        rules=rules,
        random=np.random.default_rng(0),
    )
    return sorted(chosen.tolist())


def test_announced_resources_are_excluded_above_the_threshold() -> None:
    """-110 dBm in 15 kHz are -89.2 dBm in a subchannel of 1.8 MHz."""
    strong, weak = 10 ** (-88 / 10), 10 ** (-90 / 10)
    sensed = [0.0, strong, weak, strong, 0.0]
    assert choose(sensed, [True] * 5, RULES) == [2, 4]
    # what is not announced is not reserved, whatever its power
    assert choose(sensed, [False] * 5, RULES) == [1, 2, 3, 4]
    # the threshold rises by 3 dB until a fifth is left
    assert choose([0.0, *[1.0, 2.0, 4.0, 8.0]], [True] * 5, RULES) == [1]


def test_lte_keeps_the_fifth_with_the_least_power() -> None:
    rules = LteLink().rules
    sensed = [0.0, *(float(number) for number in range(10, 0, -1))]
    assert choose(sensed, [False] * 11, rules) == [9, 10]


def test_a_lone_station_is_received_by_noise_alone() -> None:
    field = SidelinkField(RULES, 2, 1, width=2)
    received = np.array([[0.0, 1e-9], [1e-9, 0.0]])
    field.note_powers(received)
    ratios = [
        reception.sinr[0, 1 - int(reception.burst.senders[0])]
        for reception in field.run_slots(500)
        if len(reception.burst.senders) == 1
    ]
    assert len(ratios) >= 8
    assert ratios == pytest.approx([1e-9 / (2 * RULES.noise)] * len(ratios))
    assert field.busy_ratio.max() <= 0.02


def count_collisions(power: float) -> float:
    """Return the share of packets of 40 stations on 200 resources that share one."""
    field = SidelinkField(RULES, 40, 1, width=2)
    field.note_powers(np.full((40, 40), power))
    list(field.run_slots(3000))
    collisions, packets = 0, 0
    for reception in field.run_slots(3000):
        starts = reception.burst.starts
        packets += len(starts)
        collisions += len(starts) - len(set(starts.tolist()))
    assert packets == pytest.approx(40 * 30, abs=20)
    return collisions / packets


def test_stations_that_sense_one_another_collide_seldom() -> None:
    """Above the threshold none collides; below it they choose at random.

    Then (1 - (1 - 1/200)^39) / 2 of the packets share a resource, about.
    """
    assert count_collisions(1e-6) < 0.01
    assert count_collisions(1e-9) == pytest.approx((1 - (1 - 1 / 200) ** 39) / 2, abs=0.06)


def surround(distance: float) -> AirSurroundings:
    users = np.array([[0.0, 0.0, 0.8, *CAR, 0.0], [distance, 0.0, 0.8, *CAR, 0.0]])
    return AirSurroundings(ON_EGO, users, np.array([VEHICLE, VEHICLE]), np.zeros((0, 7)))


def drive(
    link: AnyRadio, distance: float, size: int, *, seed: int = 1, senders: str = "a"
) -> AnyRadio:
    """Send 40 messages of a size, one in 0.2 s, over a distance in sight."""
    link.reset(seed)
    link.note_surroundings(surround(distance))
    for frame in range(0, 160, 4):
        for sender in senders:
            message = Message(
                sender=sender,
                kind="vehicle",
                capture_frame=frame,
                capture_time=7.0 + 0.05 * frame,
                lidar_in_world=Pose(distance, 0.0, 1.85),
                payload=Features((np.zeros(size // 4, np.float32),)),
            )
            link.carry_message(message, message.lidar_in_world)
    return link


@pytest.mark.parametrize("make", [NrLink, LteLink])
def test_a_small_message_takes_one_slot_within_the_window(
    make: Callable[..., SidelinkLink],
) -> None:
    link = drive(make(stations=0, window=0.05), 50.0, 300)
    for carriage in link.carriages:
        assert (carriage.fragments, carriage.airtime) == (1, 1e-3)
        assert 0.0009 < carriage.queue <= 0.0501
        assert carriage.delay == pytest.approx(carriage.queue + 1e-3)
        assert carriage.busy == 0.0
    # a resource is kept for five messages at least
    queues = [round(carriage.queue, 6) for carriage in link.carriages]
    assert len(set(queues)) <= 8


def test_a_feature_map_does_not_fit_at_five_a_second() -> None:
    """2 MB in slots of 974 B take 2.05 s of the whole channel, and a message comes every 0.2 s."""
    link = drive(NrLink(stations=0), 50.0, 2_000_000)
    sent = [one for one in link.carriages if not np.isnan(one.queue)]
    assert {one.fragments for one in sent} == {2054}
    assert all(one.delay > 2.054 for one in sent)
    assert len(sent) <= 5
    assert all(one.lost for one in link.carriages if np.isnan(one.queue))


def share_lost(link: SidelinkLink, distance: float) -> float:
    return float(np.mean([one.lost for one in drive(link, distance, 300).carriages]))


def test_losses_grow_with_distance_and_load_and_shrink_with_repeats() -> None:
    """WINNER+ B1: at 350 m the signal is 10 dB above the noise, as MCS 11 needs it."""
    lone: dict[str, Any] = {"propagation": "winner_b1", "stations": 0}
    shares = [share_lost(NrLink(**lone), distance) for distance in (50.0, 300.0, 700.0)]
    assert shares == [0.0, 1.0, 1.0]
    assert share_lost(NrLink(**lone, copies=3), 300.0) == 0.0
    assert share_lost(NrLink(stations=300), 200.0) > share_lost(NrLink(stations=20), 200.0)


def test_what_happens_to_a_partner_repeats_by_seed() -> None:
    first = drive(NrLink(), 300.0, 300).carriages
    assert first == drive(NrLink(), 300.0, 300).carriages
    other = drive(NrLink(), 300.0, 300, seed=2).carriages
    assert [one.power for one in first] != [one.power for one in other]
    # power at the ego does not depend on who else sends
    two = [one for one in drive(NrLink(), 300.0, 300, senders="ba").carriages if one.sender == "a"]
    assert [one.power for one in first] == [one.power for one in two]


def test_a_radio_that_neither_delays_nor_loses_is_the_ideal_link() -> None:
    ideal = episode_on(None)
    for make in (NrLink, LteLink):
        episode = Episode(seed=1)
        link = make(**ALWAYS)
        episode.channel.link = link
        episode.channel.reset(1, "route-4")
        link.note_surroundings(surround(100.0))
        episode.run(40)
        assert len(link.carriages) == 40
        assert episode.ages() == ideal.ages()
        assert repr(episode.channel.audit.close_audit()) == repr(ideal.channel.audit.close_audit())


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"mcs": 29}, "link.mcs = 29: must be from 0 to 28"),
        ({"bandwidth": 40}, "link.bandwidth = 40 MHz: must be 10 or 20"),
        ({"spacing": 45}, "link.spacing = 45 kHz"),
        ({"copies": 4}, "link.copies = 4: must be 1, 2 or 3"),
        ({"keep": 0.9}, "link.keep = 0.9"),
        ({"window": 1.0}, "link.window = 1 s"),
        ({"errors": "curve"}, "link.errors = curve: none are published"),
        ({"stations": -1}, "link.stations = -1"),
        ({"station_bytes": 5000}, "link.station_bytes = 5000: does not fit"),
        ({"headers": -1}, "link.headers = -1 B"),
        ({"street": 0}, "link.street = 0 m"),
        ({"propagation": "sea"}, "link.propagation = 'sea'"),
        ({"longest_queue": 0}, "link.longest_queue = 0 s"),
    ],
)
def test_bad_settings_are_one_line(settings: dict, words: str) -> None:
    with pytest.raises(UserError, match=words) as raised:
        NrLink(**settings)
    assert "\n" not in str(raised.value)

"""Delays as they are sampled."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate

import numpy as np
import pytest

from harness.channel.disturbance import Disturbance
from harness.channel.interference.latency import Fixed, Normal, Uniform
from harness.channel.interference.paper_code_latency import PaperCodeLatency
from harness.common.errors import AttemptError, UserError
from harness.types.vocabulary import Kind, Message, Pose
from tests.channel.episode import Episode, some_boxes
from tests.channel.statistics import follows, normal_cdf, uniform_cdf

SAMPLES = 1500


def delays(disturbance: Disturbance, steps: int = SAMPLES, route: str = "route-4") -> list[float]:
    episode = Episode(disturbance, route=route).run(steps)
    episode.channel.audit.verify_deliveries()
    return [record.delay for record in episode.channel.audit.close_audit()]


def test_fixed() -> None:
    assert delays(Fixed(0.3), 10) == [0.3] * 10


@pytest.mark.thorough
def test_uniform_for_every_message() -> None:
    samples = delays(Uniform(0.5, 1.0, per="message"))
    assert follows(samples, uniform_cdf(0.5, 1.0))
    assert abs(np.corrcoef(samples[1:], samples[:-1])[0, 1]) < 0.08


@pytest.mark.thorough
def test_normal_for_every_message() -> None:
    samples = delays(Normal(0.8, 0.1))
    assert follows(samples, normal_cdf(0.8, 0.1))


@pytest.mark.thorough
def test_normal_is_never_early() -> None:
    samples = np.array(delays(Normal(0.05, 0.1)))
    assert samples.min() == 0
    assert np.mean(samples == 0) == pytest.approx(0.3085, abs=0.04)


def test_once_for_an_episode() -> None:
    assert len(set(delays(Uniform(0.5, 1.0), 30))) == 1
    by_seed = []
    for seed in range(300):
        episode = Episode(Uniform(0.5, 1.0), seed=seed).run(1)
        by_seed.append(episode.channel.audit.close_audit()[0].delay)
    assert follows(by_seed, uniform_cdf(0.5, 1.0))


def test_a_normal_that_is_zero_by_chance_is_not_inert() -> None:
    zero = [
        seed
        for seed in range(40)
        if Episode(Normal(0.0, 0.1, per="episode"), seed=seed).run(1).ages() == [[0]]
    ]
    assert 8 < len(zero) < 32
    Episode(Normal(0.0, 0.1, per="episode"), seed=zero[0]).run(50).channel.audit.verify_deliveries()


@pytest.mark.parametrize(("route", "delay"), [("r12", 0.8), ("town05-7", 1.0), ("5", 0.6)])
def test_paper_code_by_route_number(route: str, delay: float) -> None:
    assert delays(PaperCodeLatency(), 12, route) == [0.0] * 5 + [delay] * 7


def test_the_first_second_is_as_long_whenever_it_begins() -> None:
    """Servers add up ticks, and so their seconds are not all of one length to the last digit."""
    disturbance, clock = PaperCodeLatency(), list(accumulate([0.05] * 80))
    second = [(clock[first], clock[first + 20]) for first in range(60)]
    assert {end - begin < 1.0 for begin, end in second} == {False, True}
    for moments in second:
        disturbance.reset(1, "r12")
        messages = [
            Message(
                sender="roadside-0",
                kind="roadside",
                capture_frame=0,
                capture_time=moment,
                lidar_in_world=Pose(0.0, 0.0),
                payload=some_boxes(),
            )
            for moment in moments
        ]
        assert [disturbance.delay(message) for message in messages] == [0.0, 0.8]


def test_paper_code_leaves_vehicles_alone() -> None:
    both: list[tuple[str, Kind]] = [("roadside-0", "roadside"), ("vehicle-1", "vehicle")]
    episode = Episode(PaperCodeLatency(), route="r12").run(9, both)
    by_sender = {
        sender: [
            record.delay
            for record in episode.channel.audit.close_audit()
            if record.sender == sender
        ]
        for sender, _ in both
    }
    assert by_sender == {"roadside-0": [0.0] * 5 + [0.8] * 4, "vehicle-1": [0.0] * 9}


def test_a_drive_that_ends_in_the_first_second_is_no_fault() -> None:
    Episode(PaperCodeLatency(), route="r12").run(4).channel.audit.verify_deliveries()


def test_a_route_without_a_number() -> None:
    with pytest.raises(AttemptError, match="'elm street' has no number"):
        Episode(PaperCodeLatency(), route="elm street")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Fixed(-0.1), "latency.seconds = -0.1 s: must be ≥ 0"),
        (lambda: Uniform(1.0, 0.5), "low = 1.0 s, high = 0.5 s"),
        (lambda: Uniform(0.5, 1.0, per="route"), "valid: episode, message"),  # type: ignore[arg-type]
        (lambda: Normal(0.5, -1.0), "must be ≥ 0"),
        (lambda: Fixed(0.1, kinds=["bicycle"]), "ego, roadside, vehicle"),  # type: ignore[list-item]
        (lambda: Fixed(0.1, kinds=[]), "one or more of"),
    ],
)
def test_settings_that_make_no_sense(make: Callable[[], Disturbance], says: str) -> None:
    with pytest.raises(UserError, match=says):
        make()

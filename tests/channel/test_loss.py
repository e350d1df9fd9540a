"""Lost messages: how many, how many in a row, and none by chance."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import groupby

import numpy as np
import pytest

from harness.channel.disturbance import Disturbance
from harness.channel.interference.loss import BurstLoss, Loss
from harness.common.errors import AttemptError, UserError
from harness.types.vocabulary import Message
from tests.channel.episode import Episode

MANY = 2000


def lost(disturbance: Disturbance, steps: int = MANY) -> list[bool]:
    episode = Episode(disturbance).run(steps)
    episode.channel.audit.verify_deliveries()
    return [fate == "lost" for fate in episode.fates()]


def bursts(losses: list[bool]) -> list[int]:
    return [len(list(run)) for was_lost, run in groupby(losses) if was_lost]


@pytest.mark.thorough
def test_messages_are_lost_independently() -> None:
    losses = lost(Loss(0.3))
    assert np.mean(losses) == pytest.approx(0.3, abs=0.03)
    assert np.mean(bursts(losses)) == pytest.approx(1 / 0.7, abs=0.1)


@pytest.mark.thorough
def test_in_bursts() -> None:
    losses = lost(BurstLoss(0.06, 0.14))
    assert np.mean(losses) == pytest.approx(0.3, abs=0.06)
    assert np.mean(bursts(losses)) == pytest.approx(1 / 0.14, rel=0.3)


@pytest.mark.thorough
def test_bursts_with_losses_in_good_air_and_survivors_in_bad() -> None:
    losses = lost(BurstLoss(0.1, 0.3, lost_in_good=0.05, lost_in_bad=0.8))
    assert np.mean(losses) == pytest.approx(0.75 * 0.05 + 0.25 * 0.8, abs=0.04)


def test_all_lost_is_none_given() -> None:
    episode = Episode(Loss(1.0)).run(5)
    assert episode.given == [()] * 5
    episode.channel.audit.verify_deliveries()


def test_a_short_episode_without_a_loss_is_no_fault() -> None:
    for make in (lambda: Loss(0.01), lambda: BurstLoss(0.01, 0.5)):
        episodes = [Episode(make(), seed=seed).run(10) for seed in range(20)]
        assert any("lost" not in episode.fates() for episode in episodes)
        for episode in episodes:
            episode.channel.audit.verify_deliveries()


class KeepsAll(Loss):
    def loses(self, message: Message) -> bool:
        super().loses(message)
        return False


class KeepsAllInBursts(BurstLoss):
    def loses(self, message: Message) -> bool:
        super().loses(message)
        return False


@pytest.mark.parametrize("make", [lambda: KeepsAll(0.3), lambda: KeepsAllInBursts(0.06, 0.14)])
def test_none_lost_although_all_but_impossible_fails(make: Callable[[], Disturbance]) -> None:
    Episode(make()).run(20).channel.audit.verify_deliveries()
    name = make().name
    with pytest.raises(AttemptError, match=f"{name}: changed nothing in 300 messages"):
        Episode(make()).run(300).channel.audit.verify_deliveries()


@pytest.mark.thorough
def test_the_chance_of_no_loss_is_reckoned_right() -> None:
    disturbance = BurstLoss(0.05, 0.4)
    without = 0
    for seed in range(400):
        episode = Episode(disturbance, seed=seed).run(8)
        without += "lost" not in episode.fates()
    assert without / 400 == pytest.approx(disturbance.idle_chance, abs=0.06)
    assert disturbance.idle_chance == pytest.approx(0.4 / 0.45 * 0.95**7)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Loss(1.1), "loss.probability = 1.1"),
        (lambda: BurstLoss(-0.1, 0.5), "probability -0.1: must be from 0 to 1"),
        (lambda: Loss(math.nan), "must be from 0 to 1"),
        (lambda: BurstLoss(0.0, 0.0), "one must be > 0"),
    ],
)
def test_settings_that_make_no_sense(make: Callable[[], Disturbance], says: str) -> None:
    with pytest.raises(UserError, match=says):
        make()

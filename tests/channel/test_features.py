"""Noise in shared features."""

from __future__ import annotations

import numpy as np
import pytest

from harness.channel.disturbance import Disturbance
from harness.channel.interference.feature_corruption import Scattered, WholeChannels
from harness.common.errors import AttemptError, UserError
from harness.types.vocabulary import Features, Singles
from tests.channel.episode import Episode, some_features
from tests.channel.statistics import follows, uniform_cdf

Pair = tuple[Singles, Singles]


def received(disturbance: Disturbance, steps: int = 6, channels: int = 10) -> list[Pair]:
    """Return what was sent and what was received, map by map."""
    episode = Episode(disturbance).run(steps, payload=lambda: some_features(channels))
    episode.channel.audit.verify_deliveries()
    pairs: list[Pair] = []
    for (message,) in episode.given:
        assert isinstance(message.payload, Features)
        assert message.size_bytes == some_features(channels).size_bytes
        pairs += zip(some_features(channels).maps, message.payload.maps, strict=True)
    return pairs


def test_scattered_replaces_its_share_by_noise_of_the_maps_range() -> None:
    pairs = received(Scattered(0.3))
    changed = np.concatenate([(sent != got).ravel() for sent, got in pairs])
    assert changed.mean() == pytest.approx(0.3, abs=0.01)
    for sent, got in pairs:
        assert got.dtype == np.float32
        noise = got[sent != got].astype(float)
        assert follows(noise, uniform_cdf(float(sent.min()), float(sent.max())))


@pytest.mark.parametrize(("share", "counts"), [(0.3, (3, 6)), (0.29, (2, 5)), (1.0, (10, 20))])
def test_whole_channels_are_replaced_and_others_untouched(
    share: float, counts: tuple[int, int]
) -> None:
    for number, (sent, got) in enumerate(received(WholeChannels(share))):
        changed = np.any(sent != got, axis=(1, 2))
        assert changed.sum() == counts[number % 2]
        noise = got[changed].astype(float).ravel()
        assert follows(noise, uniform_cdf(float(sent.min()), float(sent.max())))


def test_rounding_takes_no_channel_away() -> None:
    sent, got = received(WholeChannels(0.29), 1, channels=100)[0]
    assert np.any(sent != got, axis=(1, 2)).sum() == 29


def test_every_message_and_every_map_is_noisy_elsewhere() -> None:
    pairs = received(Scattered(0.3))
    places = [tuple(np.flatnonzero(sent != got)) for sent, got in pairs]
    assert len(set(places)) == len(places)
    hit = {
        tuple(np.flatnonzero(np.any(sent != got, axis=(1, 2))))
        for sent, got in received(WholeChannels(0.3), 20)[::2]
    }
    assert len(hit) > 10


def test_less_than_a_channel_is_inert() -> None:
    with pytest.raises(AttemptError, match="channel_corruption: changed nothing"):
        received(WholeChannels(0.04))


def test_features_without_a_range_cannot_be_corrupted_and_that_is_said() -> None:
    def flat() -> Features:
        return Features((np.zeros((4, 8, 8), np.float32),))

    with pytest.raises(AttemptError, match="feature_corruption: changed nothing in 4 messages"):
        Episode(Scattered(0.3)).run(4, payload=flat).channel.audit.verify_deliveries()


def test_a_rare_corruption_that_misses_is_no_fault() -> None:
    Episode(Scattered(1e-7)).run(4, payload=some_features).channel.audit.verify_deliveries()


@pytest.mark.parametrize("disturbance", [Scattered(0.3), WholeChannels(0.3)])
def test_boxes_are_no_features(disturbance: Disturbance) -> None:
    with pytest.raises(AttemptError, match="roadside-0 sends Boxes, which this") as problem:
        Episode(disturbance).run(1)
    assert problem.value.failure == "interference_not_delivered"


@pytest.mark.parametrize("value", [-0.1, 1.1])
def test_settings_that_make_no_sense(value: float) -> None:
    with pytest.raises(UserError, match="must be from 0 to 1"):
        Scattered(value)
    with pytest.raises(UserError, match="must be from 0 to 1"):
        WholeChannels(value)

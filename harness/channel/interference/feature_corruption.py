"""Numbers within shared feature maps are replaced by noise of the same range (Guo et al., 3.3.1).

The noise lies between the least and the greatest value of the map that it falls into.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from harness.channel.disturbance import PARTNERS, Disturbance, cannot_touch
from harness.channel.interference.loss import check_share
from harness.types.vocabulary import Features, Kind, Message, Singles

ROUNDING = 1e-9
"""So that 0.29 of a hundred channels are 29."""


class FeatureCorruption(Disturbance, ABC):
    """Noise in features; subclasses define where."""

    def alter(self, message: Message) -> Message:
        """Return the message with noise in each of its maps."""
        if not isinstance(message.payload, Features):
            raise cannot_touch(self, message)
        random = self.random_at(message.sender, message.capture_frame)
        maps = tuple(
            self.corrupt_features(feature_map, random) for feature_map in message.payload.maps
        )
        return replace(message, payload=replace(message.payload, maps=maps))

    @abstractmethod
    def corrupt_features(self, features: Singles, random: np.random.Generator) -> Singles:
        """Return a map with noise in it.

        Args:
            features: (channels, rows, columns).
            random: of the capture; all maps of a message take from it in order.

        Returns:
            The same shape.
        """


class Scattered(FeatureCorruption):
    """Every number may be replaced, whatever its channel."""

    safe_from_file = True
    name = "feature_corruption"

    def __init__(
        self,
        probability: float,  # probability that a number becomes noise
        kinds: Sequence[Kind] = PARTNERS,  # agents that are disturbed: roadside, vehicle
    ) -> None:
        super().__init__(kinds)
        check_share(self.name, probability=probability)
        self.probability = probability

    @property
    def size_zero(self) -> bool:
        """Whether no number is replaced."""
        return self.probability == 0

    def reset(self, seed: int, route: str) -> None:
        """Start an episode in which every number has been sent as it was."""
        super().reset(seed, route)
        self.idle_chance = 1.0

    def corrupt_features(self, features: Singles, random: np.random.Generator) -> Singles:
        """Replace numbers one by one."""
        self.idle_chance *= (1.0 - self.probability) ** features.size
        chosen = random.random(features.shape, np.float32) < self.probability
        return np.where(chosen, sample_noise_like(features, random), features)


class WholeChannels(FeatureCorruption):
    """Whole channels are replaced."""

    safe_from_file = True
    name = "channel_corruption"

    def __init__(
        self,
        share: float,  # of channels, rounded down
        kinds: Sequence[Kind] = PARTNERS,  # agents that are disturbed: roadside, vehicle
    ) -> None:
        super().__init__(kinds)
        check_share(self.name, share=share)
        self.share = share

    @property
    def size_zero(self) -> bool:
        """Whether no channel is replaced."""
        return self.share == 0

    def corrupt_features(self, features: Singles, random: np.random.Generator) -> Singles:
        """Replace some channels altogether."""
        count = int(self.share * len(features) + ROUNDING)
        chosen = random.permutation(len(features))[:count]
        corrupted = features.copy()
        corrupted[chosen] = sample_noise_like(features, random)[chosen]
        return corrupted


def sample_noise_like(features: Singles, random: np.random.Generator) -> Singles:
    """Return noise between the least and the greatest of these values.

    Args:
        features: of any shape.
        random: of the capture.

    Returns:
        The same shape.
    """
    low, high = features.min(initial=np.inf), features.max(initial=-np.inf)
    noise: Singles = low + random.random(features.shape, np.float32) * (high - low)
    return noise

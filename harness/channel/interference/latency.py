"""Messages arrive late."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from harness.channel.delivery_rule import SAME_MOMENT
from harness.channel.disturbance import PARTNERS, Disturbance, refuse_negative
from harness.channel.interference.delays import FixedDelay, UniformDelay
from harness.common.errors import UserError
from harness.types.vocabulary import Kind, Message

Per = Literal["episode", "message"]
FAR = 5.0
"""Standard deviations that are hardly ever exceeded."""


class LatencyDisturbance(Disturbance, ABC):
    """A delay, sampled once for an episode and all its senders, or for every message."""

    name = "latency"

    def __init__(self, per: Per, kinds: Sequence[Kind]) -> None:
        super().__init__(kinds)
        if per not in ("episode", "message"):
            raise UserError(f"latency.per = {per!r}: unknown; valid: episode, message")
        self.per = per

    @property
    def size_zero(self) -> bool:
        """Whether nothing is late."""
        return not any(self.seconds.values())

    def too_small(self) -> str | None:
        """Return the largest delay that can be expected, if it ends within its own moment."""
        largest = self.get_largest_delay()
        return None if largest > SAME_MOMENT else f"{largest:.3g} s is no delay"

    def get_largest_delay(self) -> float:
        """Return the most seconds that can be expected."""
        return self.longest_delay

    def delay(self, message: Message) -> float:
        """Sample the delay of this message."""
        if self.per == "message":
            return self.sample_delay(self.random_at(message.sender, message.capture_frame))
        return self.sample_delay(self.random())

    @abstractmethod
    def sample_delay(self, random: np.random.Generator) -> float:
        """Return a delay in seconds."""


class Fixed(FixedDelay, LatencyDisturbance):
    """Always the same delay."""

    safe_from_file = True
    certain = True

    def __init__(
        self,
        seconds: float,  # s
        kinds: Sequence[Kind] = PARTNERS,  # agents that are disturbed: roadside, vehicle
    ) -> None:
        super().__init__("episode", kinds)
        refuse_negative("latency", "s", seconds=seconds)
        self.longest = seconds

    def sample_delay(self, random: np.random.Generator) -> float:
        """Return the one delay."""
        return self.longest


class Uniform(UniformDelay, LatencyDisturbance):
    """Any delay between two."""

    safe_from_file = True

    def __init__(
        self,
        low: float,  # s
        high: float,  # s
        per: Per = "episode",  # one sample for each: episode or message
        kinds: Sequence[Kind] = PARTNERS,  # agents that are disturbed: roadside, vehicle
    ) -> None:
        super().__init__(per, kinds)
        if not 0 <= low <= high:
            raise UserError(f"latency: low = {low} s, high = {high} s: must be 0 ≤ low ≤ high")
        self.low, self.high = low, high

    def sample_delay(self, random: np.random.Generator) -> float:
        """Return a delay between the two."""
        return float(random.uniform(self.low, self.high))


class Normal(LatencyDisturbance):
    """Delays round a mean; what would be below zero is zero."""

    safe_from_file = True

    def __init__(
        self,
        mean: float,  # s
        deviation: float,  # s
        per: Per = "message",  # one sample for each: episode or message
        kinds: Sequence[Kind] = PARTNERS,  # agents that are disturbed: roadside, vehicle
    ) -> None:
        super().__init__(per, kinds)
        refuse_negative("latency", "s", mean=mean, deviation=deviation)
        self.mean, self.deviation = mean, deviation

    @property
    def seconds(self) -> Mapping[str, float]:
        """Mean and standard deviation."""
        return {"mean": self.mean, "deviation": self.deviation}

    @property
    def longest_delay(self) -> float:
        """Seconds that this adds on average; unbounded."""
        return self.mean

    def get_largest_delay(self) -> float:
        """Return what one sample in a few millions exceeds."""
        return self.mean + FAR * self.deviation

    def reset(self, seed: int, route: str) -> None:
        """Start an episode in which nothing has been late."""
        super().reset(seed, route)
        self.idle_chance = 1.0

    def delay(self, message: Message) -> float:
        """Sample, and update the probability that nothing has been late so far."""
        before = self.idle_chance if self.per == "message" else 1.0
        self.idle_chance = before * self._compute_punctual_chance()
        return super().delay(message)

    def _compute_punctual_chance(self) -> float:
        if self.deviation == 0:
            return 0.0
        return 0.5 * math.erfc((self.mean - SAME_MOMENT) / self.deviation / math.sqrt(2))

    def sample_delay(self, random: np.random.Generator) -> float:
        """Return a delay round the mean."""
        return max(float(random.normal(self.mean, self.deviation)), 0.0)

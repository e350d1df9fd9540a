"""The ego's perception is late: sensors, messages and network, from the sweep to the driver.

Messages are not delayed by it: what the ego makes of its sweep and of the messages that it has by
then reaches its driver later. `latency` delays messages alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from harness.channel.delivery_rule import SAME_MOMENT
from harness.channel.disturbance import Disturbance, refuse_negative
from harness.channel.interference.delays import FixedDelay, UniformDelay
from harness.common.errors import UserError
from harness.types.vocabulary import Observation


class EgoLatency(Disturbance, ABC):
    """A delay between the ego's sweep and its driver, sampled once for an episode."""

    name = "own_latency"
    of_answers = True

    def __init__(self) -> None:
        super().__init__(["ego"])

    @property
    def size_zero(self) -> bool:
        """Whether nothing is late."""
        return not self.longest_delay

    def too_small(self) -> str | None:
        """Return the largest delay, if it ends within its own moment."""
        largest = self.longest_delay
        return None if largest > SAME_MOMENT else f"{largest:.3g} s is no delay"

    @abstractmethod
    def answer_delay(self, observation: Observation) -> float:
        """Return the delay of this episode."""


class Fixed(FixedDelay, EgoLatency):
    """Always the same delay."""

    safe_from_file = True
    certain = True

    def __init__(
        self,
        seconds: float,  # s
    ) -> None:
        super().__init__()
        refuse_negative("own_latency", "s", seconds=seconds)
        self.longest = seconds

    def answer_delay(self, observation: Observation) -> float:
        """Return the one delay."""
        return self.longest


class Uniform(UniformDelay, EgoLatency):
    """Any delay between two."""

    safe_from_file = True

    def __init__(
        self,
        low: float,  # s
        high: float,  # s
    ) -> None:
        super().__init__()
        if not 0 <= low <= high:
            raise UserError(f"own_latency: low = {low} s, high = {high} s: must be 0 ≤ low ≤ high")
        self.low, self.high = low, high

    def answer_delay(self, observation: Observation) -> float:
        """Return a delay between the two, the same at every step of an episode."""
        return float(self.random().uniform(self.low, self.high))

"""The ego's perception is late: sensors, messages and network, from the sweep to the driver.

Messages are not delayed by it: what the ego makes of its sweep and of the messages that it has by
then reaches its driver later. `latency` delays messages alone.
"""

from __future__ import annotations

from collections.abc import Mapping

from harness.channel.delivery_rule import SAME_MOMENT
from harness.channel.disturbance import Disturbance
from harness.common.errors import UserError
from harness.types.vocabulary import Observation


class EgoLatency(Disturbance):
    """A delay between the ego's sweep and its driver, sampled once for an episode."""

    name = "own_latency"
    of_answers = True
    safe_from_file = True

    def __init__(
        self,
        low: float,  # s
        high: float,  # s
    ) -> None:
        super().__init__(["ego"])
        if not 0 <= low <= high:
            raise UserError(f"own_latency: low = {low} s, high = {high} s: must be 0 ≤ low ≤ high")
        self.low, self.high = low, high
        self.certain = low == high

    @property
    def size_zero(self) -> bool:
        """Whether nothing is late."""
        return not self.high

    @property
    def seconds(self) -> Mapping[str, float]:
        """The ends of the range."""
        return {"low": self.low, "high": self.high}

    @property
    def longest_delay(self) -> float:
        """Seconds that this adds at most."""
        return self.high

    @property
    def constant_delay(self) -> float | None:
        """Seconds that this adds, if it leaves nothing to chance."""
        return self.high if self.certain else None

    def too_small(self) -> str | None:
        """Return the largest delay, if it ends within its own moment."""
        return None if self.high > SAME_MOMENT else f"{self.high:.3g} s is no delay"

    def answer_delay(self, observation: Observation) -> float:
        """Return the delay of this episode."""
        return float(self.random().uniform(self.low, self.high)) if self.high else 0.0

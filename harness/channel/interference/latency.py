"""Messages arrive late."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from harness.channel.disturbance import PARTNERS, Disturbance
from harness.errors import UserError
from harness.vocabulary import Kind, Message


class Latency(Disturbance):
    """A delay, drawn once for an episode or anew for every message."""

    name = "latency"

    def __init__(
        self,
        distribution: Literal["fixed", "uniform", "normal"] = "fixed",
        seconds: float | None = None,  # fixed
        low: float | None = None,  # s, uniform
        high: float | None = None,
        mean: float | None = None,  # s, normal, never below zero
        deviation: float | None = None,
        per: Literal["episode", "message"] = "episode",
        kinds: Sequence[Kind] = PARTNERS,
    ) -> None:
        super().__init__(kinds)
        needed = {
            "fixed": {"seconds": seconds},
            "uniform": {"low": low, "high": high},
            "normal": {"mean": mean, "deviation": deviation},
        }
        if distribution not in needed:
            raise UserError(f"latency: distribution {distribution!r}; fixed, uniform or normal")
        if per not in ("episode", "message"):
            raise UserError(f"latency: per {per!r}; episode or message")
        for label, value in needed[distribution].items():
            if value is None or value < 0:
                raise UserError(f"latency: {distribution} needs {label}, in seconds, not {value}")
        if distribution == "uniform" and low > high:  # type: ignore[operator]
            raise UserError(f"latency: low {low} is above high {high}")
        self.distribution = distribution
        self.numbers = tuple(float(value or 0.0) for value in needed[distribution].values())
        self.per = per

    def delay(self, message: Message) -> float:
        """Draw the delay of this message."""
        names = (message.sender, str(message.capture_frame)) if self.per == "message" else ()
        delay = self._draw(self.random(*names))
        self.met += 1
        self.acted += delay > 0
        return delay

    def _draw(self, random: np.random.Generator) -> float:
        if self.distribution == "fixed":
            return self.numbers[0]
        if self.distribution == "uniform":
            return float(random.uniform(self.numbers[0], self.numbers[1]))
        return max(float(random.normal(self.numbers[0], self.numbers[1])), 0.0)

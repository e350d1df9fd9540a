"""Latency as the code of the ASE 2025 study has it: told by the route's number, not drawn."""

from __future__ import annotations

import re
from collections.abc import Sequence

from harness.channel.disturbance import Disturbance
from harness.channel.usable import SAME_MOMENT
from harness.errors import AttemptError
from harness.vocabulary import Kind, Message


class PaperCodeLatency(Disturbance):
    """A delay by the remainder of the route's number, once the first messages have come at once."""

    name = "paper_code_latency"

    def __init__(
        self,
        by_remainder: Sequence[float] = (0.8, 1.0, 0.6),  # s, for route numbers 3n, 3n+1, 3n+2
        undelayed: float = 1.0,  # s since a sender's first message
        kinds: Sequence[Kind] = ("roadside",),
    ) -> None:
        super().__init__(kinds)
        self.by_remainder = tuple(by_remainder)
        self.undelayed = undelayed
        self._seconds = 0.0
        self._first: dict[str, float] = {}

    def reset(self, seed: int, route: str) -> None:
        """Start an episode: the last number in the route's name decides."""
        super().reset(seed, route)
        self._seconds = self.by_remainder[number_of(route) % len(self.by_remainder)]
        self._first = {}
        self.idle_chance = 1.0

    def delay(self, message: Message) -> float:
        """Return this route's delay, or none at first."""
        first = self._first.setdefault(message.sender, message.capture_time)
        if message.capture_time - first < self.undelayed - SAME_MOMENT:
            return 0.0
        self.idle_chance = 0.0
        return self._seconds


def number_of(route: str) -> int:
    """Return the last number in a route's name."""
    numbers = re.findall(r"\d+", route)
    if not numbers:
        raise AttemptError(
            "interference_not_delivered",
            f"paper_code_latency: route {route!r} has no number to tell its delay by",
        )
    return int(numbers[-1])

"""Latency as in the code of the ASE 2025 study: a function of the route's number, not random."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from harness.channel.delivery_rule import SAME_MOMENT
from harness.channel.disturbance import Disturbance
from harness.common.errors import AttemptError, UserError
from harness.types.vocabulary import Kind, Message


class PaperCodeLatency(Disturbance):
    """A delay by the remainder of the route's number, once the first messages have come at once."""

    safe_from_file = True
    name = "paper_code_latency"
    certain = True

    def __init__(
        self,
        by_remainder: Sequence[float] = (0.8, 1.0, 0.6),  # s, for route numbers 3n, 3n+1, 3n+2
        undelayed: float = 1.0,  # s since a sender's first message
        kinds: Sequence[Kind] = ("roadside",),  # agents that are disturbed: roadside, vehicle
    ) -> None:
        super().__init__(kinds)
        if not (by_remainder and all(share >= 0 for share in (*by_remainder, undelayed))):
            raise UserError(
                f"paper_code_latency: by_remainder {list(by_remainder)}, undelayed {undelayed};"
                " must be one delay or more, all ≥ 0 s"
            )
        self.by_remainder = tuple(by_remainder)
        self.undelayed = undelayed
        self._seconds = 0.0
        self._first: dict[str, float] = {}

    @property
    def size_zero(self) -> bool:
        """Whether no route has a delay."""
        return not any(self.by_remainder)

    @property
    def seconds(self) -> Mapping[str, float]:
        """The longest delay, and how long there is no delay."""
        return {"by_remainder": max(self.by_remainder), "undelayed": self.undelayed}

    @property
    def longest_delay(self) -> float:
        """Seconds that this adds at most."""
        return max(self.by_remainder)

    def too_small(self) -> str | None:
        """Return the longest delay, if it ends within its own moment."""
        longest = self.longest_delay
        return None if longest > SAME_MOMENT else f"{longest:.3g} s is no delay"

    def reset(self, seed: int, route: str) -> None:
        """Start an episode: the last number in the route's name decides."""
        super().reset(seed, route)
        self._seconds = self.by_remainder[parse_route_number(route) % len(self.by_remainder)]
        self._first = {}
        self.idle_chance = 1.0

    def delay(self, message: Message) -> float:
        """Return this route's delay, or none at first."""
        first = self._first.setdefault(message.sender, message.capture_time)
        if message.capture_time - first < self.undelayed - SAME_MOMENT:
            return 0.0
        self.idle_chance = float(self._seconds <= SAME_MOMENT)
        return self._seconds


def parse_route_number(route: str) -> int:
    """Return the last number in a route's name."""
    numbers = re.findall(r"\d+", route)
    if not numbers:
        raise AttemptError(
            "interference_not_delivered",
            f"paper_code_latency: route {route!r} has no number that determines its delay",
        )
    return int(numbers[-1])

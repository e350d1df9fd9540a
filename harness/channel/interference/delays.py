"""Durations of delays, as `latency` and `own_latency` have them."""

from __future__ import annotations

from collections.abc import Mapping


class FixedDelay:
    """Always the same delay.

    Attributes:
        longest: s.
    """

    longest: float

    @property
    def seconds(self) -> Mapping[str, float]:
        """The one delay."""
        return {"seconds": self.longest}

    @property
    def longest_delay(self) -> float:
        """Seconds that this adds."""
        return self.longest

    @property
    def constant_delay(self) -> float:
        """Seconds that this adds, always."""
        return self.longest


class UniformDelay:
    """Any delay between two.

    Attributes:
        low: s.
        high: s.
    """

    low: float
    high: float

    @property
    def seconds(self) -> Mapping[str, float]:
        """The ends of the range."""
        return {"low": self.low, "high": self.high}

    @property
    def longest_delay(self) -> float:
        """Seconds that this adds at most."""
        return self.high

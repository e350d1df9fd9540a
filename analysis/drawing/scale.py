"""From numbers to places on a drawing, and the ticks between."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass

STEPS = (1.0, 2.0, 5.0, 10.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisScale:
    """A stretch of numbers on a stretch of the drawing; `log` if ratios are what counts.

    Attributes:
        low: the least number.
        high: the greatest number.
        first: place of `low`, in units of the drawing.
        last: place of `high`.
    """

    low: float
    high: float
    first: float
    last: float
    log: bool = False

    def place_value(self, value: float) -> float:
        """Return where a number lies; what lies beyond is put at the edge."""
        low, high, value = (self._apply_log(number) for number in (self.low, self.high, value))
        share = (value - low) / (high - low)
        return self.first + min(max(share, 0.0), 1.0) * (self.last - self.first)

    def is_on_axis(self, value: float) -> bool:
        """Return whether a number is on the drawing."""
        return self.low <= value <= self.high

    def choose_ticks(self, most: int = 5) -> list[float]:
        """Return round numbers, not too many."""
        if self.log:
            decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            fine = [m * 10.0**e for e in decades for m in (1, 2, 5)]
            coarse = [10.0**e for e in decades]
            shown = [tick for tick in fine if self.is_on_axis(tick)]
            if len(shown) < 3:
                return AxisScale(
                    low=self.low, high=self.high, first=self.first, last=self.last
                ).choose_ticks(most)
            shown = (
                shown if len(shown) <= most else [tick for tick in coarse if self.is_on_axis(tick)]
            )
            return shown[:: max(1, math.ceil(len(shown) / most))]
        step = choose_round_step((self.high - self.low) / most)
        start = math.ceil(self.low / step - 1e-9)
        return [step * n for n in range(start, math.floor(self.high / step + 1e-9) + 1)]

    def _apply_log(self, value: float) -> float:
        return math.log(max(value, 1e-12)) if self.log else value


def choose_round_step(least: float) -> float:
    """Return the round number at or above."""
    decade = 10.0 ** math.floor(math.log10(least))
    return next(step * decade for step in STEPS if step * decade >= least * (1 - 1e-9))


def compute_axis_ends(values: Iterable[float], keep: Collection[float] = ()) -> tuple[float, float]:
    """Return the ends of a scale that shows all values, and `keep`, with a little air.

    Args:
        values: those that are shown; others than finite ones are passed over.
        keep: values that are always inside, and get no air where they are the end.

    Returns:
        Low and high; never equal.
    """
    known = [value for value in (*values, *keep) if math.isfinite(value)]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    air = 0.04 * (high - low) or 0.5 * max(abs(high), 1.0)
    fixed = set(keep)
    if low == high:
        return (low if low in fixed else low - air), high + air
    return (low if low in fixed else low - air), (high if high in fixed else high + air)


def format_tick(value: float) -> str:
    """Return a tick's number, as short as it is exact."""
    return f"{value:g}" if abs(value) < 10_000 else f"{value:.0e}".replace("e+0", "e")

"""Errors before the end of a drive (paper, section V-C): t1, t2, t3 and the last ten seconds.

The end is the first violation, or else the end of the route. t3 is the last 5 s, t2 the 5 s before,
t1 the mean for 5 s of all earlier time. A drive too short for a window has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from harness.vocabulary import Floats, Mask

SPAN = 5.0
"""Seconds in t2 and in t3, and the unit of t1."""


@dataclass(frozen=True, slots=True)
class WindowRules:
    """Where the study's code departs from its text."""

    by_frames: bool = False  # count planning frames, 25 for a span, instead of seconds
    frames_in_span: int = 25
    t1_span_frames: int = 25  # the code divides by the number of 5-frame groups: 5
    cut_slow_tail: bool = False  # drop the slow frames just before a collision
    slow_speed: float = 2.0  # m/s: the tail is what ended slower than this
    slow_mean: float = 0.8  # m/s: and was slower than this on average
    slow_frames: int = 25  # planning frames a tail may have


def windows(
    times: Floats,
    counts: Mapping[str, Floats],
    end: float,
    rules: WindowRules | None = None,
    speeds: Floats | None = None,
    collided: bool = False,
) -> dict[str, dict[str, float | None]]:
    """Return the sums for t1, t2, t3 and end_10s; None where a drive is too short."""
    rules = rules or WindowRules()
    kept = times <= end + 1e-9
    if rules.cut_slow_tail and collided and speeds is not None:
        kept &= ~slow_tail(speeds, rules)
    masks = (_by_frames if rules.by_frames else _by_seconds)(times, kept, end, rules)
    return {
        name: {
            column: None if found is None else float(values[found[0]].sum() * found[1])
            for column, values in counts.items()
        }
        for name, found in masks.items()
    }


def slow_tail(speeds: Floats, rules: WindowRules) -> Mask:
    """Return the frames before a collision in which the ego had all but stopped."""
    tail = np.zeros(len(speeds), np.bool_)
    moving = np.flatnonzero(speeds >= rules.slow_speed)
    first = max(moving[-1] + 1 if len(moving) else 0, len(speeds) - rules.slow_frames)
    if first < len(speeds) and speeds[first:].mean() < rules.slow_mean:
        tail[first:] = True
    return tail


def _by_seconds(
    times: Floats, kept: Mask, end: float, rules: WindowRules
) -> dict[str, tuple[Mask, float] | None]:
    started = float(times[0]) if len(times) else end
    lasted = end - started
    before = end - times
    t2, t3 = before >= SPAN, before < SPAN
    early = lasted - 2 * SPAN
    return {
        "t1": (kept & (before >= 2 * SPAN), SPAN / early) if early >= SPAN else None,
        "t2": (kept & t2 & (before < 2 * SPAN), 1.0) if lasted >= 2 * SPAN else None,
        "t3": (kept & t3, 1.0) if lasted >= SPAN else None,
        "end_10s": (kept & (before < 2 * SPAN), 1.0) if lasted >= 2 * SPAN else None,
    }


def _by_frames(
    times: Floats, kept: Mask, end: float, rules: WindowRules
) -> dict[str, tuple[Mask, float] | None]:
    rows = np.flatnonzero(kept)
    span = rules.frames_in_span

    def mask(chosen: np.ndarray[tuple[int, ...], np.dtype[np.intp]]) -> Mask:
        result = np.zeros(len(times), np.bool_)
        result[chosen] = True
        return result

    early = len(rows) - 2 * span
    groups = early // rules.t1_span_frames if early > 0 else 0
    return {
        "t1": (mask(rows[:early]), 1.0 / groups) if groups else None,
        "t2": (mask(rows[-2 * span : -span]), 1.0) if len(rows) >= 2 * span else None,
        "t3": (mask(rows[-span:]), 1.0) if len(rows) >= span else None,
        "end_10s": (mask(rows[-2 * span :]), 1.0) if len(rows) >= 2 * span else None,
    }

"""Errors before the end of a drive (paper, section V-C): t1, t2, t3 and the last ten seconds.

The end is the first violation, or else the end of the route. t3 is the last 5 s, t2 the 5 s before,
t1 the mean for 5 s of all earlier time, of which there must be 5 s at least. A drive too short for
a window has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from harness.types.vocabulary import Floats, Integers, Mask

SPAN = 5.0
"""Seconds in t2 and in t3, and the unit of t1."""

WINDOWS = ("t1", "t2", "t3", "end_10s")
Short: TypeAlias = Literal["dropped", "kept"]
SHORT: tuple[Short, ...] = get_args(Short)


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowRules:
    """Where the study's code departs from its text."""

    safe_from_file = True
    by_frames: bool = False  # count planning frames, 25 for a span, instead of seconds
    frames_in_span: int = 25  # planning frames of t2 and t3, if by_frames
    t1_span_frames: int = 25  # t1 is the mean for so many; the code's are 5, about a second
    cut_slow_tail: bool = False  # drop the slow frames just before a collision
    slow_speed: float = 2.0  # m/s: a slow tail ends slower than this
    slow_mean: float = 0.8  # m/s: and a slow tail is slower than this on average
    slow_frames: int = 25  # planning frames that a slow tail may have
    short: Short = "dropped"  # of a drive under 10 s, end_10s is missing; kept: all of the drive

    def __post_init__(self) -> None:
        if min(self.frames_in_span, self.t1_span_frames) < 1:
            raise ValueError("frames_in_span and t1_span_frames: must be ≥ 1")
        if self.short not in SHORT:
            raise ValueError(f"short = {self.short!r}: unknown; valid: {', '.join(SHORT)}")


@dataclass(frozen=True, slots=True, eq=False)
class FrameWindow:
    """Some frames of a drive, and what their sum is multiplied with.

    Attributes:
        frames: (K,) rows of the drive's planning steps.
        scale: factor of the sum; for t1 it makes a mean for 5 s of it.
    """

    frames: Integers
    scale: float = 1.0


def sum_windows(
    times: Floats,
    counts: Mapping[str, Floats],
    *,
    end: float,
    rules: WindowRules | None = None,
    speeds: Floats | None = None,
    collided: bool = False,
) -> dict[str, dict[str, float | None]]:
    """Return the sums for t1, t2, t3 and end_10s; None where a drive is too short.

    Args:
        times: (frames,) seconds since the drive began.
        counts: what is to be summed, by name; (frames,) each.
        end: seconds at which the windows end: the first violation, or the end of the drive.
        rules: where the study's code departs from its text; None: nowhere.
        speeds: (frames,) of the ego, m/s; needed if the slow tail is cut.
        collided: whether the drive ended in a collision.

    Returns:
        By window, the sum of each of `counts`.
    """
    windows = select_frames_in_windows(times, end, rules=rules, speeds=speeds, collided=collided)
    return {name: sum_window_counts(part, counts) for name, part in windows.items()}


def sum_window_counts(
    part: FrameWindow | None, counts: Mapping[str, Floats]
) -> dict[str, float | None]:
    """Return the sums over a window's frames; None for a window that a drive is too short for.

    Args:
        part: the frames of one window.
        counts: by name, (frames,) of the whole drive.

    Returns:
        By name, the sum over the window.
    """
    return {
        column: None if part is None else float(values[part.frames].sum() * part.scale)
        for column, values in counts.items()
    }


def select_frames_in_windows(
    times: Floats,
    end: float,
    *,
    rules: WindowRules | None = None,
    speeds: Floats | None = None,
    collided: bool = False,
) -> dict[str, FrameWindow | None]:
    """Return the frames of each window; None where a drive is too short.

    If short drives are kept, the last ten seconds of one that lasted less are all of it.

    Args:
        times: (frames,) seconds.
        end: seconds at which the windows end.
        rules: where the study's code departs from its text; None: nowhere.
        speeds: (frames,) of the ego, m/s; needed if the slow tail is cut.
        collided: whether the drive ended in a collision.

    Returns:
        By name of the window, its frames.
    """
    rules = rules or WindowRules()
    # (frames,) seconds before the end; frames after the end are left out
    before = np.round(end - times, 6)  # microseconds: 5 s are 5 s
    frames = np.flatnonzero(before >= 0)
    # the study's code: the frames in which the ego stood against an obstacle are dropped
    if rules.cut_slow_tail and collided:
        if speeds is None:
            raise ValueError("a slow tail cannot be cut off without speeds")
        slow = find_slow_tail(speeds[frames], rules)
        frames = frames[~slow]
        if slow.any() and len(frames):
            before = np.round(times[frames[-1]] - times, 6)
    # windows by number of frames as the study's code, or by seconds as its text
    windows = (
        _select_by_frames(frames, rules) if rules.by_frames else _select_by_seconds(frames, before)
    )
    if rules.short == "kept" and windows["end_10s"] is None and len(frames):
        windows["end_10s"] = FrameWindow(frames)
    return windows


def find_slow_tail(speeds: Floats, rules: WindowRules) -> Mask:
    """Return the frames before a collision in which the ego had all but stopped.

    Args:
        speeds: (frames,) of the ego, m/s.
        rules: how slow, and how many frames at most.

    Returns:
        (frames,) true in the tail.
    """
    tail = np.zeros(len(speeds), np.bool_)
    moving = np.flatnonzero(speeds >= rules.slow_speed)
    # from the last moving frame on, but no more than `slow_frames`
    first = max(moving[-1] + 1 if len(moving) else 0, len(speeds) - rules.slow_frames)
    if first < len(speeds) and speeds[first:].mean() < rules.slow_mean:
        tail[first:] = True
    return tail


def _select_by_seconds(frames: Integers, before: Floats) -> dict[str, FrameWindow | None]:
    before = before[frames]
    lasted = before.max(initial=0.0)
    windows: dict[str, FrameWindow | None] = dict.fromkeys(WINDOWS)
    if lasted >= 3 * SPAN:
        early = before >= 2 * SPAN
        until = before[~early].max(initial=0.0)  # a frame stands for the time until the next
        windows["t1"] = FrameWindow(frames[early], SPAN / float(lasted - until))
    if lasted >= 2 * SPAN:
        windows["t2"] = FrameWindow(frames[(before >= SPAN) & (before < 2 * SPAN)])
        windows["end_10s"] = FrameWindow(frames[before < 2 * SPAN])
    if lasted >= SPAN:
        windows["t3"] = FrameWindow(frames[before < SPAN])
    return windows


def _select_by_frames(frames: Integers, rules: WindowRules) -> dict[str, FrameWindow | None]:
    span = rules.frames_in_span
    groups = (len(frames) - 2 * span) // rules.t1_span_frames
    windows: dict[str, FrameWindow | None] = dict.fromkeys(WINDOWS)
    if groups > 0:
        windows["t1"] = FrameWindow(frames[: -2 * span], 1 / groups)
    if len(frames) >= 2 * span:
        windows["t2"] = FrameWindow(frames[-2 * span : -span])
        windows["end_10s"] = FrameWindow(frames[-2 * span :])
    if len(frames) >= span:
        windows["t3"] = FrameWindow(frames[-span:])
    return windows

"""A window of an intervention: which planning steps it acts at, counted from the meeting.

The meeting is the moment at which the ego and the road user of the hazard are expected to meet
(`harness.world.hazards.timing.MoverTiming.expect_meeting_time`). It parts a drive into three:

| part  | planning steps                                 |
| early | earlier than the last k seconds before it      |
| late  | in the last k seconds before it                |
| after | at the meeting and later                       |

Each step is in one part. Why by the expected moment: decision 0132.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

WINDOW_PARTS = ("early", "late", "after")


@dataclass(frozen=True, slots=True, kw_only=True)
class MeetingWindow:
    """Some of the three parts of a drive."""

    parts: tuple[str, ...]  # of early, late, after
    last: float  # seconds before the meeting that are late

    def is_open_in(self, part: str | None) -> bool:
        """Return whether the intervention acts in a part; None: there is no meeting."""
        return part in self.parts

    def find_part(self, to_meeting: float | None) -> str | None:
        """Return the part of the drive in which a planning step is.

        Args:
            to_meeting: seconds to the meeting, negative after it; None: there is no meeting.
        """
        if to_meeting is None:
            return None
        if to_meeting <= 0.0:
            return "after"
        return "late" if to_meeting <= self.last else "early"

    def make_record(self) -> dict[str, Any]:
        """Return what `result.json` says of it."""
        return {"parts": list(self.parts), "last": self.last}


def build_meeting_window(parts: Sequence[str] | None, last: float | None) -> MeetingWindow | None:
    """Return the window that settings ask for, None for the whole drive.

    Args:
        parts: of early, late, after; None: no window.
        last: seconds before the meeting that are late.

    Raises:
        ValueError: one without the other, an unknown part, or seconds that are none.
    """
    if parts is None and last is None:
        return None
    if parts is None or last is None:
        raise ValueError("window and last: both are needed, or none of the two")
    valid = ", ".join(WINDOW_PARTS)
    if unknown := [part for part in parts if part not in WINDOW_PARTS]:
        raise ValueError(f"window: {unknown[0]!r}: unknown; valid: {valid}")
    if len(set(parts)) < len(parts):
        raise ValueError(f"window: {', '.join(parts)}: one twice")
    if not (math.isfinite(last) and last > 0):
        raise ValueError(f"last = {last:g} s: must be > 0")
    return MeetingWindow(
        parts=tuple(part for part in WINDOW_PARTS if part in parts), last=float(last)
    )

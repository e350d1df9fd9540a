"""A device that computes one sweep at a time: what becomes of a sweep while it is busy."""

from __future__ import annotations

import math
from typing import Literal, get_args

from harness.channel.delivery_rule import SAME_MOMENT
from harness.common.errors import UserError

BusyRule = Literal["parallel", "wait", "skip"]
"""What becomes of a sweep while the device computes another: it is computed at the same time, after
all that came before, or not at all."""
PARALLEL: BusyRule = "parallel"


class BusyDevice:
    """The device of one agent."""

    def __init__(self, rule: BusyRule) -> None:
        self._rule = rule
        self._free = -math.inf  # s of simulated time, from which it computes nothing

    def start_sweep(self, captured: float, seconds: float) -> float | None:
        """Return the seconds from a sweep until it has been computed; None: it is not computed.

        Args:
            captured: seconds of simulated time, later than before.
            seconds: for which the sweep is computed.
        """
        if self._rule == "parallel":
            return seconds
        busy = self._free > captured + SAME_MOMENT
        if busy and self._rule == "skip":
            return None
        begin = self._free if busy else captured
        self._free = begin + seconds
        return self._free - captured if busy else seconds


def check_busy_rule(rule: BusyRule) -> BusyRule:
    """Return a rule by its name; refuse what is none."""
    known = get_args(BusyRule)
    if rule not in known:
        raise UserError(f"compute.busy = {rule!r}: unknown; valid: {', '.join(known)}")
    return rule

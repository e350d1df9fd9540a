"""The usable rule, implemented a second time: the audit checks the channel's deliveries against it.

A message captured at c with delay d is usable from the first planning step at or after c + d. Of
each partner in range the newest usable message counts; if it is too old, there is none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

SAME_MOMENT = 1e-6
"""Seconds by which clocks may disagree and still mean the same tick."""


@dataclass(frozen=True, slots=True)
class SentMessage:
    """A message of one sender, as it should travel."""

    frame: int
    captured: float  # s
    arrives: float  # s


@dataclass(frozen=True, slots=True)
class PlanningStep:
    """A moment at which a system is given messages."""

    time: float  # s
    present: frozenset[str]  # partners in range


def compute_first_uses(
    sender: str, messages: Iterable[SentMessage], steps: Iterable[PlanningStep], maximum_age: float
) -> dict[int, float]:
    """Return when each message of a sender is due at the system's door.

    Args:
        sender: the name of the partner.
        messages: what it sent.
        steps: the planning steps, in order of time.
        maximum_age: seconds between capture and use, at most.

    Returns:
        Seconds of simulated time at first use, by frame of capture; without what is never used.
    """
    # the next arrival last, to be taken off the end
    coming = sorted(messages, key=lambda message: message.arrives, reverse=True)
    newest: SentMessage | None = None
    due: dict[int, float] = {}
    # of what has arrived the newest capture counts, in whatever order it came
    for step in steps:
        while coming and coming[-1].arrives <= step.time + SAME_MOMENT:
            arrived = coming.pop()
            if newest is None or arrived.frame > newest.frame:
                newest = arrived
        # the first step that may be given it; later steps do not change that
        if (
            newest is not None
            and sender in step.present
            and step.time - newest.captured <= maximum_age + SAME_MOMENT
        ):
            due.setdefault(newest.frame, step.time)
    return due

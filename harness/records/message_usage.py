"""What a system was given in an attempt, and whether an arm shows what it is called after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

COUNTS = ("sent", "used", "uses", "late", "displaced", "changed", "missing")


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageUsage:
    """`crucible.messages` of a result."""

    reads: bool  # whether the system reads messages at all
    sent: int
    used: int  # messages that the system was given at one planning step or more
    different: (
        bool  # from what an undisturbed channel gives: late, ..., sensed in weather, held, misdated
    )
    silence_asked: bool  # every message was lost, and was meant to be
    disturbances: Mapping[str, int]  # messages that each made different

    @staticmethod
    def from_result(result: Mapping[str, Any]) -> MessageUsage:
        """Return that of a result; KeyError, TypeError or ValueError if it is not whole."""
        record = result["crucible"]["messages"]
        if not isinstance(record["disturbances"], Mapping):
            raise TypeError("disturbances are no mapping")
        counts = {name: parse_usage_count(record[name]) for name in COUNTS}
        return MessageUsage(
            reads=bool(record["reads"]),
            sent=counts["sent"],
            used=counts["used"],
            different=any(counts[name] for name in ("late", "displaced", "changed", "missing"))
            or any(
                parse_usage_count(record.get(name, 0)) for name in ("sensed", "misdated", "held")
            ),
            silence_asked=bool(record["silence_asked"]),
            disturbances={
                str(name): parse_usage_count(disturbance)
                for name, disturbance in record["disturbances"].items()
            },
        )

    @property
    def without_messages(self) -> bool:
        """Whether the system reads messages and was given none."""
        return self.reads and not self.used

    @property
    def undisturbed(self) -> bool:
        """Whether messages came, disturbances were asked for, and nothing was different."""
        return bool(self.used and self.disturbances) and not self.different


def parse_usage_count(value: Any) -> int:
    """Return a number of things."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!r} is no count")
    return value


def find_arm_fault(attempts: Sequence[MessageUsage]) -> str | None:
    """Return why the attempts of an arm do not show what it is called after, or nothing.

    A single attempt may have met no partner, or have ended early. If all did, the
    arm has no effect.

    Args:
        attempts: of one arm.

    Returns:
        A reason for the user, or None.
    """
    # attempts of systems without messages say nothing about the channel
    reading = [attempt for attempt in attempts if attempt.reads]
    if not reading:
        return None
    n = "its one attempt" if len(reading) == 1 else f"all of its {len(reading)} attempts"
    # no message at all, though silence was not what the arm is called after
    silent = any(usage.silence_asked for usage in reading)
    if all(usage.without_messages for usage in reading) and not (
        silent and all(usage.silence_asked or not usage.sent for usage in reading)
    ):
        return f"the system was given no message in {n}"
    # a disturbance that changed no message in any attempt
    for name in sorted({name for usage in reading for name in usage.disturbances}):
        if not any(usage.disturbances.get(name) for usage in reading):
            return f"{name} made no difference to what the system was given in {n}"
    # messages were changed, but none of those that were used
    if any(usage.disturbances for usage in reading) and not any(
        usage.different for usage in reading
    ):
        return f"nothing that the system was given was different in {n}"
    return None

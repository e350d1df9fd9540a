"""The system's door: what really came, how old and how far off, measured anew.

Ages and displacements are computed here from the simulator's own clock and poses, noted by the
harness at capture, and compared with what the disturbances were asked for. A disturbance that did
not happen, or happened otherwise, fails the attempt.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from harness.channel.disturbance import NO_SHIFT, Disturbance, Shift
from harness.errors import AttemptError
from harness.geometry import wrap
from harness.vocabulary import Message, Observation, Pose

EXACT = 1e-6
UNKNOWN: Shift = (math.nan, math.nan, math.nan)


@dataclass(slots=True)
class MessageRecord:
    """One message from capture to its end."""

    sender: str
    kind: str
    capture_frame: int
    capture_time: float
    size_bytes: int
    asked_shift: Shift
    found_shift: Shift
    delay: float = math.nan  # as asked; NaN: lost
    delivered_time: float = math.nan
    age_asked: float = math.nan
    age_found: float = math.nan
    fate: str = "in_flight"
    uses: int = 0


@dataclass(slots=True)
class Door:
    """Keeps the book of one episode."""

    disturbances: Sequence[Disturbance]
    tick_seconds: float
    records: dict[tuple[str, int], MessageRecord] = field(default_factory=dict)
    _captures: dict[tuple[str, int], tuple[float, Pose]] = field(default_factory=dict)
    _asked: dict[tuple[str, int], Shift] = field(default_factory=dict)
    _steps: list[float] = field(default_factory=list)
    _ego_error: str | None = None

    def reset(self) -> None:
        """Open an empty book."""
        self.records, self._captures, self._asked = {}, {}, {}
        self._steps, self._ego_error = [], None

    def captured(self, sender: str, frame: int, time: float, lidar_in_world: Pose) -> None:
        """Remember when and where an observation truly was made, as the simulator says."""
        self._captures[sender, frame] = (time, lidar_in_world)

    def asked(self, observation: Observation, shift: Shift) -> None:
        """Remember the displacement asked for."""
        self._asked[observation.sender, observation.frame] = shift

    def believed(self, observation: Observation) -> None:
        """Check what the ego believes: it sends no message that could be checked later."""
        key = (observation.sender, observation.frame)
        found = displacement(observation.lidar_in_world, self._captures[key][1])
        if not agree(found, self._asked.get(key, NO_SHIFT)) and self._ego_error is None:
            self._ego_error = f"the ego is displaced by {told(found)}, not {told(self._asked[key])}"

    def sent(self, message: Message, delay: float) -> None:
        """Enter a message that is under way."""
        self._enter(message).delay = delay

    def lost(self, message: Message) -> None:
        """Enter a message that never arrives."""
        self._enter(message).fate = "lost"

    def unheard(self, messages: Iterable[Message]) -> None:
        """Enter that the sender left the range before these arrived."""
        for message in messages:
            record = self.records[message.sender, message.capture_frame]
            if record.fate == "in_flight":
                record.fate = "out_of_range"

    def delivered(self, messages: Sequence[Message], now: float) -> None:
        """Enter what the system is given at a planning step."""
        self._steps.append(now)
        for message in messages:
            record = self.records[message.sender, message.capture_frame]
            record.uses += 1
            if record.fate != "delivered":
                record.fate = "delivered"
                record.delivered_time = now
                captured, _ = self._captures[message.sender, message.capture_frame]
                record.age_found = now - captured

    def close(self) -> list[MessageRecord]:
        """Work out what each message should have been; return the book in order of capture."""
        newest: dict[str, int] = {}
        records = sorted(self.records.values(), key=lambda each: (each.capture_frame, each.sender))
        for record in reversed(records):
            if record.fate == "delivered":
                record.age_asked = self._predicted_age(record)
                newest.setdefault(record.sender, record.capture_frame)
            elif record.fate == "in_flight" and record.capture_frame < newest.get(record.sender, 0):
                record.fate = "superseded"
        return records

    def verify(self) -> None:
        """Fail the attempt if interference was not what was asked for."""
        problems = [self._ego_error] if self._ego_error else []
        for disturbance in self.disturbances:
            reason = disturbance.inert()
            if reason:
                problems.append(f"{disturbance.name}: {reason}")
        for record in self.close():
            if record.fate == "delivered" and not (
                abs(record.age_found - record.age_asked) <= self.tick_seconds / 2
            ):
                problems.append(
                    f"the message of {record.sender} at frame {record.capture_frame} was"
                    f" {record.age_found:.3f} s old, not {record.age_asked:.3f} s"
                )
            if not agree(record.found_shift, record.asked_shift):
                problems.append(
                    f"{record.sender} at frame {record.capture_frame} is displaced by"
                    f" {told(record.found_shift)}, not {told(record.asked_shift)}"
                )
        if problems:
            more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
            raise AttemptError("interference_not_delivered", problems[0] + more)

    def _enter(self, message: Message) -> MessageRecord:
        key = (message.sender, message.capture_frame)
        captured, true_pose = self._captures[key]
        record = MessageRecord(
            message.sender,
            message.kind,
            message.capture_frame,
            captured,
            message.size_bytes,
            self._asked.get(key, NO_SHIFT),
            displacement(message.lidar_in_world, true_pose),
        )
        self.records[key] = record
        return record

    def _predicted_age(self, record: MessageRecord) -> float:
        usable = record.capture_time + record.delay - EXACT
        return (
            next((step for step in self._steps if step >= usable), math.inf) - record.capture_time
        )


def displacement(believed: Pose, true: Pose) -> Shift:
    """Return how far a belief is from the truth."""
    return believed.x - true.x, believed.y - true.y, wrap(believed.yaw - true.yaw)


def agree(found: Shift, asked: Shift) -> bool:
    """Return whether a displacement is the one asked for."""
    x, y, yaw = (a - b for a, b in zip(found, asked, strict=True))
    return abs(x) <= EXACT and abs(y) <= EXACT and abs(wrap(yaw)) <= EXACT


def told(shift: Shift) -> str:
    """Return a displacement in words."""
    return f"({shift[0]:.3f} m, {shift[1]:.3f} m, {math.degrees(shift[2]):.3f} deg)"

"""The audit of deliveries: what arrived at the system, how old and how displaced, measured again.

Ages and displacements are computed here from the simulator's own clock and poses, noted by the
harness at capture, and compared with what the disturbances were asked for. A disturbance that
happened otherwise, or made no difference to anything that came, fails the attempt.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from harness.channel.delivery_rule import SAME_MOMENT, PlanningStep, SentMessage, compute_first_uses
from harness.channel.disturbance import Disturbance
from harness.channel.effects import EVERYWHERE, NO_SHIFT, Shift, Window, compute_shift
from harness.channel.tally import EffectTally, Key, MessageUnderway, Place
from harness.common.errors import AttemptError
from harness.types.vocabulary import Message, Observation, Pose

EXACT = 1e-6
"""Metres or radians that a displacement may be off by rounding."""


@dataclass(slots=True, kw_only=True)
class MessageRecord:
    """One message from capture to its end.

    Attributes:
        sender: name of the partner.
        kind: `roadside` or `vehicle`.
        capture_frame: the simulator's tick.
        capture_time: seconds, by the simulator.
        size_bytes: of the payload as sent.
        asked_shift: the displacement that the disturbances sampled.
        measured_shift: believed less true pose.
        delivered_time: seconds, of the first planning step that was given it; NaN for none.
        age_asked: seconds at that step, as the settings predict.
        age_measured: seconds at that step, by the simulator's clock.
        fate: delivered, superseded, lost, unsent, unheard or in_flight.
        uses: planning steps that were given it.
        clock_asked: seconds by which the disturbances made its stamp wrong.
        clock_measured: seconds by which the stamp that the system was given is wrong; NaN for none.
    """

    sender: str
    kind: str
    capture_frame: int
    capture_time: float
    size_bytes: int
    asked_shift: Shift
    measured_shift: Shift
    delay: float  # s, as sampled
    delivered_time: float = math.nan
    age_asked: float = math.nan
    age_measured: float = math.nan
    fate: str = "in_flight"
    uses: int = 0
    clock_asked: float = 0.0
    clock_measured: float = math.nan


@dataclass(slots=True, kw_only=True)
class DeliveryAudit:
    """Keeps the book of one episode.

    Attributes:
        tick_seconds: the length of a tick.
        maximum_age: seconds; older messages are not given.
        records: by sender and frame of capture.
    """

    disturbances: Sequence[Disturbance]
    tick_seconds: float
    maximum_age: float
    window: Window = EVERYWHERE  # of the system
    tally: EffectTally = field(init=False)
    records: dict[Key, MessageRecord] = field(default_factory=dict)
    _captures: dict[Key, tuple[float, Pose]] = field(default_factory=dict)
    _asked: dict[Key, Shift] = field(default_factory=dict)
    _steps: list[PlanningStep] = field(default_factory=list)
    _problems: list[str] = field(default_factory=list)
    _ego: Place | None = None  # at this planning step
    _senders: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.tally = EffectTally(disturbances=self.disturbances, window=self.window)

    def reset_audit(self) -> None:
        """Open an empty book."""
        self.records, self._captures, self._asked = {}, {}, {}
        self._steps, self._problems = [], []
        self.tally = EffectTally(disturbances=self.disturbances, window=self.window)
        self._ego, self._senders = None, set()

    def note_capture(self, sender: str, frame: int, time: float, lidar_in_world: Pose) -> None:
        """Note the true time and pose of an observation, from the simulator.

        Args:
            sender: name of the observer.
            frame: the simulator's tick.
            time: seconds, by the simulator.
            lidar_in_world: the true pose.
        """
        self._captures[sender, frame] = (time, lidar_in_world)

    def note_asked_shift(self, observation: Observation, shift: Shift) -> None:
        """Remember the displacement asked for."""
        self._asked[observation.sender, observation.frame] = shift

    def check_belief(self, observation: Observation) -> None:
        """Check what the ego believes: it sends no message that could be checked later."""
        key = (observation.sender, observation.frame)
        true = self._captures[key][1]
        self._ego = (observation.lidar_in_world, true)
        measured = compute_shift(observation.lidar_in_world, true)
        self._problems += find_shift_problems(key, measured, self._asked.get(key, NO_SHIFT))

    def get_true_pose(self, sender: str, frame: int) -> Pose:
        """Return where the LiDAR of a capture really was."""
        return self._captures[sender, frame][1]

    def note_sent(
        self,
        captured: Message,
        sent: Message,
        delay: float,
        losses: Sequence[Disturbance],
        *,
        lost_on_link: bool = False,
        clock: float = 0.0,
    ) -> None:
        """Enter a message as it leaves, with the header it was captured with.

        Args:
            captured: the message before any disturbance.
            sent: the message as it leaves.
            delay: seconds, sampled.
            losses: disturbances that lose it.
            lost_on_link: whether the link loses it.
            clock: seconds by which its stamp is ahead of the time of capture.
        """
        self._senders.add(captured.sender)
        self.tally.count_lost(losses)
        key = (captured.sender, captured.capture_frame)
        time, true_pose = self._captures[key]
        # a disturbance must not change whose message it is
        if (sent.sender, sent.capture_frame) != key:
            self._problems.append(
                f"{format_message_key(key)} claims to be one of {sent.sender} at frame"
                f" {sent.capture_frame}"
            )
        self.records[key] = MessageRecord(
            sender=captured.sender,
            kind=captured.kind,
            capture_frame=captured.capture_frame,
            capture_time=time,
            size_bytes=sent.size_bytes,
            asked_shift=self._asked.get(key, NO_SHIFT),
            measured_shift=compute_shift(sent.lidar_in_world, true_pose),
            delay=delay,
            fate="lost" if losses or lost_on_link else "in_flight",
            clock_asked=clock,
        )

    def note_withdrawn(self, sender: str, frame: int) -> None:
        """Enter that a message gave way to a newer one before it was sent."""
        self.records[sender, frame].fate = "unsent"

    def note_delivered(
        self, messages: Mapping[Key, MessageUnderway], now: float, present: Collection[str]
    ) -> None:
        """Enter what the system is given at a planning step, by what was captured.

        Args:
            messages: what the system is given, by sender and frame of capture.
            now: seconds of simulated time.
            present: names of the partners in range.
        """
        self._steps.append(PlanningStep(now, frozenset(present)))
        silent = self._senders.intersection(present) - {sender for sender, _ in messages}
        self.tally.effects.missing += len(silent)
        for key, underway in messages.items():
            record = self.records[key]
            record.uses += 1
            self._tally_use(key, underway, now)
            if record.fate == "delivered":
                continue
            self.tally.count_first_use(underway)
            record.fate = "delivered"
            record.delivered_time = now
            record.age_measured = now - record.capture_time
            age = now - underway.message.capture_time
            self._problems += self._check_age(record, age, "by its stamp")

    def note_stamps(self, messages: Mapping[Key, Message]) -> None:
        """Measure the stamps of what the system is given, by the simulator's clock.

        Args:
            messages: by sender and frame of capture.
        """
        for key, message in messages.items():
            record = self.records[key]
            record.clock_measured = message.capture_time - record.capture_time
            self.tally.effects.misdated += abs(record.clock_measured) > SAME_MOMENT

    def list_ages(self, messages: Sequence[Message], now: float) -> tuple[float, ...]:
        """Return seconds since the capture of messages, by the simulator's clock."""
        captures = (self._captures.get((one.sender, one.capture_frame)) for one in messages)
        return tuple(
            now - (message.capture_time if capture is None else capture[0])
            for message, capture in zip(messages, captures, strict=True)
        )

    def _tally_use(self, key: Key, underway: MessageUnderway, now: float) -> None:
        sender = (underway.message.lidar_in_world, self._captures[key][1])
        late = now - self.records[key].capture_time > self.tick_seconds / 2
        self.tally.count_used(key, underway, late=late, sender=sender, ego=self._ego or sender)

    def close_audit(self) -> list[MessageRecord]:
        """Work out what each message should have been; return the book in order of capture."""
        records = sorted(
            self.records.values(), key=lambda record: (record.capture_frame, record.sender)
        )
        # what the second implementation of the rule expects, from the delays asked for
        due = self._compute_due_times()
        # from the newest message back: what came after a message decides how it ended
        newest: dict[str, int] = {}
        for record in reversed(records):
            if record.fate == "delivered":
                at = due.get((record.sender, record.capture_frame), math.nan)
                record.age_asked = at - record.capture_time
                newest.setdefault(record.sender, record.capture_frame)
            elif record.fate == "in_flight":
                record.fate = self._classify_ending(record, newest.get(record.sender, -1))
        return records

    def verify_deliveries(self) -> None:
        """Fail the attempt if interference was not what was asked for.

        Raises:
            AttemptError: class `interference_not_delivered`, with the first problem.
        """
        # disturbances without any effect, then messages of the wrong age or place
        problems = [*self._problems, *self.tally.list_inert()]
        due = self._compute_due_times()
        for record in self.close_audit():
            key = (record.sender, record.capture_frame)
            if record.fate == "delivered":
                problems += self._check_age(record, record.age_asked, "as asked")
            elif key in due:
                problems.append(
                    f"{format_message_key(key)} was due at {due[key]:.3f} s and never delivered"
                )
            problems += find_shift_problems(key, record.measured_shift, record.asked_shift)
            if abs(record.clock_measured - record.clock_asked) > SAME_MOMENT:  # not of NaN
                problems.append(
                    f"{format_message_key(key)} is stamped {record.clock_measured:.6f} s ahead, not"
                    f" {record.clock_asked:.6f} s"
                )
        # effects that cancel each other count only where nothing else is wrong
        if problems := problems or self.tally.list_cancelled():
            more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
            raise AttemptError("interference_not_delivered", problems[0] + more)

    def build_record(self) -> dict[str, Any]:
        """Return what the channel came to, in numbers."""
        effects = asdict(self.tally.effects)
        if not any(disturbance.of_sensors for disturbance in self.disturbances):
            del effects["sensed"]
        if not any(disturbance.of_clocks for disturbance in self.disturbances):
            del effects["misdated"]
        if not any(disturbance.of_answers for disturbance in self.disturbances):
            for name in ("held", "answered", "answer_age", "answer_moved"):
                del effects[name]
        return {
            "sent": len(self.records),
            "used": sum(record.uses > 0 for record in self.records.values()),
            **effects,
            "silence_asked": 0 < len(self.records) == self.tally.silenced,
            "disturbances": {
                disturbance.name: disturbance.acted for disturbance in self.disturbances
            },
        }

    def _compute_due_times(self) -> dict[Key, float]:
        """Return when messages should be used first, by the rule and the delays asked for."""
        # what was lost, or gave way before it was sent, is not expected
        sent: dict[str, list[SentMessage]] = defaultdict(list)
        for record in self.records.values():
            if record.fate not in ("lost", "unsent"):
                arrives = record.capture_time + record.delay
                sent[record.sender].append(
                    SentMessage(record.capture_frame, record.capture_time, arrives)
                )
        return {
            (sender, frame): time
            for sender, messages in sent.items()
            for frame, time in compute_first_uses(
                sender, messages, self._steps, self.maximum_age
            ).items()
        }

    def _classify_ending(self, record: MessageRecord, newest_delivered: int) -> str:
        if record.capture_frame < newest_delivered:
            return "superseded"
        last = self._steps[-1].time if self._steps else -math.inf
        arrives = record.capture_time + record.delay
        return "in_flight" if arrives > last + SAME_MOMENT else "unheard"

    def _check_age(self, record: MessageRecord, age: float, whence: str) -> list[str]:
        if abs(record.age_measured - age) <= self.tick_seconds / 2:
            return []
        key = (record.sender, record.capture_frame)
        return [
            (
                f"{format_message_key(key)} was {record.age_measured:.3f} s old when delivered,"
                f" {age:.3f} s {whence}"
            )
        ]


def format_message_key(key: Key) -> str:
    """Return a message in words."""
    return f"the message of {key[0]} at frame {key[1]}"


def find_shift_problems(key: Key, measured: Shift, asked: Shift) -> list[str]:
    """Return what is wrong with the displacement of a capture.

    Args:
        key: sender and frame of capture.
        measured: the displacement by the simulator's poses.
        asked: the displacement that was sampled.

    Returns:
        One line or none.
    """
    if is_same_shift(measured, asked):
        return []
    shifts = f"{describe_shift(measured)}, not {describe_shift(asked)}"
    return [f"{key[0]} at frame {key[1]} is displaced by {shifts}"]


def is_same_shift(measured: Shift, asked: Shift) -> bool:
    """Return whether a displacement is the one asked for."""
    off = Shift(*(a - b for a, b in zip(measured, asked, strict=True)))
    return max(abs(off.x), abs(off.y), abs(off.z), off.radians) <= EXACT


def describe_shift(shift: Shift) -> str:
    """Return a displacement in words."""
    plane = f"{shift.x:.3f} m, {shift.y:.3f} m, {math.degrees(shift.yaw):.3f} deg"
    if not (shift.z or shift.pitch or shift.roll):
        return f"({plane})"
    pitch, roll = math.degrees(shift.pitch), math.degrees(shift.roll)
    return f"({plane}, z {shift.z:.3f} m, pitch {pitch:.3f} deg, roll {roll:.3f} deg)"

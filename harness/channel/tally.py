"""Counts what disturbances came to, message by message, where messages are given to the system."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from harness.channel.delivery_rule import SAME_MOMENT
from harness.channel.disturbance import Disturbance
from harness.channel.effects import (
    EVERYWHERE,
    MessageEffects,
    Shift,
    Window,
    compute_relative_shift,
    is_different_in_window,
    is_displacement,
    join_names,
)
from harness.types.vocabulary import Message, Payload, Pose, Segment

Key = tuple[str, int]
"""Sender and frame of capture."""
Place = tuple[Pose, Pose]
"""Where an observer believes to be, and where it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DisturbanceAct:
    """What one disturbance did to one message.

    Attributes:
        by: which disturbance.
        shift: of the sender's pose, metres and radians.
        before: the payload before it acted.
        after: the payload after it acted.
    """

    by: Disturbance
    shift: Shift
    delay: float  # s
    clock: float  # s by which it makes the stamp wrong
    before: Payload
    after: Payload


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageUnderway:
    """A message that has been sent, when it arrives, and what was done to it.

    Attributes:
        message: as it was sent.
        arrives: seconds of simulated time; of a message in segments, of the first that arrives.
        segments: those that arrive, each with its seconds of simulated time.
    """

    frame: int  # of capture
    message: Message
    arrives: float
    captured: Payload  # as it was before any disturbance
    clock: float = 0.0  # s by which its stamp is ahead of the time of capture
    acts: tuple[DisturbanceAct, ...] = ()
    segments: tuple[tuple[float, Segment], ...] = ()

    def get_arrived(self, now: float) -> Message:
        """Return the message with those of its segments that have arrived."""
        if not self.segments:
            return self.message
        there = tuple(one for at, one in self.segments if at <= now + SAME_MOMENT)
        octets = b"".join(one.octets for one in there)
        return replace(self.message, octets=octets, segments=there)


@dataclass(slots=True, kw_only=True)
class EffectTally:
    """One episode's counts, of all disturbances together and of each."""

    disturbances: Sequence[Disturbance]
    window: Window = EVERYWHERE
    effects: MessageEffects = field(default_factory=MessageEffects)
    silenced: int = 0  # messages lost because all were to be lost
    _shown: set[tuple[Key, str]] = field(default_factory=set)

    def count_belief(self, shifts: Iterable[tuple[Disturbance, Shift]]) -> None:
        """Count what each disturbance makes the ego believe of its place."""
        for disturbance, shift in shifts:
            disturbance.reached += 1
            disturbance.acted += is_displacement(shift)

    def count_lost(self, losses: Sequence[Disturbance]) -> None:
        """Count a lost message for the disturbances that lost it."""
        self.silenced += any(loss.silences for loss in losses)
        for loss in losses:
            loss.acted += 1

    def count_used(
        self, key: Key, underway: MessageUnderway, *, late: bool, sender: Place, ego: Place
    ) -> None:
        """Count a message at a planning step, against that of an undisturbed channel."""
        self.effects.uses += 1
        self.effects.late += late
        self.effects.displaced += is_displacement(compute_relative_shift(sender, ego))
        self.effects.changed += self._is_changed(underway, sender[0], ego[0])
        for act in underway.acts:
            known = (key, act.by.name) in self._shown
            if not known and self._is_visible_act(act, sender[0], ego[0]):
                self._shown.add((key, act.by.name))
                act.by.acted += 1

    def count_first_use(self, underway: MessageUnderway) -> None:
        """Count a message that has reached the system."""
        for act in underway.acts:
            act.by.reached += 1

    def list_inert(self) -> list[str]:
        """Return which disturbances made no difference although they should have."""
        reasons = [(disturbance.name, disturbance.inert()) for disturbance in self.disturbances]
        return [f"{name}: {reason}" for name, reason in reasons if reason]

    def list_cancelled(self) -> list[str]:
        """Return which disturbances undid each other and left nothing to chance."""
        acting = [disturbance for disturbance in self.disturbances if disturbance.acted]
        if not acting or not all(act.certain for act in acting):
            return []
        if not self.effects.uses or not self.effects.none:
            return []
        names = join_names([act.name for act in acting])
        return [f"{names} cancel: nothing that reached the system was different"]

    def _is_changed(self, underway: MessageUnderway, sender: Pose, ego: Pose) -> bool:
        after, before = underway.message.payload, underway.captured
        beyond = any(act.by.beyond_window for act in underway.acts)
        window = EVERYWHERE if beyond else self.window
        return after is not before and is_different_in_window(
            after, before, sender=sender, ego=ego, window=window
        )

    def _is_visible_act(self, act: DisturbanceAct, sender: Pose, ego: Pose) -> bool:
        if max(act.delay, abs(act.clock)) > SAME_MOMENT or is_displacement(act.shift):
            return True
        if act.before is act.after:
            return False
        window = EVERYWHERE if act.by.beyond_window else self.window
        if is_different_in_window(act.after, act.before, sender=sender, ego=ego, window=window):
            return True
        distance = math.hypot(sender.x - ego.x, sender.y - ego.y)
        act.by.beyond += 1
        act.by.could += act.by.can_reach(distance, window)
        return False

"""Replay: an insider sends what it sent some seconds ago, stamped as if it were new.

Replay in the sense of ETSI TR 102 893 (threats to ITS stations) and of the adversary framework of
CAVISE's OpenCDA (a replayer of recorded messages). An outsider's replay is stopped by signed times;
an insider signs old content again. Content and stated place are old, the stamp is new.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.channel.attacks.attack import Attack, LyingMessage
from harness.channel.delivery_rule import SAME_MOMENT
from harness.channel.disturbance import PARTNERS
from harness.channel.effects import NO_SHIFT, Shift, compute_shift
from harness.common.errors import UserError
from harness.types.vocabulary import Kind, Message, Observation, Payload, Pose


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class KeptMessage:
    """What a partner sent at a moment."""

    time: float  # s of simulated time
    lidar_in_world: Pose  # true
    payload: Payload


class ReplayAttack(Attack):
    """Content and place of an insider's messages are as old as the settings say."""

    safe_from_file = True
    name = "replay_attack"
    goal = "the ego takes an old scene for the present one"
    knowledge = "the insider's own messages"

    def __init__(
        self,
        *,
        partners: int | None = 1,  # that lie at once; null: by share
        share: float | None = None,  # of the partners that lie, 0 to 1; null: by number
        start: float = 0.0,  # s after the first planning step
        kinds: Sequence[Kind] = PARTNERS,  # agents that may lie: roadside, vehicle
        egos: Sequence[int] | None = None,  # driven egos that are lied to, from 0; null: all
        age: float = 2.0,  # s by which content is older than its stamp
    ) -> None:
        super().__init__(partners=partners, share=share, start=start, kinds=kinds, egos=egos)
        if not age >= 0:
            raise UserError(f"{self.name}.age = {age:g} s: must be ≥ 0")
        self.age = age
        self._kept: dict[str, list[KeptMessage]] = {}
        self._true: dict[str, Pose] = {}

    @property
    def size_zero(self) -> bool:
        """Whether no partner ever lies, or content is new."""
        return super().size_zero or self.age == 0

    def reset(self, seed: int, route: str) -> None:
        """Start an episode in which nothing was sent."""
        super().reset(seed, route)
        self._kept, self._true = {}, {}

    def shift(self, observation: Observation) -> Shift:
        """Return what is added to the place; true places of all partners are kept."""
        self._true[observation.sender] = observation.lidar_in_world
        return super().shift(observation)

    def displace_sender(self, observation: Observation) -> Shift:
        """Return the way from where the sender is to where it was."""
        old = self._find_old(observation.sender, observation.time)
        if old is None:
            return NO_SHIFT
        return compute_shift(old.lidar_in_world, observation.lidar_in_world)

    def learn_from_message(self, message: Message) -> None:
        """Keep content and place for as long as they can be sent again."""
        kept = self._kept.setdefault(message.sender, [])
        since = message.capture_time - 2 * self.age - 1.0
        kept[:] = [old for old in kept if old.time >= since]
        kept.append(
            KeptMessage(
                time=message.capture_time,
                lidar_in_world=self._true.get(message.sender, message.lidar_in_world),
                payload=message.payload,
            )
        )

    def lie_in_message(self, message: Message) -> LyingMessage:
        """Return the message with old content; the message as it is before there is any."""
        old = self._find_old(message.sender, message.capture_time)
        if old is None:
            return LyingMessage(message=message)
        return LyingMessage(
            message=replace(message, payload=old.payload),
            content_age=message.capture_time - old.time,
        )

    def _find_old(self, sender: str, now: float) -> KeptMessage | None:
        """Return the newest that is old enough."""
        old = [
            kept for kept in self._kept.get(sender, []) if kept.time <= now - self.age + SAME_MOMENT
        ]
        return old[-1] if old else None

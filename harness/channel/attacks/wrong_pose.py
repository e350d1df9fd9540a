"""A wrong pose: an insider states another place for itself, so that all that it sends is displaced.

Constant offset of VeReMi (van der Heijden et al., SecureComm 2018), of the pose by which what
partners share is aligned. The direction is sampled for each insider.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from harness.channel.attacks.attack import Attack, LyingMessage
from harness.channel.disturbance import PARTNERS, refuse_negative
from harness.channel.effects import Shift
from harness.types.vocabulary import Kind, Message, Observation


class WrongPoseAttack(Attack):
    """An insider states a place some metres from its own, in a constant direction."""

    safe_from_file = True
    name = "pose_attack"
    goal = "the ego displaces all that the insider perceives"
    knowledge = "the insider's own place"

    def __init__(
        self,
        *,
        partners: int | None = 1,  # that lie at once; null: by share
        share: float | None = None,  # of the partners that lie, 0 to 1; null: by number
        start: float = 0.0,  # s after the first planning step
        kinds: Sequence[Kind] = PARTNERS,  # agents that may lie: roadside, vehicle
        egos: Sequence[int] | None = None,  # driven egos that are lied to, from 0; null: all
        metres: float = 3.0,  # m, in a direction sampled for each insider
        degrees: float = 0.0,  # of yaw, to a side sampled for each insider
    ) -> None:
        super().__init__(partners=partners, share=share, start=start, kinds=kinds, egos=egos)
        refuse_negative(self.name, "m", metres=metres)
        refuse_negative(self.name, "degrees", degrees=degrees)
        self.metres, self.degrees = metres, degrees

    @property
    def size_zero(self) -> bool:
        """Whether no partner ever lies, or its place is its own."""
        return super().size_zero or not (self.metres or self.degrees)

    def displace_sender(self, observation: Observation) -> Shift:
        """Return the offset of an insider."""
        random = self.random("direction", observation.sender)
        towards = random.uniform(-math.pi, math.pi)
        side = float(random.choice([-1.0, 1.0]))
        return Shift(
            self.metres * math.cos(towards),
            self.metres * math.sin(towards),
            math.radians(self.degrees) * side,
        )

    def lie_in_message(self, message: Message) -> LyingMessage:
        """Return the message as it is: its place is the lie."""
        return LyingMessage(message=message)

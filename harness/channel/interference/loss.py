"""Messages never arrive: each by itself, or in bursts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness.channel.disturbance import PARTNERS, Disturbance
from harness.common.errors import UserError
from harness.types.vocabulary import Floats, Kind, Message


class Loss(Disturbance):
    """Every message may be lost, whatever became of others (Bernoulli)."""

    safe_from_file = True
    name = "loss"

    def __init__(
        self,
        probability: float,  # 0 to 1
        kinds: Sequence[Kind] = PARTNERS,  # agents that are disturbed: roadside, vehicle
    ) -> None:
        super().__init__(kinds)
        check_share(self.name, probability=probability)
        self.probability = probability

    @property
    def size_zero(self) -> bool:
        """Whether nothing is ever lost."""
        return self.probability == 0

    @property
    def silences(self) -> bool:
        """Whether everything is lost."""
        return self.probability == 1

    def reset(self, seed: int, route: str) -> None:
        """Start an episode in which nothing has been lost."""
        super().reset(seed, route)
        self.idle_chance = 1.0

    def loses(self, message: Message) -> bool:
        """Sample whether this message is lost."""
        self.idle_chance *= 1.0 - self.probability
        random = self.random_at(message.sender, message.capture_frame)
        return bool(random.random() < self.probability)


class BurstLoss(Disturbance):
    """Each sender's air is good or bad, and changes between messages (Gilbert-Elliott)."""

    safe_from_file = True
    name = "burst_loss"

    def __init__(
        self,
        worsens: float,  # probability that a good channel is bad at the next message
        recovers: float,  # probability that bad air is good at the next message
        *,
        lost_in_good: float = 0.0,  # probability of loss
        lost_in_bad: float = 1.0,  # probability of loss
        kinds: Sequence[Kind] = PARTNERS,  # agents that are disturbed: roadside, vehicle
    ) -> None:
        super().__init__(kinds)
        for value in (worsens, recovers, lost_in_good, lost_in_bad):
            if not 0 <= value <= 1:
                raise UserError(f"burst_loss: probability {value}: must be from 0 to 1")
        if not worsens + recovers > 0:
            raise UserError("burst_loss: worsens and recovers are both 0: one must be > 0")
        self.lost = np.array([lost_in_good, lost_in_bad])
        self.turns = np.array([[1 - worsens, worsens], [recovers, 1 - recovers]])
        self.at_first = np.array([recovers, worsens]) / (worsens + recovers)
        self._air: dict[str, int] = {}
        self._nothing_lost: dict[str, Floats] = {}

    @property
    def size_zero(self) -> bool:
        """Whether nothing is ever lost."""
        return bool(self.at_first @ self.lost == 0)

    @property
    def silences(self) -> bool:
        """Whether everything is lost."""
        return bool(np.all(self.lost[self.at_first > 0] == 1))

    def reset(self, seed: int, route: str) -> None:
        """Start an episode: every sender's air is as it is in the long run."""
        super().reset(seed, route)
        self._air, self._nothing_lost = {}, {}

    def loses(self, message: Message) -> bool:
        """Update the channel's state, then sample whether this message is lost."""
        sender = message.sender
        # both numbers for every message, needed or not: streams stay in step
        turn, fate = self.random_at(sender, message.capture_frame).random(2)
        odds = self.turns[self._air[sender]] if sender in self._air else self.at_first
        air = self._air[sender] = int(turn < odds[1])
        self._update_idle_chance(sender)
        return bool(fate < self.lost[air])

    def _update_idle_chance(self, sender: str) -> None:
        # (2,) probability of good and bad air with nothing lost so far, of this sender
        before = self._nothing_lost.get(sender)
        now = self.at_first if before is None else before @ self.turns
        self._nothing_lost[sender] = now * (1 - self.lost)
        self.idle_chance = float(
            np.prod([chances.sum() for chances in self._nothing_lost.values()])
        )


def check_share(name: str, **shares: float) -> None:
    """Refuse what is no probability and no share; 0 is no disturbance.

    Args:
        name: of the disturbance, for the message.
        shares: values by name of the setting.

    Raises:
        UserError: a value is not from 0 to 1.
    """
    for setting, value in shares.items():
        if not 0 <= value <= 1:
            raise UserError(f"{name}.{setting} = {value}: must be from 0 to 1")

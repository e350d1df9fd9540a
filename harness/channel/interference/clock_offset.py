"""Clocks of partners are wrong: their messages come with another time than that of their capture.

Delivery is not changed. What the ego derives from a stamp is: the age of a message, and where a
moving box or its sender is by now.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.channel.delivery_rule import SAME_MOMENT
from harness.channel.disturbance import PARTNERS, Disturbance, refuse_negative
from harness.common.errors import UserError
from harness.types.vocabulary import Kind, Message

FAR = 5.0
"""Standard deviations that are hardly ever exceeded."""
LONGEST = 3600.0
"""Seconds of an episode, for drifts that could ever be noticed."""
PER_MILLION = 1e-6


class ClockOffset(Disturbance):
    """Each partner's clock has an offset and a drift of its own, sampled once for an episode."""

    safe_from_file = True
    name = "clock_offset"
    of_clocks = True

    def __init__(
        self,
        offset: float,  # s, standard deviation at the first capture of the episode
        drift: float = 0.0,  # ppm, standard deviation: millionths of the time since then
        kinds: Sequence[Kind] = PARTNERS,  # agents that are disturbed: roadside, vehicle
    ) -> None:
        super().__init__(kinds)
        if "ego" in self.kinds:
            raise UserError(
                "clock_offset: kinds has ego; time is the ego's: choose roadside, vehicle or both"
            )
        refuse_negative("clock_offset", "s", offset=offset)
        refuse_negative("clock_offset", "ppm", drift=drift)
        self.offset, self.drift = offset, drift

    @property
    def size_zero(self) -> bool:
        """Whether all clocks are right."""
        return not (self.offset or self.drift)

    def too_small(self) -> str | None:
        """Return the largest error that can be expected, if it is none."""
        largest = FAR * (self.offset + self.drift * PER_MILLION * LONGEST)
        return None if largest > SAME_MOMENT else f"{largest:.3g} s is no offset"

    def clock_error(self, message: Message) -> float:
        """Return offset and drift of the sender's clock at a capture."""
        offset, drift = self.random(message.sender).normal(0.0, (self.offset, self.drift))
        elapsed = message.capture_time - self.first_time
        return float(offset + drift * PER_MILLION * elapsed)

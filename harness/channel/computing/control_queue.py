"""Controls that are being computed: each acts from the first tick at which it is ready."""

from __future__ import annotations

from dataclasses import dataclass

from harness.channel.delivery_rule import SAME_MOMENT
from harness.types.vocabulary import Control


@dataclass(frozen=True, slots=True)
class PendingControl:
    """A control, the tick of its sweep, and when it is ready."""

    frame: int
    ready: float  # s of simulated time
    control: Control


class ControlQueue:
    """The controls of an episode between the system and the vehicle.

    Of those that are ready, the newest sweep's counts. The vehicle keeps what it has until then.
    """

    def __init__(self) -> None:
        self._waiting: list[PendingControl] = []

    def add_control(self, frame: int, ready: float, control: Control) -> None:
        """Take a control that the system computes from now on.

        Args:
            frame: the simulator's tick of the sweep.
            ready: seconds of simulated time.
            control: what the vehicle is to do from then on.
        """
        self._waiting.append(PendingControl(frame, ready, control))

    def take_ready(self, now: float) -> PendingControl | None:
        """Return the newest control that is ready and was not returned before; or None.

        Args:
            now: seconds of simulated time.
        """
        ready = [one for one in self._waiting if one.ready <= now + SAME_MOMENT]
        if not ready:
            return None
        newest = max(ready, key=lambda one: one.frame)
        # what an older sweep led to is of no use any more
        self._waiting = [one for one in self._waiting if one.frame > newest.frame]
        return newest

"""The air carries so many bytes a second: large messages are late, and small ones hardly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.channel.delivery_rule import SAME_MOMENT
from harness.channel.disturbance import PARTNERS, Disturbance
from harness.common.errors import UserError
from harness.types.vocabulary import Kind, Message


@dataclass(slots=True)
class SenderRadio:
    """One sender's: busy with a message, with at most one waiting behind it."""

    free_at: float  # s, when all it has taken on is sent
    last_frame: int
    last_starts: float  # s


class Bandwidth(Disturbance):
    """Each sender has a radio of its own, which sends one message after another.

    Of messages that wait for it only the newest is kept: older ones would only be late.
    """

    safe_from_file = True
    name = "bandwidth"
    certain = True

    def __init__(
        self,
        bytes_per_second: float,  # bytes/s of each sender
        kinds: Sequence[Kind] = PARTNERS,  # agents that are disturbed: roadside, vehicle
    ) -> None:
        super().__init__(kinds)
        if not bytes_per_second > 0:
            raise UserError(f"bandwidth.bytes_per_second = {bytes_per_second}: must be > 0")
        self.bytes_per_second = bytes_per_second
        self._radios: dict[str, SenderRadio] = {}

    def reset(self, seed: int, route: str) -> None:
        """Start an episode with silent radios."""
        super().reset(seed, route)
        self._radios = {}
        self.idle_chance = 1.0

    def displaces(self, message: Message) -> int | None:
        """Return the waiting message, and let its place be taken."""
        radio = self._radios.get(message.sender)
        if radio is None or radio.last_starts <= message.capture_time + SAME_MOMENT:
            return None
        # the radio is free when the message that gives way would have started
        radio.free_at = radio.last_starts
        return radio.last_frame

    def delay(self, message: Message) -> float:
        """Return how long the message waits and how long it takes to send."""
        captured = message.capture_time
        radio = self._radios.get(message.sender)
        # after everything that this sender has to send before
        starts = captured if radio is None else max(captured, radio.free_at)
        free_at = starts + message.size_bytes / self.bytes_per_second
        self._radios[message.sender] = SenderRadio(free_at, message.capture_frame, starts)
        if message.size_bytes:
            self.idle_chance = 0.0
        return free_at - captured

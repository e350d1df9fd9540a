"""What may happen to a message between two vehicles, one moment after another.

A disturbance draws from a stream named after itself, the sender and, where it draws anew for every
message, the frame of capture. So its draws do not depend on the order of routes, on other
disturbances, or on how many other senders there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from harness.randomness import stream
from harness.vocabulary import Kind, Message, Observation

Shift: TypeAlias = tuple[float, float, float]
"""Metres in x and y of the world, radians of yaw."""
NO_SHIFT: Shift = (0.0, 0.0, 0.0)
PARTNERS: tuple[Kind, ...] = ("roadside", "vehicle")


class Disturbance:
    """One thing that goes wrong; subclasses override the moments at which they act."""

    name = "disturbance"

    def __init__(self, kinds: Sequence[Kind] = PARTNERS) -> None:
        self.kinds = frozenset(kinds)
        self.met = 0  # messages or observations it could act on
        self.acted = 0  # those it did act on
        self._seed = 0

    def reset(self, seed: int, route: str) -> None:
        """Start an episode."""
        self._seed = seed
        self.met = self.acted = 0

    def shift(self, observation: Observation) -> Shift:
        """Return by how much the observer is wrong about where its LiDAR is."""
        return NO_SHIFT

    def alter(self, message: Message) -> Message | None:
        """Return the message as it leaves, or nothing if it never arrives."""
        return message

    def delay(self, message: Message) -> float:
        """Return seconds that this adds between capture and arrival."""
        return 0.0

    def inert(self) -> str | None:
        """Return why this did nothing although it should have, or nothing if all is well."""
        if self.acted:
            return None
        return f"acted on none of {self.met} messages"

    def random(self, *names: str) -> np.random.Generator:
        """Return this episode's stream of that name."""
        return stream(self._seed, "interference", self.name, *names)

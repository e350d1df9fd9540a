"""What may happen to a message between two vehicles, one moment after another.

A disturbance draws from a stream named after itself, the sender and, where it draws anew for every
message, the number of ticks since the episode's first capture. So its draws depend neither on the
order of routes and the server's history, nor on other disturbances, nor on how many senders there
are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, get_args

import numpy as np

from harness.errors import AttemptError, UserError
from harness.randomness import stream
from harness.vocabulary import Kind, Message, Observation

Shift: TypeAlias = tuple[float, float, float]
"""Metres in x and y of the world, radians of yaw."""
NO_SHIFT: Shift = (0.0, 0.0, 0.0)
PARTNERS: tuple[Kind, ...] = ("roadside", "vehicle")
ALL_BUT_IMPOSSIBLE = 1e-6


class Disturbance:
    """One thing that goes wrong; subclasses override the moments at which they act.

    What it did is not its own to say: the channel compares before and after, and counts.
    """

    name = "disturbance"

    def __init__(self, kinds: Sequence[Kind] = PARTNERS) -> None:
        unknown = sorted(set(kinds) - set(get_args(Kind)))
        if unknown or not kinds:
            known = ", ".join(get_args(Kind))
            raise UserError(f"{self.name}: kinds {list(kinds)}; one or more of {known}")
        self.kinds = frozenset(kinds)
        self.met = 0  # captures of these kinds
        self.acted = 0  # times it changed something
        self.idle_chance = 0.0  # of having changed nothing so far, were it left to its draws
        self.first_frame = 0  # of the episode
        self._seed = 0

    @property
    def sort(self) -> str:
        """What it is called where it is the only one of its sort."""
        return type(self).name

    def reset(self, seed: int, route: str) -> None:
        """Start an episode."""
        self._seed = seed
        self.met = self.acted = 0
        self.idle_chance = 0.0

    def shift(self, observation: Observation) -> Shift:
        """Return by how much the observer is wrong about where its LiDAR is."""
        return NO_SHIFT

    def alter(self, message: Message) -> Message:
        """Return the message as it leaves."""
        return message

    def displaces(self, message: Message) -> int | None:
        """Return the frame of an unsent message of this sender that gives way to this one."""
        return None

    def delay(self, message: Message) -> float:
        """Return seconds that this adds between capture and arrival."""
        return 0.0

    def loses(self, message: Message) -> bool:
        """Return whether the message never arrives."""
        return False

    def inert(self) -> str | None:
        """Return why this did nothing although it should have, or nothing if all is well."""
        if self.acted:
            return None
        if not self.met:
            return f"met no capture of {' or '.join(sorted(self.kinds))}"
        if self.idle_chance >= ALL_BUT_IMPOSSIBLE:
            return None
        return f"changed nothing in {self.met} captures"

    def random(self, *names: str) -> np.random.Generator:
        """Return this episode's stream of that name."""
        return stream(self._seed, "interference", self.name, *names)

    def random_at(self, sender: str, frame: int) -> np.random.Generator:
        """Return the stream of one capture."""
        return self.random(sender, str(frame - self.first_frame))


def cannot_touch(disturbance: Disturbance, message: Message) -> AttemptError:
    """Return the error of a disturbance that has nothing to say about such a payload."""
    return AttemptError(
        "interference_not_delivered",
        f"{disturbance.name}: {message.sender} sends {type(message.payload).__name__},"
        " which this disturbance does not know how to change",
    )

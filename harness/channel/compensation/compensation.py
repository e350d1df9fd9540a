"""What makes up for the age of messages, between the defence and fusion (decision 0130)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from harness.types.vocabulary import (
    Boxes,
    EgoObservation,
    Floats,
    Integers,
    Message,
    Payload,
)

VelocitySource = Literal["message", "estimated", "none"]
"""Where a box's velocity is from; `none`: it has none, and the box stays."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MovedBoxes:
    """What became of the boxes of one message at one planning step.

    Attributes:
        frame: the simulator's tick of the planning step.
        capture_frame: the simulator's tick of capture.
        age: s, by the message's time stamp and the ego's clock.
        classes: (N,) index into CLASSES.
        sources: (N,) of the velocities.
        stated: (N, 3) x y yaw in the world, as the message says.
        moved: (N, 3) x y yaw in the world, as it is given to the system.
    """

    frame: int
    sender: str
    capture_frame: int
    age: float
    classes: Integers
    sources: tuple[VelocitySource, ...]
    stated: Floats
    moved: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedMaps:
    """What became of the feature maps of one late message at one planning step.

    Attributes:
        frame: the simulator's tick of the planning step.
        capture_frame: the simulator's tick of capture.
        age: s, by the message's time stamp and the ego's clock.
        known: whether an earlier message of the sender says how cells move.
        cells: how many cells of the finest map moved.
        mean: metres by which these moved.
        greatest: metres.
    """

    frame: int
    sender: str
    capture_frame: int
    age: float
    known: bool
    cells: int
    mean: float
    greatest: float


class Compensation:
    """Changes the content of late messages to what it would be now; subclasses say how.

    It knows messages, their time stamps and what the ego observes, and no ground truth. A message
    of age 0 is given on as it is.

    Attributes:
        payloads: types of payload that it can act on.
        moves_features: whether it moves feature maps by a network of the system.
        weights: file of that network; None: the shipped one.
    """

    name = "compensation"
    payloads: tuple[type[Payload], ...] = (Boxes,)
    moves_features = False
    weights: str | None = None

    def __init__(self) -> None:
        self.rows: list[MovedBoxes] = []
        self.moved_maps: list[MovedMaps] = []

    def use_system(self, system: object) -> None:
        """Take from the system of the ego what is needed; boxes need nothing.

        Args:
            system: under test.
        """

    def reset(self) -> None:
        """Start an episode in which no message was heard."""
        self.rows, self.moved_maps = [], []

    def compensate_messages(
        self, observation: EgoObservation, messages: Sequence[Message]
    ) -> tuple[Message, ...]:
        """Return the messages as the system is given them, in their order.

        Args:
            observation: of the ego; its time is that of the planning step.
            messages: those that have arrived and that the defence left, the newest of each sender.
        """
        raise NotImplementedError

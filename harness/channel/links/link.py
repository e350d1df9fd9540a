"""A link: what the radio makes of each message, how late it is and whether it arrives at all."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

from harness.channel.links.sight import AirSurroundings, PathView, view_path
from harness.types.vocabulary import Message, Pose

UNKNOWN = "unknown"
"""The sight of a path where nothing was said about the surroundings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Carriage:
    """What a link made of one message, whatever disturbances made of it.

    Attributes:
        sender: name of the partner.
        frame: the simulator's tick of capture.
        time: seconds, at which the sender has the message ready: of capture, or later.
        size_bytes: of the payload as sent.
        fragments: packets on the air.
        queue: seconds before the first of them is on the air; NaN where the link does not say.
        airtime: seconds on the air, of all fragments; NaN where the link does not say.
        delay: seconds from `time` to arrival, with queue and airtime.
        distance: metres between the antennas; NaN where it is unknown.
        sight: LOS, NLOSv, NLOS or unknown.
        power: dBm at the receiver; NaN where the link does not say.
        busy: channel busy ratio at the sender, 0 to 1; NaN where the link does not say.
        lost: whether the message never arrives.
        part: of what its sender sent at this capture; empty for a message or its first segment.
    """

    sender: str
    frame: int
    time: float
    size_bytes: int
    fragments: int = 1
    queue: float = math.nan
    airtime: float = math.nan
    delay: float = 0.0
    distance: float = math.nan
    sight: str = UNKNOWN
    power: float = math.nan
    busy: float = math.nan
    lost: bool = False
    part: str = ""

    @property
    def outcome(self) -> str:
        """What became of the message on the link."""
        return "lost" if self.lost else "arrived"

    @property
    def arrival(self) -> float:
        """Seconds of simulated time; NaN for a lost message."""
        return math.nan if self.lost else self.time + self.delay


class Link(ABC):
    """The radio between partners and ego; a subclass says how a message fares.

    A subclass opens its random streams with `make_named_stream` from the attempt's seed, one for
    each sender, so that samples do not depend on how many senders there are.

    Attributes:
        receiver: the ego's name among several driven egos; empty for the only one.
    """

    def __init__(self) -> None:
        self.carriages: list[Carriage] = []
        self.first_frame = 0  # of the episode
        self.receiver = ""
        self._seed = 0
        self._surroundings: AirSurroundings | None = None

    def reset(self, seed: int) -> None:
        """Start an episode in which nothing was sent.

        Args:
            seed: of the attempt; every random stream of the link comes from it.
        """
        self.carriages = []
        self._seed = seed
        self._surroundings = None

    def join_air(self, first: Link, receiver: str) -> None:
        """Be the link of one of several driven egos, right after `reset`.

        Here each receiver samples for itself, by the streams of `name_stream`. A radio on which
        messages wait for each other shares with the first link what is on the air.

        Args:
            first: the link of the first ego, of the same class; itself for the first ego.
            receiver: the name of the ego that receives by this link.
        """
        self.receiver = receiver

    def note_surroundings(self, surroundings: AirSurroundings) -> None:
        """Note where the ego, vehicles and buildings are at this planning step."""
        self._surroundings = surroundings

    def carry_message(self, message: Message, lidar_in_world: Pose) -> Carriage:
        """Return what becomes of a message, and keep it for the records.

        Args:
            message: as it leaves; its time is that at which the sender has computed it.
            lidar_in_world: the true pose of its sender's LiDAR, where the antenna is.
        """
        view = None
        if self._surroundings is not None:
            view = view_path(self._surroundings, lidar_in_world)
        carriage = self.make_carriage(message, view)
        if message.part:
            carriage = replace(carriage, part=message.part)
        self.carriages.append(carriage)
        return carriage

    def name_stream(self, message: Message) -> tuple[str, ...]:
        """Return the names of a message's random stream: its sender, its capture and its part.

        Of several driven egos, each has a stream of its own.
        """
        return (*self.name_sending_stream(message), *self.name_receiver())

    def name_sending_stream(self, message: Message) -> tuple[str, ...]:
        """Return the names of the stream of what a sender does, for all receivers."""
        capture = str(message.capture_frame - self.first_frame)
        return (message.sender, capture, *((message.part,) if message.part else ()))

    def name_receiver(self) -> tuple[str, ...]:
        """Return what streams of one of several receivers are named by; nothing of the only one."""
        return (f"at {self.receiver}",) if self.receiver else ()

    @abstractmethod
    def make_carriage(self, message: Message, view: PathView | None) -> Carriage:
        """Return what becomes of a message.

        Args:
            message: as it leaves.
            view: the path between the antennas; None where the surroundings are unknown.
        """

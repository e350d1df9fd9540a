"""Formats of messages: how a payload is written as bytes at the sender and read at the ego."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from harness.channel.links.link import Link
from harness.channel.messages.awareness import AwarenessTraffic
from harness.channel.messages.notification import NotificationTraffic
from harness.types.vocabulary import Message, Payload, Pose


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatRow:
    """What a format made of one payload, for the records.

    Attributes:
        frame: the simulator's tick of capture.
        kind: of message; empty where the generation rules asked for none.
        size_bytes: of the message as generated; 0 for none.
        native_bytes: of the payload as the system shared it.
    """

    sender: str
    frame: int
    kind: str
    size_bytes: int
    native_bytes: int
    perceived: int  # objects that were shared, or cells of feature maps
    included: int  # of them, in the message
    left_out: int  # of them, left out


class MessageFormat(ABC):
    """How messages are written between `share` and the system.

    Attributes:
        stages: of fusion, whose messages it can write; the empty one is not known beforehand.
        awareness: the messages in which vehicles say where they are; None: they send none.
        notifications: the warnings of persons on the road; None: stations send none.
    """

    stages: tuple[str, ...]
    awareness: AwarenessTraffic | None = None
    notifications: NotificationTraffic | None = None

    def __init__(self) -> None:
        self.rows: list[FormatRow] = []

    def reset(self) -> None:
        """Start an episode in which nothing was sent."""
        self.rows = []
        if self.awareness is not None:
            self.awareness.reset()
        if self.notifications is not None:
            self.notifications.reset()

    def send_notifications(
        self, message: Message, computed: float, link: Link | None, antenna: Pose | None
    ) -> None:
        """Let a sender's DENMs go, if `write_message` found that some are due."""
        if self.notifications is not None:
            self.notifications.send_written(message, computed, link, antenna)

    def receive_further(self, now: float, present: Collection[str]) -> None:
        """Let the ego read what has arrived of CAMs and DENMs from senders in range."""
        if self.awareness is not None:
            self.awareness.receive_states(now, present)
        if self.notifications is not None:
            self.notifications.receive_events(now, present)

    @abstractmethod
    def write_message(self, message: Message) -> Message | None:
        """Return a message with its bytes, and with the payload that is read from them.

        Args:
            message: as the system shared it.

        Returns:
            None where the generation rules ask for no message now.
        """

    @abstractmethod
    def rewrite_message(self, message: Message, before: Payload) -> Message:
        """Return a message with the bytes of its payload, which a disturbance has changed.

        Args:
            message: with the changed payload, and the bytes of the one before.
            before: the payload of these bytes.
        """

    @abstractmethod
    def read_messages(self, arrived: Sequence[Message]) -> Message:
        """Return the newest message with all that the ego knows from its sender.

        Args:
            arrived: of one sender, those that have arrived and were not all given before, the
                oldest first.
        """

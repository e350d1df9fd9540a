"""What a connection has received: bytes first, and a message once it is whole.

A message is decoded when its last byte is there, so an unfinished one costs the bytes that were
sent and nothing more. How many bytes may wait is bounded for each connection, and for all
connections of a port together: then the one that has most waiting is closed. So is the number of
values in a message, since a byte can be a list, which takes eighty when it is decoded.

Why it is not decoded before: decision 0030.
"""

from __future__ import annotations

from collections.abc import Callable

import msgpack
import numpy as np

from harness.carlite.wire.counting import count_message_values

LONGEST_MESSAGE = 64 << 20
MOST_UNFINISHED = 128 << 20
LONGEST_ARRAY = 1 << 16
MOST_VALUES = 1 << 21
"""A client that spawns ten thousand vehicles in one call sends a third of it."""
READ_SIZE = 1 << 16
DISMISSAL = 1.0
"""Seconds until a connection with bytes that are no message is closed.

A client library whose server is gone dials on, and at once when it is closed: thousands of times a
second at a port that another server has been given since.
"""


def check_value_count(message: bytes) -> None:
    """Refuse a whole message that consists of too many values."""
    if count_message_values(np.frombuffer(message, np.uint8), MOST_VALUES) > MOST_VALUES:
        raise ValueError(f"more than {MOST_VALUES:,} values in a message")


class MessageBacklog:
    """The unfinished messages of all connections of a port; `total` are their bytes."""

    def __init__(self, most: int = MOST_UNFINISHED) -> None:
        self.total = 0
        self._most = most
        self._waiting: dict[MessageInbox, int] = {}

    def note_waiting_bytes(self, inbox: MessageInbox, waiting: int) -> None:
        """Note how many bytes wait in an inbox; close the fullest while there are too many."""
        self.total += waiting - self._waiting.pop(inbox, 0)
        if waiting:
            self._waiting[inbox] = waiting
        while self.total > self._most:
            fullest = max(self._waiting, key=self._waiting.__getitem__)
            self.total -= self._waiting.pop(fullest)
            fullest.give_up("too much is unfinished on all connections together")


class MessageInbox:
    """The messages of one connection; `hang_up` closes it for a reason."""

    def __init__(self, backlog: MessageBacklog, hang_up: Callable[[str], None]) -> None:
        self._backlog = backlog
        self._hang_up = hang_up
        self._bytes = bytearray()
        self._taken = 0
        self._scanner = self._make_scanner()

    def feed(self, data: bytes) -> None:
        """Take in what was received."""
        self._bytes += data
        if len(self._bytes) > LONGEST_MESSAGE:
            self.give_up("message too long")
            return
        self._scanner.feed(data)

    def take_message(self) -> object:
        """Return the next message; `msgpack.OutOfData` where none is whole.

        Any other exception says that the bytes are none.
        """
        if not self._bytes:
            raise msgpack.OutOfData
        self._scanner.skip()
        length = self._scanner.tell() - self._taken
        self._taken += length
        message = bytes(self._bytes[:length])
        del self._bytes[:length]
        if length > MOST_VALUES:
            check_value_count(message)
        return msgpack.unpackb(
            message,
            max_array_len=LONGEST_ARRAY,
            max_map_len=LONGEST_ARRAY,
            unicode_errors="surrogateescape",
        )

    def note_unfinished_bytes(self) -> None:
        """Count what is left once all whole messages were taken."""
        self._backlog.note_waiting_bytes(self, len(self._bytes))

    def clear(self) -> None:
        """Forget everything."""
        self._bytes.clear()
        self._scanner, self._taken = self._make_scanner(), 0
        self._backlog.note_waiting_bytes(self, 0)

    def give_up(self, reason: str) -> None:
        """Forget everything and close the connection."""
        self.clear()
        self._hang_up(reason)

    @staticmethod
    def _make_scanner() -> msgpack.Unpacker:
        return msgpack.Unpacker(read_size=READ_SIZE, max_buffer_size=2 * LONGEST_MESSAGE)

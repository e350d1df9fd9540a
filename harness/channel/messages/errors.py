"""What is wrong with a message of a standard."""

from __future__ import annotations


class MessageError(ValueError):
    """A value that a message cannot hold, or bytes that are no message."""

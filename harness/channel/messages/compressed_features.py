"""Feature maps that are compressed before they are sent: fewer cells, and eight bits a number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.channel.messages.feature_bytes import (
    decode_features,
    encode_features,
    select_largest_cells,
)
from harness.channel.messages.message_format import FormatRow, MessageFormat
from harness.common.errors import AttemptError, UserError
from harness.types.vocabulary import Features, Message, Payload


class CompressedFeatures(MessageFormat):
    """Features as the ego decodes them: quantised map by map, the largest cells alone, or both."""

    safe_from_file = True
    stages = ("intermediate", "")

    def __init__(
        self,
        *,
        bits: int = 8,  # of each number: 8 with a scale for each map, or 32 as networks compute
        share: float = 1.0,  # of each map's cells that are sent, above 0: those of largest norm
    ) -> None:
        super().__init__()
        if bits not in (8, 32):
            raise UserError(f"message_format.bits = {bits}: must be 8 or 32")
        if not 0 < share <= 1:
            raise UserError(f"message_format.share = {share:g}: must be above 0 and at most 1")
        self.bits, self.share = bits, share

    def write_message(self, message: Message) -> Message:
        """Return the message with its bytes, and the features that are decoded from them."""
        features = require_features(message)
        written = self._encode(message, features)
        assert written.octets is not None
        cells = sum(level[0].size for level in features.maps)
        kept = sum(int(select_largest_cells(one, self.share).sum()) for one in features.maps)
        self.rows.append(
            FormatRow(
                sender=message.sender,
                frame=message.capture_frame,
                kind="features",
                size_bytes=len(written.octets),
                native_bytes=features.size_bytes,
                perceived=cells,
                included=kept,
                left_out=cells - kept,
            )
        )
        return written

    def rewrite_message(self, message: Message, before: Payload) -> Message:
        """Return the message with the bytes of features that a disturbance has changed."""
        return self._encode(message, require_features(message))

    def read_messages(self, arrived: Sequence[Message]) -> Message:
        """Return the newest message: each has all that it says."""
        return arrived[-1]

    def _encode(self, message: Message, features: Features) -> Message:
        octets = encode_features(features.maps, share=self.share, eight_bits=self.bits == 8)
        return replace(
            message,
            octets=octets,
            # of the same class: networks may look for it
            payload=replace(features, maps=decode_features(octets)),
        )


def require_features(message: Message) -> Features:
    """Return the features of a message.

    Raises:
        AttemptError: class `agent_exception`: it has something else.
    """
    if not isinstance(message.payload, Features):
        raise AttemptError(
            "agent_exception",
            f"{message.sender} sends {type(message.payload).__name__}, and this format of messages"
            " is for features",
        )
    return message.payload

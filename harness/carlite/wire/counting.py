"""Counts the values of a msgpack message without building them."""

from __future__ import annotations

import numpy as np

from harness.carlite.arrays import Bytes, Ints
from harness.carlite.compiled import compiled


def _compute_value_widths() -> tuple[Ints, Ints]:
    """Return, by a value's first byte, its bytes without a payload, and how many hold its length.

    Items of arrays and maps are values of their own, so a container is its head alone.
    """
    width, length_bytes = np.ones(256, np.int64), np.zeros(256, np.int64)
    width[0xA0:0xC0] += np.arange(32)  # short text
    for first, kind in ((0xC4, 0), (0xC7, 1), (0xD9, 0)):  # bytes, extensions, text
        length_bytes[first : first + 3] = 1, 2, 4
        width[first : first + 3] += np.array((1, 2, 4)) + kind
    width[0xCA:0xD4] += (4, 8, 1, 2, 4, 8, 1, 2, 4, 8)  # numbers
    width[0xD4:0xD9] += (2, 3, 5, 9, 17)  # extensions of a fixed length
    width[0xDC:0xE0] += (2, 4, 2, 4)  # arrays and maps
    return width, length_bytes


WIDTH, LENGTH_BYTES = _compute_value_widths()


@compiled
def count_message_values(message: Bytes, most: int) -> int:
    """Return how many values a whole message consists of; `most` + 1 where there are more.

    Args:
        message: of msgpack, whole.
        most: at which counting stops.
    """
    at = values = 0
    while at < len(message) and values <= most:
        head = message[at]
        length = 0
        for place in range(at + 1, at + 1 + LENGTH_BYTES[head]):
            length = 256 * length + message[place]
        at += WIDTH[head] + length
        values += 1
    return values

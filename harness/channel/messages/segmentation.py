"""Segments of a CPM that is too large for one message (ETSI TS 103 324).

Each segment is a message that is read without the others. All have the time, the position and the
station of the whole, and say in the management container which of how many they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.channel.messages.cpm import Cpm, PerceivedObject, decode_cpm, encode_cpm
from harness.types.vocabulary import Message, Segment

MOST_SEGMENTS = 8
"""Of one message: the bound of `MessageSegmentationInfo` in ETSI TS 102 894-2."""
SMALLEST_LIMIT = 100
"""Bytes that a message may have, at least: a segment with the sensor and one object fits."""


def split_cpm(cpm: Cpm, largest: int | None) -> tuple[Cpm, ...]:
    """Return the message, or its segments where it has more bytes than a message may have.

    Objects go into segments by confidence, the highest first, as many as fit. What the last
    possible segment has no room for is left out. The first segment describes the sensor.

    Args:
        cpm: the whole message.
        largest: bytes of a message, at most; None: no bound.
    """
    if largest is None or len(encode_cpm(cpm)) <= largest:
        return (cpm,)
    left = sorted(cpm.objects, key=lambda seen: -seen.confidence)
    segments: list[Cpm] = []
    while left and len(segments) < MOST_SEGMENTS:
        # the numbers have as many bits whatever they are
        empty = replace(
            cpm,
            objects=(),
            sensor_range=None if segments else cpm.sensor_range,
            segment=(1, MOST_SEGMENTS),
        )
        count = count_fitting(empty, left, largest)
        segments.append(replace(empty, objects=tuple(left[:count])))
        left = left[count:]
    return tuple(
        replace(part, segment=(number, len(segments))) for number, part in enumerate(segments, 1)
    )


def count_fitting(empty: Cpm, objects: Sequence[PerceivedObject], largest: int) -> int:
    """Return how many objects from the first on fit into a message; at least one.

    Args:
        empty: the message without objects.
        objects: at least one.
        largest: bytes.
    """
    # the first `fits` fit, the first `too_many` do not
    fits, too_many = 1, len(objects) + 1
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        if len(encode_cpm(replace(empty, objects=tuple(objects[:middle])))) <= largest:
            fits = middle
        else:
            too_many = middle
    return fits


def encode_segments(parts: Sequence[Cpm]) -> tuple[Segment, ...]:
    """Return the bytes of segments."""
    return tuple(
        Segment(number, encode_cpm(part), len(part.objects)) for number, part in enumerate(parts, 1)
    )


def decode_segments(message: Message) -> tuple[Cpm, ...]:
    """Return what the segments of a message say, or the whole one; nothing without bytes."""
    if message.segments:
        return tuple(decode_cpm(segment.octets) for segment in message.segments)
    return () if message.octets is None else (decode_cpm(message.octets),)


def list_objects(parts: Sequence[Cpm]) -> tuple[PerceivedObject, ...]:
    """Return the objects of all segments, in order."""
    return tuple(seen for part in parts for seen in part.objects)

"""Feature maps as bytes: cells that are sent, and their numbers as float32 or in eight bits.

A message is the number of its maps (1 byte), and for each map:

    channels, rows, columns    3 x 2 bytes
    flags                      1 byte: 1: some cells are left out; 2: eight bits
    a bit for every cell       where some are left out; what is left out is read as 0
    least number, step         2 x float32, with eight bits
    numbers                    of the cells that are sent: channel by channel
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

import numpy as np

from harness.common.errors import AttemptError
from harness.types.vocabulary import Mask, Singles

LEFT_OUT, EIGHT_BITS = 1, 2
"""Flags."""
SHAPE, SCALE = struct.Struct(">HHHB"), struct.Struct(">ff")
STEPS = 255
"""Between the least and the greatest number of a map."""
MOST = 2**16 - 1
"""Channels, rows or columns."""


def encode_features(maps: Sequence[Singles], *, share: float, eight_bits: bool) -> bytes:
    """Return maps as bytes.

    Args:
        maps: (channels, rows, columns) each.
        share: of the cells of each map that are sent at most, those of the largest norm.
        eight_bits: whether numbers are quantised; float32 otherwise.

    Raises:
        AttemptError: maps of another shape, or numbers that are not finite.
    """
    parts = [bytes([len(maps)])]
    for feature_map in maps:
        if feature_map.ndim != 3 or max(feature_map.shape) > MOST:
            raise AttemptError(
                "agent_exception", f"share returned a feature map of shape {feature_map.shape}"
            )
        if not np.isfinite(feature_map).all():
            raise AttemptError("agent_exception", "share returned features that are not finite")
        parts += encode_map(feature_map, select_largest_cells(feature_map, share), eight_bits)
    return b"".join(parts)


def encode_map(feature_map: Singles, sent: Mask, eight_bits: bool) -> list[bytes]:
    """Return the parts of one map.

    Args:
        feature_map: (channels, rows, columns).
        sent: (rows, columns) cells that are sent.
        eight_bits: whether numbers are quantised.
    """
    whole = bool(sent.all())
    flags = (0 if whole else LEFT_OUT) | (EIGHT_BITS if eight_bits else 0)
    parts = [SHAPE.pack(*feature_map.shape, flags)]
    if not whole:
        parts.append(np.packbits(sent).tobytes())
    numbers = feature_map[:, sent]  # (channels, cells)
    if eight_bits:
        least, step = find_scale(numbers)
        parts.append(SCALE.pack(least, step))
        places = (numbers.astype(np.float64) - least) / step if step else np.zeros(numbers.shape)
        parts.append(np.clip(np.rint(places), 0, STEPS).astype(np.uint8).tobytes())
    else:
        parts.append(numbers.astype(">f4").tobytes())
    return parts


def select_largest_cells(feature_map: Singles, share: float) -> Mask:
    """Return the cells (rows, columns) of the largest norm over channels; zeros are never sent.

    Args:
        feature_map: (channels, rows, columns).
        share: of all cells, 0 to 1; of equal norms the first count.
    """
    norms = np.linalg.norm(feature_map.astype(np.float64), axis=0).ravel()
    count = min(math.ceil(share * norms.size - 1e-9), int(np.count_nonzero(norms)))
    sent = np.zeros(norms.size, np.bool_)
    sent[np.argsort(-norms, kind="stable")[:count]] = True
    return sent.reshape(feature_map.shape[1:])


def find_scale(numbers: Singles) -> tuple[float, float]:
    """Return the least number and the step between two values, as float32 has them."""
    if not numbers.size:
        return 0.0, 0.0
    least, greatest = float(numbers.min()), float(numbers.max())
    return least, float(np.float32((greatest - least) / STEPS))


def decode_features(octets: bytes) -> tuple[Singles, ...]:
    """Return the maps (channels, rows, columns) of a message.

    Raises:
        ValueError: bytes that no map has.
    """
    place, maps = 1, []
    for _ in range(octets[0]):
        *shape, flags = SHAPE.unpack_from(octets, place)
        channels, rows, columns = shape
        place += SHAPE.size
        sent = np.ones((rows, columns), np.bool_)
        if flags & LEFT_OUT:
            bits = np.frombuffer(octets, np.uint8, math.ceil(rows * columns / 8), place)
            sent = np.unpackbits(bits, count=rows * columns).reshape(rows, columns).astype(np.bool_)
            place += len(bits)
        least = step = 0.0
        if flags & EIGHT_BITS:
            least, step = SCALE.unpack_from(octets, place)
            place += SCALE.size
        kind = np.dtype(np.uint8 if flags & EIGHT_BITS else ">f4")
        count = channels * int(sent.sum())
        numbers = np.frombuffer(octets, kind, count, place).reshape(channels, -1)
        place += count * kind.itemsize
        if flags & EIGHT_BITS:
            numbers = least + numbers.astype(np.float64) * step
        read = np.zeros((channels, rows, columns), np.float32)
        read[:, sent] = numbers
        maps.append(read)
    if place != len(octets):
        raise ValueError(f"{len(octets)} B of features, of which {place} were read")
    return tuple(maps)

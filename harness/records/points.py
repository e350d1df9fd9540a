"""Sweeps as they are kept: whole numbers of 1/128 m and of 1/32767 of full intensity.

Each number is stored as its difference from the previous point, x of all points first, then y, z
and intensity: a fifth of the bytes when compressed. Differences wrap round, and sums wrap back.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from harness.common.errors import UserError
from harness.records.reading import read_stored_table
from harness.types.vocabulary import Singles

STEP = np.array([1 / 128, 1 / 128, 1 / 128, 1 / 32767], np.float32)
"""Metres, metres, metres, shares of full intensity: what one means."""
KIND = np.dtype("<i2")
REACH = 255.0
"""Metres along an axis; what lies farther is left out."""


def pack_points(points_in_lidar: Singles) -> bytes:
    """Return a sweep as bytes.

    Args:
        points_in_lidar: (N, 4) x y z in metres, intensity 0 to 1.

    Returns:
        8 bytes a point, before compression.
    """
    # (K, 4) in whole numbers
    near = points_in_lidar[(np.abs(points_in_lidar[:, :3]) <= REACH).all(1)]
    whole = np.rint(near / STEP).clip(-32767, 32767).astype(KIND)
    # (4, K) differences; int16 wraps round without loss
    steps: bytes = np.diff(whole.T, axis=1, prepend=KIND.type(0)).astype(KIND).tobytes()
    return steps


def unpack_points(kept: bytes) -> Singles:
    """Return the sweep of some bytes.

    Args:
        kept: what `pack_points` made.

    Returns:
        (K, 4) x y z in metres, intensity 0 to 1.

    Raises:
        UserError: the number of bytes is that of no sweep.
    """
    if len(kept) % (4 * KIND.itemsize):
        raise UserError(f"{len(kept)} bytes are no sweep: four numbers a point are needed")
    whole = np.cumsum(np.frombuffer(kept, KIND).reshape(4, -1), axis=1, dtype=KIND)
    return np.ascontiguousarray(whole.T.astype(np.float32) * STEP)


def read_point_sweeps(attempt: Path, within: Path | None = None) -> dict[tuple[int, str], Singles]:
    """Return the points of all LiDARs by frame and sender, if the campaign recorded them.

    Args:
        attempt: the folder of a try.
        within: the folder that the user named, as in `open_regular`.

    Returns:
        (N, 4) by frame (ticks since the ego stood ready) and sender.
    """
    file = attempt / "points.parquet"
    if not os.path.lexists(file):
        raise UserError(f"{attempt}: no sweeps are kept; record.points=true keeps them")
    table = read_stored_table(file, "points", within)
    return {
        (int(frame), str(sender)): unpack_points(kept)
        for frame, sender, kept in zip(
            table["frame"], table["sender"], table["points"], strict=True
        )
    }

"""A table of smooth noise that repeats: the grain of surfaces and the shapes of clouds."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from harness.carlite.arrays import Bytes, Float32s
from harness.carlite.compiled import compiled

NOISE_SIDE = 256
GRAIN_MASK = 127
OCTAVES = (64, 32, 16, 8)


@lru_cache(maxsize=1)
def make_grain_table() -> Bytes:
    """Return the finest grain of surfaces, from 0 to 255: (128, 128), small enough for a cache."""
    whole = make_noise_table()
    part = whole[::2, ::2] * 255
    return np.ascontiguousarray(np.rint(part), np.uint8)


@lru_cache(maxsize=1)
def make_noise_table() -> Float32s:
    """Return noise from 0 to 1, (256, 256), that goes on where it ends.

    Sums of coarse grids of numbers, each half as strong as the coarser one, from a hash of whole
    numbers: the same on every machine.
    """
    at = np.arange(NOISE_SIDE, dtype=np.float64)
    total = np.zeros((NOISE_SIDE, NOISE_SIDE))
    weight = 0.5
    for octave, period in enumerate(OCTAVES):
        cells = NOISE_SIDE // period
        i, j = np.meshgrid(np.arange(cells), np.arange(cells), indexing="ij")
        grid = _hash_cells(i.astype(np.uint64), j.astype(np.uint64), octave)
        whole, part = np.divmod(at / period, 1.0)
        low = whole.astype(np.int64) % cells
        high = (low + 1) % cells
        ease = part * part * (3 - 2 * part)
        rows = grid[low] * (1 - ease)[:, None] + grid[high] * ease[:, None]
        total += weight * (rows[:, low] * (1 - ease) + rows[:, high] * ease)
        weight /= 2
    total -= total.min()
    return np.ascontiguousarray(total / total.max(), np.float32)


def _hash_cells(i: np.ndarray, j: np.ndarray, octave: int) -> np.ndarray:
    with np.errstate(over="ignore"):
        mixed = (
            i * np.uint64(73856093) ^ j * np.uint64(19349663) ^ np.uint64(83492791 * (octave + 1))
        )
        mixed = (mixed ^ (mixed >> np.uint64(13))) * np.uint64(0x5BD1E995)
        mixed ^= mixed >> np.uint64(15)
    return (mixed % np.uint64(65536)).astype(np.float64) / 65535


@compiled
def hash_cell(i: int, j: int, k: int) -> int:
    """Return a number from 0 to 1023 that three whole numbers choose."""
    mixed = (i * 73856093) ^ (j * 19349663) ^ (k * 83492791)
    mixed = ((mixed ^ (mixed >> 13)) * 1540483477) & 0x7FFFFFFF
    return (mixed ^ (mixed >> 15)) & 1023

"""Smooth terrain: fills the gaps of a height map as a stretched membrane would."""

from __future__ import annotations

import numpy as np

from harness.carlite.arrays import Bools, Float32s, Floats
from harness.carlite.compiled import compiled

SWEEPS = 12


def fill_terrain(heights: Floats) -> Float32s:
    """Return the heights with every NaN replaced, smoothly, from what is known around it.

    Coarse levels are solved first, so that known heights reach across wide gaps at once.
    """
    known = ~np.isnan(heights)
    filled = np.where(known, heights, 0.0)
    return _solve_membrane(filled, known).astype(np.float32)


def _solve_membrane(heights: Floats, known: Bools) -> Floats:
    if known.all():
        return heights
    if not known.any():
        return np.zeros_like(heights)
    # a guess from a grid half as fine, down to a few points
    if min(heights.shape) > 2:
        coarse, reached = _halve_grid(heights, known)
        guess = _double_grid(_solve_membrane(coarse, reached), heights.shape)
    else:
        guess = np.full_like(heights, heights[known].mean())
    # (rows, columns) then smoothed here
    heights = np.where(known, heights, guess)
    _relax_heights(heights, known, SWEEPS)
    return heights


def _halve_grid(heights: Floats, known: Bools) -> tuple[Floats, Bools]:
    """Average known heights over 2 x 2 blocks."""
    rows, columns = (-(-size // 2) for size in heights.shape)
    padding = [(0, 2 * rows - heights.shape[0]), (0, 2 * columns - heights.shape[1])]
    weight = np.pad(known.astype(float), padding).reshape(rows, 2, columns, 2).sum(axis=(1, 3))
    total = np.pad(heights * known, padding).reshape(rows, 2, columns, 2).sum(axis=(1, 3))
    return np.divide(total, weight, out=np.zeros_like(total), where=weight > 0), weight > 0


def _double_grid(coarse: Floats, shape: tuple[int, ...]) -> Floats:
    return coarse.repeat(2, axis=0).repeat(2, axis=1)[: shape[0], : shape[1]]


@compiled
def _relax_heights(heights: Floats, known: Bools, sweeps: int) -> None:
    """Move every unknown height towards the mean of its neighbours, in place."""
    rows, columns = heights.shape
    # heights: (rows, columns); in place, so that news spreads within a sweep
    for _ in range(sweeps):
        for j in range(rows):
            for i in range(columns):
                if not known[j, i]:
                    heights[j, i] = 0.25 * (
                        heights[max(j - 1, 0), i]
                        + heights[min(j + 1, rows - 1), i]
                        + heights[j, max(i - 1, 0)]
                        + heights[j, min(i + 1, columns - 1)]
                    )

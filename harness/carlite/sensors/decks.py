"""The upper layer of the ground: decks on which roads cross over roads, seen from both sides.

A deck is cut like the ground beneath, two triangles to a cell; where it is flat, one square takes
the place of many cells.
"""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from harness.carlite.arrays import Bools, Float32s, Ints
from harness.carlite.labels import SemanticLabel
from harness.carlite.sensors.meshes import SurfaceMesh
from harness.carlite.towns.model import TownGround

PATCH = 8
FLAT = 1e-4
WHOLE = np.array([[0, 0], [0, 1], [1, 1], [1, 0]])
HALVES = (WHOLE[[0, 1, 2]], WHOLE[[0, 2, 3]])


def build_deck_meshes(ground: TownGround) -> list[SurfaceMesh]:
    """Cut the upper layer into open meshes in world coordinates, `PATCH` cells a side."""
    upper = ground.upper
    # (rows - 1, columns - 1) cells whose four corners have a deck
    free = np.isfinite(upper[:-1, :-1] + upper[1:, :-1] + upper[:-1, 1:] + upper[1:, 1:])
    if not free.any():
        return []
    faces = []
    # flat squares as one face, the largest first
    for size in (PATCH, PATCH // 2, PATCH // 4, 1):
        squares = _find_flat_squares(upper, size)
        squares = squares[[_claim_square(free, row, column, size) for row, column in squares]]
        faces.append(squares[:, None] + WHOLE * size)
    # triangles of what is left
    cells = np.argwhere(free)
    faces += [_pad_triangles(cells[:, None] + half) for half in HALVES]
    return _group_patches(np.concatenate(faces), ground)


def _find_flat_squares(upper: Float32s, size: int) -> Ints:
    """Return row and column of the aligned squares of `size` cells that lie in one plane."""
    windows = sliding_window_view(upper, (size + 1, size + 1))[::size, ::size]
    squares = np.argwhere(np.isfinite(windows[:, :, 0, 0] + windows[:, :, -1, -1]))
    heights = windows[squares[:, 0], squares[:, 1]].astype(np.float64)
    corner, step = heights[:, :1, :1], np.arange(size + 1)
    by_row = (heights[:, -1:, :1] - corner) / size
    by_column = (heights[:, :1, -1:] - corner) / size
    lifted = np.abs(heights - corner - by_row * step[:, None] - by_column * step)
    flat: Ints = squares[lifted.max(axis=(1, 2)) < FLAT] * size
    return flat


def _claim_square(free: Bools, row: int, column: int, size: int) -> bool:
    """Claim a square of cells if all of it is free."""
    square = free[row : row + size, column : column + size]
    if not square.all():
        return False
    square[:] = False
    return True


def _pad_triangles(triangles: Ints) -> Ints:
    return np.pad(triangles, ((0, 0), (0, 1), (0, 0)), constant_values=-1)


def _group_patches(faces: Ints, ground: TownGround) -> list[SurfaceMesh]:
    """Gather faces, given by the grid points at their corners, into one mesh per patch."""
    across = ground.upper.shape[1]
    patch = faces[:, 0] // PATCH @ (across, 1)
    order = np.argsort(patch, kind="stable")
    ends = np.flatnonzero(np.diff(patch[order])) + 1
    number = np.where(faces[..., 0] < 0, -1, faces @ (across, 1))
    return [_build_patch_mesh(number[part], ground) for part in np.split(order, ends)]


def _build_patch_mesh(number: NDArray[np.int64], ground: TownGround) -> SurfaceMesh:
    # (points,) numbers of grid points, those that a patch needs
    points, place = np.unique(number, return_inverse=True)
    faces = place.reshape(number.shape)
    if points[0] < 0:
        points, faces = points[1:], faces - 1
    # (points, 3) in the world
    row, column = np.divmod(points, ground.upper.shape[1])
    height = ground.upper[row, column]
    x, y = ground.x + column * ground.cell, ground.y + row * ground.cell
    return SurfaceMesh(
        np.column_stack([x, y, height]).astype(np.float64),
        faces.astype(np.int32),
        np.full(len(faces), SemanticLabel.ROAD, np.uint8),
        closed=False,
    )

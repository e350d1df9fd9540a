"""The window of a network and how it encodes boxes: the geometry that detection and training share.

Networks work in a LiDAR frame that has been raised (see `raising.py`): x forward, y right, z up
from a zero that does not depend on the LiDAR. Maps are (channels, rows, columns): rows go along y
and columns along x. Output channels come class after class, in the order of the
vocabulary's `CLASSES`, and for each class in the order of `CODES`.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np

from harness.types.vocabulary import CLASSES, Floats, Integers

CODES = ("x", "y", "z", "height", "width", "length", "sin", "cos")
"""The codes of a box: x and y from the lower corner of its cell, the rest absolute."""

SCORE_CHANNELS = len(CLASSES)
CODE_CHANNELS = len(CLASSES) * len(CODES)


@dataclass(frozen=True, slots=True, kw_only=True)
class PillarGrid:
    """A window cut into pillars, and output cells of some pillars each.

    Its frame is the LiDAR's: x forward, y right, z up. Rows of maps run along y, columns along x.
    """

    low: tuple[float, float, float]  # m, x y z
    high: tuple[float, float, float]
    pillar: float  # m, its side
    stride: int  # pillars along an output cell
    points_per_pillar: int | None  # those that come first count; none: all
    scales: tuple[float, ...]  # metres that a code of one means, in the order of CODES
    turns: int = 1  # of a code while its box turns once: 2 where front and back have equal codes

    @property
    def most_points(self) -> int:
        """How many points of a pillar count, at most."""
        return sys.maxsize if self.points_per_pillar is None else self.points_per_pillar

    @property
    def columns(self) -> int:
        """Pillars along x."""
        return round((self.high[0] - self.low[0]) / self.pillar)

    @property
    def rows(self) -> int:
        """Pillars along y."""
        return round((self.high[1] - self.low[1]) / self.pillar)

    @property
    def cell(self) -> float:
        """Side of an output cell in metres."""
        return self.pillar * self.stride

    @property
    def output_shape(self) -> tuple[int, int]:
        """Rows and columns of the output."""
        return self.rows // self.stride, self.columns // self.stride

    def decode_boxes(self, cells: Integers, codes: Floats) -> Floats:
        """Return boxes (N, 7) from their cells (N, 2: row, column) and codes (N, 8).

        Args:
            cells: (N, 2) row and column.
            codes: (N, 8) in the order of CODES.

        Returns:
            (N, 7) in the raised LiDAR frame, metres and radians.
        """
        metres = codes * np.array(self.scales)
        boxes = np.empty((len(cells), 7))
        boxes[:, 0] = cells[:, 1] * self.cell + metres[:, 0] + self.low[0]
        boxes[:, 1] = cells[:, 0] * self.cell + metres[:, 1] + self.low[1]
        boxes[:, 2] = metres[:, 2] + self.low[2]
        # codes come as height, width, length; a negative size of a bad code is taken as positive
        boxes[:, 3:6] = np.abs(metres[:, [5, 4, 3]])
        boxes[:, 6] = np.arctan2(codes[:, 6], codes[:, 7]) / self.turns
        return boxes

    def encode_boxes(self, boxes: Floats) -> tuple[Integers, Floats]:
        """Return the cells (N, 2: row, column) in which boxes have their centres, and codes (N, 8).

        Cells lie outside the output for boxes that stand outside the window.

        Args:
            boxes: (N, 7) in the raised LiDAR frame, metres and radians.

        Returns:
            (N, 2) integers and (N, 8) codes.
        """
        from_corner = boxes[:, :3] - self.low
        columns, rows = np.floor(from_corner[:, :2] / self.cell).astype(np.int64).T
        # (N, 8) in metres, sine and cosine; the scales turn metres into codes
        metres = np.empty((len(boxes), len(CODES)))
        metres[:, 0] = from_corner[:, 0] - columns * self.cell
        metres[:, 1] = from_corner[:, 1] - rows * self.cell
        metres[:, 2] = from_corner[:, 2]
        metres[:, 3:6] = boxes[:, [5, 4, 3]]
        angles = self.turns * boxes[:, 6]
        metres[:, 6], metres[:, 7] = np.sin(angles), np.cos(angles)
        return np.stack([rows, columns], axis=1), metres / np.array(self.scales)

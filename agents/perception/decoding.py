"""From raw output to boxes: candidates, each road user once, nobody beyond the window."""

from __future__ import annotations

import numpy as np
import torch

from agents.perception.designs import Decoding
from agents.perception.grid import CODES, Grid
from agents.perception.network import Raw
from harness.overlap import bev_iou
from harness.vocabulary import CLASSES, Boxes, Floats, Integers, Mask


def candidates(raw: Raw, grid: Grid, decoding: Decoding) -> Boxes:
    """Return every cell's boxes that score enough, in the raised LiDAR frame; of one map only."""
    scores = torch.sigmoid(raw.logits[0])
    codes = raw.codes[0].view(len(CLASSES), len(CODES), *scores.shape[1:])
    classes, rows, columns = torch.nonzero(scores > decoding.score, as_tuple=True)
    told = codes[classes, :, rows, columns].double().cpu().numpy()
    cells = torch.stack([rows, columns], dim=1).cpu().numpy()
    return Boxes(
        grid.boxes_of(cells, told),
        classes.cpu().numpy(),
        scores[classes, rows, columns].double().cpu().numpy(),
    )


def each_once(boxes: Boxes, decoding: Decoding) -> Boxes:
    """Return the best of those that overlap, class by class, best first."""
    boxes = boxes[short(boxes.geometry, decoding.longest)]
    parts = []
    for kind in range(len(CLASSES)):
        rows = np.flatnonzero(boxes.classes == kind)
        best_first = rows[np.argsort(-boxes.scores[rows], kind="stable")][: decoding.at_most]
        parts.append(boxes[best_first[unbeaten(boxes.geometry[best_first], decoding.overlap)]])
    return Boxes.join(parts)


def unbeaten(best_first: Floats, overlap: float) -> Integers:
    """Return the rows that overlap no better one that stays itself."""
    shared = bev_iou(best_first, best_first) > overlap
    beaten = np.zeros(len(best_first), np.bool_)
    stay = []
    for row in range(len(best_first)):
        if not beaten[row]:
            stay.append(row)
            beaten |= shared[row]
    return np.array(stay, np.int64)


def short(geometry: Floats, longest: float) -> Mask:
    """Tell which boxes reach no farther than so many metres along x and along y."""
    half = half_extents(geometry)
    return np.asarray((2 * half <= longest).all(1) & (half > 0).all(1))


def inside(raised_boxes: Boxes, grid: Grid) -> Boxes:
    """Return the boxes that lie in the window with all their corners."""
    geometry = raised_boxes.geometry
    half = np.column_stack([half_extents(geometry), geometry[:, 5] / 2])
    low, high = geometry[:, :3] - half, geometry[:, :3] + half
    return raised_boxes[np.asarray(((low >= grid.low) & (high <= grid.high)).all(1))]


def half_extents(geometry: Floats) -> Floats:
    """Return how far boxes reach from their centres along x and along y, (N, 2)."""
    cos, sin = np.abs(np.cos(geometry[:, 6])), np.abs(np.sin(geometry[:, 6]))
    length, width = geometry[:, 3] / 2, geometry[:, 4] / 2
    return np.column_stack([cos * length + sin * width, sin * length + cos * width])

"""From raw output to boxes: candidates, each road user once, nobody beyond the window."""

from __future__ import annotations

from dataclasses import replace

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
        best_first = surest(boxes, kind, decoding.at_most)
        parts.append(best_first[unbeaten(best_first.geometry, decoding.overlap)])
    return Boxes.join(parts)


def surest(boxes: Boxes, kind: int, at_most: int) -> Boxes:
    """Return the boxes of a class, best first."""
    rows = np.flatnonzero(boxes.classes == kind)
    return boxes[rows[np.argsort(-boxes.scores[rows], kind="stable")][:at_most]]


def agreed(best: Boxes, told: Boxes, decoding: Decoding, overlap: float) -> Boxes:
    """Return each box where all cells that tell of it see it on average, the surer counting more.

    One cell's word trembles from sweep to sweep; theirs together less. Axes are averaged, so a
    front that is told is lost.
    """
    parts = []
    for kind in range(len(CLASSES)):
        own, voices = best[best.classes == kind], surest(told, kind, decoding.at_most)
        shared = bev_iou(own.geometry, voices.geometry)
        nearest = shared == shared.max(axis=0, initial=0.0)
        weights = np.where((shared > overlap) & nearest, voices.scores, 0.0)
        heard = weights.any(axis=1)  # not even by itself: a box without an area
        weights = weights[heard] / weights[heard].sum(axis=1, keepdims=True)
        geometry = own.geometry.copy()
        geometry[heard] = weights @ voices.geometry
        axes = weights @ np.exp(2j * voices.geometry[:, 6])
        geometry[heard, 6] = np.angle(axes) / 2
        parts.append(replace(own, geometry=geometry))
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

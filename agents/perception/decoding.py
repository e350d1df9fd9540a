"""From raw output to boxes: thresholds, non-maximum suppression, weighted box fusion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from agents.perception.designs import DecodingThresholds
from agents.perception.grid import CODES, PillarGrid
from agents.perception.network import RawOutput
from agents.perception.suppression import compute_overlap_matrix, select_kept_rows
from harness.types.overlap import check_boxes
from harness.types.vocabulary import CLASSES, Boxes, Floats, Mask


def decode_candidates(raw: RawOutput, grid: PillarGrid, decoding: DecodingThresholds) -> Boxes:
    """Return one map's boxes above the score threshold, in the raised LiDAR frame.

    Args:
        raw: scores and codes of one map, as the heads give them.
        grid: the window and the cells of the map.
        decoding: the score threshold.
    """
    # (classes, rows, columns) and (classes, codes, rows, columns)
    scores = torch.sigmoid(raw.logits[0])
    codes = raw.codes[0].view(len(CLASSES), len(CODES), *scores.shape[1:])
    # the K candidates: their classes and cells
    classes, rows, columns = torch.nonzero(scores > decoding.score, as_tuple=True)
    # (K, codes) and (K, 2)
    chosen = codes[classes, :, rows, columns].double().cpu().numpy()
    cells = torch.stack([rows, columns], dim=1).cpu().numpy()
    return Boxes(
        grid.decode_boxes(cells, chosen),
        classes.cpu().numpy(),
        scores[classes, rows, columns].double().cpu().numpy(),
    )


def apply_nms(boxes: Boxes, decoding: DecodingThresholds) -> Boxes:
    """Return boxes after non-maximum suppression, class by class, the highest score first.

    Args:
        boxes: candidates in one frame, metres and radians.
        decoding: the overlap, and how many boxes of a class take part.

    Returns:
        The boxes that are kept, class by class.
    """
    # no box of an unknown class, longer than allowed or without a size
    known = (boxes.classes >= 0) & (boxes.classes < len(CLASSES))
    boxes = boxes[known & find_short_boxes(boxes.geometry, decoding.longest)]
    # class after class, the highest score first: the order that the kernel needs
    best_first = boxes[np.lexsort((-boxes.scores, boxes.classes))]
    geometry, classes = check_boxes(best_first.geometry), best_first.classes
    return best_first[select_kept_rows(geometry, classes, decoding.top_k, decoding.nms_overlap)]


def select_top_k(boxes: Boxes, kind: int, k: int) -> Boxes:
    """Return the k boxes of a class with the highest scores, the highest first.

    Args:
        boxes: of all classes.
        kind: index into CLASSES.
        k: how many.
    """
    rows = np.flatnonzero(boxes.classes == kind)
    return boxes[rows[np.argsort(-boxes.scores[rows], kind="stable")][:k]]


def weighted_box_fusion(
    best: Boxes, boxes: Boxes, decoding: DecodingThresholds, overlap: float
) -> Boxes:
    """Return each of the best boxes as the mean, weighted by score, of those that overlap it most.

    One cell's box varies from sweep to sweep; the mean of several varies less. Yaws are averaged as
    axes, so front and back are no longer distinguished.

    Args:
        best: N boxes that are kept, with their scores.
        boxes: M boxes to take means of, `best` among them.
        decoding: how many boxes of a class take part.
        overlap: the least overlap with one of the best, 0 to 1.

    Returns:
        N boxes, class by class, with the scores of `best`.
    """
    parts = []
    for kind in range(len(CLASSES)):
        kept, votes = best[best.classes == kind], select_top_k(boxes, kind, decoding.top_k)
        # (kept, candidates): a candidate counts for the kept box that it overlaps most
        iou = compute_overlap_matrix(kept.geometry, check_boxes(votes.geometry))
        nearest = iou == iou.max(axis=0, initial=0.0)
        # (kept, candidates) scores as weights, each row adding up to 1
        weights = np.where((iou > overlap) & nearest, votes.scores, 0.0)
        voted = weights.any(axis=1)  # not even by itself: a box without an area
        weights = weights[voted] / weights[voted].sum(axis=1, keepdims=True)
        geometry = kept.geometry.copy()
        geometry[voted] = weights @ votes.geometry
        # angles are doubled for the mean: a box and the same box turned by pi are one
        axes = weights @ np.exp(2j * votes.geometry[:, 6])
        geometry[voted, 6] = np.angle(axes) / 2
        parts.append(replace(kept, geometry=geometry))
    return Boxes.join(parts)


def find_short_boxes(geometry: Floats, longest: float) -> Mask:
    """Return which boxes reach no farther than so many metres along x and along y.

    Args:
        geometry: (N, 7) boxes.
        longest: metres.

    Returns:
        (N,)
    """
    half = compute_half_extents(geometry)
    return np.asarray((2 * half <= longest).all(1) & (half > 0).all(1))


def crop_boxes_to_grid(raised_boxes: Boxes, grid: PillarGrid) -> Boxes:
    """Return the boxes that lie in the window with all their corners.

    Args:
        raised_boxes: N boxes in a raised LiDAR frame.
        grid: the window.
    """
    geometry = raised_boxes.geometry
    # (N, 3) how far boxes reach along x, y and z
    half = np.column_stack([compute_half_extents(geometry), geometry[:, 5] / 2])
    low, high = geometry[:, :3] - half, geometry[:, :3] + half
    return raised_boxes[np.asarray(((low >= grid.low) & (high <= grid.high)).all(1))]


def compute_half_extents(geometry: Floats) -> Floats:
    """Return how far boxes reach from their centres along x and along y, (N, 2)."""
    cos, sin = np.abs(np.cos(geometry[:, 6])), np.abs(np.sin(geometry[:, 6]))
    length, width = geometry[:, 3] / 2, geometry[:, 4] / 2
    return np.column_stack([cos * length + sin * width, sin * length + cos * width])

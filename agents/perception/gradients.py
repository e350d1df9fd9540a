"""The gradient of an attack's loss by one message: through fusion and heads, back to its maps.

Hiding is the loss of Zhang et al. (USENIX Security 2024) and of Tu et al. (ICCV 2021) on the boxes
of the goal: scores fall in all cells at the targets. Creating raises the score of the cell in which
the box has its centre, and draws the codes of that cell to the box.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from agents.perception.detector import Detector, to_channels_last
from agents.perception.fusion.base import Maps, Partner
from agents.perception.fusion.catalogue import INTERMEDIATE
from agents.perception.grid import PillarGrid
from agents.perception.loading import load_network
from agents.perception.raising import lower_boxes
from harness.types.gradients import Goal
from harness.types.vocabulary import CLASSES, Boxes, Features, Mask, Pose, Singles

AROUND = 1.0
"""Metres around a target in which cells may hold a detection of it."""


class MessageObjective:
    """The loss of one message, fused with the ego's maps and with no other message."""

    def __init__(
        self,
        detector: Detector,
        *,
        ego: Maps,
        sender_in_ego: Pose,
        goal: Goal,
        raised_targets: Boxes,
    ) -> None:
        """Take maps of the ego, and targets in its raised LiDAR frame."""
        self._detector = detector
        # maps of inference have no place in a graph of gradients: copies have
        self._ego = tuple(level.clone() for level in ego)
        self._sender_in_ego = sender_in_ego
        self._goal = goal
        grid = detector.design.grid
        # (rows, columns): cells at the targets
        self._cells = torch.from_numpy(find_target_cells(raised_targets, grid)).to(detector.device)
        # of the boxes to create, with their centres in the window: classes, cells and codes
        cells, codes = grid.encode_boxes(raised_targets.geometry)
        inside = ((cells >= 0) & (cells < grid.output_shape)).all(1)
        self._classes = torch.from_numpy(raised_targets.classes[inside])
        self._centres = torch.from_numpy(cells[inside])
        self._codes = torch.from_numpy(codes[inside]).to(detector.device, torch.float32)

    @property
    def reaches_targets(self) -> bool:
        """Whether a target lies in the network's window."""
        return bool(self._cells.any()) if self._goal == "hide" else bool(len(self._centres))

    def measure_loss(self, features: Features) -> float:
        """Return the loss of these feature maps."""
        with torch.no_grad():
            return float(self._compute_loss(self._make_leaves(features)))

    def compute_gradient(self, features: Features) -> tuple[float, tuple[Singles, ...]]:
        """Return the loss, and its gradient by each map, in the shapes of the maps."""
        with torch.enable_grad():
            leaves = [leaf.requires_grad_() for leaf in self._make_leaves(features)]
            loss = self._compute_loss(leaves)
            computed = torch.autograd.grad(loss, leaves, allow_unused=True)
        gradients = (
            np.zeros(leaf.shape[1:], np.float32) if one is None else one[0].cpu().numpy()
            for leaf, one in zip(leaves, computed, strict=True)
        )
        return float(loss.detach()), tuple(gradients)

    def _make_leaves(self, features: Features) -> list[Tensor]:
        """Return the maps of a message as tensors, (1, channels, rows, columns) each."""
        # a copy: arrays of messages are read-only
        return [
            torch.from_numpy(np.array(level, np.float32))[None].to(self._detector.device)
            for level in features.maps
        ]

    def _compute_loss(self, leaves: list[Tensor]) -> Tensor:
        network = self._detector.network
        received = network.receive_maps(tuple(to_channels_last(leaf) for leaf in leaves))
        partner = Partner(received, self._sender_in_ego)
        raw = network.run_heads(network.fuse_maps(self._ego, [partner]))
        logits = raw.logits[0]
        if self._goal == "hide":
            # -log(1 - score) of all classes, the mean over the cells at the targets
            return functional.softplus(logits[:, self._cells]).mean()
        # -log(score) of the centre's cell, and how far its codes are from those of the box
        rows, columns = self._centres.T
        codes = raw.codes[0].view(len(CLASSES), -1, *logits.shape[1:])
        away = (codes[self._classes, :, rows, columns] - self._codes).abs().mean()
        return functional.softplus(-logits[self._classes, rows, columns]).mean() + away


def find_target_cells(raised_targets: Boxes, grid: PillarGrid) -> Mask:
    """Return the output cells whose centres lie in a target or close to one, (rows, columns)."""
    rows, columns = grid.output_shape
    x = grid.low[0] + grid.cell * (np.arange(columns) + 0.5)
    y = grid.low[1] + grid.cell * (np.arange(rows) + 0.5)
    # (rows, columns) each
    across, along = np.meshgrid(x, y)
    covered = np.zeros((rows, columns), np.bool_)
    for box in raised_targets.geometry:
        dx, dy = across - box[0], along - box[1]
        forward = dx * np.cos(box[6]) + dy * np.sin(box[6])
        right = dy * np.cos(box[6]) - dx * np.sin(box[6])
        covered |= (np.abs(forward) <= box[3] / 2 + AROUND) & (np.abs(right) <= box[4] / 2 + AROUND)
    return covered


def raise_targets(
    detector: Detector, targets_in_ego: Boxes, *, ego_lidar_in_world: Pose, height: float | None
) -> Boxes:
    """Return targets in the ego's raised LiDAR frame.

    Args:
        detector: whose frame it is.
        targets_in_ego: N boxes in the ego's LiDAR frame.
        ego_lidar_in_world: as the sender knows it.
        height: metres from the network's zero of heights up to the ego's LiDAR; None where the
            ego's points are unknown: targets then stand on the network's zero.
    """
    if height is None and detector.design.height_reference == "world":
        height = ego_lidar_in_world.z
    if height is None:
        bottoms = targets_in_ego.geometry[:, 2] - targets_in_ego.geometry[:, 5] / 2
        height = -float(bottoms.mean()) if len(bottoms) else 0.0
    return lower_boxes(targets_in_ego, -height)


@cache
def load_surrogate(scheme: str) -> Detector:
    """Return the detector with the shipped weights of a scheme."""
    return Detector(load_network(INTERMEDIATE[scheme]()))

"""Training targets, a heat map of centres and box codes round them; and the loss between output and
targets: a focal loss on scores, plain distances on codes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from agents.perception.grid import CODES, PillarGrid
from agents.perception.network import RawOutput
from harness.types.vocabulary import CLASSES, CYCLIST, PEDESTRIAN, VEHICLE, Boxes, Mask, Singles

REACH = {kind: 2 if kind == VEHICLE else 1 for kind in range(len(CLASSES))}
"""Cells from a centre in which its heat map rises, and codes are trained."""
NEAR, NEAR_WEIGHT = 12.0, 3.0
"""Metres from the LiDAR within which additional detections weigh so much: the ego would brake."""


@dataclass(frozen=True, slots=True, eq=False)
class TargetMaps:
    """Maps for one sample."""

    heat: Singles  # (classes, rows, columns), 1 at centres
    negative_weight: Singles  # of an additional detection; 0 round road users hardly visible
    codes: Singles  # (classes, codes, rows, columns)


def make_target_maps(raised: Boxes, visible: Mask, ignored: Mask, grid: PillarGrid) -> TargetMaps:
    """Return the maps of visible boxes; round ignored ones no output is wrong."""
    shape = (len(CLASSES), *grid.output_shape)
    weights = compute_negative_weights(grid)
    # (classes, rows, columns) scores and weights, (classes, codes, rows, columns) codes
    heat = np.zeros(shape, np.float32)
    negative_weight = np.tile(weights, (len(CLASSES), 1, 1))
    codes = np.zeros((len(CLASSES), len(CODES), *grid.output_shape), np.float32)
    cells, centre_codes = grid.encode_boxes(raised.geometry)
    step = grid.cell / np.array(grid.scales[:2])
    for number, ((row, column), kind) in enumerate(
        zip(cells.tolist(), raised.classes.tolist(), strict=True)
    ):
        if not (visible[number] or ignored[number]):
            continue
        # cells round the centre
        reach = REACH[kind]
        for r, c in list_cells_around(row, column, reach, grid):
            if ignored[number]:
                negative_weight[kind, r, c] = 0.0
                continue
            # a Gaussian; where two overlap, the nearer centre has the cell
            away = (r - row) ** 2 + (c - column) ** 2
            height = np.exp(-away / (2 * ((2 * reach + 1) / 6) ** 2))
            if height > heat[kind, r, c]:
                heat[kind, r, c] = height
                codes[kind, :, r, c] = centre_codes[number]
                codes[kind, 0, r, c] -= (c - column) * step[0]
                codes[kind, 1, r, c] -= (r - row) * step[1]
    return TargetMaps(heat, np.where(heat > 0, weights, negative_weight), codes)


def compute_negative_weights(grid: PillarGrid) -> Singles:
    """Return the weight of an additional detection in each cell: highest near the LiDAR."""
    rows, columns = grid.output_shape
    x = grid.low[0] + grid.cell * (np.arange(columns) + 0.5)
    y = grid.low[1] + grid.cell * (np.arange(rows) + 0.5)
    near = np.hypot(*np.meshgrid(x, y)) < NEAR
    return np.where(near, np.float32(NEAR_WEIGHT), np.float32(1.0))


def list_cells_around(row: int, column: int, reach: int, grid: PillarGrid) -> list[tuple[int, int]]:
    """Return the cells of the output round one that lies in it; none for one that does not."""
    rows, columns = grid.output_shape
    if not (0 <= row < rows and 0 <= column < columns):
        return []
    return [
        (r, c)
        for r in range(max(0, row - reach), min(rows, row + reach + 1))
        for c in range(max(0, column - reach), min(columns, column + reach + 1))
    ]


WEIGHTS = {"x": 2.0, "y": 2.0, "z": 0.5, "height": 0.5}
"""IoU from above depends on positions most."""
POSITION_WEIGHTS = {PEDESTRIAN: 3.0, CYCLIST: 2.0}
"""Times as much as for vehicles: ten centimetres are little of a car and much of a person."""
YAW_WEIGHTS = {VEHICLE: 2.0, PEDESTRIAN: 0.5, CYCLIST: 2.0}
"""A long box that turns a little sweeps much; a square one hardly changes."""


def get_code_weight(kind: int, name: str) -> float:
    """Return the weight of a code of a class."""
    of_class = {
        "x": POSITION_WEIGHTS,
        "y": POSITION_WEIGHTS,
        "sin": YAW_WEIGHTS,
        "cos": YAW_WEIGHTS,
    }
    return WEIGHTS.get(name, 1.0) * of_class.get(name, {}).get(kind, 1.0)


CODE_WEIGHTS = [[get_code_weight(kind, name) for name in CODES] for kind in range(len(CLASSES))]


def compute_loss(raw: RawOutput, targets: Sequence[TargetMaps]) -> Tensor:
    """Return the loss of a batch."""
    device = raw.logits.device
    # (maps, classes, rows, columns), twice, and (maps, classes, codes, rows, columns)
    heat, negative_weight, codes = (
        torch.from_numpy(np.stack(maps)).to(device)
        for maps in (
            [target.heat for target in targets],
            [target.negative_weight for target in targets],
            [target.codes for target in targets],
        )
    )
    return compute_focal_loss(raw.logits, heat, negative_weight) + compute_code_distance(
        raw.codes, codes, heat
    )


def compute_focal_loss(logits: Tensor, heat: Tensor, negative_weight: Tensor) -> Tensor:
    """Return the focal loss of CornerNet (Law and Deng, 2018): easy examples have little weight."""
    positive = heat == 1
    score = torch.sigmoid(logits)
    weight = negative_weight * ((1 - heat) ** 2) ** 2 * ~positive
    additional = functional.softplus(logits) * score**2 * weight
    missed = functional.softplus(-logits[positive]) * (1 - score[positive]) ** 2
    return (missed.sum() + additional.sum()) / positive.sum().clamp(min=1)


def compute_code_distance(output: Tensor, codes: Tensor, weight: Tensor) -> Tensor:
    """Return the mean distance of codes, weighted by the heat map."""
    batch, kind, row, column = torch.nonzero(weight, as_tuple=True)
    output = output.view(codes.shape)[batch, kind, :, row, column]
    codes = codes[batch, kind, :, row, column]
    weights = torch.tensor(CODE_WEIGHTS, device=codes.device)
    apart = ((output - codes).abs() * weights[kind]).sum(1)
    weight = weight[batch, kind, row, column]
    return (apart * weight).sum() / weight.sum().clamp(min=1)

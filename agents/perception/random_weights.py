"""Weights initialised at random, the same everywhere: a random stream for each key, by its name.

With them a network detects boxes of plausible sizes everywhere, so that tests and comparisons have
something to look at. They are not for driving.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from agents.perception.grid import CODES, PillarGrid
from harness.common.randomness import make_named_stream
from harness.types.vocabulary import CLASSES

SIZES = ((4.5, 1.9, 1.6), (0.6, 0.6, 1.8), (1.8, 0.7, 1.7))
"""Length, width and height of a vehicle, a pedestrian and a cyclist."""

LOGIT_OFFSET = 1.5
"""By which logits lie below even odds without any input."""


def make_random_weights(
    state: Mapping[str, Tensor], grid: PillarGrid, logit_offset: float = LOGIT_OFFSET
) -> dict[str, Tensor]:
    """Return weights for every key of a network's state, of the same shapes.

    Args:
        state: the network's, for names and shapes.
        grid: by which boxes are encoded.
        logit_offset: how rare detections are; larger is rarer.

    Returns:
        By name, in the shapes of `state`.
    """
    weights = {
        name: torch.from_numpy(make_random_tensor(name, like)) for name, like in state.items()
    }
    # outputs of the heads have mean 0 over channels, so that no feature level shifts them
    for head, gain in (("cls_head", 0.3), ("reg_head", 0.02)):
        outputs = weights[f"{head}.weight"]
        weights[f"{head}.weight"] = gain * (outputs - outputs.mean(1, keepdim=True))
    weights["cls_head.bias"] -= logit_offset
    # the bias of the box head: a box of ordinary size on the road, in the middle of a cell
    boxes = np.array([[*grid.low, *size, 0.0] for size in SIZES])
    boxes[:, :2] += grid.cell / 2
    boxes[:, 2] = boxes[:, 5] / 2
    codes = grid.encode_boxes(boxes)[1].reshape(len(CLASSES) * len(CODES))
    weights["reg_head.bias"] = torch.from_numpy(codes.astype(np.float32))
    return weights


def make_random_tensor(name: str, like: Tensor) -> np.ndarray:
    """Return the numbers of one key."""
    if not like.is_floating_point():
        return np.zeros(tuple(like.shape), np.int64)
    # a stream for every key: its numbers do not depend on other keys
    uniform = make_named_stream(0, "weights", name).uniform(-1.0, 1.0, tuple(like.shape))
    last = name.rsplit(".", 1)[-1]
    # scales that keep activations in range through all layers
    if last == "running_var":
        numbers = 1.0 + 0.3 * uniform
    elif name.endswith("bn2.weight"):
        numbers = 0.3 + 0.1 * uniform
    elif name.endswith("mlp.weight"):
        numbers = uniform * math.sqrt(60.0 / like[0].numel())
    elif name.startswith("turnings."):
        numbers = 0.02 * uniform
        if last == "weight":
            numbers[0] += np.eye(like.shape[1])
    elif like.ndim <= 1 and last == "weight":
        numbers = 1.0 + 0.2 * uniform
    elif like.ndim <= 1 or "pos_embedding" in name:
        numbers = 0.1 * uniform
    else:
        numbers = uniform * math.sqrt(6.0 / like[0].numel())
    return numbers.astype(np.float32)

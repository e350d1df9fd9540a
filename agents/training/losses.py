"""How wrong a network is: a focal loss on where, and plain distances on what."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from agents.perception.grid import CODES
from agents.perception.network import Raw
from agents.training.targets import Targets
from harness.vocabulary import CLASSES, CYCLIST, PEDESTRIAN, VEHICLE

WEIGHTS = {"x": 2.0, "y": 2.0, "z": 0.5, "height": 0.5}
"""Overlap from above hangs on places most."""
PLACE_COUNTS = {PEDESTRIAN: 3.0, CYCLIST: 2.0}
"""Times as much as for vehicles: ten centimetres are little of a car and much of a person."""
YAW_COUNTS = {VEHICLE: 2.0, PEDESTRIAN: 0.5}
"""A long box that turns a little sweeps much; a square one hardly changes."""


def code_weight(kind: int, name: str) -> float:
    """Return how much a code of a class counts."""
    of_class = {"x": PLACE_COUNTS, "y": PLACE_COUNTS, "sin": YAW_COUNTS, "cos": YAW_COUNTS}
    return WEIGHTS.get(name, 1.0) * of_class.get(name, {}).get(kind, 1.0)


CODE_WEIGHTS = [[code_weight(kind, name) for name in CODES] for kind in range(len(CLASSES))]


def loss(raw: Raw, targets: Sequence[Targets]) -> Tensor:
    """Return one number to make smaller."""
    likelihood = torch.from_numpy(np.stack([each.likelihood for each in targets]))
    care = torch.from_numpy(np.stack([each.care for each in targets]))
    codes = torch.from_numpy(np.stack([each.codes for each in targets]))
    return focal(raw.logits, likelihood, care) + distances(raw.codes, codes, likelihood)


def focal(logits: Tensor, likelihood: Tensor, care: Tensor) -> Tensor:
    """Return the focal loss of CornerNet (Law and Deng, 2018): the sure and right count little."""
    here = likelihood == 1
    chance = torch.sigmoid(logits)
    denied = care * ((1 - likelihood) ** 2) ** 2 * ~here
    invented = functional.softplus(logits) * chance**2 * denied
    missed = functional.softplus(-logits[here]) * (1 - chance[here]) ** 2
    return (missed.sum() + invented.sum()) / here.sum().clamp(min=1)


def distances(told: Tensor, codes: Tensor, weight: Tensor) -> Tensor:
    """Return the mean distance of codes; near a centre they count as the likelihood is high."""
    batch, kind, row, column = torch.nonzero(weight, as_tuple=True)
    told = told.view(codes.shape)[batch, kind, :, row, column]
    codes = codes[batch, kind, :, row, column]
    apart = ((told - codes).abs() * torch.tensor(CODE_WEIGHTS)[kind]).sum(1)
    weight = weight[batch, kind, row, column]
    return (apart * weight).sum() / weight.sum().clamp(min=1)

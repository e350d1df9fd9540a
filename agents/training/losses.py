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

CODE_WEIGHTS = {"x": 2.0, "y": 2.0, "z": 0.5, "height": 0.5, "length": 0.5, "width": 0.5}
"""Sine and cosine count once; overlap from above hangs on places most."""


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
    missed = -functional.logsigmoid(logits) * (1 - chance) ** 2 * here
    invented = -functional.logsigmoid(-logits) * chance**2 * (1 - likelihood) ** 4
    return (missed + invented * care * ~here).sum() / here.sum().clamp(min=1)


def distances(told: Tensor, codes: Tensor, weight: Tensor) -> Tensor:
    """Return the mean distance of codes; near a centre they count as the likelihood is high."""
    told = told.view(codes.shape)
    each = torch.tensor([CODE_WEIGHTS.get(name, 1.0) for name in CODES])
    apart = (told - codes).abs() * each[:, None, None] * weight[:, :, None]
    return apart.sum() / weight.sum().clamp(min=1)

"""The numbers of a training run that change from step to step."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np
import torch
from torch import Tensor, nn

WARM_UP = 0.05
"""Share of all steps in which the rate rises."""
SLOWEST = 0.01
"""Share of the peak that is left at the end."""


def rate(step: int, steps: int, peak: float) -> float:
    """Return the learning rate of a step: up in a line, down in half a cosine."""
    done = step / steps
    if done < WARM_UP:
        return peak * (done / WARM_UP + 1 / steps)
    down = (done - WARM_UP) / (1 - WARM_UP)
    return peak * (SLOWEST + (1 - SLOWEST) * (1 + math.cos(math.pi * down)) / 2)


class Average:
    """Weights averaged over the last steps, the newest counting most: what is kept in the end."""

    def __init__(self, network: nn.Module, memory: float) -> None:
        self.memory = memory
        self.state = {name: each.clone() for name, each in network.state_dict().items()}

    @torch.no_grad()
    def update(self, network: nn.Module, step: int) -> None:
        """Take a step into account; the first steps are forgotten sooner."""
        kept = min(self.memory, (1 + step) / (10 + step))
        for name, each in network.state_dict().items():
            if each.is_floating_point():
                self.state[name].lerp_(each, 1 - kept)
            else:
                self.state[name].copy_(each)

    def load(self, state: Mapping[str, Tensor]) -> None:
        """Go on from a checkpoint."""
        self.state = {name: each.clone() for name, each in state.items()}


def batches(
    samples: int, shown: int, size: int, random: np.random.Generator
) -> Iterator[list[int]]:
    """Yield some samples, or all, in random order; what does not fill a batch is left out."""
    order = random.permutation(samples)[:shown]
    for first in range(0, shown - size + 1, size):
        yield order[first : first + size].tolist()

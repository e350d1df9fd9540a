"""Random numbers inside compiled loops: one SplitMix64 state per driver."""

from __future__ import annotations

import numpy as np

from harness.carlite.compiled import compiled
from harness.carlite.traffic.drivers import TrafficDriver

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_A, MIX_B = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@compiled
def hash_to_uniform(value: np.uint64) -> float:
    """Hash 64 bits to a number in [0, 1)."""
    z = value
    z = (z ^ (z >> np.uint64(30))) * MIX_A
    z = (z ^ (z >> np.uint64(27))) * MIX_B
    z = z ^ (z >> np.uint64(31))
    return float(z >> np.uint64(11)) / 9007199254740992.0


@compiled
def sample_driver_uniform(me: TrafficDriver) -> float:
    """Take the driver's next number in [0, 1)."""
    me.random = me.random + GOLDEN
    return hash_to_uniform(me.random)


@compiled
def hash_question(seed: np.uint64, question: int) -> float:
    """Answer the same question the same way each time: a number in [0, 1) for it.

    Args:
        seed: of the answers.
        question: any number.
    """
    return hash_to_uniform(seed ^ (np.uint64(question) * GOLDEN))

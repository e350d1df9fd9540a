"""Named independent streams from one seed: switching one on never shifts another."""

from __future__ import annotations

import hashlib

import numpy as np


def make_named_stream(seed: int, *names: str) -> np.random.Generator:
    """Return the stream of this name; equal seeds and names give equal samples everywhere."""
    return np.random.default_rng(derive_seed(seed, *names))


def derive_seed(seed: int, *names: str) -> int:
    """Return a seed of 63 bits for something that makes its own stream."""
    text = "/".join((str(seed), *names))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1

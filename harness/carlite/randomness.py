"""Named, independent random streams made from one seed.

Using more of one stream never shifts another: noise on a sensor leaves the traffic untouched.
"""

from __future__ import annotations

import hashlib

import numpy as np


def derive_stream_seed(seed: int, *names: str | int) -> int:
    """Return the 64-bit seed of the stream that `names` spell under `seed`."""
    text = "/".join([str(seed), *map(str, names)])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def make_random_stream(seed: int, *names: str | int) -> np.random.Generator:
    """Open the stream that `names` spell under `seed`."""
    return np.random.Generator(np.random.PCG64(derive_stream_seed(seed, *names)))

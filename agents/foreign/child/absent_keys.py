"""Keys that a checkpoint may lack, and why each lack changes nothing.

Trained files are refused unless they set the whole network: a key that is missing would leave
random numbers in its place. The keys listed here are the exception. Their layer is filled by its
constructor from a formula, without any random number, so a file without them loses nothing.

The module is read by Crucible and by the child process in V2Xverse's own Python: standard library
and numpy only, Python 3.7 or newer.
"""

from __future__ import annotations

from typing import Any

import numpy as np

GAUSSIAN = "fusion_net.naive_communication.gaussian_filter"
"""The smoothing filter of CoDriving's and Where2comm's communication."""

MAY_BE_ABSENT = {
    GAUSSIAN + ".weight": (
        "the constructor sets the kernel from k_size and c_sigma, without random numbers:"
        " `init_gaussian_filter` in opencood/models/comm_modules/codriving.py and where2comm.py of"
        " V2Xverse and HEAL, opencood/models/fuse_modules/where2comm_fuse.py of OpenCOOD;"
        " V2Xverse's codriving.py never reads it (`if False: # self.smooth`)"
    ),
    GAUSSIAN + ".bias": "the constructor sets it to zero, at the same places",
}
"""Each key, and the lines that show that the constructor alone sets it."""


def refuse_missing_keys(needed: Any, given: Any) -> list[str]:
    """Return the absent keys that the constructor has set; refuse any other lack.

    Args:
        needed: the state of the network as constructed, by key.
        given: the weights in a file, by key.
    """
    absent = sorted(set(needed) - set(given))
    missing = [key for key in absent if key not in MAY_BE_ABSENT]
    if missing:
        raise KeyError(f"the checkpoint lacks {len(missing)} keys, {missing[0]} among them")
    if absent:
        refuse_unfilled_filter(needed)
    return absent


def refuse_unfilled_filter(state: Any) -> None:
    """Refuse a Gaussian filter that does not hold what the constructor's formula gives.

    The list above is true of the published code. A fork may have changed the constructor; then the
    layer holds other numbers, and the checkpoint is not complete.
    """
    weight = np.asarray(state[GAUSSIAN + ".weight"])[0, 0]  # (rows, columns)
    bias = np.asarray(state[GAUSSIAN + ".bias"])
    # The middle is 1 / (2 pi sigma), from which sigma follows.
    size = len(weight)
    sigma = 1.0 / (2.0 * np.pi * float(weight[size // 2, size // 2]))
    kernel = make_gaussian_kernel(size, sigma)
    if bias.any() or not np.allclose(weight, kernel, rtol=1e-4, atol=1e-7):
        raise KeyError(
            f"the checkpoint lacks {GAUSSIAN}.weight, and this checkout's constructor does not set"
            " it to a Gaussian kernel"
        )


def make_gaussian_kernel(size: int, sigma: float) -> Any:
    """Return the kernel (size, size) that OpenCOOD's family of constructors computes."""
    away = np.arange(size) - size // 2
    squared = away[:, None] ** 2 + away[None, :] ** 2
    return np.exp(-squared / (2.0 * sigma**2)) / (2.0 * np.pi * sigma)


def describe_absent_keys(absent: list[str]) -> str:
    """Return one line that says what was taken from the constructor."""
    return (
        f"taken from the constructor, not from the checkpoint: {', '.join(absent)}"
        " (a Gaussian kernel without random numbers)"
    )

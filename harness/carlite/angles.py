"""Angles in (-pi, pi]."""

from __future__ import annotations

import math
from typing import overload

import numpy as np

from harness.carlite.arrays import Floats


@overload
def wrapped(angle: float) -> float: ...
@overload
def wrapped(angle: Floats) -> Floats: ...
def wrapped(angle: float | Floats) -> float | Floats:
    """Return the same directions as angles in (-pi, pi]."""
    turned = math.pi - np.mod(math.pi - angle, math.tau)
    return turned if isinstance(angle, np.ndarray) else float(turned)

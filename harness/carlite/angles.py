"""Angles in (-pi, pi]."""

from __future__ import annotations

import math
from typing import Any, overload

from harness.carlite.arrays import Floats
from harness.carlite.compiled import compiled


@overload
def wrapped(angle: float) -> float: ...
@overload
def wrapped(angle: Floats) -> Floats: ...
def wrapped(angle: Any) -> Any:
    """Return the same directions as angles in (-pi, pi]."""
    return math.pi - (math.pi - angle) % math.tau


@compiled
def wrapped_in_kernel(angle: float) -> float:
    """Return what `wrapped` returns, in compiled loops."""
    return math.pi - (math.pi - angle) % math.tau

"""Angles in (-pi, pi]."""

from __future__ import annotations

import math
from typing import Any, overload

from harness.carlite.arrays import Floats
from harness.carlite.compiled import compiled


@overload
def wrap_to_pi(angle: float) -> float: ...
@overload
def wrap_to_pi(angle: Floats) -> Floats: ...
def wrap_to_pi(angle: Any) -> Any:
    """Return the same directions as angles in (-pi, pi]."""
    return math.pi - (math.pi - angle) % math.tau


@compiled
def wrap_to_pi_in_kernel(angle: float) -> float:
    """Return what `wrap_to_pi` returns, in compiled loops."""
    return math.pi - (math.pi - angle) % math.tau

"""What a LiDAR detects of what comes back to it, and how it reports intensity."""

from __future__ import annotations

import math
from dataclasses import dataclass

from harness.common.errors import UserError

BRIGHT = 0.9
"""Reflectivity of the target that a LiDAR's reach is stated for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LidarSensitivity:
    """What a LiDAR still detects, and how it reports intensity."""

    r_max: float = 200.0  # m, at which a surface of reflectivity 0.9 is just detected
    keep_intensity: bool = False  # as if air were dry; else it loses exp(-2 alpha r), too

    def __post_init__(self) -> None:
        """Check the reach."""
        if not 0 < self.r_max < math.inf:
            raise UserError(f"r_max = {self.r_max} m: must be > 0")

    @property
    def least_power(self) -> float:
        """Return P_min: 0.9 / r_max^2."""
        return BRIGHT / self.r_max**2

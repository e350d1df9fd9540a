"""How hard the ego braked."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from harness.evaluation.metrics.metric import AttemptData, Metric


class HardestBraking(Metric):
    """The largest deceleration between two planning steps, m/s²; 0 if it never slowed down."""

    safe_from_file = True
    unit: ClassVar[str] = "m/s²"

    def attempt(self, data: AttemptData) -> float | None:
        """Return the largest loss of speed over the time it took."""
        times, speeds = data.frames["time"], data.frames["speed"]
        if len(times) < 2:
            return None
        return max(0.0, float((-np.diff(speeds) / np.diff(times)).max()))

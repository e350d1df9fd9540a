"""When the ego will be where a mover means to meet it."""

from __future__ import annotations

import math

from harness.world.attempt_context import EgoState
from harness.world.hazards.meeting import CRUISE

STANDING = 0.5
"""Below this speed, m/s, nobody knows when the ego goes on."""
SMOOTHING = 0.2


class Arrival:
    """Estimates the ego's time of arrival from its speed and how that has been changing."""

    def __init__(self) -> None:
        self._acceleration = 0.0
        self._before: EgoState | None = None

    def observe(self, ego: EgoState) -> None:
        """Take in the state after a tick."""
        if self._before is not None and ego.time > self._before.time:
            now = (ego.speed - self._before.speed) / (ego.time - self._before.time)
            self._acceleration += SMOOTHING * (now - self._acceleration)
        self._before = ego

    def seconds(self, distance: float) -> float:
        """Return the seconds until the ego has driven so many metres more."""
        ego = self._before
        if distance <= 0.0:
            return 0.0
        if ego is None or ego.speed < STANDING:
            return math.inf
        gain = min(max(self._acceleration, 0.0), 3.0)
        if gain < 0.2 or ego.speed >= CRUISE:
            return distance / ego.speed
        speeding_up = (CRUISE**2 - ego.speed**2) / (2 * gain)
        if distance <= speeding_up:
            return (math.sqrt(ego.speed**2 + 2 * gain * distance) - ego.speed) / gain
        return (CRUISE - ego.speed) / gain + (distance - speeding_up) / CRUISE

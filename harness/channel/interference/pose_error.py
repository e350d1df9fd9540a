"""Observers are wrong about where they are; what they sense stays as it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from harness.channel.disturbance import PARTNERS, Disturbance, Shift
from harness.errors import UserError
from harness.vocabulary import Floats, Kind, Observation


class PoseError(Disturbance):
    """An error in x, y (m, in the world) and yaw (degrees in the settings) of the believed pose.

    `uniform`: a size between `low` and `high` with a random sign; `normal`: mean zero, with `high`
    as standard deviation; `constant`: always `high`; `walk`: normal steps of `high` each capture.
    """

    name = "pose_error"

    def __init__(
        self,
        distribution: Literal["uniform", "normal", "constant", "walk"] = "uniform",
        low: float = 0.0,  # m
        high: float = 0.6,  # m
        yaw_low: float = 0.0,  # degrees
        yaw_high: float = 0.6,  # degrees
        per: Literal["episode", "frame"] = "episode",
        kinds: Sequence[Kind] = PARTNERS,
    ) -> None:
        super().__init__(kinds)
        if distribution not in ("uniform", "normal", "constant", "walk"):
            raise UserError(
                f"pose_error: distribution {distribution!r}; uniform, normal, constant or walk"
            )
        if per not in ("episode", "frame"):
            raise UserError(f"pose_error: per {per!r}; episode or frame")
        if not (0 <= low <= high and 0 <= yaw_low <= yaw_high):
            raise UserError("pose_error: low and high must be such that 0 <= low <= high")
        self.distribution = distribution
        self.low = np.array([low, low, np.radians(yaw_low)])
        self.high = np.array([high, high, np.radians(yaw_high)])
        self.per = per
        self._walked: dict[str, Floats] = {}

    def reset(self, seed: int, route: str) -> None:
        """Start an episode: nobody has drifted yet."""
        super().reset(seed, route)
        self._walked = {}

    def shift(self, observation: Observation) -> Shift:
        """Draw how wrong this observer is."""
        drawn = self._drawn(observation)
        self.met += 1
        self.acted += bool(np.any(drawn != 0))
        return float(drawn[0]), float(drawn[1]), float(drawn[2])

    def _drawn(self, observation: Observation) -> Floats:
        sender, frame = observation.sender, str(observation.frame)
        if self.distribution == "constant":
            return self.high.copy()
        if self.distribution == "walk":
            step = self.random(sender, frame).normal(0.0, self.high)
            self._walked[sender] = self._walked.get(sender, np.zeros(3)) + step
            return self._walked[sender].copy()
        random = self.random(sender, frame) if self.per == "frame" else self.random(sender)
        if self.distribution == "normal":
            return np.asarray(random.normal(0.0, self.high))
        sizes: Floats = random.uniform(self.low, self.high)
        return np.asarray(sizes * random.choice([-1.0, 1.0], 3))

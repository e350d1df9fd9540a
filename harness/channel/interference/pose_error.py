"""Observers are wrong about where they are; what they sense stays as it is.

Errors are told in x and y of the world (m) and, in the settings, in degrees of yaw.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Literal

import numpy as np

from harness.channel.disturbance import PARTNERS, Disturbance, Shift
from harness.errors import UserError
from harness.vocabulary import Floats, Kind, Observation

Per = Literal["episode", "frame"]


class Misplacement(Disturbance, ABC):
    """An error of each observer's own."""

    name = "pose_error"

    def shift(self, observation: Observation) -> Shift:
        """Return how wrong this observer is now."""
        x, y, yaw = self.error(observation).tolist()
        return x, y, yaw

    @abstractmethod
    def error(self, observation: Observation) -> Floats:
        """Return x, y (m) and yaw (rad)."""


class Drawn(Misplacement):
    """Errors drawn once for an episode, or anew for every capture."""

    def __init__(self, per: Per, kinds: Sequence[Kind]) -> None:
        super().__init__(kinds)
        if per not in ("episode", "frame"):
            raise UserError(f"pose_error: per {per!r}; episode or frame")
        self.per = per

    def error(self, observation: Observation) -> Floats:
        """Draw from this observer's stream."""
        if self.per == "frame":
            return self.draw(self.random_at(observation.sender, observation.frame))
        return self.draw(self.random(observation.sender))

    @abstractmethod
    def draw(self, random: np.random.Generator) -> Floats:
        """Return x, y (m) and yaw (rad)."""


class Uniform(Drawn):
    """Sizes between two, with random signs."""

    def __init__(
        self,
        low: float,  # m
        high: float,
        yaw_low: float,  # degrees
        yaw_high: float,
        per: Per = "episode",
        kinds: Sequence[Kind] = PARTNERS,
    ) -> None:
        super().__init__(per, kinds)
        if not (0 <= low <= high and 0 <= yaw_low <= yaw_high):
            raise UserError(
                f"pose_error: {low} to {high} m, {yaw_low} to {yaw_high} degrees;"
                " sizes from small to large, signs are drawn"
            )
        self.low = in_radians(low, low, yaw_low)
        self.high = in_radians(high, high, yaw_high)

    def draw(self, random: np.random.Generator) -> Floats:
        """Return sizes with signs."""
        sizes = random.uniform(self.low, self.high)
        return np.asarray(sizes * random.choice([-1.0, 1.0], 3))


class Normal(Drawn):
    """Errors round zero."""

    def __init__(
        self,
        deviation: float,  # m
        yaw_deviation: float,  # degrees
        per: Per = "episode",
        kinds: Sequence[Kind] = PARTNERS,
    ) -> None:
        super().__init__(per, kinds)
        self.deviation = spread(deviation, yaw_deviation)

    def draw(self, random: np.random.Generator) -> Floats:
        """Return errors round zero."""
        return np.asarray(random.normal(0.0, self.deviation))


class Constant(Misplacement):
    """The same error for all."""

    def __init__(
        self,
        x: float,  # m in the world
        y: float,
        yaw: float,  # degrees
        kinds: Sequence[Kind] = PARTNERS,
    ) -> None:
        super().__init__(kinds)
        self.bias = in_radians(x, y, yaw)

    def error(self, observation: Observation) -> Floats:
        """Return the one error."""
        return self.bias


class Walk(Misplacement):
    """Errors that grow from nothing, as those of odometry do."""

    def __init__(
        self,
        deviation: float,  # m after one second
        yaw_deviation: float,  # degrees after one second
        kinds: Sequence[Kind] = PARTNERS,
    ) -> None:
        super().__init__(kinds)
        self.deviation = spread(deviation, yaw_deviation)
        self._walked: dict[str, tuple[float, Floats]] = {}

    def reset(self, seed: int, route: str) -> None:
        """Start an episode: nobody has drifted yet."""
        super().reset(seed, route)
        self._walked = {}

    def error(self, observation: Observation) -> Floats:
        """Take a step as wide as the time since the last one makes it."""
        sender, now = observation.sender, observation.time
        since, error = self._walked.get(sender, (now, np.zeros(3)))
        random = self.random_at(sender, observation.frame)
        error = error + random.normal(0.0, self.deviation) * math.sqrt(now - since)
        self._walked[sender] = (now, error)
        return error


def in_radians(x: float, y: float, yaw: float) -> Floats:
    """Return an error as it is used."""
    return np.array([x, y, math.radians(yaw)])


def spread(deviation: float, yaw_deviation: float) -> Floats:
    """Return standard deviations as they are used."""
    if deviation < 0 or yaw_deviation < 0:
        raise UserError(
            f"pose_error: deviations {deviation} m and {yaw_deviation} degrees; not below 0"
        )
    return in_radians(deviation, deviation, yaw_deviation)

"""Observers are wrong about where they are; what they sense stays as it is.

Errors are in x, y and z of the world (m) and, in the settings, in degrees of yaw, pitch and roll.
Those of z, pitch and roll are 0 unless they are set (CooTest, Guo et al., 2024, 3.3.1, has one of
z). They are sampled after the others, which thus do not depend on them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Literal

import numpy as np

from harness.channel.disturbance import PARTNERS, Disturbance, refuse_negative
from harness.channel.effects import LEAST_METRES, LEAST_RADIANS, Shift, is_displacement
from harness.common.errors import UserError
from harness.types.vocabulary import Floats, Kind, Observation

Per = Literal["episode", "frame"]
LEAST = np.array([*[LEAST_METRES] * 2, LEAST_RADIANS, LEAST_METRES, *[LEAST_RADIANS] * 2])
IN_PLANE = 3
"""Of the parts of an error, x, y and yaw are the first; z, pitch and roll follow."""
FAR = 5.0
"""Standard deviations that are hardly ever exceeded."""
LONG = 600.0
"""Seconds after which hardly any drive goes on."""


class PoseErrorDisturbance(Disturbance, ABC):
    """An error of each observer's own."""

    name = "pose_error"

    @property
    def size_zero(self) -> bool:
        """Whether all errors are 0."""
        return not self.get_largest_error().any()

    def too_small(self) -> str | None:
        """Return the largest error that can be expected, if it counts as none."""
        largest = Shift(*self.get_largest_error().tolist())
        if is_displacement(largest):
            return None
        metres, degrees = largest.metres, math.degrees(largest.radians)
        return f"{metres:.3g} m and {degrees:.3g} degrees are no displacement"

    @abstractmethod
    def get_largest_error(self) -> Floats:
        """Return the largest x, y (m), yaw (rad), z (m), pitch and roll that can be expected."""

    def shift(self, observation: Observation) -> Shift:
        """Return how wrong this observer is now."""
        return Shift(*self.compute_error(observation).tolist())

    @abstractmethod
    def compute_error(self, observation: Observation) -> Floats:
        """Return x, y (m), yaw (rad), z (m), pitch and roll (rad)."""


class PoseErrorSampler(PoseErrorDisturbance):
    """Errors sampled once for an episode, or for every capture."""

    def __init__(self, per: Per, kinds: Sequence[Kind]) -> None:
        super().__init__(kinds)
        if per not in ("episode", "frame"):
            raise UserError(f"pose_error.per = {per!r}: unknown; valid: episode, frame")
        self.per = per
        self._sampled: set[str] = set()

    def reset(self, seed: int, route: str) -> None:
        """Start an episode without errors so far."""
        super().reset(seed, route)
        self.idle_chance, self._sampled = 1.0, set()

    def compute_error(self, observation: Observation) -> Floats:
        """Sample from this observer's stream."""
        # the probability that no error so far was large enough to count
        if self.per == "frame" or observation.sender not in self._sampled:
            self._sampled.add(observation.sender)
            self.idle_chance *= self.compute_chance_of_none()
        if self.per == "frame":
            return self.sample_error(self.random_at(observation.sender, observation.frame))
        return self.sample_error(self.random(observation.sender))

    @abstractmethod
    def compute_chance_of_none(self) -> float:
        """Return how likely an error is to be too small to count."""

    @abstractmethod
    def sample_error(self, random: np.random.Generator) -> Floats:
        """Return x, y (m), yaw (rad), z (m), pitch and roll (rad)."""


class Uniform(PoseErrorSampler):
    """Sizes between two, with random signs."""

    safe_from_file = True

    def __init__(
        self,
        low: float,  # m
        high: float,  # m
        *,
        yaw_low: float,  # degrees
        yaw_high: float,  # degrees
        z_low: float = 0.0,  # m
        z_high: float = 0.0,  # m
        pitch_low: float = 0.0,  # degrees
        pitch_high: float = 0.0,  # degrees
        roll_low: float = 0.0,  # degrees
        roll_high: float = 0.0,  # degrees
        per: Per = "episode",  # one sample for each: episode or frame
        kinds: Sequence[Kind] = PARTNERS,  # agents that are disturbed: roadside, vehicle
    ) -> None:
        super().__init__(per, kinds)
        if not (0 <= low <= high and 0 <= yaw_low <= yaw_high):
            raise UserError(
                f"pose_error: low = {low} m, high = {high} m, yaw_low = {yaw_low} degrees,"
                f" yaw_high = {yaw_high} degrees: must be 0 ≤ low ≤ high; signs are sampled"
            )
        self.low = convert_to_radians(low, low, yaw_low, z=z_low, pitch=pitch_low, roll=roll_low)
        self.high = convert_to_radians(
            high, high, yaw_high, z=z_high, pitch=pitch_high, roll=roll_high
        )
        if not ((self.low >= 0) & (self.low <= self.high)).all():
            raise UserError(
                f"pose_error: z from {z_low} to {z_high} m, pitch from {pitch_low} to {pitch_high},"
                f" roll from {roll_low} to {roll_high} degrees: must be 0 ≤ low ≤ high"
            )

    def get_largest_error(self) -> Floats:
        """Return the upper ends."""
        return self.high

    def compute_chance_of_none(self) -> float:
        """Return the share of the ranges that is too small to count."""
        width = self.high - self.low
        fixed = (self.low < LEAST).astype(np.float64)
        share = np.divide(LEAST - self.low, width, out=fixed, where=width > 0)
        return float(np.prod(np.clip(share, 0.0, 1.0)))

    def sample_error(self, random: np.random.Generator) -> Floats:
        """Return sizes with signs."""
        # x, y and yaw first: samples in the plane do not depend on whether z, pitch, roll are set
        parts = [
            random.uniform(self.low[part], self.high[part]) * random.choice([-1.0, 1.0], 3)
            for part in (slice(IN_PLANE), slice(IN_PLANE, None))
        ]
        return np.concatenate(parts)


class NormalPoseError(PoseErrorSampler):
    """Errors round zero."""

    safe_from_file = True

    def __init__(
        self,
        deviation: float,  # m
        yaw_deviation: float,  # degrees
        per: Per = "episode",  # one sample for each: episode or frame
        kinds: Sequence[Kind] = PARTNERS,  # agents that are disturbed: roadside, vehicle
        *,
        z_deviation: float = 0.0,  # m
        pitch_deviation: float = 0.0,  # degrees
        roll_deviation: float = 0.0,  # degrees
    ) -> None:
        super().__init__(per, kinds)
        out_of_plane = {"z": z_deviation, "pitch": pitch_deviation, "roll": roll_deviation}
        self.deviation = convert_deviations_to_radians(deviation, yaw_deviation, **out_of_plane)

    def get_largest_error(self) -> Floats:
        """Return errors that are hardly ever exceeded."""
        return FAR * self.deviation

    def compute_chance_of_none(self) -> float:
        """Return how likely an error is to be too small to count."""
        return compute_chance_of_small(self.deviation)

    def sample_error(self, random: np.random.Generator) -> Floats:
        """Return errors round zero."""
        return np.asarray(random.normal(0.0, self.deviation))


class Constant(PoseErrorDisturbance):
    """The same error for all."""

    safe_from_file = True
    certain = True

    def __init__(
        self,
        x: float,  # m in the world
        y: float,  # m in the world
        yaw: float,  # degrees
        kinds: Sequence[Kind] = PARTNERS,  # agents that are disturbed: roadside, vehicle
        *,
        z: float = 0.0,  # m
        pitch: float = 0.0,  # degrees
        roll: float = 0.0,  # degrees
    ) -> None:
        super().__init__(kinds)
        self.bias = convert_to_radians(x, y, yaw, z=z, pitch=pitch, roll=roll)

    def get_largest_error(self) -> Floats:
        """Return the one error."""
        return np.abs(self.bias)

    def compute_error(self, observation: Observation) -> Floats:
        """Return the one error."""
        return self.bias


class Fixed(PoseErrorSampler):
    """Always the same distance, in a direction sampled once for each observer."""

    safe_from_file = True

    def __init__(
        self,
        metres: float,
        degrees_per_metre: float = 1.0,  # of yaw, to either side
        kinds: Sequence[Kind] = PARTNERS,
    ) -> None:
        super().__init__("episode", kinds)
        refuse_negative("pose_error", "m", metres=metres)
        refuse_negative("pose_error", "degrees", degrees_per_metre=degrees_per_metre)
        self.metres = metres
        self.yaw = math.radians(metres * degrees_per_metre)

    def get_largest_error(self) -> Floats:
        """Return the one size, as if it were all in x."""
        return np.array([self.metres, 0.0, self.yaw, 0.0, 0.0, 0.0])

    def compute_chance_of_none(self) -> float:
        """Return 0: the size is not left to chance."""
        return 0.0

    def sample_error(self, random: np.random.Generator) -> Floats:
        """Return the distance in some direction, and the angle to some side."""
        towards = random.uniform(-math.pi, math.pi)
        x, y = self.metres * math.cos(towards), self.metres * math.sin(towards)
        return np.array([x, y, self.yaw * random.choice([-1.0, 1.0]), 0.0, 0.0, 0.0])


class Walk(PoseErrorDisturbance):
    """Errors that grow from nothing, as those of odometry do."""

    safe_from_file = True

    def __init__(
        self,
        deviation: float,  # m after one second
        yaw_deviation: float,  # degrees after one second
        kinds: Sequence[Kind] = PARTNERS,  # agents that are disturbed: roadside, vehicle
        *,
        z_deviation: float = 0.0,  # m after one second
        pitch_deviation: float = 0.0,  # degrees after one second
        roll_deviation: float = 0.0,  # degrees after one second
    ) -> None:
        super().__init__(kinds)
        out_of_plane = {"z": z_deviation, "pitch": pitch_deviation, "roll": roll_deviation}
        self.deviation = convert_deviations_to_radians(deviation, yaw_deviation, **out_of_plane)
        self._walked: dict[str, tuple[float, Floats]] = {}
        self._began: dict[str, float] = {}

    def reset(self, seed: int, route: str) -> None:
        """Start an episode without drift."""
        super().reset(seed, route)
        self._walked, self._began = {}, {}
        self.idle_chance = 1.0

    def get_largest_error(self) -> Floats:
        """Return errors that are hardly ever exceeded, even after a long drive."""
        return FAR * self.deviation * math.sqrt(LONG)

    def compute_error(self, observation: Observation) -> Floats:
        """Take a step as wide as the time since the last one makes it."""
        sender, now = observation.sender, observation.time
        # (6,) where the walk stood at this observer's last capture
        since, error = self._walked.get(sender, (now, np.zeros(len(LEAST))))
        elapsed = now - self._began.setdefault(sender, now)
        # how likely the walk is still too near its start to count
        none = compute_chance_of_small(self.deviation * math.sqrt(elapsed))
        self.idle_chance = min(self.idle_chance, none)
        # a step of variance proportional to the time since then
        random = self.random_at(sender, observation.frame)
        error = error + random.normal(0.0, self.deviation) * math.sqrt(now - since)
        self._walked[sender] = (now, error)
        return error


def compute_chance_of_small(deviation: Floats) -> float:
    """Return how likely normal errors round zero are to be too small to count.

    Args:
        deviation: (6,) x, y (m), yaw (rad), z (m), pitch, roll (rad); 0 for no error.

    Returns:
        0 to 1.
    """
    ratios = [
        least / floor if floor else math.inf
        for least, floor in zip(LEAST.tolist(), deviation.tolist(), strict=True)
    ]
    return math.prod(math.erf(ratio / math.sqrt(2)) for ratio in ratios)


def convert_to_radians(
    x: float, y: float, yaw: float, *, z: float = 0.0, pitch: float = 0.0, roll: float = 0.0
) -> Floats:
    """Return an error as it is used: x, y, yaw, z, pitch, roll.

    Args:
        x: m.
        y: m.
        yaw: degrees.
        z: m.
        pitch: degrees.
        roll: degrees.

    Returns:
        (6,) m and rad, in the order of `Shift`.
    """
    return np.array([x, y, math.radians(yaw), z, math.radians(pitch), math.radians(roll)])


def convert_deviations_to_radians(
    deviation: float, yaw_deviation: float, *, z: float, pitch: float, roll: float
) -> Floats:
    """Return standard deviations as they are used."""
    refuse_negative("pose_error", "m", deviation=deviation, z_deviation=z)
    degrees = {"pitch_deviation": pitch, "roll_deviation": roll}
    refuse_negative("pose_error", "degrees", yaw_deviation=yaw_deviation, **degrees)
    return convert_to_radians(deviation, deviation, yaw_deviation, z=z, pitch=pitch, roll=roll)

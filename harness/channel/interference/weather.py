"""Rain, snow, fog and wet ground, in the sweeps of all agents (CooTest, Guo et al., 2024, 3.3.1).

Physics is in `scattering`, which metamorphic operators use too. There is one weather for all
agents: its size is set, or sampled once per episode from a stream that names no agent. Particles
and noise are sampled for every sweep. Without the sensitivity of a LiDAR it is not known what is
lost to weather, so that rigs without one are refused.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from harness.channel.disturbance import Disturbance, Sweep
from harness.channel.interference import extinction, picture_weather, scattering
from harness.channel.interference.backscatter import Calibration
from harness.channel.interference.extinction import (
    RAIN_RATES,
    SNOW_RATES,
    VISIBILITIES,
    ParticleDistribution,
)
from harness.channel.interference.reflectivity import (
    WATER_DEPTHS,
    compute_wet_reflectivity,
    find_paved_points,
)
from harness.channel.interference.scattering import SweepOutcome
from harness.common.errors import AttemptError, UserError
from harness.common.sensitivity import LidarSensitivity
from harness.types.vocabulary import Floats, Kind, Observation

ALL_AGENTS: tuple[Kind, ...] = ("ego", "roadside", "vehicle")
DAMP = 1e-3 * WATER_DEPTHS[1]
"""mm of water that change the noise of ranges by more than float32 rounds."""


class WeatherDisturbance(Disturbance, ABC):
    """One weather over all agents; by one number, which may be sampled once per episode."""

    of_sweeps = True
    detects = True

    def __init__(self, low: float, high: float, kinds: Sequence[Kind]) -> None:
        super().__init__(kinds)
        self.low, self.high = low, high
        self.size = low  # in this episode

    def reset(self, seed: int, route: str) -> None:
        """Start an episode with weather of its own."""
        super().reset(seed, route)
        self.idle_chance = 1.0
        self.size = self.low
        # equal shares of every decade: sizes span orders of magnitude
        if self.high != self.low:
            share = float(self.random("weather").random())
            self.size = float(self.low * (self.high / self.low) ** share)

    def sense(self, sweep: Sweep, observation: Observation) -> Sweep:
        """Return the sweep in this weather, of a LiDAR with its sensitivity."""
        if self.size_zero:
            return sweep
        if sweep.sensitivity is None:
            raise AttemptError(
                "interference_not_delivered",
                f"{self.name}: what the {observation.kind} LiDAR detects is not known: no r_max",
            )
        # the same stream as dry air has: the noise of ranges is the same in all weathers
        random = self.random_of_sweep(observation.sender, observation.frame)
        self.idle_chance *= self.bound_chance_of_none(sweep, sweep.sensitivity)
        return self.apply_weather(sweep, sweep.sensitivity, random).sweep

    @abstractmethod
    def apply_weather(
        self, sweep: Sweep, sensitivity: LidarSensitivity, random: np.random.Generator
    ) -> SweepOutcome:
        """Return what becomes of a sweep.

        Args:
            sweep: as rays hit it.
            sensitivity: of the LiDAR.
            random: of this sweep.

        Returns:
            The points that are detected, and what became of the others.
        """

    @abstractmethod
    def bound_chance_of_none(self, sweep: Sweep, sensitivity: LidarSensitivity) -> float:
        """Return how likely the sweep is to be as in dry air; an upper bound."""


class PrecipitationDisturbance(WeatherDisturbance):
    """Particles by their rate."""

    @property
    def size_zero(self) -> bool:
        """Whether nothing falls."""
        return self.high == 0

    def bound_chance_of_none(self, sweep: Sweep, sensitivity: LidarSensitivity) -> float:
        """Return how likely it is that extinction is too small to show and no particle is hit."""
        particles = self.make_particles()
        return scattering.bound_chance_of_same_sweep(
            sweep, particles.extinction, particles, sensitivity
        )

    @abstractmethod
    def make_particles(self) -> ParticleDistribution:
        """Return what falls."""


class Rain(PrecipitationDisturbance):
    """Rain by its rate; 0 is dry air."""

    safe_from_file = True
    name = "rain"

    def __init__(
        self,
        rate: float,  # mm/h, 0 to 50
        highest: float | None = None,  # mm/h; a number: sampled in its logarithm, per episode
        *,
        water: float = 0.0,  # mm on roads and sidewalks, 0 to 1.2
        kinds: Sequence[Kind] = ALL_AGENTS,  # agents: ego, roadside, vehicle
    ) -> None:
        low, high = check_size_limits("rain.rate", "mm/h", rate, highest, most=RAIN_RATES[1])
        super().__init__(low, high, kinds)
        self.water, _ = check_size_limits("rain.water", "mm", water, most=WATER_DEPTHS[1])
        self.needs_surfaces = water > 0

    def apply_weather(
        self, sweep: Sweep, sensitivity: LidarSensitivity, random: np.random.Generator
    ) -> SweepOutcome:
        """Return the sweep in rain."""
        rho = self._compute_wet_reflectivity(sweep) if self.water else None
        return scattering.apply_rain(sweep, self.size, sensitivity, random=random, rho=rho)

    def make_particles(self) -> ParticleDistribution:
        """Return the drops."""
        return extinction.make_rain_drops(self.size)

    def describe_air(self) -> dict[str, float]:
        """Return rain, and water where there is some."""
        return picture_weather.show_rain(self.size, self.water)

    def _compute_wet_reflectivity(self, sweep: Sweep) -> Floats:
        return compute_wet_reflectivity(scattering.get_surfaces(sweep, self.name), self.water)


class Snow(PrecipitationDisturbance):
    """Snow by its rate as melted water; 0 is dry air."""

    safe_from_file = True
    name = "snow"

    def __init__(
        self,
        rate: float,  # mm/h of melted water, 0 to 10
        highest: float | None = None,  # mm/h; a number: sampled in its logarithm, per episode
        kinds: Sequence[Kind] = ALL_AGENTS,  # agents: ego, roadside, vehicle
    ) -> None:
        low, high = check_size_limits("snow.rate", "mm/h", rate, highest, most=SNOW_RATES[1])
        super().__init__(low, high, kinds)

    def apply_weather(
        self, sweep: Sweep, sensitivity: LidarSensitivity, random: np.random.Generator
    ) -> SweepOutcome:
        """Return the sweep in snow."""
        return scattering.apply_snow(sweep, self.size, sensitivity, random=random)

    def make_particles(self) -> ParticleDistribution:
        """Return the flakes."""
        return extinction.make_snow_flakes(self.size)

    def describe_air(self) -> dict[str, float]:
        """Return air as dim as with the flakes."""
        return picture_weather.show_snow(self.make_particles().extinction)


class Fog(WeatherDisturbance):
    """Fog by visibility (meteorological optical range); an infinite one is dry air."""

    safe_from_file = True
    name = "fog"

    def __init__(
        self,
        visibility: float,  # m, 30 or more; .inf: no fog
        highest: float | None = None,  # m; a number: sampled in its logarithm, per episode
        calibration: Calibration = "hahner",  # of fog next to targets: hahner or lambert
        kinds: Sequence[Kind] = ALL_AGENTS,  # agents: ego, roadside, vehicle
    ) -> None:
        low, high = visibility, visibility if highest is None else highest
        if not VISIBILITIES[0] <= low <= high or (math.isinf(high) and high != low):
            raise UserError(
                f"fog: visibility = {visibility} m, highest = {highest}: must be"
                f" {VISIBILITIES[0]:g} m or more, and not above a finite `highest`"
            )
        if calibration not in ("hahner", "lambert"):
            raise UserError(f"fog.calibration = {calibration}: unknown; valid: hahner, lambert")
        super().__init__(low, high, kinds)
        self.calibration: Calibration = calibration

    @property
    def size_zero(self) -> bool:
        """Whether visibility is infinite."""
        return math.isinf(self.low)

    def apply_weather(
        self, sweep: Sweep, sensitivity: LidarSensitivity, random: np.random.Generator
    ) -> SweepOutcome:
        """Return the sweep in fog."""
        return scattering.apply_fog(
            sweep, self.size, sensitivity, random=random, calibration=self.calibration
        )

    def bound_chance_of_none(self, sweep: Sweep, sensitivity: LidarSensitivity) -> float:
        """Return whether extinction is too small to show."""
        alpha = extinction.compute_fog_extinction(self.size)
        return scattering.bound_chance_of_same_sweep(sweep, alpha, None, sensitivity)

    def describe_air(self) -> dict[str, float]:
        """Return the fog."""
        return picture_weather.show_fog(self.size)


class WetGround(WeatherDisturbance):
    """Water on roads and sidewalks in dry air; 0 mm is dry ground."""

    safe_from_file = True
    name = "wet_ground"
    needs_surfaces = True

    def __init__(
        self,
        water: float,  # mm, 0 to 1.2, from which on all pavement is under a film
        highest: float | None = None,  # mm; a number: sampled in its logarithm, per episode
        kinds: Sequence[Kind] = ALL_AGENTS,  # agents: ego, roadside, vehicle
    ) -> None:
        low, high = check_size_limits(
            "wet_ground.water", "mm", water, highest, most=WATER_DEPTHS[1]
        )
        super().__init__(low, high, kinds)

    @property
    def size_zero(self) -> bool:
        """Whether the ground is dry."""
        return self.high == 0

    def apply_weather(
        self, sweep: Sweep, sensitivity: LidarSensitivity, random: np.random.Generator
    ) -> SweepOutcome:
        """Return the sweep over wet ground."""
        return scattering.apply_wet_ground(sweep, self.size, sensitivity, random=random)

    def bound_chance_of_none(self, sweep: Sweep, sensitivity: LidarSensitivity) -> float:
        """Return 0 where there is pavement and enough water to show."""
        ground = find_paved_points(scattering.get_surfaces(sweep, self.name)).any()
        return float(not ground or self.size < DAMP)

    def describe_air(self) -> dict[str, float]:
        """Return the water."""
        return picture_weather.show_water(self.size)


def check_size_limits(
    setting: str, unit: str, low: float, highest: float | None = None, *, most: float
) -> tuple[float, float]:
    """Return the least and the greatest size, from 0 to a bound.

    A size that is sampled is sampled in its logarithm, and has to be above 0.

    Args:
        setting: its name, for the message.
        unit: of the setting.
        low: the size, or the least size if it is sampled.
        highest: the greatest size if it is sampled; None: it is not.
        most: the bound.

    Returns:
        Least and greatest size; equal if it is not sampled.

    Raises:
        UserError: a size outside the bounds.
    """
    high = low if highest is None else highest
    if not 0 <= low <= high <= most or low == 0 < high:
        given = f"{low:g} {unit}" if highest is None else f"{low:g} to {highest:g} {unit}"
        above = "" if highest is None else "; above 0 where it is sampled"
        raise UserError(f"{setting} = {given}: must be from 0 to {most:g}{above}")
    return float(low), float(high)

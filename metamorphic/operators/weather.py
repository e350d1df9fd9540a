"""Rain, snow, fog and wet ground in the sweeps of all agents (CooTest, operators RN, SW and FG).

One weather is over the whole scene; chance is another for every sweep. Ground truth and hits are
those of the undisturbed sweeps. A LiDAR's sensitivity loses dark points in dry air, too: answers
must be compared with those to the scene of `Dry`, with an equal generator, not with the recorded
one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace

import numpy as np

from harness.channel.disturbance import Sweep
from harness.channel.interference import extinction, scattering
from harness.channel.interference.backscatter import Calibration
from harness.channel.interference.reflectivity import WATER_DEPTHS
from harness.channel.interference.scattering import Outcome
from harness.sensitivity import Sensitivity
from metamorphic.operators.operator import Changed, DoesNotApplyError, Expectation, Level, Need
from metamorphic.scene import Scene, View, with_points
from metamorphic.space import Parameter, Space, Values, number


def log_parameter(name: str, unit: str, limits: tuple[float, float]) -> Parameter:
    """Return a parameter that is searched in its logarithm."""
    low, high = limits
    return Parameter(name=name, unit=unit, low=low, high=high, kind="log")


class Weather(ABC):
    """What air, ground and LiDARs do to the sweeps of all agents."""

    name = "weather"
    level: Level = "sensing"
    paper = "cootest"
    space: Space = ()
    needs: frozenset[Need] = frozenset()

    def __init__(self, r_max: float = 200.0, *, keep_intensity: bool = False) -> None:
        """Take the LiDARs' reach in m; say whether intensities stay as in dry air."""
        self.sensitivity = Sensitivity(r_max=r_max, keep_intensity=keep_intensity)

    def apply(self, scene: Scene, values: Values, random: np.random.Generator) -> Changed:
        """Return the scene with other sweeps; the ego's stream does not depend on partners."""
        ego, *partners = scene.views
        seeds = random.integers(2**63, size=len(scene.views)).tolist()
        first, *others = (
            self.sensed(view, values, np.random.default_rng(seed))
            for view, seed in zip(scene.views, seeds, strict=True)
        )
        outcomes = (first, *others)
        changed = sum(outcome.changed for outcome in outcomes)
        if not changed:
            return Changed(scene=scene, expectation=Expectation(), changed=0)
        sensed = replace(
            scene,
            ego=with_sweep(ego, first),
            partners=tuple(map(with_sweep, partners, others)),
        )
        return Changed(scene=sensed, expectation=Expectation(), changed=changed)

    def sensed(self, view: View, values: Values, random: np.random.Generator) -> Outcome:
        """Return a view's sweep as its LiDAR senses it."""
        return self.outcome(Sweep(view.points_in_lidar, view.surfaces), values, random)

    @abstractmethod
    def outcome(self, sweep: Sweep, values: Values, random: np.random.Generator) -> Outcome:
        """Return what becomes of a sweep."""


class Dry(Weather):
    """Dry air and the LiDARs' sensitivity: what weather is compared with."""

    name = "dry"
    paper = "ours"

    def outcome(self, sweep: Sweep, values: Values, random: np.random.Generator) -> Outcome:
        """Return the sweep without what is too dark or too far."""
        return scattering.dry(sweep, self.sensitivity, random)


class Rain(Weather):
    """Rain; CooTest has 0.1 to 10 mm/h, which does little within 85 m."""

    name = "rain"
    space: Space = (log_parameter("rate", "mm/h", extinction.RAIN_RATES),)

    def outcome(self, sweep: Sweep, values: Values, random: np.random.Generator) -> Outcome:
        """Return the sweep in rain."""
        rate = number(values, "rate")
        return scattering.rain(sweep, rate, self.sensitivity, random=random)


class Snow(Weather):
    """Snow by its rate as melted water; CooTest has 0.1 to 2.4 mm/h."""

    name = "snow"
    space: Space = (log_parameter("rate", "mm/h of water", extinction.SNOW_RATES),)

    def outcome(self, sweep: Sweep, values: Values, random: np.random.Generator) -> Outcome:
        """Return the sweep in snow."""
        rate = number(values, "rate")
        return scattering.snow(sweep, rate, self.sensitivity, random=random)


class Fog(Weather):
    """Fog by visibility; CooTest has 200 to 1000 m. An infinite visibility changes nothing."""

    name = "fog"
    space: Space = (log_parameter("visibility", "m", extinction.VISIBILITIES),)

    def __init__(
        self,
        r_max: float = 200.0,
        *,
        keep_intensity: bool = False,
        calibration: Calibration = "hahner",
    ) -> None:
        """Take also how bright fog is next to targets.

        With `hahner` and r_max = 200 m, what fog sends back is never detected: points are only lost
        or kept. With `lambert`, fog hides what is beyond 12 m at a visibility of 100 m.
        """
        super().__init__(r_max, keep_intensity=keep_intensity)
        self.calibration: Calibration = calibration

    def outcome(self, sweep: Sweep, values: Values, random: np.random.Generator) -> Outcome:
        """Return the sweep in fog."""
        return scattering.fog(
            sweep,
            number(values, "visibility"),
            self.sensitivity,
            random=random,
            calibration=self.calibration,
        )


class WetGround(Weather):
    """Water on roads and sidewalks: they reflect the beams away, and far ground is lost first."""

    name = "wet_ground"
    paper = "ours"
    space: Space = (Parameter(name="water", unit="mm", low=WATER_DEPTHS[0], high=WATER_DEPTHS[1]),)
    needs: frozenset[Need] = frozenset({"surfaces"})

    def sensed(self, view: View, values: Values, random: np.random.Generator) -> Outcome:
        """Return a view's sweep; refuse one without surfaces."""
        if view.surfaces is None:
            raise DoesNotApplyError(f"{view.name}: its sweep has no surfaces")
        return super().sensed(view, values, random)

    def outcome(self, sweep: Sweep, values: Values, random: np.random.Generator) -> Outcome:
        """Return the sweep over wet ground."""
        water = number(values, "water")
        return scattering.wet_ground(sweep, water, self.sensitivity, random=random)


def with_sweep(view: View, outcome: Outcome) -> View:
    """Return a view with the sweep of an outcome."""
    return with_points(view, outcome.sweep.points_in_lidar, outcome.sweep.surfaces)

"""Rain, snow, fog and wet ground in the sweeps of all agents (CooTest, operators RN, SW and FG).

One weather is over the whole scene; chance is another for every sweep. Ground truth and hits are
those of the undisturbed sweeps. A LiDAR's sensitivity loses dark points in dry air, too: answers
must be compared with those to the scene of `DryAir`, with an equal generator, not with the recorded
one.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import replace

import numpy as np

from harness.channel.disturbance import Sweep
from harness.channel.interference import extinction, picture_weather, scattering
from harness.channel.interference.backscatter import Calibration
from harness.channel.interference.reflectivity import WATER_DEPTHS
from harness.channel.interference.scattering import SweepOutcome
from harness.common.sensitivity import LidarSensitivity
from studies.metamorphic.pictures.staging import (
    count_changed_pixels,
    get_recorded_world,
    has_pictures,
    show_world,
)
from studies.metamorphic.scenes.operator import (
    ChangedScene,
    DoesNotApplyError,
    Level,
    Need,
    TruthExpectation,
)
from studies.metamorphic.scenes.scene import AgentView, CooperativeScene, replace_points
from studies.space import Space, SpaceParameter, Values, get_numeric_value


def make_log_parameter(name: str, unit: str, limits: tuple[float, float]) -> SpaceParameter:
    """Return a parameter that is searched in its logarithm."""
    low, high = limits
    return SpaceParameter(name=name, unit=unit, low=low, high=high, kind="log")


class WeatherOperator(ABC):
    """What air, ground and LiDARs do to the sweeps of all agents."""

    name = "weather"
    level: Level = "sensing"
    paper = "cootest"
    space: Space = ()
    needs: frozenset[Need] = frozenset()

    def __init__(self, r_max: float = 200.0, *, keep_intensity: bool = False) -> None:
        """Take the LiDARs' reach in m; say whether intensities stay as in dry air."""
        self.sensitivity = LidarSensitivity(r_max=r_max, keep_intensity=keep_intensity)

    def apply(
        self, scene: CooperativeScene, values: Values, random: np.random.Generator
    ) -> ChangedScene:
        """Return the scene with other sweeps; the ego's stream does not depend on partners."""
        ego, *partners = scene.views
        seeds = random.integers(2**63, size=len(scene.views)).tolist()
        first, *others = (
            self.sense_view(view, values, np.random.default_rng(seed))
            for view, seed in zip(scene.views, seeds, strict=True)
        )
        outcomes = (first, *others)
        changed = sum(outcome.changed for outcome in outcomes)
        air = self.describe_air(values) if has_pictures(scene) else {}
        if not changed and not air:
            return ChangedScene(scene=scene, expectation=TruthExpectation(), changed=0)
        sensed = replace(
            scene,
            ego=replace_sweep(ego, first),
            partners=tuple(map(replace_sweep, partners, others)),
        )
        if air:
            # weather of the picture and weather of the LiDAR are one
            sensed = show_world(sensed, get_recorded_world(scene).change_weather(**air))
            changed += count_changed_pixels(scene.views, sensed.views)
        return ChangedScene(scene=sensed, expectation=TruthExpectation(), changed=changed)

    def describe_air(self, values: Values) -> dict[str, float]:
        """Return what pictures show of it, by names of CARLA's `WeatherParameters`."""
        return {}

    def sense_view(
        self, view: AgentView, values: Values, random: np.random.Generator
    ) -> SweepOutcome:
        """Return a view's sweep as its LiDAR senses it."""
        return self.apply_weather(Sweep(view.points_in_lidar, view.surfaces), values, random)

    @abstractmethod
    def apply_weather(
        self, sweep: Sweep, values: Values, random: np.random.Generator
    ) -> SweepOutcome:
        """Return what becomes of a sweep."""


class DryAir(WeatherOperator):
    """Dry air and the LiDARs' sensitivity: what weather is compared with."""

    name = "dry"
    paper = "ours"

    def apply_weather(
        self, sweep: Sweep, values: Values, random: np.random.Generator
    ) -> SweepOutcome:
        """Return the sweep without what is too dark or too far."""
        return scattering.apply_dry_air(sweep, self.sensitivity, random)


class RainOperator(WeatherOperator):
    """Rain; CooTest has 0.1 to 10 mm/h, which does little within 85 m."""

    name = "rain"
    space: Space = (make_log_parameter("rate", "mm/h", extinction.RAIN_RATES),)

    def describe_air(self, values: Values) -> dict[str, float]:
        """Return rain."""
        return picture_weather.show_rain(get_numeric_value(values, "rate"), 0.0)

    def apply_weather(
        self, sweep: Sweep, values: Values, random: np.random.Generator
    ) -> SweepOutcome:
        """Return the sweep in rain."""
        rate = get_numeric_value(values, "rate")
        return scattering.apply_rain(sweep, rate, self.sensitivity, random=random)


class SnowOperator(WeatherOperator):
    """Snow by its rate as melted water; CooTest has 0.1 to 2.4 mm/h."""

    name = "snow"
    space: Space = (make_log_parameter("rate", "mm/h of water", extinction.SNOW_RATES),)

    def describe_air(self, values: Values) -> dict[str, float]:
        """Return air as dim as with the flakes."""
        rate = get_numeric_value(values, "rate")
        if rate == 0:
            return {}
        return picture_weather.show_snow(extinction.make_snow_flakes(rate).extinction)

    def apply_weather(
        self, sweep: Sweep, values: Values, random: np.random.Generator
    ) -> SweepOutcome:
        """Return the sweep in snow."""
        rate = get_numeric_value(values, "rate")
        return scattering.apply_snow(sweep, rate, self.sensitivity, random=random)


class FogOperator(WeatherOperator):
    """Fog by visibility; CooTest has 200 to 1000 m. An infinite visibility changes nothing."""

    name = "fog"
    space: Space = (make_log_parameter("visibility", "m", extinction.VISIBILITIES),)

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

    def describe_air(self, values: Values) -> dict[str, float]:
        """Return fog."""
        visibility = get_numeric_value(values, "visibility")
        return {} if math.isinf(visibility) else picture_weather.show_fog(visibility)

    def apply_weather(
        self, sweep: Sweep, values: Values, random: np.random.Generator
    ) -> SweepOutcome:
        """Return the sweep in fog."""
        return scattering.apply_fog(
            sweep,
            get_numeric_value(values, "visibility"),
            self.sensitivity,
            random=random,
            calibration=self.calibration,
        )


class WetGroundOperator(WeatherOperator):
    """Water on roads and sidewalks: they reflect the beams away, and far ground is lost first."""

    name = "wet_ground"
    paper = "ours"
    space: Space = (
        SpaceParameter(name="water", unit="mm", low=WATER_DEPTHS[0], high=WATER_DEPTHS[1]),
    )
    needs: frozenset[Need] = frozenset({"surfaces"})

    def sense_view(
        self, view: AgentView, values: Values, random: np.random.Generator
    ) -> SweepOutcome:
        """Return a view's sweep; refuse one without surfaces."""
        if view.surfaces is None:
            raise DoesNotApplyError(f"{view.name}: its sweep has no surfaces")
        return super().sense_view(view, values, random)

    def describe_air(self, values: Values) -> dict[str, float]:
        """Return water."""
        return picture_weather.show_water(get_numeric_value(values, "water"))

    def apply_weather(
        self, sweep: Sweep, values: Values, random: np.random.Generator
    ) -> SweepOutcome:
        """Return the sweep over wet ground."""
        water = get_numeric_value(values, "water")
        return scattering.apply_wet_ground(sweep, water, self.sensitivity, random=random)


def replace_sweep(view: AgentView, outcome: SweepOutcome) -> AgentView:
    """Return a view with the sweep of an outcome."""
    return replace_points(view, outcome.sweep.points_in_lidar, outcome.sweep.surfaces)

"""Weather as a disturbance: physics of `scattering`, one weather for all agents, dry at 0."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from harness.channel.channel import Channel
from harness.channel.disturbance import Disturbance, Sweep
from harness.channel.interference import scattering
from harness.channel.interference.counterfactual import Counterfactual
from harness.channel.interference.loss import Loss
from harness.channel.interference.reflectivity import compute_wet_reflectivity
from harness.channel.interference.scattering import KEPT, LOST, SweepOutcome
from harness.channel.interference.stray_points import StrayReturns
from harness.channel.interference.weather import Fog, Rain, Snow, WetGround
from harness.checks.sweep_disturbance import AGENTS, make_raw_sweep
from harness.common.errors import AttemptError, UserError
from harness.common.randomness import make_named_stream
from harness.common.sensitivity import LidarSensitivity
from harness.types.vocabulary import Kind
from tests.channel.episode import TICKS, Episode, observation
from tests.channel.statistics import follows, uniform_cdf

SEED = 5
USUAL = LidarSensitivity()
EXTREMES: dict[str, tuple[Callable[[], Disturbance], Callable[..., SweepOutcome]]] = {
    "rain": (lambda: Rain(50.0), partial(scattering.apply_rain, rate=50.0)),
    "snow": (lambda: Snow(10.0), partial(scattering.apply_snow, rate=10.0)),
    "fog": (lambda: Fog(30.0), partial(scattering.apply_fog, visibility=30.0)),
    "wet ground": (lambda: WetGround(1.2), partial(scattering.apply_wet_ground, water=1.2)),
}
NONE: dict[str, Callable[[], Disturbance]] = {
    "rain": lambda: Rain(0.0),
    "snow": lambda: Snow(0.0),
    "fog": lambda: Fog(math.inf),
    "wet ground": lambda: WetGround(0.0),
}


def channel_of(*disturbances: Disturbance, seed: int = SEED) -> Channel:
    channel = Channel(disturbances)
    channel.reset(seed, "4")
    return channel


def sensed(
    channel: Channel,
    sender: str,
    kind: Kind,
    step: int = 0,
    sensitivity: LidarSensitivity | None = USUAL,
) -> Sweep:
    raw = make_raw_sweep(sender, step)
    seen = replace(observation(sender, kind, step), points_in_lidar=raw.points_in_lidar)
    return channel.sense_sweep(seen, raw.surfaces, sensitivity)


def of_stream(sender: str, step: int, seed: int = SEED) -> np.random.Generator:
    return make_named_stream(seed, "sensing", sender, str(step * TICKS))


def content(sweep: Sweep) -> list[bytes]:
    assert sweep.surfaces is not None
    assert sweep.surfaces.actors is not None
    parts = (sweep.surfaces.labels, sweep.surfaces.cosines, sweep.surfaces.actors)
    return [part.tobytes() for part in (sweep.points_in_lidar, *parts)]


@pytest.mark.parametrize("name", EXTREMES)
def test_all_agents_are_in_the_weather_that_the_physics_gives(name: str) -> None:
    make, physics = EXTREMES[name]
    channel = channel_of(make())
    for step in range(2):
        for sender, kind in AGENTS:
            raw = make_raw_sweep(sender, step)
            outcome = physics(raw, sensitivity=USUAL, random=of_stream(sender, step))
            got = sensed(channel, sender, kind, step)
            assert content(got) == content(outcome.sweep)
            assert (
                len(got.points_in_lidar) == len(raw.points_in_lidar) - (outcome.fates == LOST).sum()
            )
            assert not (got.points_in_lidar[:, :3] == 0).all(axis=1).any()
    assert channel.audit.build_record()["sensed"] == 2 * len(AGENTS)
    channel.audit.verify_deliveries()


@pytest.mark.parametrize("name", NONE)
@pytest.mark.parametrize("sensitivity", [None, USUAL], ids=["all is detected", "200 m"])
def test_size_0_is_dry_air_bit_for_bit(name: str, sensitivity: LidarSensitivity | None) -> None:
    nothing = NONE[name]()
    assert nothing.size_zero
    raw = make_raw_sweep("ego", 0)
    assert nothing.sense(raw, observation("ego", "ego", 0)) is raw
    channels = channel_of(nothing), channel_of()
    for sender, kind in AGENTS:
        one, other = (sensed(channel, sender, kind, 1, sensitivity) for channel in channels)
        assert content(one) == content(other)
        if sensitivity is None:
            assert content(one) == content(make_raw_sweep(sender, 1))


def test_a_sensitivity_loses_dark_and_far_points_in_dry_air() -> None:
    raw = make_raw_sweep("ego", 0)
    dry = scattering.apply_dry_air(raw, USUAL, of_stream("ego", 0))
    got = sensed(channel_of(), "ego", "ego")
    assert content(got) == content(dry.sweep)
    assert 0 < (dry.fates == KEPT).sum() < len(raw.points_in_lidar)


def test_the_mildest_weather_is_dry_air_with_the_same_noise() -> None:
    """Chance may leave all as it was, and then this is no error."""
    channel = channel_of(Rain(1e-14))
    got = sensed(channel, "ego", "ego")
    assert np.allclose(got.points_in_lidar, sensed(channel_of(), "ego", "ego").points_in_lidar)
    assert channel.disturbances[0].idle_chance > 0.99
    channel.audit.verify_deliveries()


class Nothing(Rain):
    def apply_weather(
        self, sweep: Sweep, sensitivity: LidarSensitivity, random: np.random.Generator
    ) -> SweepOutcome:
        return scattering.apply_dry_air(sweep, sensitivity, random)


def test_rain_that_changes_nothing_is_not_delivered() -> None:
    channel = channel_of(Nothing(20.0))
    for step in range(3):
        sensed(channel, "ego", "ego", step)
    with pytest.raises(AttemptError, match="rain: changed nothing in 3 sweeps") as caught:
        channel.audit.verify_deliveries()
    assert caught.value.failure == "interference_not_delivered"


def test_wet_ground_without_ground_may_change_nothing() -> None:
    raw = make_raw_sweep("ego", 0)
    assert raw.surfaces is not None
    car = raw.surfaces.labels == 14
    channel = channel_of(WetGround(1.2))
    seen = replace(observation("ego", "ego", 0), points_in_lidar=raw.points_in_lidar[car])
    channel.sense_sweep(seen, raw.surfaces[car], USUAL)
    channel.audit.verify_deliveries()
    assert channel.disturbances[0].acted == 0


def test_weather_that_is_sampled_is_one_for_all_agents() -> None:
    rain = Rain(0.1, highest=50.0)
    channel = channel_of(rain)
    share = make_named_stream(SEED, "interference", "rain", "weather").random()
    rate = 0.1 * 500.0**share
    for step in range(2):
        for sender, kind in AGENTS:
            got = sensed(channel, sender, kind, step)
            raw = make_raw_sweep(sender, step)
            wanted = scattering.apply_rain(raw, rate, USUAL, random=of_stream(sender, step)).sweep
            assert np.allclose(got.points_in_lidar, wanted.points_in_lidar, atol=1e-5)


def test_sampled_weather_is_uniform_in_its_logarithm() -> None:
    for make, low, high in (
        (lambda: Snow(0.1, highest=10.0), 0.1, 10.0),
        (lambda: Fog(30.0, highest=1000.0), 30.0, 1000.0),
    ):
        weather = make()
        sizes = []
        for seed in range(400):
            weather.reset(seed, "4")
            sizes.append(weather.size)
        assert follows(np.log(sizes), uniform_cdf(math.log(low), math.log(high)))


def test_other_disturbances_sample_the_same_in_rain() -> None:
    partners: Any = (("roadside-0", "roadside"),)
    alone = Episode(Loss(0.5)).run(20, partners).fates()
    assert Episode(Loss(0.5), Rain(50.0)).run(20, partners).fates() == alone
    dry = sensed(channel_of(StrayReturns(10)), "ego", "ego").points_in_lidar
    wet = sensed(channel_of(StrayReturns(10), Rain(50.0)), "ego", "ego").points_in_lidar
    assert np.array_equal(dry[-10:, :2], wet[-10:, :2])


def test_rain_over_wet_ground_is_one_weather() -> None:
    raw = make_raw_sweep("ego", 0)
    assert raw.surfaces is not None
    rho = compute_wet_reflectivity(raw.surfaces, 1.2)
    wanted = scattering.apply_rain(raw, 5.0, USUAL, random=of_stream("ego", 0), rho=rho).sweep
    got = sensed(channel_of(Rain(5.0, water=1.2)), "ego", "ego")
    assert content(got) == content(wanted)
    assert len(got.points_in_lidar) < len(
        sensed(channel_of(Rain(5.0)), "ego", "ego").points_in_lidar
    )


def test_a_twin_is_in_dry_air_outside_its_window() -> None:
    channel = channel_of(Counterfactual(Rain(50.0), windows=[(TICKS, 2 * TICKS)]))
    assert channel.of_sweeps
    for step, disturbed in enumerate((False, True, False)):
        plain = channel_of(Rain(50.0)) if disturbed else channel_of()
        for channel_ in (plain, channel):
            sensed(channel_, "vehicle-7", "vehicle", 0)
        got, wanted = (sensed(one, "ego", "ego", step) for one in (channel, plain))
        assert content(got) == content(wanted)


def test_other_samples_are_another_weather() -> None:
    one, other = (channel_of(Counterfactual(Rain(0.1, 50.0), sample=n)) for n in (0, 1))
    assert content(sensed(one, "ego", "ego")) != content(sensed(other, "ego", "ego"))
    assert content(sensed(one, "ego", "ego")) == content(
        sensed(channel_of(Rain(0.1, 50.0)), "ego", "ego")
    )


def test_stray_returns_lie_outside_the_region_of_interest_and_on_nothing() -> None:
    channel = channel_of(StrayReturns(200, inside=60.0, outside=85.0))
    got, dry = sensed(channel, "ego", "ego"), sensed(channel_of(), "ego", "ego")
    count = len(dry.points_in_lidar)
    assert np.array_equal(got.points_in_lidar[:count], dry.points_in_lidar)
    beyond = np.abs(got.points_in_lidar[count:, :2])
    assert len(beyond) == 200
    assert (beyond.max(axis=1) >= 60.0).all()
    assert beyond.max() <= 85.0
    assert got.surfaces is not None
    assert got.surfaces.actors is not None
    assert not got.surfaces.labels[count:].any()
    assert not got.surfaces.actors[count:].any()
    partner = sensed(channel, "roadside-0", "roadside")
    assert content(partner) == content(sensed(channel_of(), "roadside-0", "roadside"))


class Misaligned(Disturbance):
    name = "misaligned"
    of_sweeps = True

    def sense(self, sweep: Sweep, observation: object) -> Sweep:
        return replace(sweep, points_in_lidar=sweep.points_in_lidar[::2])


def test_surfaces_of_other_points_fail_the_attempt() -> None:
    with pytest.raises(AttemptError, match=r"misaligned: returned .* points and .* surfaces"):
        sensed(channel_of(Misaligned()), "roadside-0", "roadside")


def test_weather_needs_to_know_what_the_lidar_detects() -> None:
    with pytest.raises(AttemptError, match="rain: what the ego LiDAR detects is not known"):
        sensed(channel_of(Rain(5.0)), "ego", "ego", sensitivity=None)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Rain(-1.0), "rain.rate = -1 mm/h: must be from 0 to 50"),
        (lambda: Rain(60.0), "must be from 0 to 50"),
        (lambda: Rain(math.nan), "must be from 0 to 50"),
        (lambda: Rain(5.0, 2.0), "5 to 2 mm/h: must be from 0 to 50"),
        (lambda: Rain(0.0, 2.0), "above 0 where it is sampled"),
        (lambda: Rain(1.0, water=3.0), "rain.water = 3 mm: must be from 0 to 1.2"),
        (lambda: Snow(11.0), "must be from 0 to 10"),
        (lambda: Fog(10.0), "must be 30 m or more"),
        (lambda: Fog(50.0, math.inf), "not above a finite"),
        (lambda: Fog(50.0, calibration="x"), "valid: hahner, lambert"),  # type: ignore[arg-type]
        (lambda: WetGround(2.0), "must be from 0 to 1.2"),
        (lambda: Channel([Rain(5.0), WetGround(1.0)]), "rain and wet_ground in one condition"),
        (lambda: StrayReturns(5, inside=90.0), "stray_returns: 5 between 90.0 and 85.0 m"),
    ],
)
def test_settings_that_make_no_sense(make: Callable[[], object], says: str) -> None:
    with pytest.raises(UserError, match=says):
        make()


def test_records_count_sensed_sweeps_only_where_sweeps_can_be_disturbed() -> None:
    channel = channel_of(Loss(0.5))
    sensed(channel, "ego", "ego")
    assert "sensed" not in channel.audit.build_record()

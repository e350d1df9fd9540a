"""Pictures and sweeps have one weather: the extinction of carlite's pictures is that of sweeps."""

from __future__ import annotations

import math

import pytest

from harness.carlite.sensors.weather import (
    SceneWeather,
    compute_extinction,
    compute_wetness,
)
from harness.channel.channel import Channel
from harness.channel.disturbance import Disturbance
from harness.channel.interference.extinction import (
    compute_fog_extinction,
    make_rain_drops,
    make_snow_flakes,
)
from harness.channel.interference.latency import Fixed
from harness.channel.interference.weather import Fog, Rain, Snow, WetGround

CLEAR = math.log(20) / 5000.0
"""Extinction of pictures in the clearest air."""


def show(disturbance: Disturbance) -> SceneWeather:
    """Return what a server is asked to show; no haze otherwise."""
    channel = Channel(disturbances=[disturbance], tick_seconds=0.05)
    channel.reset(3, "0")
    return SceneWeather(**{"fog_density": 0.0, **channel.describe_air()})


@pytest.mark.parametrize("visibility", [50.0, 80.0, 200.0, 1000.0])
def test_fog_is_as_thick_as_in_sweeps(visibility: float) -> None:
    shown = compute_extinction(show(Fog(visibility)))
    assert shown == pytest.approx(compute_fog_extinction(visibility))


@pytest.mark.parametrize("rate", [0.1, 5.0, 20.0, 50.0])
def test_rain_dims_as_in_sweeps(rate: float) -> None:
    dimmed = compute_extinction(show(Rain(rate))) - CLEAR
    assert dimmed == pytest.approx(make_rain_drops(rate).extinction)


@pytest.mark.parametrize("rate", [0.5, 5.0, 10.0])
def test_snow_dims_as_in_sweeps(rate: float) -> None:
    # thinner than the clearest air is not shown
    wanted = max(make_snow_flakes(rate).extinction, CLEAR)
    assert compute_extinction(show(Snow(rate))) == pytest.approx(wanted)


def test_water_wets_the_ground_and_no_more() -> None:
    assert compute_wetness(show(WetGround(0.6))) == pytest.approx((0.5, 0.0))
    assert compute_wetness(show(Rain(5.0, water=1.2))) == pytest.approx((1.0, 0.0))
    assert compute_wetness(show(Rain(5.0))) == (0.0, 0.0)


def test_a_sampled_size_is_the_one_that_is_shown() -> None:
    fog = Fog(50.0, 500.0)
    shown = compute_extinction(show(fog))
    assert 50.0 < fog.size < 500.0
    assert shown == pytest.approx(compute_fog_extinction(fog.size))


def test_other_disturbances_show_nothing() -> None:
    channel = Channel(disturbances=[Fixed(0.5)], tick_seconds=0.05)
    channel.reset(3, "0")
    assert channel.describe_air() == {}

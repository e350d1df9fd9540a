"""Sweeps: one condition for each size of a disturbance, `sweep.latency=[0,0.2,0.5]`.

A size is one number, the same for every message: a delay is not sampled from a range here. The
conditions take the place of the sweep in the settings, so that a campaign folder holds what was
driven and no abbreviation of it. They are called after their size: `latency=0.2`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.campaign.settings.factor_sweeps import FACTOR_SWEEPS
from harness.campaign.settings.sweep_sizes import (
    SWEEP,
    DisturbanceSize,
    list_size_problems,
    make_sweep_error,
)
from harness.channel.interference.extinction import RAIN_RATES, SNOW_RATES, VISIBILITIES
from harness.channel.interference.reflectivity import WATER_DEPTHS
from harness.common.errors import UserError
from harness.common.suggestions import describe_unknown_name
from harness.records.arms import NONE

RECOVERS = 0.14
"""Probability that bad air is good at the next message: seven lost in a row on average."""


def compute_worsening_chance(share: float) -> float:
    """Return how likely good air is to worsen where this share is lost in the long run."""
    return round(RECOVERS * share / (1.0 - share), 12)


SHARE = 1.0
SIZES: Mapping[str, DisturbanceSize] = {
    "latency": DisturbanceSize(target="latency.Fixed", parameter="seconds"),
    "own_latency": DisturbanceSize(target="ego_latency.Fixed", parameter="seconds"),
    "pose_error": DisturbanceSize(target="pose_error.Fixed", parameter="metres", most=100.0),
    "gnss": DisturbanceSize(
        target="gnss.GnssError",
        parameter="deviation",
        most=100.0,
        further={"yaw_deviation": 0.0},
    ),
    "loss": DisturbanceSize(target="loss.Loss", parameter="probability", most=SHARE),
    "burst_loss": DisturbanceSize(
        target="loss.BurstLoss",
        parameter="worsens",
        most=0.85,
        value=compute_worsening_chance,
        further={"recovers": RECOVERS},
    ),
    "bandwidth": DisturbanceSize(
        target="bandwidth.Bandwidth", parameter="bytes_per_second", least=1.0
    ),
    "feature_corruption": DisturbanceSize(
        target="feature_corruption.Scattered", parameter="probability", most=SHARE
    ),
    "channel_corruption": DisturbanceSize(
        target="feature_corruption.WholeChannels", parameter="share", most=SHARE
    ),
    "ghosts": DisturbanceSize(target="ghosts.Ghosts", parameter="count", most=1000, whole=True),
    "removed": DisturbanceSize(target="removed.Removed", parameter="share", most=SHARE),
    "stray_points": DisturbanceSize(
        target="stray_points.StrayPoints", parameter="count", most=100_000, whole=True
    ),
    "stray_returns": DisturbanceSize(
        target="stray_points.StrayReturns", parameter="count", most=100_000, whole=True
    ),
    "rain": DisturbanceSize(target="weather.Rain", parameter="rate", most=RAIN_RATES[1]),
    "snow": DisturbanceSize(target="weather.Snow", parameter="rate", most=SNOW_RATES[1]),
    "fog": DisturbanceSize(target="weather.Fog", parameter="visibility", least=VISIBILITIES[0]),
    "wet_ground": DisturbanceSize(
        target="weather.WetGround", parameter="water", most=WATER_DEPTHS[1]
    ),
}
"""The disturbances that can be swept, by the names of their conditions."""
SWEPT = (*SIZES, *FACTOR_SWEEPS)


def with_sweeps(settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings with a condition for each size, next to `none`, in the place of sweeps.

    Sweeps of other factors make drivers, cooperations or links in place of conditions.
    """
    if SWEEP not in settings:
        return settings
    rest = {name: value for name, value in settings.items() if name != SWEEP}
    sweeps = settings[SWEEP] or {}
    if isinstance(sweeps, dict):
        for name, with_factor in FACTOR_SWEEPS.items():
            if sweeps.get(name) is not None:
                rest = with_factor(rest, sweeps[name])
        sweeps = {name: sizes for name, sizes in sweeps.items() if name not in FACTOR_SWEEPS}
    swept = build_sweep_conditions(sweeps)
    conditions = rest.get("interference")
    if not swept or not isinstance(conditions, dict):
        return rest
    if taken := sorted(swept.keys() & conditions.keys()):
        raise make_sweep_error(
            f"{taken[0]} is a condition of interference already; leave one of them out"
        )
    return {**rest, "interference": {NONE: [], **conditions, **swept}}


def build_sweep_conditions(sweeps: Any) -> dict[str, list[dict[str, Any]]]:
    """Return the conditions of all sweeps, by name."""
    if not isinstance(sweeps, dict):
        raise make_sweep_error(
            f"is {sweeps}; write sweep.NAME=[SIZE, ...], with NAME of {', '.join(SWEPT)}"
        )
    conditions = {}
    for name, sizes in sweeps.items():
        if name not in SIZES:
            raise UserError(
                f"configuration: sweep: {describe_unknown_name('key', str(name), SWEPT)}"
            )
        if sizes is not None:
            conditions.update(build_size_conditions(name, sizes))
    return conditions


def build_size_conditions(name: str, sizes: Any) -> dict[str, list[dict[str, Any]]]:
    """Return one disturbance's conditions."""
    if not isinstance(sizes, list) or not sizes:
        raise make_sweep_error(
            f"= {sizes}: a list of sizes is needed, as sweep.{name}=[0.1,0.5]", name
        )
    conditions: dict[str, list[dict[str, Any]]] = {}
    for size in sizes:
        for problem in list_size_problems(SIZES[name], size):
            raise make_sweep_error(f"= {sizes}: {size!r} {problem}", name)
        condition = f"{name}={size:.12g}"
        if condition in conditions:
            raise make_sweep_error(f"= {sizes}: names {size:g} twice", name)
        conditions[condition] = [SIZES[name].make_part(size)]
    return conditions

"""Sweeps: one condition for each size of a disturbance, `sweep.latency=[0,0.2,0.5]`.

A size is one number, the same for every message: a delay is not sampled from a range here. The
conditions take the place of the sweep in the settings, so that a campaign folder holds what was
driven and no abbreviation of it. They are called after their size: `latency=0.2`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.channel.interference.extinction import RAIN_RATES, SNOW_RATES, VISIBILITIES
from harness.channel.interference.reflectivity import WATER_DEPTHS
from harness.common.errors import UserError
from harness.common.suggestions import describe_unknown_name
from harness.records.arms import DEFAULT_DRIVER, DRIVER, NONE

SWEEP = "sweep"
"""The setting."""
HERE = "harness.channel.interference."
RECOVERS = 0.14
"""Probability that bad air is good at the next message: seven lost in a row on average."""


def get_same_size(size: float) -> float:
    """Return the size: it is the setting."""
    return size


def compute_worsening_chance(share: float) -> float:
    """Return how likely good air is to worsen where this share is lost in the long run."""
    return round(RECOVERS * share / (1.0 - share), 12)


@dataclass(frozen=True, slots=True, kw_only=True)
class DisturbanceSize:
    """What a disturbance's size is, and the settings that one size means."""

    target: str
    parameter: str
    least: float = 0.0  # 0 is `none`
    most: float | None = None
    whole: bool = False
    value: Callable[[float], float] = get_same_size
    further: Mapping[str, float] = field(default_factory=dict)

    def make_part(self, size: float) -> dict[str, Any]:
        """Return the disturbance of that size as settings have it."""
        target = f"{HERE}{self.target}"
        return {"_target_": target, self.parameter: self.value(size), **self.further}


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
SPEED = "speed"
"""The sweep of the ego's cruise speed."""
SWEPT = (*SIZES, SPEED)
SCALED_DRIVER = "agents.driving.scaled.ScaledDriver"
SPEED_BOUNDS = DisturbanceSize(target="", parameter="factor", least=0.1, most=5.0)


def with_sweeps(settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings with a condition for each size, next to `none`, in the place of sweeps.

    A sweep of speed makes drivers in place of conditions.
    """
    if SWEEP not in settings:
        return settings
    rest = {name: value for name, value in settings.items() if name != SWEEP}
    sweeps = settings[SWEEP] or {}
    if isinstance(sweeps, dict):
        speeds = sweeps.get(SPEED)
        rest = rest if speeds is None else with_speeds(rest, speeds)
        sweeps = {name: sizes for name, sizes in sweeps.items() if name != SPEED}
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


def with_speeds(settings: dict[str, Any], speeds: Any) -> dict[str, Any]:
    """Return settings with each driver at each speed; a factor of 1 is the driver itself.

    Args:
        settings: of the campaign, without sweeps.
        speeds: factors on the cruise speed of each driver.
    """
    if not isinstance(speeds, list) or not speeds:
        raise make_sweep_error(
            f"= {speeds}: a list of factors is needed, as sweep.{SPEED}=[0.5,1,1.5]", SPEED
        )
    for factor in speeds:
        for problem in list_size_problems(SPEED_BOUNDS, factor):
            raise make_sweep_error(f"= {speeds}: {factor!r} {problem}", SPEED)
    if len({f"{factor:.12g}" for factor in speeds}) < len(speeds):
        raise make_sweep_error(f"= {speeds}: names a factor twice", SPEED)
    drivers = settings.get(DRIVER) or {DEFAULT_DRIVER: None}
    made = {
        name_speed(name, factor): part if factor == 1 else scale_driver(part, factor)
        for name, part in drivers.items()
        for factor in speeds
    }
    if len(made) < len(drivers) * len(speeds):
        raise make_sweep_error("makes a driver of a name that another has", SPEED)
    return {**settings, DRIVER: made}


def name_speed(driver: str, factor: float) -> str:
    """Return the name of a driver at another speed, such as `speed_1.5` or `idm_speed_1.5`."""
    if factor == 1:
        return driver
    return f"{'' if driver == DEFAULT_DRIVER else f'{driver}_'}{SPEED}_{factor:.12g}"


def scale_driver(part: Any, factor: float) -> dict[str, Any]:
    """Return the settings of a driver at another speed."""
    scaled: dict[str, Any] = {"_target_": SCALED_DRIVER, "factor": float(factor)}
    return scaled if part is None else {**scaled, "driver": part}


def list_size_problems(of: DisturbanceSize, size: Any) -> Iterator[str]:
    """Yield why something is no size of a disturbance."""
    if not isinstance(size, int | float) or isinstance(size, bool):
        yield "is not a number"
        return
    if of.whole and not isinstance(size, int):
        yield "is not a whole number"
    if size < of.least or (of.most is not None and size > of.most):
        bounds = f"≥ {of.least:g}" if of.most is None else f"from {of.least:g} to {of.most:g}"
        yield f"must be {bounds}"


def make_sweep_error(why: str, name: str = "") -> UserError:
    """Return the error of a sweep that cannot be driven."""
    return UserError(f"configuration: {SWEEP}{'.' if name else ''}{name} {why}")

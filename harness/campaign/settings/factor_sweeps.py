"""Sweeps of other factors than the condition: drivers, cooperations and links of several sizes.

`sweep.speed=[0.5,1]` makes a driver for each speed. `sweep.connected_share=[0.2,1]` makes a
cooperation for each share of connected vehicles, `sweep.roadside_share` one for each share of
corners with a roadside unit. `sweep.link_causes=[radio,queue]` makes a link on which only the radio
acts, and one on which only waiting for the channel acts, next to the ideal link.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from harness.campaign.settings.sweep_sizes import (
    DisturbanceSize,
    make_sweep_error,
    refuse_sizes,
)
from harness.records.arms import DEFAULT_DRIVER, DRIVER, IDEAL_LINK, LINK

SPEED = "speed"
"""The sweep of the ego's cruise speed."""
SCALED_DRIVER = "agents.driving.scaled.ScaledDriver"
SPEED_BOUNDS = DisturbanceSize(target="", parameter="factor", least=0.1, most=5.0)
COOPERATION = "cooperation"
CONNECTED_SHARE, ROADSIDE_SHARE = "connected_share", "roadside_share"
"""The sweeps of the shares of vehicles and of corners that are equipped."""
SHARE_BOUNDS = DisturbanceSize(target="", parameter="share", most=1.0)
FIXED_UNITS = ".Surveyed"
"""How the class of roadside units ends, of which a share can stand."""
LINK_CAUSES = "link_causes"
"""The sweep of what a radio does to messages."""
LINK_SWITCHES: Mapping[str, tuple[str, ...]] = {
    "radio": ("with_loss", "with_airtime"),
    "queue": ("with_queue",),
}
"""The switches of a radio that belong to a cause."""


def with_speeds(settings: dict[str, Any], speeds: Any) -> dict[str, Any]:
    """Return settings with each driver at each speed; a factor of 1 is the driver itself.

    Args:
        settings: of the campaign, without sweeps.
        speeds: factors on the cruise speed of each driver.
    """
    refuse_sizes(SPEED, speeds, SPEED_BOUNDS, "[0.5,1,1.5]")
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


def with_connected_shares(settings: dict[str, Any], shares: Any) -> dict[str, Any]:
    """Return settings in which each share of the vehicles is connected, by cooperation.

    Args:
        settings: of the campaign, without sweeps.
        shares: of the background vehicles that the rig fits.
    """

    def connect(part: dict[str, Any], share: float) -> dict[str, Any] | None:
        if not part.get("connected"):
            return None
        return {**part, "connected_share": float(share)}

    refuse_sizes(CONNECTED_SHARE, shares, SHARE_BOUNDS, "[0.2,0.5,1]")
    return with_shares(settings, CONNECTED_SHARE, shares, word="vehicles", change=connect)


def with_roadside_shares(settings: dict[str, Any], shares: Any) -> dict[str, Any]:
    """Return settings in which each share of the corners has a roadside unit, by cooperation.

    Args:
        settings: of the campaign, without sweeps.
        shares: of the corners on a route.
    """

    def equip(part: dict[str, Any], share: float) -> dict[str, Any] | None:
        units = part.get("roadside")
        if not isinstance(units, dict) or not str(units.get("_target_")).endswith(FIXED_UNITS):
            return None
        return {**part, "roadside": {**units, "share": float(share)} if share else None}

    refuse_sizes(ROADSIDE_SHARE, shares, SHARE_BOUNDS, "[0.2,0.5,1]")
    return with_shares(settings, ROADSIDE_SHARE, shares, word="units", change=equip)


def with_shares(
    settings: dict[str, Any],
    name: str,
    shares: list[float],
    *,
    word: str,
    change: Callable[[dict[str, Any], float], dict[str, Any] | None],
) -> dict[str, Any]:
    """Return settings with each cooperation at each share, where it has what is shared.

    Args:
        settings: of the campaign, without sweeps.
        name: of the sweep.
        shares: valid ones.
        word: what is equipped, in the names of cooperations: `connected_vehicles_0.2`.
        change: what a share makes of a cooperation; None where it has nothing to equip.
    """
    made: dict[str, Any] = {}
    changed = False
    for cooperation, part in (settings.get(COOPERATION) or {}).items():
        for share in shares:
            other = change(part, share) if isinstance(part, dict) else None
            called = cooperation if other is None else f"{cooperation}_{word}_{share:.12g}"
            changed |= other is not None
            made[called] = part if other is None else other
    if not changed:
        needed = {
            CONNECTED_SHARE: "connected vehicles: cooperation=connected, or mixed",
            ROADSIDE_SHARE: "fixed roadside units: cooperation=surveyed",
        }[name]
        raise make_sweep_error(f"needs a cooperation with {needed}", name)
    return {**settings, COOPERATION: made}


def with_link_causes(settings: dict[str, Any], causes: Any) -> dict[str, Any]:
    """Return settings with links on which one cause acts alone, next to the ideal and the whole.

    Args:
        settings: of the campaign, without sweeps.
        causes: `radio`, `queue` or both.
    """
    known = ", ".join(LINK_SWITCHES)
    if not isinstance(causes, list) or not causes or set(causes) - LINK_SWITCHES.keys():
        raise make_sweep_error(f"= {causes}: a list of {known} is needed", LINK_CAUSES)
    radios = {name: part for name, part in (settings.get(LINK) or {}).items() if part is not None}
    switches = [switch for switches in LINK_SWITCHES.values() for switch in switches]
    for name, part in radios.items():
        if not isinstance(part, dict) or not all(part.get(switch) for switch in switches):
            raise make_sweep_error(
                f"needs links with {', '.join(switches)}, all true; {LINK}.{name} has not",
                LINK_CAUSES,
            )
    if not radios:
        raise make_sweep_error(f"needs a radio, as {LINK}=nr_v2x", LINK_CAUSES)
    alone = {
        f"{name}_{cause}": {**part, **{one: one in LINK_SWITCHES[cause] for one in switches}}
        for name, part in radios.items()
        for cause in dict.fromkeys(causes)
    }
    return {**settings, LINK: {IDEAL_LINK: None, **alone, **radios}}


FACTOR_SWEEPS: Mapping[str, Callable[[dict[str, Any], Any], dict[str, Any]]] = {
    SPEED: with_speeds,
    CONNECTED_SHARE: with_connected_shares,
    ROADSIDE_SHARE: with_roadside_shares,
    LINK_CAUSES: with_link_causes,
}
"""Sweeps that change another factor of arms than the condition, by name."""

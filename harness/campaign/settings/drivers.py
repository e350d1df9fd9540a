"""The drivers of a campaign: a further factor of arms, where another than the default is named."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from harness.campaign.settings.config import build_part, find_class
from harness.campaign.settings.declared import CampaignSettings, PartSettings
from harness.campaign.settings.factor_sweeps import SCALED_DRIVER
from harness.common.errors import UserError
from harness.records.arms import DEFAULT_DRIVER, DRIVER, NONE, Arm
from harness.types.drivers import RouteDriver, is_drivable_system, is_scalable_system

NO_USE_DRIVER = "drives by itself: it has no use_driver"
DRIVEN_BY_ITSELF = "it drives by itself, without use_driver; it is driven under the default only"
PARTS_OF_DRIVERS = ("reset", "step")


def list_named_drivers(settings: CampaignSettings) -> dict[str, PartSettings[RouteDriver]]:
    """Return the settings of the drivers that have some: all but the default."""
    return {name: part for name, part in settings.get(DRIVER, {}).items() if part is not None}


def build_drivers(settings: CampaignSettings) -> dict[str, RouteDriver]:
    """Return the drivers by name; refuse what is none."""
    drivers = {}
    for name, part in settings.get(DRIVER, {}).items():
        place = f"{DRIVER}.{name}"
        if name == NONE:
            raise UserError(f"configuration: {place}: an arm always has a driver; rename it")
        if name == DEFAULT_DRIVER:
            if part is not None:
                raise UserError(
                    f"configuration: {place} is the driver that each system brings, and has no"
                    " settings here; choose another name"
                )
            continue
        drivers[name] = build_driver(part, place)
    refuse_two_settings(settings, drivers)
    return drivers


def build_driver(part: object, place: str) -> RouteDriver:
    """Return what the settings in a place make, if it is a driver."""
    if not isinstance(part, dict) or "_target_" not in part:
        raise UserError(f"configuration: {place} needs the _target_ of a driver")
    driver: RouteDriver = build_part(part, place)
    if not all(callable(getattr(driver, name, None)) for name in PARTS_OF_DRIVERS):
        raise UserError(
            f"configuration: {place}: {part['_target_']} is no driver: no reset or step"
        )
    return driver


def build_arm_driver(settings: CampaignSettings, arm: Arm) -> RouteDriver:
    """Return the driver of an arm that names one."""
    name = arm[DRIVER]
    return build_driver(settings.get(DRIVER, {}).get(name), f"{DRIVER}.{name}")


def refuse_two_settings(settings: CampaignSettings, drivers: Iterable[str]) -> None:
    """Refuse a system with settings of the shared driver where another driver takes its place."""
    named = next(iter(drivers), None)
    for name, part in settings["system"].items():
        if named is not None and part.get("driving") is not None:
            raise UserError(
                f"configuration: system.{name}.driving sets the default driver, and"
                f" {DRIVER}={named} takes its place; leave one of them out"
            )


def with_drivers(settings: CampaignSettings, arms: Iterable[Arm]) -> list[Arm]:
    """Return the arms under each driver; systems that drive by themselves also have the default.

    A system that can cruise at another speed by itself is driven at the speeds that are named.
    """
    names = list(settings.get(DRIVER, {})) or [DEFAULT_DRIVER]
    alone = find_systems_driving_alone(settings)
    fitting = {system for system in alone if all(is_at_speed(settings, system, n) for n in names)}
    made = [
        arm.replace_factors(driver=name)
        for arm in arms
        for name in ([DEFAULT_DRIVER, *names] if arm.system in alone - fitting else names)
    ]
    return list(dict.fromkeys(made))


def find_arms_without_driver(settings: CampaignSettings, arms: Iterable[Arm]) -> dict[Arm, str]:
    """Return why some arms cannot be driven: their systems do not let another driver drive.

    Raises:
        UserError: no system lets one.
    """
    alone, systems = find_systems_driving_alone(settings), settings["system"]
    named = list_named_drivers(settings)
    at_speed = any(is_at_speed(settings, system, name) for system in alone for name in named)
    if named and alone and len(alone) == len(systems) and not at_speed:
        raise UserError(
            f"configuration: {DRIVER} with {', '.join(sorted(alone))}: {DRIVEN_BY_ITSELF}"
        )
    return {
        arm: DRIVEN_BY_ITSELF
        for arm in arms
        if arm.system in alone and not is_at_speed(settings, arm.system, arm[DRIVER])
    }


def is_at_speed(settings: CampaignSettings, system: str, driver: str) -> bool:
    """Return whether a system that drives by itself is itself under a driver of an arm.

    It is under the default, and under the default at another speed if it can change its speed.
    """
    if driver == DEFAULT_DRIVER:
        return True
    part = settings["system"][system]
    return get_speed_factor(settings, driver) is not None and is_scalable_system(
        find_class(part["_target_"], f"system.{system}")
    )


def get_speed_factor(settings: CampaignSettings, driver: str) -> float | None:
    """Return the factor of a driver that is the default at another speed; None for all others."""
    part: Any = settings.get(DRIVER, {}).get(driver)
    if not isinstance(part, dict) or part.get("_target_") != SCALED_DRIVER or part.get("driver"):
        return None
    return float(part["factor"])


def find_systems_driving_alone(settings: CampaignSettings) -> set[str]:
    """Return the systems that let no other driver drive; not asked where only the default does."""
    if not list_named_drivers(settings):
        return set()
    return {
        name
        for name, part in settings["system"].items()
        if not is_drivable_system(find_class(part["_target_"], f"system.{name}"))
    }

"""Computing times of a campaign: a further factor of arms, where some are named."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from harness.campaign.settings.config import build_typed_part, find_class
from harness.campaign.settings.declared import CampaignSettings
from harness.campaign.settings.partner_systems import (
    list_arm_partner_systems,
    list_partner_systems,
)
from harness.channel.computing.computing_time import ComputingTime
from harness.common.errors import UserError
from harness.records.arms import COMPUTE, NONE, Arm


def build_computing_times(settings: CampaignSettings) -> dict[str, ComputingTime]:
    """Return computing times by name; refuse what is none, and systems without one."""
    made = {}
    for name, part in settings.get(COMPUTE, {}).items():
        place = f"{COMPUTE}.{name}"
        if name == NONE:
            if part is not None:
                raise UserError(
                    f"configuration: {place} is the arm in which nothing takes time, and has no"
                    " settings; choose another name"
                )
            continue
        for system in (*settings["system"], *list_partner_systems(settings)):
            made[name] = build_computing_time(part, place, system)
    return made


def build_computing_time(part: object, place: str, system: str) -> ComputingTime:
    """Return what the settings in a place make for a system, if it is a computing time."""
    made: ComputingTime = build_typed_part(part, place, ComputingTime, "a computing time")
    try:
        made.use_system(system)
    except UserError as problem:
        raise UserError(
            f"configuration: {place}: {problem}; for times of your own:"
            f" +{place}.sender.{system}=MS +{place}.ego.{system}=MS"
        ) from None
    return made


def build_arm_computing_time(
    settings: CampaignSettings, arm: Arm, system: str | None = None
) -> ComputingTime | None:
    """Return the computing time of an arm; None where nothing takes time.

    Args:
        settings: of the campaign.
        arm: of the attempt.
        system: of one of several driven egos; None: that of the arm.
    """
    name = arm[COMPUTE]
    if name == NONE:
        return None
    part = settings.get(COMPUTE, {}).get(name)
    return build_computing_time(part, f"{COMPUTE}.{name}", system or arm.system)


def build_partner_computing_times(settings: CampaignSettings, arm: Arm) -> dict[str, ComputingTime]:
    """Return the computing times of partners of an arm by system, that of the arm among them."""
    name = arm[COMPUTE]
    if name == NONE:
        return {}
    part = settings.get(COMPUTE, {}).get(name)
    return {
        system: build_computing_time(part, f"{COMPUTE}.{name}", system)
        for system in (arm.system, *list_arm_partner_systems(settings, arm))
    }


def with_computing_times(settings: CampaignSettings, arms: Iterable[Arm]) -> list[Arm]:
    """Return the arms with each computing time; the ego computes without partners, too."""
    names = list(settings.get(COMPUTE, {})) or [NONE]
    return [arm.replace_factors(compute=name) for arm in arms for name in names]


def iter_unrepeatable_times(settings: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of computing times that differ from attempt to attempt."""
    group = settings.get(COMPUTE)
    for name, part in group.items() if isinstance(group, dict) else ():
        if isinstance(part, dict):
            named = find_class(part.get("_target_"), f"{COMPUTE}.{name}")
            if not getattr(named, "repeatable", True):
                yield name


def list_computing_notes(settings: CampaignSettings) -> tuple[str, ...]:
    """Return a line for every computing time of the plan: device, and whether drives repeat."""
    of_clock = set(iter_unrepeatable_times(settings))
    return tuple(
        f"{name}: not repeatable: times of this machine's clock"
        if name in of_clock
        else f"{name}: {made.device}"
        for name, made in build_computing_times(settings).items()
    )


def refuse_unrepeatable(place: object, settings: Mapping[str, Any], purpose: str) -> None:
    """Refuse campaigns whose computing times no second drive repeats.

    Args:
        place: the campaign, for the message.
        settings: of the campaign.
        purpose: what needs equal drives, for the message.
    """
    if names := list(iter_unrepeatable_times(settings)):
        raise UserError(
            f"{place}: {COMPUTE}={names[0]} has times of a clock, which do not repeat; {purpose}"
            " needs drives that do"
        )

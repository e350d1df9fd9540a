"""The defences of a campaign: a further factor of arms, where one is named."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from harness.campaign.settings.attacks import (
    SENT,
    find_shared_type,
    find_unattackable_arms,
    with_attacks,
)
from harness.campaign.settings.config import build_typed_part, find_class
from harness.campaign.settings.declared import CampaignSettings
from harness.channel.defences.defence import Defence
from harness.common.errors import UserError
from harness.records.arms import DEFENCE, NONE, Arm
from harness.types.systems import is_perceiving_system


def build_defences(settings: CampaignSettings) -> dict[str, Defence]:
    """Return the defences by name; refuse what is none."""
    made = {}
    for name, part in settings.get(DEFENCE, {}).items():
        place = f"{DEFENCE}.{name}"
        if name == NONE:
            if part is not None:
                raise UserError(
                    f"configuration: {place} is the arm in which nothing judges messages, and has"
                    " no settings; choose another name"
                )
            continue
        made[name] = build_defence(part, place)
    return made


def build_defence(part: object, place: str) -> Defence:
    """Return what the settings in a place make, if it is a defence."""
    defence: Defence = build_typed_part(part, place, Defence, "a defence")
    return defence


def build_arm_defence(settings: CampaignSettings, arm: Arm) -> Defence | None:
    """Return the defence of an arm; None where nothing judges messages."""
    name = arm[DEFENCE]
    if name == NONE:
        return None
    return build_defence(settings.get(DEFENCE, {}).get(name), f"{DEFENCE}.{name}")


def with_defences(settings: CampaignSettings, arms: Iterable[Arm]) -> list[Arm]:
    """Return the arms under each defence; without cooperation there is no message to judge."""
    names = list(settings.get(DEFENCE, {})) or [NONE]
    made = [
        arm.replace_factors(defence=name)
        for arm in arms
        for name in ([NONE] if arm.cooperation == NONE else names)
    ]
    return list(dict.fromkeys(made))


def with_attacks_and_defences(settings: CampaignSettings, arms: Iterable[Arm]) -> list[Arm]:
    """Return the arms under each attack, with each defence."""
    return with_defences(settings, with_attacks(settings, arms))


def find_insecure_arms(settings: CampaignSettings, arms: Sequence[Arm]) -> dict[Arm, str]:
    """Return why some arms cannot be driven: their attack or their defence does not suit them.

    Raises:
        UserError: an attack or a defence suits no arm at all.
    """
    return {
        **find_unattackable_arms(settings, arms),
        **find_undefendable_arms(settings, arms),
    }


def find_undefendable_arms(settings: CampaignSettings, arms: Sequence[Arm]) -> dict[Arm, str]:
    """Return why some arms cannot be driven: their defence lacks what it judges by.

    Raises:
        UserError: a defence suits no arm at all.
    """
    defences = build_defences(settings)
    reasons = {}
    for arm in arms:
        if arm[DEFENCE] == NONE:
            continue
        named = find_class(settings["system"][arm.system]["_target_"], f"system.{arm.system}")
        unfit = find_defence_problem(defences[arm[DEFENCE]], named)
        if unfit is not None:
            reasons[arm] = unfit
    for name in {arm[DEFENCE] for arm in reasons}:
        of_defence = [arm for arm in arms if arm[DEFENCE] == name]
        if all(arm in reasons for arm in of_defence):
            first = of_defence[0]
            raise UserError(
                f"configuration: {DEFENCE}.{name} with {first.system}: {reasons[first]}; choose"
                " another defence"
            )
    return reasons


def find_defence_problem(defence: Defence, system: type[Any]) -> str | None:
    """Return what a defence lacks with a system; None where it suits it.

    Args:
        defence: of the arm.
        system: class of the receiver's system.
    """
    sent = find_shared_type(system)
    if sent is not None and sent not in defence.payloads:
        words = " or ".join(SENT[kind] for kind in defence.payloads)
        return f"{defence.name} judges {words}, and partners share {SENT[sent]}"
    if defence.needs_points and not getattr(system, "reads_points", True):
        return f"{defence.name} needs the ego's sweep, and the system reads no points"
    if (defence.needs_ego_boxes or defence.needs_fusion) and not is_perceiving_system(system):
        return (
            f"{defence.name} needs what the ego perceives alone, and the system perceives and"
            " drives in one"
        )
    return None

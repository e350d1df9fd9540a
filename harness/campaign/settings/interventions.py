"""The interventions of a campaign: a further factor of arms, where any is named."""

from __future__ import annotations

from collections.abc import Iterable

from harness.campaign.settings.config import INTERVENTION, build_part, find_class
from harness.campaign.settings.declared import CampaignSettings
from harness.common.errors import UserError
from harness.evaluation.interventions.intervention import Intervention
from harness.records.arms import NONE, Arm
from harness.types.systems import is_perceiving_system

WHOLE = "it has no perceive and drive, between which interventions stand; it is driven without them"


def build_interventions(settings: CampaignSettings) -> dict[str, Intervention]:
    """Return the interventions by name; refuse what is none."""
    interventions = {}
    period = settings["tick"] * settings["perceive_every"]
    for name, part in settings.get("intervention", {}).items():
        place = f"{INTERVENTION}.{name}"
        if name == NONE:
            raise UserError(f"configuration: {place} is the name of arms without any; rename it")
        intervention = build_part(part, place)
        if not isinstance(intervention, Intervention):
            raise UserError(f"configuration: {place} needs the _target_ of an Intervention")
        try:
            intervention.reset(0, period)
        except ValueError as problem:
            raise UserError(f"configuration: {place}: {problem}") from None
        interventions[name] = intervention
    return interventions


def with_interventions(settings: CampaignSettings, arms: Iterable[Arm]) -> list[Arm]:
    """Return the arms without an intervention, and next to each those with one."""
    names = [NONE, *settings.get("intervention", {})]
    return [arm.replace_factors(intervention=name) for arm in arms for name in names]


def find_arms_without_intervention(
    settings: CampaignSettings, arms: Iterable[Arm]
) -> dict[Arm, str]:
    """Return why some arms have no intervention: their systems have no perceive and drive."""
    systems = settings["system"]
    whole = {
        name
        for name, part in systems.items()
        if settings.get("intervention")
        and not is_perceiving_system(find_class(part["_target_"], "system"))
    }
    if whole and len(whole) == len(systems):
        raise UserError(f"configuration: {INTERVENTION} with {', '.join(sorted(whole))}: {WHOLE}")
    return {arm: WHOLE for arm in arms if arm[INTERVENTION] != NONE and arm.system in whole}

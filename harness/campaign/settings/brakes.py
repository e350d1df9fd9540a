"""The brakes of a campaign: a further factor of arms, where others than CARLA's are named."""

from __future__ import annotations

from collections.abc import Iterable

from harness.campaign.settings.config import build_typed_part
from harness.campaign.settings.declared import CampaignSettings
from harness.common.errors import UserError
from harness.records.arms import BRAKES, DEFAULT_BRAKES, NONE, Arm
from harness.world.brakes import TyreGrip


def build_all_brakes(settings: CampaignSettings) -> dict[str, TyreGrip]:
    """Return the brakes by name; refuse what is none."""
    made = {}
    for name, part in settings.get(BRAKES, {}).items():
        place = f"{BRAKES}.{name}"
        if name == NONE:
            raise UserError(f"configuration: {place}: an ego always has brakes; rename it")
        if name == DEFAULT_BRAKES:
            if part is not None:
                raise UserError(
                    f"configuration: {place} are the brakes of the simulator, and have no settings"
                    " here; choose another name"
                )
            continue
        made[name] = build_brakes(part, place)
    return made


def build_brakes(part: object, place: str) -> TyreGrip:
    """Return what the settings in a place make, if it is brakes."""
    brakes: TyreGrip = build_typed_part(part, place, TyreGrip, "brakes")
    return brakes


def build_arm_brakes(settings: CampaignSettings, arm: Arm) -> TyreGrip | None:
    """Return the brakes of an arm; None for those of the simulator."""
    if arm[BRAKES] == DEFAULT_BRAKES:
        return None
    return build_brakes(settings.get(BRAKES, {}).get(arm[BRAKES]), f"{BRAKES}.{arm[BRAKES]}")


def with_brakes(settings: CampaignSettings, arms: Iterable[Arm]) -> list[Arm]:
    """Return the arms with each of the brakes."""
    names = list(settings.get(BRAKES, {})) or [DEFAULT_BRAKES]
    return [arm.replace_factors(brakes=name) for arm in arms for name in names]

"""What a condition consists of: disturbances of the channel and changes of the scene."""

from __future__ import annotations

from typing import TypeAlias

from harness.campaign.settings.config import build_part
from harness.campaign.settings.declared import CampaignSettings, PartSettings
from harness.channel.disturbance import Disturbance
from harness.common.errors import UserError
from harness.world.changes.change import SceneChange

Interference: TypeAlias = Disturbance | SceneChange


def build_condition_parts(
    settings: CampaignSettings, condition: str
) -> list[tuple[PartSettings[Interference], Interference]]:
    """Return the parts of a condition with what they name; what has size 0 is none.

    Args:
        settings: of the campaign.
        condition: its name in `interference`.

    Returns:
        Settings and object of each part.
    """
    listed = settings["interference"].get(condition, [])
    made = [(part, build_condition_part(part, f"interference.{condition}")) for part in listed]
    return [(part, one) for part, one in made if not one.size_zero]


def build_condition_part(part: PartSettings[Interference], place: str) -> Interference:
    """Return what a part names; refuse what is neither a disturbance nor a change."""
    one: Interference = build_part(part, place)
    if not isinstance(one, Disturbance | SceneChange):
        raise UserError(
            f"configuration: {place} names {part['_target_']}, which is neither a Disturbance nor a"
            " SceneChange"
        )
    return one


def build_condition_disturbances(settings: CampaignSettings, condition: str) -> list[Disturbance]:
    """Return the disturbances of a condition.

    Args:
        settings: of the campaign.
        condition: its name in `interference`.
    """
    return [
        one for _, one in build_condition_parts(settings, condition) if isinstance(one, Disturbance)
    ]


def build_condition_changes(settings: CampaignSettings, condition: str) -> list[SceneChange]:
    """Return the changes of the scene of a condition.

    Args:
        settings: of the campaign.
        condition: its name in `interference`.
    """
    return [
        one for _, one in build_condition_parts(settings, condition) if isinstance(one, SceneChange)
    ]

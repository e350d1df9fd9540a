"""What a condition consists of: disturbances of the channel and changes of the scene."""

from __future__ import annotations

from typing import TypeAlias

from harness.campaign.settings.config import build
from harness.campaign.settings.declared import Part, Settings
from harness.channel.disturbance import Disturbance
from harness.errors import UserError
from harness.world.changes.change import SceneChange

Interference: TypeAlias = Disturbance | SceneChange


def described(settings: Settings, condition: str) -> list[tuple[Part[Interference], Interference]]:
    """Return the parts of a condition with what they name; what has size 0 is none."""
    listed = settings["interference"].get(condition, [])
    made = [(part, part_of(part, f"interference.{condition}")) for part in listed]
    return [(part, one) for part, one in made if not one.size_zero]


def part_of(part: Part[Interference], place: str) -> Interference:
    """Return what a part names; refuse what is neither a disturbance nor a change."""
    one: Interference = build(part, place)
    if not isinstance(one, Disturbance | SceneChange):
        raise UserError(
            f"configuration: {place} names {part['_target_']}, which is neither a Disturbance nor a"
            " SceneChange"
        )
    return one


def disturbances_of(settings: Settings, condition: str) -> list[Disturbance]:
    """Return the disturbances of a condition."""
    return [one for _, one in described(settings, condition) if isinstance(one, Disturbance)]


def changes_of(settings: Settings, condition: str) -> list[SceneChange]:
    """Return the changes of the scene of a condition."""
    return [one for _, one in described(settings, condition) if isinstance(one, SceneChange)]

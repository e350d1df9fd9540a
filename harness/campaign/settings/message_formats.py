"""Formats of messages: a further factor of arms, where another than the native one is named."""

from __future__ import annotations

from collections.abc import Iterable

from harness.campaign.settings.config import build_typed_part, find_class
from harness.campaign.settings.declared import CampaignSettings
from harness.channel.messages.message_format import MessageFormat
from harness.common.errors import UserError
from harness.records.arms import MESSAGE_FORMAT, NATIVE_FORMAT, NONE, Arm

BOXES = ("late", "")
"""Stages of fusion whose partners send boxes, or may: the empty one is not known beforehand."""


def build_message_formats(settings: CampaignSettings) -> dict[str, MessageFormat]:
    """Return the formats by name; refuse what is none."""
    made = {}
    for name, part in settings.get(MESSAGE_FORMAT, {}).items():
        place = f"{MESSAGE_FORMAT}.{name}"
        if name == NONE:
            raise UserError(f"configuration: {place}: messages always have a format; rename it")
        if name == NATIVE_FORMAT:
            if part is not None:
                raise UserError(
                    f"configuration: {place} is the payload as a system shares it, and has no"
                    " settings; choose another name"
                )
            continue
        made[name] = build_message_format(part, place)
    return made


def build_message_format(part: object, place: str) -> MessageFormat:
    """Return what the settings in a place make, if it is a format of messages."""
    made: MessageFormat = build_typed_part(part, place, MessageFormat, "a format of messages")
    return made


def build_arm_message_format(settings: CampaignSettings, arm: Arm) -> MessageFormat | None:
    """Return the format of an arm's messages; None for the native one."""
    name = arm[MESSAGE_FORMAT]
    if name == NATIVE_FORMAT:
        return None
    part = settings.get(MESSAGE_FORMAT, {}).get(name)
    return build_message_format(part, f"{MESSAGE_FORMAT}.{name}")


def with_message_formats(settings: CampaignSettings, arms: Iterable[Arm]) -> list[Arm]:
    """Return the arms with each format; where no boxes are sent, messages are native."""
    names = list(settings.get(MESSAGE_FORMAT, {})) or [NATIVE_FORMAT]
    made = [
        arm.replace_factors(message_format=name)
        for arm in arms
        for name in (names if sends_boxes(settings, arm) else [NATIVE_FORMAT])
    ]
    return list(dict.fromkeys(made))


def sends_boxes(settings: CampaignSettings, arm: Arm) -> bool:
    """Return whether partners of an arm send boxes, as far as the system's class says."""
    if arm.cooperation == NONE:
        return False
    place = f"system.{arm.system}"
    kind = find_class(settings["system"][arm.system]["_target_"], place)
    stage = getattr(kind, "fusion_stage", "")
    if not isinstance(stage, str):
        # of a network's system: that of its kind of fusion module
        stage = getattr(getattr(kind, "stage", None), "stage", "")
    return stage in BOXES

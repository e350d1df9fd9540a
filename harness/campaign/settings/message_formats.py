"""Formats of messages: a further factor of arms, where another than the native one is named."""

from __future__ import annotations

from collections.abc import Iterable

from harness.campaign.settings.config import build_typed_part, find_class
from harness.campaign.settings.declared import CampaignSettings
from harness.channel.messages.message_format import MessageFormat
from harness.common.errors import UserError
from harness.records.arms import ATTACK, MESSAGE_FORMAT, NATIVE_FORMAT, NONE, Arm


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
        further = {"cams": made[name].awareness, "denms": made[name].notifications}
        for setting, traffic in further.items():
            if traffic is not None and settings.get(ATTACK):
                kind = setting.removesuffix("s").upper()
                raise UserError(
                    f"configuration: {place}.{setting} = true: attacks lie in messages of what is"
                    f" perceived, and insiders would be honest in their {kind}s; choose attack=none"
                    f" or {setting}=false"
                )
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
    """Return the arms with each format that suits what is sent; native where none of them does."""
    named = settings.get(MESSAGE_FORMAT, {})
    stages: dict[str, tuple[str, ...]] = {
        name: getattr(find_class(part["_target_"], f"{MESSAGE_FORMAT}.{name}"), "stages", ())
        for name, part in named.items()
        if part is not None
    }
    made: list[Arm] = []
    for arm in arms:
        stage = find_message_stage(settings, arm)
        suited = [name for name in named if name not in stages or stage in stages[name]]
        made += [arm.replace_factors(message_format=name) for name in suited or [NATIVE_FORMAT]]
    return list(dict.fromkeys(made))


def find_message_stage(settings: CampaignSettings, arm: Arm) -> str:
    """Return the stage of fusion of what partners of an arm send, as the system's class says.

    Returns:
        Empty where the class does not say; `none` where nothing is sent.
    """
    if arm.cooperation == NONE:
        return NONE
    place = f"system.{arm.system}"
    kind = find_class(settings["system"][arm.system]["_target_"], place)
    stage = getattr(kind, "fusion_stage", "")
    if not isinstance(stage, str):
        # of a network's system: that of its kind of fusion module
        stage = getattr(getattr(kind, "stage", None), "stage", "")
    return str(stage)

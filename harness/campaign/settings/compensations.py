"""What makes up for the age of messages: a further factor of arms, where one is named."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from harness.campaign.settings.attacks import SENT, find_payload_type
from harness.campaign.settings.config import build_typed_part, find_class
from harness.campaign.settings.declared import CampaignSettings
from harness.campaign.settings.partner_systems import get_arm_system, list_arm_partner_systems
from harness.channel.compensation.compensation import Compensation
from harness.common.errors import UserError
from harness.records.arms import ATTACK, COMPENSATE, NONE, Arm
from harness.types.flows import has_flow
from harness.types.vocabulary import Points


def build_compensations(settings: CampaignSettings) -> dict[str, Compensation]:
    """Return the compensations by name; refuse what is none."""
    made = {}
    for name, part in settings.get(COMPENSATE, {}).items():
        place = f"{COMPENSATE}.{name}"
        if name == NONE:
            if part is not None:
                raise UserError(
                    f"configuration: {place} is the arm in which messages are fused as old as they"
                    " are, and has no settings; choose another name"
                )
            continue
        made[name] = build_compensation(part, place)
    return made


def build_compensation(part: object, place: str) -> Compensation:
    """Return what the settings in a place make, if it is a compensation."""
    made: Compensation = build_typed_part(part, place, Compensation, "a compensation")
    return made


def build_arm_compensation(settings: CampaignSettings, arm: Arm) -> Compensation | None:
    """Return the compensation of an arm; None where messages are fused as old as they are."""
    name = arm[COMPENSATE]
    if name == NONE:
        return None
    return build_compensation(settings.get(COMPENSATE, {}).get(name), f"{COMPENSATE}.{name}")


def with_compensations(settings: CampaignSettings, arms: Iterable[Arm]) -> list[Arm]:
    """Return the arms under each compensation; without cooperation there is no message."""
    names = list(settings.get(COMPENSATE, {})) or [NONE]
    made = [
        arm.replace_factors(compensate=name)
        for arm in arms
        for name in ([NONE] if arm.cooperation == NONE else names)
    ]
    return list(dict.fromkeys(made))


def find_flow_problem(
    settings: CampaignSettings, arm: Arm, compensation: Compensation
) -> str | None:
    """Return why feature maps of an arm cannot be moved; None where they can, or boxes are."""
    if not compensation.moves_features:
        return None
    system = get_arm_system(settings, arm)
    if not has_flow(system.kind):
        return f"{compensation.name} needs the flow network of a system, and it gives none"
    if others := [*list_arm_partner_systems(settings, arm)]:
        return f"{compensation.name} moves maps of the ego's network, and partners use {others[0]}"
    return system.kind.find_flow_problem(compensation.weights, **system.arguments)


def list_flow_files(settings: CampaignSettings) -> dict[str, list[Path]]:
    """Return the flow networks that compensations may use, by the names of these.

    Raises:
        UserError: one cannot be read, or moves other maps.
    """
    files: dict[str, list[Path]] = {}
    for name, compensation in build_compensations(settings).items():
        for system in settings["system"] if compensation.moves_features else ():
            part = settings["system"][system]
            kind = find_class(part["_target_"], f"system.{system}")
            given = {key: value for key, value in part.items() if key != "_target_"}
            flow = compensation.weights
            if has_flow(kind) and kind.find_flow_problem(flow, **given) is None:
                files.setdefault(name, []).extend(kind.list_flow_files(flow, **given))
    return files


def find_uncompensated_arms(settings: CampaignSettings, arms: Sequence[Arm]) -> dict[Arm, str]:
    """Return why some arms cannot be driven: their compensation cannot act on what is sent.

    Raises:
        UserError: a compensation suits no arm at all.
    """
    made = build_compensations(settings)
    reasons = {}
    for arm in arms:
        if arm[COMPENSATE] == NONE:
            continue
        compensation = made[arm[COMPENSATE]]
        sent = find_payload_type(settings, arm)
        words = " or ".join(SENT[kind] for kind in compensation.payloads)
        if sent is not None and sent not in compensation.payloads:
            reasons[arm] = f"{compensation.name} moves {words}, and partners share {SENT[sent]}"
            if sent is Points:
                reasons[arm] += (
                    ", which do not say what they lie on: none can be moved without objects"
                )
        elif arm[ATTACK] != NONE:
            reasons[arm] = (
                f"{compensation.name} moves {words}, and the records of an attack look for lies"
                " where they were stated; drive it without an attack"
            )
        elif (reason := find_flow_problem(settings, arm, compensation)) is not None:
            reasons[arm] = reason
    for name in {arm[COMPENSATE] for arm in reasons}:
        of_name = [arm for arm in arms if arm[COMPENSATE] == name]
        if all(arm in reasons for arm in of_name):
            first = of_name[0]
            raise UserError(
                f"configuration: {COMPENSATE}.{name} with {first.system}: {reasons[first]}; choose"
                " another system or compensate=none"
            )
    return reasons

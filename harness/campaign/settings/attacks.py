"""The attacks of a campaign: a further factor of arms, where one is named."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, get_type_hints

from harness.campaign.settings.config import build_typed_part, find_class
from harness.campaign.settings.cooperation import build_arm_cooperation
from harness.campaign.settings.declared import CampaignSettings
from harness.campaign.settings.routes import build_route_source
from harness.channel.attacks.attack import Attack
from harness.common.errors import UserError
from harness.records.arms import ATTACK, NONE, Arm
from harness.types.gradients import has_gradient_path
from harness.types.vocabulary import Boxes, Features, Points

SENT = {Boxes: "boxes", Points: "points", Features: "feature maps"}
"""What payloads are called."""


def build_attacks(settings: CampaignSettings) -> dict[str, Attack]:
    """Return the attacks by name; refuse what is none."""
    made = {}
    for name, part in settings.get(ATTACK, {}).items():
        place = f"{ATTACK}.{name}"
        if name == NONE:
            if part is not None:
                raise UserError(
                    f"configuration: {place} is the arm in which no partner lies, and has no"
                    " settings; choose another name"
                )
            continue
        made[name] = build_attack(part, place)
    return made


def build_attack(part: object, place: str) -> Attack:
    """Return what the settings in a place make, if it is an attack."""
    attack: Attack = build_typed_part(part, place, Attack, "an attack")
    return attack


def build_arm_attack(settings: CampaignSettings, arm: Arm, ego: int | None = None) -> Attack | None:
    """Return the attack of an arm; None where no partner lies.

    Args:
        settings: of the campaign.
        arm: of the attempt.
        ego: its number among several driven egos, from 0: an attack may aim at some; None: any.
    """
    name = arm[ATTACK]
    if name == NONE:
        return None
    attack = build_attack(settings.get(ATTACK, {}).get(name), f"{ATTACK}.{name}")
    aims = ego is None or attack.egos is None or ego in attack.egos
    return attack if aims else None


def with_attacks(settings: CampaignSettings, arms: Iterable[Arm]) -> list[Arm]:
    """Return the arms under each attack; without cooperation there is no partner that could lie."""
    names = list(settings.get(ATTACK, {})) or [NONE]
    made = [
        arm.replace_factors(attack=name)
        for arm in arms
        for name in ([NONE] if arm.cooperation == NONE else names)
    ]
    return list(dict.fromkeys(made))


def find_unattackable_arms(settings: CampaignSettings, arms: Sequence[Arm]) -> dict[Arm, str]:
    """Return why some arms cannot be driven: their attack cannot act on what partners share.

    Raises:
        UserError: an attack suits no arm at all.
    """
    attacks = build_attacks(settings)
    reasons = {}
    for arm in arms:
        if arm[ATTACK] == NONE:
            continue
        attack = attacks[arm[ATTACK]]
        named = settings["system"][arm.system]["_target_"]
        unfit = find_payload_problem(attack, find_class(named, f"system.{arm.system}"))
        if unfit is not None:
            reasons[arm] = unfit
        elif (reason := find_gradient_problem(settings, arm, attack)) is not None:
            reasons[arm] = reason
        elif not attack.kinds & list_partner_kinds(settings, arm):
            reasons[arm] = f"{attack.name} has no partner that could lie in {arm.cooperation}"
    for name in {arm[ATTACK] for arm in reasons}:
        of_attack = [arm for arm in arms if arm[ATTACK] == name]
        if all(arm in reasons for arm in of_attack):
            first = of_attack[0]
            raise UserError(
                f"configuration: {ATTACK}.{name} with {first.system}: {reasons[first]}; choose"
                " another attack"
            )
    return reasons


def find_payload_problem(attack: Attack, system: type[Any]) -> str | None:
    """Return why an attack cannot act on what a system is sent; None where it can.

    Args:
        attack: of the arm.
        system: class of the receiver's system, which shares what it fuses.
    """
    sent = find_shared_type(system)
    if sent is None or sent in attack.payloads:
        return None
    words = " or ".join(SENT[kind] for kind in attack.payloads)
    return f"{attack.name} acts on {words}, and the system's partners share {SENT[sent]}"


def find_gradient_problem(settings: CampaignSettings, arm: Arm, attack: Attack) -> str | None:
    """Return why an attack by gradient cannot use the system of an arm; None where it can."""
    if not attack.needs_gradients:
        return None
    part = settings["system"][arm.system]
    named = find_class(part["_target_"], f"system.{arm.system}")
    if not has_gradient_path(named):
        return f"{attack.name} needs gradients by feature maps, and the system gives none"
    surrogate = attack.surrogate
    if surrogate is None:
        return None
    others = {name: value for name, value in part.items() if name != "_target_"}
    known = named.list_surrogates(**others)
    if surrogate in known:
        return None
    valid = ", ".join(known) or "none"
    return f"{attack.name}.surrogate = {surrogate} does not fuse the system's maps (valid: {valid})"


def list_partner_kinds(settings: CampaignSettings, arm: Arm) -> set[str]:
    """Return the kinds of partners that an arm may have."""
    cooperation = build_arm_cooperation(settings, arm)
    kinds = {"roadside"} if cooperation.roadside is not None else set()
    connected = cooperation.connected and cooperation.connected_share
    several = build_route_source(settings["routes"]).several_egos
    return kinds | ({"vehicle"} if connected or several else set())


def find_payload_type(settings: CampaignSettings, arm: Arm) -> type | None:
    """Return the type of what partners of an arm share; None where the class does not say."""
    named = settings["system"][arm.system]["_target_"]
    return find_shared_type(find_class(named, f"system.{arm.system}"))


def find_shared_type(system: type[Any]) -> type | None:
    """Return the type of what a class of systems shares; None where it does not say."""
    try:
        sent = get_type_hints(getattr(system, "share", None)).get("return")
    except (AttributeError, NameError, SyntaxError, TypeError):
        return None
    return sent if isinstance(sent, type) and sent in SENT else None

"""Systems of partners: a further factor of arms, where partners do not use the ego's system."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from harness.campaign.settings.attacks import SENT, find_shared_type
from harness.campaign.settings.config import find_class
from harness.campaign.settings.cooperation import build_arm_cooperation
from harness.campaign.settings.declared import CampaignSettings, PartSettings
from harness.campaign.settings.fleets import (
    AGENTS,
    FLEETS,
    MODALITIES,
    PARTNER_KINDS,
    PLACE,
    SYSTEMS,
    list_fleet_systems,
)
from harness.campaign.settings.routes import build_route_source
from harness.common.errors import UserError
from harness.records.arms import COMPUTE, NONE, PARTNER_FLEET, SAME_SYSTEM, Arm
from harness.types.agent_sensors import brings_sensors
from harness.types.sharing import describe_features, detects_alone
from harness.types.systems import PrivilegedSystem, System
from harness.types.vocabulary import Boxes, Features, Kind

PARTNER_PLACE = f"{PARTNER_FLEET}.{SYSTEMS}"
"""Where the settings of partners' systems are."""
AnySystem: TypeAlias = System | PrivilegedSystem
Fleet: TypeAlias = Mapping[str, Any]
"""Systems by kind of partner, or a modality for each agent and a system for each modality."""
EGO: Literal["ego"] = "ego"
"""The ego's name among the agents of an assignment."""
DRIVEN_NAME = re.compile(r"ego-(0|[1-9][0-9]{0,5})")
"""Names of driven egos where there are several."""
KIND_WORDS = {"roadside": "roadside units", "vehicle": "connected vehicles"}


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedSystem:
    """A system as the settings have it.

    Attributes:
        name: in the settings.
        place: where its settings are.
        part: its settings.
    """

    name: str
    place: str
    part: PartSettings[Any]

    @property
    def kind(self) -> type[Any]:
        """Its class."""
        return find_class(self.part["_target_"], self.place)

    @property
    def arguments(self) -> dict[str, Any]:
        """What its class is made with."""
        return {name: value for name, value in self.part.items() if name != "_target_"}


def list_fleets(settings: Mapping[str, Any]) -> dict[str, Fleet]:
    """Return the fleets of a campaign by name; `own` alone where none is named."""
    fleets: dict[str, Fleet] = settings.get(PARTNER_FLEET, {}).get(FLEETS, {})
    return fleets or {SAME_SYSTEM: {}}


def list_partner_systems(settings: Mapping[str, Any]) -> dict[str, PartSettings[AnySystem]]:
    """Return the settings of the systems of partners by name; none where all are the ego's."""
    systems: dict[str, Any] = settings.get(PARTNER_FLEET, {}).get(SYSTEMS, {})
    return systems


def get_partner_system(settings: CampaignSettings, name: str) -> NamedSystem:
    """Return a system that partners use."""
    place = f"{PARTNER_PLACE}.{name}"
    return NamedSystem(name=name, place=place, part=list_partner_systems(settings)[name])


def get_arm_system(settings: CampaignSettings, arm: Arm) -> NamedSystem:
    """Return the system of an arm's ego."""
    place = f"system.{arm.system}"
    return NamedSystem(name=arm.system, place=place, part=settings["system"][arm.system])


def is_system_of_ego(settings: CampaignSettings, arm: Arm, name: str) -> bool:
    """Return whether a system of partners is the ego's: of its name, with its settings."""
    if name in (SAME_SYSTEM, arm.system):
        known = list_partner_systems(settings)
        return name == SAME_SYSTEM or known.get(name) == settings["system"][arm.system]
    return False


def get_arm_fleet(settings: CampaignSettings, arm: Arm) -> Fleet:
    """Return the fleet of an arm."""
    return list_fleets(settings).get(arm[PARTNER_FLEET], {})


def list_arm_partner_systems(settings: CampaignSettings, arm: Arm) -> dict[str, NamedSystem]:
    """Return the systems of an arm's partners by name, without the ego's own.

    Those of kinds of partners that the cooperation does not have are left out.
    """
    fleet = get_arm_fleet(settings, arm)
    if not fleet:
        return {}
    absent = {*PARTNER_KINDS} - list_present_kinds(settings, arm)
    names = list_fleet_systems({key: use for key, use in fleet.items() if key not in absent})
    return {
        name: get_partner_system(settings, name)
        for name in names
        if not is_system_of_ego(settings, arm, name)
    }


def list_kind_systems(settings: CampaignSettings, arm: Arm) -> dict[Kind, list[NamedSystem]]:
    """Return the systems that agents of each kind may use in an arm; the ego has its own.

    Where a file gives agents their systems, an agent of a kind may use any of them.
    """
    ego, fleet = get_arm_system(settings, arm), get_arm_fleet(settings, arm)
    others = list_arm_partner_systems(settings, arm)
    kinds: dict[Kind, list[NamedSystem]] = {"ego": [ego]}
    for kind in PARTNER_KINDS:
        named = fleet.get(kind, SAME_SYSTEM)
        kinds[kind] = [ego, *others.values()] if AGENTS in fleet else [others.get(named, ego)]
    return kinds


def list_present_kinds(settings: CampaignSettings, arm: Arm) -> set[str]:
    """Return the kinds of partners that share in an arm."""
    if arm.cooperation == NONE:
        return set()
    cooperation = build_arm_cooperation(settings, arm)
    connected = cooperation.connected and cooperation.connected_share
    there = {"roadside": cooperation.roadside is not None, "vehicle": bool(connected)}
    return {kind for kind, present in there.items() if present}


def with_partner_systems(settings: CampaignSettings, arms: Iterable[Arm]) -> list[Arm]:
    """Return the arms with each fleet; those that mean the same are one arm.

    A fleet in which all partners that are there use the ego's system is `own`.

    Raises:
        UserError: no arm has the partners that a fleet is about.
    """
    fleets, arms = list_fleets(settings), list(arms)
    if not any(fleets.values()):
        return arms
    present = set().union(*(list_present_kinds(settings, arm) for arm in arms))
    if build_route_source(settings["routes"]).several_egos:
        present.add(EGO)
    refuse_absent_kinds(fleets, present)
    made: list[Arm] = []
    for arm in arms:
        meanings = []
        for name in fleets:
            meant = arm.replace_factors(partners=name)
            meaning = describe_effect(settings, meant)
            if meaning not in meanings:
                meanings.append(meaning)
                made.append(meant if meaning else arm)
    return list(dict.fromkeys(made))


def describe_effect(settings: CampaignSettings, arm: Arm) -> dict[str, Any]:
    """Return what an arm's fleet changes: nothing where all partners use the ego's system."""
    fleet = get_arm_fleet(settings, arm)
    if not list_arm_partner_systems(settings, arm):
        return {}
    present = list_present_kinds(settings, arm)
    return {
        key: value
        for key, value in fleet.items()
        if key not in PARTNER_KINDS
        or (key in present and not is_system_of_ego(settings, arm, str(value)))
    }


def refuse_absent_kinds(fleets: Mapping[str, Fleet], present: set[str]) -> None:
    """Refuse a fleet of partners that no arm has."""
    for fleet in fleets.values():
        kinds = [kind for kind in PARTNER_KINDS if kind in fleet]
        if fleet and not present & {*(kinds or (*PARTNER_KINDS, EGO))}:
            words = " or ".join(KIND_WORDS[kind] for kind in kinds or PARTNER_KINDS)
            raise UserError(
                f"configuration: {PLACE}: no arm has {words} that share; choose another"
                " cooperation, or a system that reads messages"
            )


def find_unlike_arms(settings: CampaignSettings, arms: Sequence[Arm]) -> dict[Arm, str]:
    """Return why some arms cannot be driven: the ego cannot fuse what their partners send.

    Raises:
        UserError: a fleet suits no arm at all.
    """
    reasons = {}
    for arm in arms:
        ego = get_arm_system(settings, arm)
        problems = [
            problem
            for sender in list_arm_partner_systems(settings, arm).values()
            if (problem := find_sharing_problem(ego, sender)) is not None
        ]
        problems += list_driven_problems(settings, arm)
        problems += [*list_computing_problems(settings, arm), *list_ego_problems(settings, arm)]
        if problems:
            reasons[arm] = problems[0]
    for name in {arm[PARTNER_FLEET] for arm in reasons} - {SAME_SYSTEM}:
        of_fleet = [arm for arm in arms if arm[PARTNER_FLEET] == name]
        if all(arm in reasons for arm in of_fleet):
            first = of_fleet[0]
            raise UserError(
                f"configuration: {PLACE}: {name} with {first.system}: {reasons[first]}; choose"
                " another system of partners or of the ego"
            )
    return reasons


def list_driven_systems(settings: CampaignSettings, arm: Arm) -> list[NamedSystem]:
    """Return the systems that a file gives driven egos, without that of the arm, each once."""
    fleet, others = get_arm_fleet(settings, arm), list_arm_partner_systems(settings, arm)
    names = dict.fromkeys(
        fleet[MODALITIES][modality]
        for agents in fleet.get(AGENTS, {}).values()
        for agent, modality in agents.items()
        if DRIVEN_NAME.fullmatch(agent)
    )
    return [others[name] for name in names if name in others]


def list_driven_problems(settings: CampaignSettings, arm: Arm) -> list[str]:
    """Return why egos cannot fuse what other egos send: each hears all others."""
    first, driven = get_arm_system(settings, arm), list_driven_systems(settings, arm)
    problems = [
        find_sharing_problem(ego, sender)
        for ego in driven
        for sender in (first, *driven)
        if ego.kind.reads_messages and sender is not ego
    ]
    return [problem for problem in problems if problem is not None]


def find_sharing_problem(ego: NamedSystem, sender: NamedSystem) -> str | None:
    """Return why an ego cannot fuse what a partner of another system sends; None where it can.

    Boxes are fused whatever made them. Points are points. Feature maps need equal layouts: the same
    kind of encoder with the same widths, the same cells and the same shapes.

    Args:
        ego: the system that reads messages.
        sender: the partner's system.
    """
    if brings_sensors(sender.kind):
        return f"{sender.name} brings its own sensors, and partners carry those of the rig"
    needed = find_shared_type(ego.kind)
    sent = find_shared_type(sender.kind) if sender.kind.reads_messages else None
    if needed is None:
        return f"{ego.name} does not say what it fuses: its share has no type of payload"
    if needed is Boxes and detects_alone(sender.kind):
        return None
    if needed is not sent:
        gives = "nothing that its class says" if sent is None else SENT[sent]
        return f"{ego.name} fuses {SENT[needed]}, and partners with {sender.name} send {gives}"
    return find_layout_problem(ego, sender) if needed is Features else None


def find_layout_problem(ego: NamedSystem, sender: NamedSystem) -> str | None:
    """Return why feature maps of a partner do not fit those that the ego fuses; None if they do."""
    fused = describe_features(ego.kind, ego.arguments)
    sent = describe_features(sender.kind, sender.arguments)
    if fused is None or sent is None:
        silent = ego.name if fused is None else sender.name
        return f"it is not known which feature maps {silent} sends"
    difference = fused.describe_difference(sent)
    return f"partners with {sender.name} send {difference}" if difference else None


def list_computing_problems(settings: CampaignSettings, arm: Arm) -> Iterator[str]:
    """Yield why no computing time is known: a partner sends other than what was timed."""
    if arm[COMPUTE] == NONE:
        return
    needed = find_shared_type(get_arm_system(settings, arm).kind)
    for sender in list_arm_partner_systems(settings, arm).values():
        if find_shared_type(sender.kind) is not needed or not sender.kind.reads_messages:
            yield f"{COMPUTE} has times of what {sender.name} shares, not of its boxes"


def list_ego_problems(settings: CampaignSettings, arm: Arm) -> Iterator[str]:
    """Yield why a file of assignments is not about an arm: it gives the ego another system."""
    fleet = get_arm_fleet(settings, arm)
    for scenario, agents in fleet.get(AGENTS, {}).items():
        for agent in (EGO, f"{EGO}-0"):
            name = fleet[MODALITIES].get(agents.get(agent), SAME_SYSTEM)
            if not is_system_of_ego(settings, arm, name):
                yield f"{arm[PARTNER_FLEET]} gives the ego {name} in {scenario}"


def list_fleet_notes(settings: CampaignSettings) -> Iterator[str]:
    """Yield a line for each fleet of the plan: which partners use which system."""

    def describe(name: str) -> str:
        if name == SAME_SYSTEM:
            return "the system of the ego"
        return f"{PARTNER_PLACE}.{name}" if name in settings["system"] else name

    for name, fleet in list_fleets(settings).items():
        if not fleet:
            continue
        parts = [
            f"{KIND_WORDS[kind]} use {describe(fleet.get(kind, SAME_SYSTEM))}"
            for kind in PARTNER_KINDS
        ]
        if AGENTS in fleet:
            uses = ", ".join(f"{key}: {describe(use)}" for key, use in fleet[MODALITIES].items())
            parts = [f"by agent ({uses}); agents without a modality use the system of the ego"]
        yield f"{PARTNER_FLEET}={name}: {'; '.join(parts)}"


def list_all_systems(settings: CampaignSettings) -> list[NamedSystem]:
    """Return the systems of the ego in all arms, then those of partners."""
    named = {"system": settings["system"], PARTNER_PLACE: list_partner_systems(settings)}
    return [
        NamedSystem(name=name, place=f"{group}.{name}", part=part)
        for group, parts in named.items()
        for name, part in parts.items()
    ]

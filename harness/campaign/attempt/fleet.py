"""The systems of an attempt: the ego's, and those of partners that use another one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from harness.campaign.attempt.asking import ask_for_boxes, ask_for_payload
from harness.campaign.attempt.blame import SetUpBlame
from harness.campaign.folder.inputs import refuse_file_changes
from harness.campaign.settings.attacks import find_shared_type
from harness.campaign.settings.config import build_part
from harness.campaign.settings.declared import CampaignSettings
from harness.campaign.settings.fleets import AGENTS, MODALITIES, PARTNER_KINDS
from harness.campaign.settings.partner_systems import (
    EGO,
    AnySystem,
    NamedSystem,
    get_arm_fleet,
    list_arm_partner_systems,
)
from harness.campaign.settings.repeatable import hold_network_kernels
from harness.records.arms import PARTNER_FLEET, SAME_SYSTEM, Arm
from harness.types.sharing import detects_alone
from harness.types.systems import has_image_reader
from harness.types.vocabulary import Boxes, GroundTruth, Kind, Observation, Payload, Route
from harness.world.changes.second_sender import AGAIN
from harness.world.senses import PartnerSenses

made_before: dict[str, AnySystem] = {}
"""Systems that were made before this process was forked, by place; each fresh in every child."""


def set_up_named_system(
    settings: CampaignSettings,
    named: NamedSystem,
    group: Literal["system", "partners"],
    *,
    again: bool = False,
) -> AnySystem:
    """Return a system, if its files are those that the campaign began with.

    Args:
        settings: of the campaign.
        named: the system.
        group: of the settings, which it is from.
        again: make another one, where one was made before.

    Raises:
        AttemptError: class `agent_setup`: it cannot be made, or its files have changed.
    """
    with SetUpBlame():
        refuse_file_changes(settings, named.name, group)
        if named.place in made_before and not again:
            return made_before[named.place]
        system: AnySystem = build_part(named.part, named.place)
        hold_network_kernels(settings)
    return system


class AttemptFleet:
    """Which system each partner of an attempt uses, what it senses with, and what it sends.

    Args:
        ego: the ego's system, which all partners use that have no other.
        name: of the system that agents without another one use.
        place: of the settings of the ego's system.
        others: systems of partners by name.
        of_egos: names of systems that other driven egos use, each with an object of its own.
        choices: names of systems, by kind of partner and by agent.
        keeps_points: whether the records keep sweeps, whatever is read.
    """

    def __init__(
        self,
        ego: AnySystem,
        name: str,
        *,
        place: str = "",
        others: Mapping[str, AnySystem] | None = None,
        of_egos: Iterable[str] = (),
        choices: Mapping[str, str] | None = None,
        keeps_points: bool = False,
    ) -> None:
        self._ego, self._name, self.place = ego, name, place
        self._of_egos = frozenset(of_egos)
        self._others, self._choices = dict(others or {}), dict(choices or {})
        self._keeps_points = keeps_points
        self.wants_boxes = find_shared_type(type(ego)) is Boxes

    @property
    def is_mixed(self) -> bool:
        """Whether any partner may use another system than the ego."""
        return bool(self._others or self._of_egos)

    @property
    def reads_images(self) -> bool:
        """Whether any system reads images."""
        return any(map(has_image_reader, (self._ego, *self._others.values())))

    def find_name(self, sender: str, kind: str) -> str:
        """Return the name of the system that a partner uses.

        Another system of the same name as the ego's, with other settings, is `partners.NAME`.
        """
        other = self._find_other(sender, kind)
        if other is None:
            return self._name
        return f"{PARTNER_FLEET}.{other}" if other == self._name else other

    def _find_other(self, sender: str, kind: str) -> str | None:
        """Return which other system a partner uses, if any; a double has that of its unit."""
        agent = sender.removesuffix(AGAIN)
        chosen = self._choices.get(agent, self._choices.get(kind, SAME_SYSTEM))
        return chosen if chosen in self._others or chosen in self._of_egos else None

    def choose_senses(self, sender: str, kind: Kind) -> PartnerSenses:
        """Return what is mounted on a partner, as its system reads it."""
        other = self._find_other(sender, kind)
        system = self._ego if other is None else self._others[other]
        return PartnerSenses(
            reads_points=bool(system.reads_points or self._keeps_points),
            reads_images=has_image_reader(system),
        )

    def ask_for_message(self, observation: Observation, truth: GroundTruth) -> Payload:
        """Return what a partner sends of what it sensed, by its system.

        Where the ego fuses boxes, a partner of another system sends what it detects alone.

        Args:
            observation: of the partner, with the pose that it believes.
            truth: boxes that a privileged system may use, in the partner's LiDAR frame.
        """
        name = self._find_other(observation.sender, observation.kind)
        if name is None:
            return ask_for_payload(self._ego, observation, truth)
        other = self._others[name]
        if self.wants_boxes and detects_alone(other):
            return ask_for_boxes(other, observation, truth)
        return ask_for_payload(other, observation, truth)

    def reset_others(self, seed: int, route: Route) -> None:
        """Let the systems of partners start an attempt, with the seed of the ego's."""
        for system in self._others.values():
            system.reset(seed, route)

    def build_record(self, senders: Iterable[tuple[str, str]]) -> dict[str, Any]:
        """Return the part of `result.json` on who used which system; nothing if all the ego's.

        Args:
            senders: names and kinds of the partners that shared.
        """
        if not self.is_mixed:
            return {}
        used = {sender: self.find_name(sender, kind) for sender, kind in sorted(set(senders))}
        return {"partner_systems": used}


def set_up_fleet(
    settings: CampaignSettings,
    arm: Arm,
    ego: AnySystem,
    route: str,
    *,
    place: str,
    among_egos: bool,
) -> AttemptFleet:
    """Return the systems of an attempt's partners.

    Args:
        settings: of the campaign.
        arm: of the attempt.
        ego: the ego's system.
        route: the scenario, where a file gives agents their systems.
        place: of the settings of the ego's system.
        among_egos: whether several egos are driven: each is asked by its own system.

    Raises:
        AttemptError: class `agent_setup`: a system cannot be made, or its files have changed.
    """
    others = list_arm_partner_systems(settings, arm)
    return AttemptFleet(
        ego,
        arm.system,
        place=place,
        others={
            name: set_up_named_system(settings, named, PARTNER_FLEET)
            for name, named in others.items()
            if not among_egos
        },
        of_egos=others if among_egos else (),
        choices=list_choices_by_agent(settings, arm, route),
        keeps_points=settings["record"]["points"],
    )


def list_choices_by_agent(settings: CampaignSettings, arm: Arm, route: str) -> dict[str, str]:
    """Return the names of systems that partners use, by kind or by agent."""
    fleet = get_arm_fleet(settings, arm)
    if AGENTS not in fleet:
        return {kind: fleet[kind] for kind in PARTNER_KINDS if kind in fleet}
    agents: Mapping[str, str] = fleet[AGENTS].get(route, {})
    return {agent: fleet[MODALITIES][modality] for agent, modality in agents.items()}


def find_ego_system(
    settings: CampaignSettings, arm: Arm, route: str, number: int
) -> NamedSystem | None:
    """Return the system that a file gives one of several driven egos; None: that of the arm.

    Args:
        settings: of the campaign.
        arm: of the attempt.
        route: the scenario.
        number: of the ego, from 0.
    """
    choices = list_choices_by_agent(settings, arm, route)
    return list_arm_partner_systems(settings, arm).get(choices.get(f"{EGO}-{number}", SAME_SYSTEM))

"""What an ego brings into an attempt: its system and all that is made for it before the world."""

from __future__ import annotations

from dataclasses import dataclass

from harness.campaign.attempt.blame import SetUpBlame
from harness.campaign.attempt.compensating import set_up_compensation
from harness.campaign.attempt.computing import AttemptComputing, set_up_computing
from harness.campaign.attempt.fleet import (
    AttemptFleet,
    find_ego_system,
    set_up_fleet,
    set_up_named_system,
)
from harness.campaign.attempt.intervening import InterveningSystem, build_arm_intervention
from harness.campaign.attempt.security import set_up_defence
from harness.campaign.folder.inputs import refuse_file_changes
from harness.campaign.settings.attacks import build_arm_attack
from harness.campaign.settings.brakes import build_arm_brakes
from harness.campaign.settings.conditions import build_condition_disturbances
from harness.campaign.settings.config import build_part
from harness.campaign.settings.cooperation import build_arm_cooperation
from harness.campaign.settings.declared import CampaignSettings
from harness.campaign.settings.drivers import NO_USE_DRIVER, build_arm_driver, get_speed_factor
from harness.campaign.settings.links import build_arm_link
from harness.campaign.settings.message_formats import build_arm_message_format
from harness.campaign.settings.partner_systems import NamedSystem, get_arm_system
from harness.channel.channel import Channel
from harness.channel.compensation.compensation import Compensation
from harness.channel.defences.defence import Defence
from harness.channel.effects import Window
from harness.channel.links.link import Link
from harness.channel.messages.message_format import MessageFormat
from harness.common.errors import UserError
from harness.records.arms import DEFAULT_DRIVER, DRIVER, IDEAL_LINK, LINK, PARTNER_FLEET, Arm
from harness.types.agent_sensors import steers_all
from harness.types.drivers import is_drivable_system, is_scalable_system
from harness.types.systems import PrivilegedSystem, System
from harness.world.brakes import TyreGrip
from harness.world.partners import Cooperation
from harness.world.rig import Rig


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class EgoParts:
    """What is made for an ego; nothing of it is shared with another ego."""

    system: System | PrivilegedSystem
    sharing: AttemptFleet  # which system each partner uses
    channel: Channel  # through which messages reach this ego
    cooperation: Cooperation
    intervening: InterveningSystem | None
    brakes: TyreGrip | None
    defence: Defence | None
    compensation: Compensation | None
    computing: AttemptComputing | None


def build_ego_parts(
    settings: CampaignSettings,
    arm: Arm,
    *,
    route: str,
    number: int,
    seed: int,
    among_egos: bool = False,
    first: System | PrivilegedSystem | None = None,
) -> EgoParts:
    """Return what an arm means for one ego.

    Args:
        settings: of the campaign.
        arm: of the attempt.
        route: of the attempt, by which a file may give agents their systems.
        number: of the ego, from 0.
        seed: of the attempt.
        among_egos: whether several egos are driven; a file may give each a system.
        first: the system of the first ego, which may steer this one, too; None for the first.

    Raises:
        AttemptError: class `agent_setup`: something cannot be made, or its files have changed.
    """
    named = find_ego_system(settings, arm, route, number) if among_egos else None
    if named is None:
        named = get_arm_system(settings, arm)
        system = set_up_ego_system(settings, arm, number, first)
    else:
        system = set_up_named_system(settings, named, PARTNER_FLEET, again=True)
    set_up_driver(settings, arm, system)
    sharing = set_up_fleet(settings, arm, system, route, place=named.place, among_egos=among_egos)
    channel = set_up_channel(settings, arm, get_message_window(system, settings), number)
    channel.link = set_up_link(settings, arm)
    channel.message_format = set_up_message_format(settings, arm)
    return EgoParts(
        system=system,
        sharing=sharing,
        channel=channel,
        cooperation=build_arm_cooperation(settings, arm),
        intervening=build_arm_intervention(settings, arm, seed, number),
        brakes=set_up_brakes(settings, arm),
        defence=set_up_defence(settings, arm),
        compensation=set_up_compensation(settings, arm, system),
        computing=set_up_computing(settings, arm, sharing, named.name),
    )


def set_up_ego_system(
    settings: CampaignSettings,
    arm: Arm,
    number: int,
    first: System | PrivilegedSystem | None,
) -> System | PrivilegedSystem:
    """Return the system under test of an ego.

    Args:
        settings: of the campaign.
        arm: of the attempt.
        number: of the ego, from 0.
        first: the system of the first ego, which may steer this one, too; None for the first.
    """
    if first is not None and steers_all(first):
        return first.join_ego(number)
    return set_up_system(settings, arm.system, again=number > 0)


def set_up_system(
    settings: CampaignSettings, name: str, *, again: bool = False
) -> System | PrivilegedSystem:
    """Return the system under test, if its files are those that the campaign began with.

    Args:
        settings: of the campaign.
        name: of the system.
        again: make another one, where one was made before.
    """
    named = NamedSystem(name=name, place=f"system.{name}", part=settings["system"][name])
    return set_up_named_system(settings, named, "system", again=again)


def set_up_driver(settings: CampaignSettings, arm: Arm, system: System | PrivilegedSystem) -> None:
    """Give the system the driver of its arm; `default` keeps the one it has.

    Raises:
        AttemptError: class `agent_setup`: the driver cannot be made, or its files have changed.
    """
    if arm[DRIVER] == DEFAULT_DRIVER:
        return
    with SetUpBlame():
        refuse_file_changes(settings, arm[DRIVER], DRIVER)
        if is_drivable_system(system):
            system.use_driver(build_arm_driver(settings, arm))
            return
        factor = get_speed_factor(settings, arm[DRIVER])
        if factor is None or not is_scalable_system(system):
            raise UserError(f"system.{arm.system} {NO_USE_DRIVER}")
        system.scale_speed(factor)


def set_up_link(settings: CampaignSettings, arm: Arm) -> Link | None:
    """Return the link of an arm; None for the ideal one.

    Raises:
        AttemptError: class `agent_setup`: the link cannot be made, or its files have changed.
    """
    if arm[LINK] == IDEAL_LINK:
        return None
    with SetUpBlame():
        refuse_file_changes(settings, arm[LINK], LINK)
        return build_arm_link(settings, arm)


def set_up_message_format(settings: CampaignSettings, arm: Arm) -> MessageFormat | None:
    """Return the format of an arm's messages; None for the native one.

    Raises:
        AttemptError: class `agent_setup`: the format cannot be made.
    """
    with SetUpBlame():
        return build_arm_message_format(settings, arm)


def set_up_brakes(settings: CampaignSettings, arm: Arm) -> TyreGrip | None:
    """Return the brakes of an arm; None for those of the simulator.

    Raises:
        AttemptError: class `agent_setup`: the brakes cannot be made.
    """
    with SetUpBlame():
        return build_arm_brakes(settings, arm)


def get_message_window(system: System | PrivilegedSystem, settings: CampaignSettings) -> Window:
    """Return the range in which a system uses messages; by default the reach of the LiDARs."""
    window: Window | None = getattr(system, "window", None)
    if window is not None:
        return window
    rig: Rig = build_part(settings["rig"], "rig")
    reach = max(rig.ego.range, build_part(settings["patterns"], "patterns").reach)
    return reach, reach


def set_up_channel(settings: CampaignSettings, arm: Arm, window: Window, ego: int = 0) -> Channel:
    """Return the channel with the attack of an arm, and behind it the disturbances.

    Args:
        settings: of the campaign.
        arm: of the attempt.
        window: in which the ego's system uses messages.
        ego: number of the ego that receives, from 0: an attack may aim at some of several.

    Raises:
        AttemptError: class `agent_setup`: the attack cannot be made.
    """
    with SetUpBlame():
        attack = build_arm_attack(settings, arm, ego)
    # what a partner sends is a lie before anything happens to it
    lying = [] if attack is None else [attack]
    channel: Channel = build_part(
        settings["channel"],
        "channel",
        disturbances=[*lying, *build_condition_disturbances(settings, arm.condition)],
        tick_seconds=settings["tick"],
        window=window,
    )
    return channel

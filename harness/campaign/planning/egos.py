"""What cannot be driven with several egos is refused before anything is driven."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from harness.campaign.folder.assignments import RouteAssignment
from harness.campaign.settings.attacks import (
    build_arm_attack,
    build_attacks,
    find_payload_problem,
)
from harness.campaign.settings.computing import build_arm_computing_time
from harness.campaign.settings.conditions import build_condition_changes
from harness.campaign.settings.config import INTERVENTION, find_class
from harness.campaign.settings.declared import CampaignSettings
from harness.campaign.settings.defences import build_arm_defence, find_defence_problem
from harness.campaign.settings.drivers import NO_USE_DRIVER, build_arm_driver, get_speed_factor
from harness.campaign.settings.fleets import AGENTS, ASSIGNMENT, PLACE
from harness.campaign.settings.interventions import build_interventions
from harness.campaign.settings.partner_systems import (
    NamedSystem,
    get_arm_fleet,
    get_arm_system,
    list_driven_systems,
    list_present_kinds,
)
from harness.campaign.settings.routes import build_route_source
from harness.channel.computing.busy_device import PARALLEL
from harness.common.errors import UserError
from harness.records.arms import (
    ATTACK,
    COMPUTE,
    DEFAULT_DRIVER,
    DRIVER,
    MESSAGE_FORMAT,
    NATIVE_FORMAT,
    NONE,
    PARTNER_FLEET,
    SAME_SYSTEM,
    Arm,
)
from harness.types.agent_sensors import brings_sensors, steers_all
from harness.types.drivers import is_drivable_system, is_intending_driver, is_scalable_system
from harness.types.systems import is_perceiving_system


def has_several_egos(settings: CampaignSettings) -> bool:
    """Return whether the source of routes may drive several egos in one attempt."""
    return build_route_source(settings["routes"]).several_egos


def refuse_with_several_egos(
    settings: CampaignSettings, assignments: Sequence[RouteAssignment], arms: Collection[Arm]
) -> None:
    """Refuse arms that are for one ego, if a route has several.

    Args:
        settings: of the campaign.
        assignments: routes with their egos.
        arms: that are driven.

    Raises:
        UserError: one line that names the setting.
    """
    several = [one.route.name for one in assignments if one.further]
    refuse_absent_victims(settings, assignments, arms)
    if not several:
        return
    place = f"configuration: {several[0]} has several driven egos"
    for arm in sorted(arms):
        refuse_other_fleets(settings, arm, place)
        refuse_one_ego_parts(settings, arm, place)
        refuse_unlike_security(settings, arm, place)
        for change in build_condition_changes(settings, arm.condition):
            raise UserError(
                f"{place}, and interference.{arm.condition} changes the scene of one"
                f" ({change.name}); choose another condition"
            )
        refuse_sensors_for_one(settings, arm, place)


def refuse_sensors_for_one(settings: CampaignSettings, arm: Arm, place: str) -> None:
    """Refuse a system with its own sensors, unless it steers all egos.

    Args:
        settings: of the campaign.
        arm: that is driven.
        place: the beginning of the message.

    Raises:
        UserError: one line that names the setting.
    """
    kind = find_class(settings["system"][arm.system]["_target_"], f"system.{arm.system}")
    if brings_sensors(kind) and not steers_all(kind):
        raise UserError(
            f"{place}, and system.{arm.system} brings its own sensors, for one; choose another"
            " system"
        )


def refuse_other_fleets(settings: CampaignSettings, arm: Arm, place: str) -> None:
    """Refuse fleets of an arm with several egos that are not about egos alone.

    Args:
        settings: of the campaign.
        arm: that is driven.
        place: the beginning of the message.

    Raises:
        UserError: one line that names the setting.
    """
    fleet, name = get_arm_fleet(settings, arm), arm[PARTNER_FLEET]
    if name == SAME_SYSTEM:
        return
    if AGENTS not in fleet:
        raise UserError(
            f"{place}, and {PARTNER_FLEET}={name} is for one; choose {PARTNER_FLEET}={SAME_SYSTEM},"
            f" or give egos their systems by {PLACE}.{ASSIGNMENT}"
        )
    if list_present_kinds(settings, arm):
        raise UserError(
            f"{place}, and {PARTNER_FLEET}={name} gives agents their systems, which is for egos"
            f" that share with each other alone; choose cooperation=egos, not {arm.cooperation}"
        )
    if arm[DRIVER] == DEFAULT_DRIVER:
        return
    for system in list_driven_systems(settings, arm):
        at_speed = get_speed_factor(settings, arm[DRIVER]) and is_scalable_system(system.kind)
        if not (is_drivable_system(system.kind) or at_speed):
            raise UserError(f"{place}, and {system.place} {NO_USE_DRIVER}")


def refuse_one_ego_parts(settings: CampaignSettings, arm: Arm, place: str) -> None:
    """Refuse settings of an arm that have a meaning for one ego only.

    Args:
        settings: of the campaign.
        arm: that is driven.
        place: the beginning of the message.

    Raises:
        UserError: one line that names the setting and the reason.
    """
    computing = build_arm_computing_time(settings, arm)
    if computing is not None and computing.busy != PARALLEL:
        raise UserError(
            f"{place}, and {COMPUTE}.{arm[COMPUTE]}.busy={computing.busy} is for one: a driven ego"
            f" computes messages and its own step on one device; choose busy={PARALLEL}"
        )
    name = arm[INTERVENTION]
    if name == NONE:
        return
    if build_interventions(settings)[name].window is not None:
        raise UserError(
            f"{place}, and {INTERVENTION}.{name} has a window before the meeting with a hazard,"
            " which only the first ego has; choose an intervention without one"
        )
    for system in list_driven_systems(settings, arm):
        if not is_perceiving_system(system.kind):
            raise UserError(
                f"{place}, and {INTERVENTION}={name} stands between perceive and drive, which"
                f" {system.place} does not have; choose another system"
            )


def refuse_unlike_security(settings: CampaignSettings, arm: Arm, place: str) -> None:
    """Refuse attacks and defences that do not suit the systems that a file gives driven egos.

    Args:
        settings: of the campaign.
        arm: that is driven.
        place: the beginning of the message.

    Raises:
        UserError: one line that names the setting and the system.
    """
    attack, defence = build_arm_attack(settings, arm), build_arm_defence(settings, arm)
    for system in list_driven_systems(settings, arm):
        if not system.kind.reads_messages:
            continue
        problems: list[str | None] = []
        if attack is not None and attack.needs_gradients:
            problems.append(f"{attack.name} needs gradients, and egos have several networks")
        elif attack is not None:
            problems.append(find_payload_problem(attack, system.kind))
        if defence is not None:
            problems.append(find_defence_problem(defence, system.kind))
        for problem in filter(None, problems):
            raise UserError(f"{place}, and with {system.place}: {problem}; choose another")


def refuse_absent_victims(
    settings: CampaignSettings, assignments: Sequence[RouteAssignment], arms: Collection[Arm]
) -> None:
    """Refuse attacks that aim at egos that a route does not have.

    Args:
        settings: of the campaign.
        assignments: routes with their egos.
        arms: that are driven.

    Raises:
        UserError: one line that names the setting and the route.
    """
    attacks = build_attacks(settings)
    for name in sorted({arm[ATTACK] for arm in arms} - {NONE}):
        attacked = attacks[name].egos
        if attacked is None:
            continue
        for one in assignments:
            egos = 1 + len(one.further)
            if max(attacked) >= egos:
                raise UserError(
                    f"configuration: {ATTACK}.{name}.egos = {list(attacked)}: {one.route.name} has"
                    f" no driven ego {max(attacked)} (egos: {egos}, from 0)"
                )


def refuse_unsent_intentions(
    settings: CampaignSettings, assignments: Sequence[RouteAssignment], arms: Collection[Arm]
) -> None:
    """Refuse intentions that nothing would send, receive or write.

    Args:
        settings: of the campaign.
        assignments: routes with their egos.
        arms: that are driven.

    Raises:
        UserError: one line that names the setting.
    """
    asked = [name for name, part in settings["cooperation"].items() if part.get("intentions")]
    for name in asked:
        place = f"configuration: cooperation.{name}.intentions=true"
        if not any(one.further for one in assignments):
            raise UserError(
                f"{place} needs a route with several driven egos; choose routes.source.driven=all"
                " and a set that has such routes"
            )
        sending = sorted(arm for arm in arms if arm.cooperation == name)
        if not sending:
            raise UserError(f"{place} needs a system that reads messages; choose another system")
        for arm in sending:
            if arm[MESSAGE_FORMAT] != NATIVE_FORMAT:
                raise UserError(
                    f"{place}, and message_format={arm[MESSAGE_FORMAT]} has no planned paths;"
                    f" choose message_format={NATIVE_FORMAT}"
                )
            for system in (get_arm_system(settings, arm), *list_driven_systems(settings, arm)):
                if system.kind.reads_messages and not intends(settings, arm, system):
                    raise UserError(
                        f"{place}, and the driver of {system.name} under driver={arm[DRIVER]} does"
                        " not say what it plans; choose another system or driver"
                    )


def intends(settings: CampaignSettings, arm: Arm, system: NamedSystem) -> bool:
    """Return whether a system's driver in an arm says what it plans, as far as classes show it."""
    if not hasattr(system.kind, "driver"):
        return False
    return arm[DRIVER] == DEFAULT_DRIVER or is_intending_driver(build_arm_driver(settings, arm))

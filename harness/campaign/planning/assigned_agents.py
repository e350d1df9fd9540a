"""Whether the agents to which a file gives systems are in the attempts of a campaign."""

from __future__ import annotations

import re
from collections.abc import Iterable

from harness.campaign.folder.assignments import RouteAssignment
from harness.campaign.settings.config import build_part
from harness.campaign.settings.cooperation import build_arm_cooperation
from harness.campaign.settings.declared import CampaignSettings
from harness.campaign.settings.fleets import AGENTS, ASSIGNMENT, PARTNER_KINDS, PLACE
from harness.campaign.settings.partner_systems import EGO, list_fleets
from harness.common.errors import UserError
from harness.common.suggestions import describe_unknown_name
from harness.records.arms import NONE, Arm
from harness.types.vocabulary import Route
from harness.world.partners import Cooperation
from harness.world.traffic import Traffic

PARTNER_NAME = re.compile(r"(ego|roadside|vehicle)-(0|[1-9][0-9]{0,5})")
"""Names of partners in the records, other driven egos among them: a kind and a number."""


def refuse_absent_agents(
    settings: CampaignSettings, assignments: Iterable[RouteAssignment], arms: Iterable[Arm]
) -> None:
    """Refuse files of assignments that lack a route, or name an agent which is not there.

    A vehicle of a number below that of the traffic is there, though the rig may not fit it.

    Args:
        settings: of the campaign.
        assignments: the routes that are driven.
        arms: of the plan.

    Raises:
        UserError: a route is missing in a file, or an agent in the attempts.
    """
    files = {name: fleet for name, fleet in list_fleets(settings).items() if AGENTS in fleet}
    if not files:
        return
    traffic: Traffic = build_part(settings["traffic"], "traffic")
    of_arms = {arm.cooperation: arm for arm in arms if arm.cooperation != NONE}
    cooperations = [build_arm_cooperation(settings, arm) for arm in of_arms.values()]
    for assignment in assignments:
        route = assignment.route
        counts = count_partners(cooperations, traffic, route)
        counts = {EGO: 1 + len(assignment.further) if assignment.further else 0, **counts}
        for name, fleet in files.items():
            place = f"configuration: {PLACE}.{ASSIGNMENT}: {name}"
            if route.name not in fleet[AGENTS]:
                unknown = describe_unknown_name("route", route.name, fleet[AGENTS])
                raise UserError(f"{place}: {unknown}")
            for agent in fleet[AGENTS][route.name]:
                matched = PARTNER_NAME.fullmatch(agent)
                there = matched and int(matched[2]) < counts[matched[1]]
                if agent != EGO and not there:
                    raise UserError(
                        f"{place}: route {route.name}: no agent is called {agent} (there:"
                        f" {describe_agents(counts)})"
                    )


def count_partners(
    cooperations: Iterable[Cooperation], traffic: Traffic, route: Route
) -> dict[str, int]:
    """Return how many partners of each kind there may be on a route.

    Args:
        cooperations: of the campaign.
        traffic: connected vehicles are its vehicles.
        route: on which roadside units stand.
    """
    counts: dict[str, int] = dict.fromkeys(PARTNER_KINDS, 0)
    for cooperation in cooperations:
        if cooperation.roadside is not None:
            units = cooperation.roadside.count_units(route)
            counts["roadside"] = max(counts["roadside"], units)
        if cooperation.connected and cooperation.connected_share:
            counts["vehicle"] = traffic.vehicles
    return counts


def describe_agents(counts: dict[str, int]) -> str:
    """Return the names of agents, such as `ego, roadside-0, vehicle-0 to vehicle-9`."""
    names: list[str] = [] if counts.get(EGO) else [EGO]
    for kind, count in counts.items():
        if count:
            names.append(f"{kind}-0" + (f" to {kind}-{count - 1}" if count > 1 else ""))
    return ", ".join(names)

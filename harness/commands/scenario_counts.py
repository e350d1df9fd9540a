"""Which scenarios of InterDrive and MDrive can be driven, and why others are refused.

A scenario can be driven if its files are read, its town has a map, the ways of all its egos are
laid on the roads, and all its scripts are of kinds that are driven. This is what the plan of a
campaign checks, scenario by scenario and for all towns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.common.errors import UserError
from harness.records.reading import CampaignRecords
from harness.world.hazards.catalogue import build_hazard
from harness.world.maps import find_map, load_road_network
from harness.world.routes.resolve import resolve_mapped_route
from harness.world.routes.scenario_files import SetScenario, read_ego_route, read_single_route
from harness.world.routes.scenario_sets import (
    InterDriveRoutes,
    MDriveRoutes,
    ScenarioEntry,
    ScenarioSet,
)

NOT_READ, NO_EGO = "a file cannot be read", "it has no ego"
NO_MAP, BROKEN_MAP = "no map of {town}", "the map of {town} cannot be read"
NO_WAY = "the way of an ego cannot be laid on the roads"
NO_SCRIPT = "a script cannot be made"
NOT_DRIVEN = re.compile(r"(?:trigger|action) \S+ is not driven")
"""How a set's reader refuses what starts actors."""
UNKNOWN = "?"
"""The town of a scenario that cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedSet:
    """A set as its authors describe it.

    Attributes:
        scenarios: how many they count.
        tests: of each scenario.
        source: reads a checkout.
    """

    scenarios: int
    tests: int
    source: type[ScenarioSet]


SETS = {
    "interdrive": PublishedSet(scenarios=46, tests=2, source=InterDriveRoutes),
    "mdrive": PublishedSet(scenarios=225, tests=1, source=MDriveRoutes),
}
"""InterDrive: README of CoLMDriver, 46 tests without other traffic and 46 with it. MDrive: its
README, 225 scenarios."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedScenario:
    """One scenario of a checkout.

    Attributes:
        set_name: a name of `SETS`.
        name: of the scenario.
        town: of its routes.
        read: whether all its files were read.
        refusal: why it cannot be driven, for all scenarios in the same words; empty if it can.
        message: the whole message of that.
    """

    set_name: str
    name: str
    town: str = UNKNOWN
    read: bool = False
    refusal: str = ""
    message: str = ""


def check_scenarios(
    set_name: str, checkout: Path, maps: Path | None = None
) -> Iterator[CheckedScenario]:
    """Yield every scenario of a checkout, those that are refused too.

    Args:
        set_name: a name of `SETS`.
        checkout: the repository's folder.
        maps: folder of OpenDRIVE files of further towns; None for shipped towns.

    Raises:
        UserError: the folder is no checkout of this set, or has no scenario.
    """
    source = SETS[set_name].source(str(checkout))
    try:
        entries = source.list_scenarios(source.get_checkout())
    except UserError as problem:
        raise UserError(f"{set_name}: {problem}") from None
    for entry in entries:
        yield check_scenario(set_name, source, entry, maps)


def check_scenario(
    set_name: str, source: ScenarioSet, entry: ScenarioEntry, maps: Path | None
) -> CheckedScenario:
    """Return whether a scenario can be driven, and if not, why."""
    # its files
    try:
        scenario = entry.read()
        town = read_single_route(scenario.egos[0].file).town if scenario.egos else UNKNOWN
    except UserError as problem:
        known = NOT_DRIVEN.search(str(problem))
        return CheckedScenario(
            set_name=set_name,
            name=entry.name,
            refusal=known[0] if known else NOT_READ,
            message=str(problem),
        )
    # its town, its egos' ways, its scripts
    refusal, message = find_refusal(source, scenario, town, maps)
    return CheckedScenario(
        set_name=set_name,
        name=entry.name,
        town=town,
        read=True,
        refusal=refusal,
        message=message,
    )


def find_refusal(
    source: ScenarioSet, scenario: SetScenario, town: str, maps: Path | None
) -> tuple[str, str]:
    """Return why a scenario that was read cannot be driven, short and whole; empty if it can."""
    if not scenario.egos:
        return NO_EGO, NO_EGO
    try:
        refusal = NO_MAP if find_map(town, maps) is None else BROKEN_MAP
        load_road_network(town, maps)
        refusal = NO_WAY
        for ego in scenario.egos:
            resolve_mapped_route(read_ego_route(scenario, ego, town), maps)
        refusal = NO_SCRIPT
        for hazard in source.script_scenario(scenario, town, maps):
            build_hazard(hazard)
    except UserError as problem:
        return refusal.format(town=town), str(problem)
    return "", ""


def list_driven_tests(folders: Iterable[Path]) -> set[tuple[str, bool]]:
    """Return the scenarios with a result in campaigns, and whether there was other traffic.

    Args:
        folders: of campaigns.
    """
    return {
        (key.route, is_with_traffic(campaign))
        for campaign in map(CampaignRecords, folders)
        for key in campaign.find_attempts()
    }


def is_with_traffic(campaign: CampaignRecords) -> bool:
    """Return whether a campaign has vehicles or pedestrians next to those of its scenarios."""
    traffic = campaign.header["settings"].get("traffic") or {}
    return any(traffic.get(name) for name in ("vehicles", "walkers", "bicycles"))


def count_scenarios(
    checked: Sequence[CheckedScenario], driven: set[tuple[str, bool]]
) -> dict[str, int]:
    """Return the counts of some scenarios of one set, by column.

    Args:
        checked: the scenarios.
        driven: names with whether there was other traffic.
    """
    tests = SETS[checked[0].set_name].tests
    ready = [one for one in checked if not one.refusal]
    names = {one.name for one in checked}
    tested = {test for test in driven if test[0] in names}
    return {
        "found": len(checked),
        "read": sum(one.read for one in checked),
        "can be driven": len(ready),
        "refused": len(checked) - len(ready),
        "driven": len({name for name, _ in tested}),
        "tests": tests * len(checked),
        "tests that can be driven": tests * len(ready),
        "tests driven": len(tested) if tests > 1 else len({name for name, _ in tested}),
    }

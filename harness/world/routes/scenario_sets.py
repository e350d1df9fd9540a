"""Scenario sets with several egos: InterDrive of CoLMDriver, and MDrive's sets.

One ego is driven by the system, or all of them are, each by the system. Egos that are not driven
follow the routes that the set gives them, as scripted actors do, since no set says how they would
drive.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from harness.common.errors import UserError
from harness.common.files import expand_home
from harness.common.given_places import refuse_absent_folder
from harness.world.ego import name_ego_role
from harness.world.hazards.catalogue import build_hazard
from harness.world.hazards.scripted import EGO, format_places
from harness.world.hazards.spec import HazardSpec
from harness.world.routes.files import RouteSpec
from harness.world.routes.resolve import resolve_mapped_route
from harness.world.routes.scenario_files import (
    EGO_BODY,
    MANIFEST,
    SetActor,
    SetScenario,
    find_first_ego,
    lay_places,
    read_ego_route,
    read_manifest,
    read_places,
    read_single_route,
)
from harness.world.routes.sources import RouteSource

PLACE = "routes.checkout"
DRIVEN = ("one", "all")
"""How many of a scenario's egos are driven."""
Problem = tuple[str, str]
"""The name of a scenario that cannot be read, and why."""
EGO_FILE = re.compile(r".+_(?P<number>\d+)\.xml")
SPELLED = {"vehicle.lincoln.mkz2017": EGO_BODY}
"""Blueprints that have another name since CARLA 0.9.12."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioEntry:
    """A scenario of a checkout, before it is read.

    Attributes:
        name: of the scenario.
        read: returns it; raises UserError where it cannot be read, or is of a kind not driven.
        find_first: returns the file of its first ego; raises UserError where that is not known.
    """

    name: str
    read: Callable[[], SetScenario]
    find_first: Callable[[], Path]


class ScenarioSet(RouteSource):
    """What both sets share: routes of egos are driven, everything else is scripted."""

    def __init__(
        self,
        checkout: str | None,  # the repository's folder
        ego: int = 0,  # which of a scenario's egos is driven, from 0 on
        town: str = "Town05",  # scenarios of other towns are left out
        driven: str = "one",  # one, or all: every ego of a scenario is driven by the system
    ) -> None:
        if driven not in DRIVEN:
            raise UserError(f"routes.source.driven = {driven}: unknown; valid: {', '.join(DRIVEN)}")
        self._checkout, self._ego, self._town = checkout, ego, town
        self.several_egos = driven == "all"
        self._read: tuple[dict[str, tuple[SetScenario, RouteSpec]], list[Problem]] | None = None
        self._towns: dict[str, int] = {}

    scenario_files: str  # what a folder of a checkout has that is a scenario

    @abstractmethod
    def find_scenarios(self, folder: Path) -> Iterator[ScenarioEntry]:
        """Yield the scenarios of a checkout, in the order of their names."""

    def list_scenarios(self, folder: Path) -> list[ScenarioEntry]:
        """Return the scenarios of a checkout; UserError without one."""
        if entries := list(self.find_scenarios(folder)):
            return entries
        raise UserError(f"{folder}: no scenario was found: no folder has {self.scenario_files}")

    def routes(self, invalid: list[str] | None = None) -> Sequence[RouteSpec]:
        """Return the route of the driven ego of each scenario in the town."""
        return [route for _, route in self._scenarios(invalid).values()]

    def hazards(
        self, routes: Mapping[str, RouteSpec], kinds: Collection[str], maps: Path | None
    ) -> list[HazardSpec]:
        """Return everything that is not driven as scripted actors."""
        known, _ = self._read_scenarios()
        return [
            hazard
            for name in routes
            for hazard in self.script_scenario(known[name][0], known[name][1].town, maps)
        ]

    def further_egos(self, routes: Mapping[str, RouteSpec]) -> Mapping[str, Sequence[RouteSpec]]:
        """Return the routes of all egos but the first, if all are driven."""
        known, _ = self._read_scenarios()
        return {
            name: [
                read_ego_route(known[name][0], ego, route.town)
                for ego in self._list_driven(known[name][0])[1:]
            ]
            for name, route in routes.items()
        }

    def find_unlaid(self, routes: Mapping[str, RouteSpec], maps: Path | None) -> Mapping[str, str]:
        """Return the scenarios in which another ego or a script cannot be laid, and why."""
        known, _ = self._read_scenarios()
        unlaid = {}
        for name, route in routes.items():
            scenario = known[name][0]
            try:
                for ego in self._list_driven(scenario)[1:]:
                    resolve_mapped_route(read_ego_route(scenario, ego, route.town), maps)
                for hazard in self.script_scenario(scenario, route.town, maps):
                    build_hazard(hazard)
            except UserError as problem:
                unlaid[name] = f"{name}: {problem}"
        return unlaid

    def files(self) -> Mapping[str, Path]:
        """Return the files of all scenarios in the town."""
        return {
            f"{name}: {actor.name}": actor.file
            for name, (scenario, _) in self._read_scenarios()[0].items()
            for actor in (*scenario.egos, *scenario.others)
        }

    def describe_origin(self) -> str:
        """Return how many scenarios of which towns the checkout has."""
        self._read_scenarios()
        which = f"scenarios: {self._describe_towns()}; those of {self._town} are driven, "
        if self.several_egos:
            return f"{which}with all their egos; tables have the records of ego {self._ego}"
        return f"{which}with ego {self._ego}; the others follow their routes as scripts"

    def _describe_towns(self) -> str:
        return ", ".join(f"{count} of {town}" for town, count in sorted(self._towns.items()))

    def _describe_absence(self, invalid: list[str]) -> str:
        if invalid and (not self._towns or self._town in self._towns):
            return f"no scenario of {self._town} can be driven, such as {invalid[0]}"
        which = f"it has {self._describe_towns()}: choose with routes.source.town"
        unread = f"; {len(invalid)} cannot be read, such as {invalid[0]}" if invalid else ""
        return f"no scenario of {self._town}; {which}{unread}"

    def _list_driven(self, scenario: SetScenario) -> list[SetActor]:
        """Return the egos of a scenario that are driven, the first one first."""
        first = scenario.egos[self._ego]
        others = [ego for ego in scenario.egos if ego is not first]
        return [first, *others] if self.several_egos else [first]

    def _scenarios(
        self, invalid: list[str] | None = None
    ) -> dict[str, tuple[SetScenario, RouteSpec]]:
        """Return the scenarios of the town by name, each with the driven ego's route.

        Args:
            invalid: collects problems of those that cannot be read; None: the first is raised.
        """
        known, problems = self._read_scenarios()
        if problems and invalid is None:
            raise UserError(problems[0][1])
        listed = [f"{name}: {problem}" for name, problem in problems]
        if not known:
            raise UserError(f"{PLACE}: {self.get_checkout()}: {self._describe_absence(listed)}")
        if invalid is not None:
            invalid += listed
        return known

    def _read_scenarios(self) -> tuple[dict[str, tuple[SetScenario, RouteSpec]], list[Problem]]:
        """Return the scenarios of the town by name, and problems of those that cannot be read."""
        if self._read is not None:
            return self._read
        folder = self.get_checkout()
        refuse_absent_folder(folder, f"{PLACE}:")
        try:
            entries = self.list_scenarios(folder)
        except UserError as problem:
            raise UserError(f"{PLACE}: {problem}") from None
        read: dict[str, tuple[SetScenario, RouteSpec]] = {}
        problems: list[Problem] = []
        for entry in entries:
            try:
                scenario = entry.read()
                route = self._read_driven_route(scenario)
            except UserError as problem:
                if not self._is_elsewhere(entry):
                    problems.append((entry.name, str(problem)))
                continue
            if route is not None:
                read[entry.name] = scenario, route
        self._read = read, problems
        return self._read

    def _is_elsewhere(self, entry: ScenarioEntry) -> bool:
        """Return whether a scenario that cannot be read is surely of another town."""
        try:
            return read_single_route(entry.find_first()).town != self._town
        except UserError:
            return False

    def get_checkout(self) -> Path:
        """Return the repository's folder.

        Raises:
            UserError: no folder is named.
        """
        if self._checkout is None:
            raise UserError(f"{PLACE}: name the folder of the scenario set's repository")
        return expand_home(self._checkout, PLACE)

    def _read_driven_route(self, scenario: SetScenario) -> RouteSpec | None:
        if not scenario.egos:
            raise UserError("it has no ego")
        town = read_single_route(scenario.egos[0].file).town
        self._towns[town] = self._towns.get(town, 0) + 1
        if town != self._town:
            return None
        if self._ego not in range(len(scenario.egos)):
            known = describe_ego_numbers(len(scenario.egos))
            raise UserError(f"routes.source.ego = {self._ego}: {scenario.name} has {known}")
        # the others are scripts on their routes, or driven too: all of them are needed
        routes = [read_ego_route(scenario, ego, town) for ego in scenario.egos]
        return routes[self._ego]

    def script_scenario(
        self, scenario: SetScenario, town: str, maps: Path | None
    ) -> Iterator[HazardSpec]:
        """Yield everything of a scenario that is not driven as scripted actors."""
        # by which name a script knows a driven ego whose nearness starts it
        roles = {
            ego.name: name_ego_role(number) if number else EGO
            for number, ego in enumerate(self._list_driven(scenario))
        }
        for actor in (*scenario.egos, *scenario.others):
            if actor.name in roles:
                continue
            if actor.laid:
                places = lay_places(actor.file, town, maps)
                yaw = 0.0
            else:
                places, yaw = read_places(actor.file)
            near, whose = (scenario.triggers or {}).get(actor.name, (0.0, EGO))
            yield HazardSpec(
                route=scenario.name,
                kind="scripted_actor",
                station=0.0,
                parameters={
                    "name": actor.name,
                    "blueprint": SPELLED.get(actor.blueprint, actor.blueprint),
                    "places": format_places(places),
                    "yaw": yaw,
                    "speed": actor.speed,
                    "at_end": "leaves" if actor.laid else "stays",
                    "near": near,
                    "whose": roles.get(whose, whose),
                },
                source=type(self).__name__,
            )


class InterDriveRoutes(ScenarioSet):
    """InterDrive: 46 folders of CoLMDriver, one XML file for each ego; no speeds, no triggers."""

    safe_from_file = True
    folder = "simulation/leaderboard/data/Interdrive"
    scenario_files = "route files (NAME_0.xml, NAME_1.xml, ...)"

    def find_scenarios(self, folder: Path) -> Iterator[ScenarioEntry]:
        """Yield a scenario for each folder; the number in a file's name is the ego's."""
        place = folder / self.folder
        if not place.is_dir():
            raise UserError(f"{folder}: no CoLMDriver: {self.folder} is not there")
        for inner in sorted(place.iterdir(), key=number_name):
            numbered = {
                int(match["number"]): file
                for file in inner.glob("*.xml")
                if (match := EGO_FILE.fullmatch(file.name))
            }
            if numbered:
                egos = tuple(
                    SetActor(name=f"ego {number}", file=numbered[number], laid=True)
                    for number in sorted(numbered)
                )
                scenario = SetScenario(name=inner.name, egos=egos)
                yield ScenarioEntry(
                    name=inner.name,
                    read=partial(replace, scenario),
                    find_first=partial(getattr, egos[0], "file"),
                )


class MDriveRoutes(ScenarioSet):
    """MDrive: folders with `actors_manifest.json`, in one of two places, and what starts actors."""

    safe_from_file = True
    folders = ("scenarioset", "routes")
    scenario_files = MANIFEST

    def find_scenarios(self, folder: Path) -> Iterator[ScenarioEntry]:
        """Yield a scenario for each manifest."""
        places = [folder / name for name in self.folders if (folder / name).is_dir()]
        if not places:
            missing = " nor ".join(self.folders)
            raise UserError(f"{folder}: no MDrive: neither {missing} is there")
        for place in places:
            for manifest in sorted(place.rglob(MANIFEST)):
                name = "_".join(manifest.parent.relative_to(place).parts)
                yield ScenarioEntry(
                    name=name,
                    read=partial(read_manifest, manifest, name),
                    find_first=partial(find_first_ego, manifest),
                )


def number_name(path: Path) -> tuple[int, str]:
    """Return the key by which `r2_…` comes before `r10_…`."""
    match = re.match(r"r(\d+)_", path.name)
    return (int(match[1]) if match else 0, path.name)


def describe_ego_numbers(count: int) -> str:
    """Return the numbers of so many egos: egos 0 and 1."""
    if count == 1:
        return "ego 0 only"
    return "egos 0 and 1" if count == 2 else f"egos 0 to {count - 1}"

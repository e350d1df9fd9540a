"""Scenario sets with several egos: InterDrive of CoLMDriver, and MDrive's sets.

One ego is driven by the system, or all of them are, each by the system. Egos that are not driven
follow the routes that the set gives them, as scripted actors do, since no set says how they would
drive.
"""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from harness.common.errors import UserError
from harness.common.files import expand_home
from harness.common.safe_reading import STUDY_RECORD, read_json_within
from harness.types.vocabulary import Floats
from harness.world.ego import name_ego_role
from harness.world.hazards.nominal import CRUISE
from harness.world.hazards.scripted import EGO, format_places
from harness.world.hazards.spec import HazardSpec
from harness.world.routes.documents import XmlElement, read_xml
from harness.world.routes.files import RouteSpec, read_routes
from harness.world.routes.resolve import resolve_mapped_route
from harness.world.routes.sources import RouteSource

PLACE = "routes.checkout"
DRIVEN = ("one", "all")
"""How many of a scenario's egos are driven."""
EGO_FILE = re.compile(r".+_(?P<number>\d+)\.xml")
EGO_BODY = "vehicle.lincoln.mkz_2017"
SPELLED = {"vehicle.lincoln.mkz2017": EGO_BODY}
"""Blueprints that have another name since CARLA 0.9.12."""
MANIFEST, BEHAVIOUR = "actors_manifest.json", "actors_behavior.json"
SPARSE = 2
"""Rows of a laid route, one for each metre, from one place of a script to the next."""
SCRIPTED_GROUPS = ("npc", "bicycle", "pedestrian", "static")


@dataclass(frozen=True, slots=True, kw_only=True)
class SetActor:
    """One road user of a scenario.

    Attributes:
        name: in the set.
        file: with its places.
        blueprint: what it is.
        speed: m/s.
        laid: whether its points are a route to be laid on the roads; else its places.
    """

    name: str
    file: Path
    blueprint: str = EGO_BODY
    speed: float = CRUISE
    laid: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SetScenario:
    """A scenario: its egos, its other road users, and what starts those.

    Attributes:
        name: of the scenario.
        egos: in the order of the set.
        others: scripted in the set itself.
        triggers: nearness in metres, and whose, by the actor's name.
    """

    name: str
    egos: tuple[SetActor, ...]
    others: tuple[SetActor, ...] = ()
    triggers: Mapping[str, tuple[float, str]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioEntry:
    """A scenario of a checkout, before it is read.

    Attributes:
        name: of the scenario.
        read: returns it; raises UserError where it cannot be read, or is of a kind not driven.
    """

    name: str
    read: Callable[[], SetScenario]


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
        self._read: dict[str, tuple[SetScenario, RouteSpec]] | None = None
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
        known = self._scenarios([])
        return [
            hazard
            for name in routes
            for hazard in self.script_scenario(known[name][0], known[name][1].town, maps)
        ]

    def further_egos(self, routes: Mapping[str, RouteSpec]) -> Mapping[str, Sequence[RouteSpec]]:
        """Return the routes of all egos but the first, if all are driven."""
        known = self._scenarios([])
        return {
            name: [
                read_ego_route(known[name][0], ego, route.town)
                for ego in self._list_driven(known[name][0])[1:]
            ]
            for name, route in routes.items()
        }

    def files(self) -> Mapping[str, Path]:
        """Return the files of all scenarios in the town."""
        return {
            f"{name}: {actor.name}": actor.file
            for name, (scenario, _) in self._scenarios([]).items()
            for actor in (*scenario.egos, *scenario.others)
        }

    def describe_origin(self) -> str:
        """Return how many scenarios of which towns the checkout has."""
        self._scenarios([])
        which = f"scenarios: {self._describe_towns()}; those of {self._town} are driven, "
        if self.several_egos:
            return f"{which}with all their egos; tables have the records of ego {self._ego}"
        return f"{which}with ego {self._ego}; the others follow their routes as scripts"

    def _describe_towns(self) -> str:
        return ", ".join(f"{count} of {town}" for town, count in sorted(self._towns.items()))

    def _describe_absence(self, invalid: list[str] | None) -> str:
        if invalid and (not self._towns or self._town in self._towns):
            return f"no scenario of {self._town} can be driven, such as {invalid[0]}"
        which = f"it has {self._describe_towns()}: choose with routes.source.town"
        return f"no scenario of {self._town}; {which}"

    def _list_driven(self, scenario: SetScenario) -> list[SetActor]:
        """Return the egos of a scenario that are driven, the first one first."""
        first = scenario.egos[self._ego]
        others = [ego for ego in scenario.egos if ego is not first]
        return [first, *others] if self.several_egos else [first]

    def _scenarios(self, invalid: list[str] | None) -> dict[str, tuple[SetScenario, RouteSpec]]:
        if self._read is not None:
            return self._read
        folder = self.get_checkout()
        try:
            entries = self.list_scenarios(folder)
        except UserError as problem:
            raise UserError(f"{PLACE}: {problem}") from None
        read: dict[str, tuple[SetScenario, RouteSpec]] = {}
        for entry in entries:
            try:
                scenario = entry.read()
                route = self._read_driven_route(scenario)
            except UserError as problem:
                if invalid is None:
                    raise
                invalid.append(f"{entry.name}: {problem}")
                continue
            if route is not None:
                read[entry.name] = scenario, route
        if not read:
            raise UserError(f"{PLACE}: {folder}: {self._describe_absence(invalid)}")
        self._read = read
        return read

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
            known = f"{scenario.name} has {len(scenario.egos)} egos, from 0 on"
            raise UserError(f"routes.source.ego = {self._ego}: {known}")
        return read_ego_route(scenario, scenario.egos[self._ego], town)

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
                yield ScenarioEntry(name=inner.name, read=partial(replace, scenario))


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
                yield ScenarioEntry(name=name, read=partial(read_manifest, manifest, name))


def read_manifest(manifest: Path, name: str) -> SetScenario:
    """Return a scenario of MDrive.

    Args:
        manifest: its file of actors; the file of what starts them is next to it.
        name: of the scenario.

    Raises:
        UserError: a file cannot be read, or an actor is started otherwise than scripts are.
    """
    inner, groups = manifest.parent, read_object(manifest)
    triggers = {}
    if (inner / BEHAVIOUR).is_file():
        triggers = read_triggers(read_object(inner / BEHAVIOUR), inner / BEHAVIOUR)
    return SetScenario(
        name=name,
        egos=tuple(
            parse_manifest_actor(entry, inner, laid=True) for entry in groups.get("ego", [])
        ),
        others=tuple(
            parse_manifest_actor(entry, inner)
            for group in SCRIPTED_GROUPS
            for entry in groups.get(group, [])
        ),
        triggers=triggers,
    )


def read_object(file: Path) -> Mapping[str, Any]:
    """Return the object that a JSON file holds.

    Raises:
        UserError: it holds something else.
    """
    try:
        content = read_json_within(file, STUDY_RECORD)
    except ValueError as problem:
        raise UserError(f"{file}: {problem}") from None
    if not isinstance(content, dict):
        raise UserError(f"{file}: holds no object")
    return content


def parse_manifest_actor(entry: Any, folder: Path, *, laid: bool = False) -> SetActor:
    """Return an actor of a manifest.

    Args:
        entry: as the manifest has it.
        folder: of the scenario, in which its file lies.
        laid: whether its points are a route to be laid on the roads.
    """
    try:
        file, name = folder / str(entry["file"]), str(entry["name"])
        speed = float(entry.get("target_speed", entry.get("speed", CRUISE)))
        blueprint = str(entry.get("model", EGO_BODY))
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise UserError(f"{folder / MANIFEST}: an actor cannot be read: {problem!r}") from None
    if ".." in file.parts or not file.is_relative_to(folder):
        raise UserError(f"{folder / MANIFEST}: {entry['file']!r} is no file of the scenario")
    return SetActor(name=name, file=file, blueprint=blueprint, speed=speed, laid=laid)


def read_triggers(content: Mapping[str, Any], file: Path) -> dict[str, tuple[float, str]]:
    """Return what starts actors: nearness in metres of which vehicle, by the actor's name.

    Raises:
        UserError: a trigger or an action of another kind.
    """
    triggers = {}
    for entry in content.get("behaviors", []):
        name, trigger, action = entry["actor_name"], entry["trigger"], entry.get("action")
        if trigger.get("type") != "distance_to_vehicle":
            raise UserError(f"{file}: {name}: trigger {trigger.get('type')!r} is not driven")
        if action is not None and action.get("type") != "start_motion":
            raise UserError(f"{file}: {name}: action {action.get('type')!r} is not driven")
        # without an action nothing is started: the actor stands
        if action is not None:
            triggers[name] = float(trigger["distance_m"]), str(trigger["vehicle"])
    return triggers


def read_single_route(file: Path) -> RouteSpec:
    """Return the only route of a file."""
    routes = read_routes(file)
    if len(routes) != 1:
        raise UserError(f"{file}: holds {len(routes)} routes; one is needed")
    return routes[0]


def read_ego_route(scenario: SetScenario, ego: SetActor, town: str) -> RouteSpec:
    """Return the route of a driven ego, under the scenario's name.

    Raises:
        UserError: it is of another town than the first ego's.
    """
    route = read_single_route(ego.file)
    if route.town != town:
        raise UserError(f"{ego.file}: is of {route.town}, the first ego's route of {town}")
    # the file's own id is that of a template: one for all scenarios
    return replace(route, id=scenario.name)


def lay_places(file: Path, town: str, maps: Path | None) -> Floats:
    """Return places (N, 3) along a route, as it is laid on the roads of its town."""
    spec = read_single_route(file)
    if spec.town != town:
        raise UserError(f"{file}: is of {spec.town}, the driven ego's route of {town}")
    xyz = resolve_mapped_route(spec, maps).xyz
    return np.concatenate([xyz[:-1:SPARSE], xyz[-1:]])


def read_places(file: Path) -> tuple[Floats, float]:
    """Return the places (N, 3) of a scripted actor, and the yaw of the first one in degrees."""
    points = [
        point
        for route in read_xml(file).find_children("route")
        for point in route.find_children("waypoint")
    ]
    if not points:
        raise UserError(f"{file}: holds no route with places")
    places = np.array([[read_float(point, axis) for axis in "xyz"] for point in points])
    return places, read_float(points[0], "yaw")


def read_float(element: XmlElement, name: str) -> float:
    """Return a number of an element."""
    try:
        number = float(element.attributes.get(name, "0"))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        element.raise_error(f"{name} is no number")
    return number


def number_name(path: Path) -> tuple[int, str]:
    """Return the key by which `r2_…` comes before `r10_…`."""
    match = re.match(r"r(\d+)_", path.name)
    return (int(match[1]) if match else 0, path.name)

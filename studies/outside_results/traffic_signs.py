"""Bench2Drive's five abilities by its routes: the fifth, traffic signs, needs the towns' maps.

A drive of such a scenario counts if it is a success. A failed one counts, too, if it got past the
first junction of its route and passed no stop sign and no red light on its way
(`tools/ability_benchmark.py`).
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from harness.common.environments import build_foreign_environment
from harness.common.errors import UserError
from harness.common.given_places import refuse_absent_file, refuse_absent_folder
from harness.common.progress_bar import track_items
from harness.world.routes.documents import XmlElement, read_xml
from studies.outside_results import junctions
from studies.outside_results.bench2drive import ABILITIES, is_success
from studies.outside_results.driven_route import DrivenRoute

TRAFFIC_SIGNS = "traffic signs"
KINDS = (
    *("BlockedIntersection", "OppositeVehicleTakingPriority", "OppositeVehicleRunningRedLight"),
    *("PedestrianCrossing", "VehicleTurningRoute", "VehicleTurningRoutePedestrian"),
    *("EnterActorFlow", "CrossingBicycleFlow", "NonSignalizedJunctionLeftTurn"),
    *("NonSignalizedJunctionRightTurn", "NonSignalizedJunctionLeftTurnEnterFlow"),
    *("SignalizedJunctionLeftTurn", "SignalizedJunctionRightTurn"),
    *("SignalizedJunctionLeftTurnEnterFlow", "T_Junction", "VanillaNonSignalizedTurn"),
    *("VanillaSignalizedTurnEncounterGreenLight", "VanillaSignalizedTurnEncounterRedLight"),
    "VanillaNonSignalizedTurnEncounterStopsign",
)
"""Kinds of scenario of the fifth ability, as the routes name them."""
SPOILING = ("stop_infraction", "red_light")
"""Kinds of infraction after which a failed drive does not count."""
PLANNER = Path("agents/navigation/global_route_planner.py")
MAP_PLACES = ("{town}.xodr", "OpenDrive/{town}.xodr", "{town}/OpenDrive/{town}.xodr")
"""Where a town's OpenDRIVE is in a folder of maps: of files, or `Carla/Maps` of CARLA."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkRoute:
    """A route of Bench2Drive.

    Attributes:
        route: its id.
        town: its name.
        scenario: kind of its scenario.
        places: x, y, z of its points, metres.
    """

    route: str
    town: str
    scenario: str
    places: tuple[tuple[float, float, float], ...]


@dataclass(frozen=True, slots=True)
class BenchmarkPlaces:
    """What the abilities need besides results.

    Attributes:
        routes: XML of the routes, such as `leaderboard/data/bench2drive220.xml`.
        maps: folder of the towns' OpenDRIVE files.
        agents: CARLA's folder `PythonAPI/carla`, with the package `agents`.
    """

    routes: Path
    maps: Path
    agents: Path

    @staticmethod
    def refuse_absent(routes: Path | None, maps: Path | None, agents: Path | None) -> None:
        """Refuse what is named and not there; None is not named."""
        if routes is not None:
            refuse_absent_file(routes, "--routes")
        if maps is not None:
            refuse_absent_folder(maps, "--maps")
        if agents is not None:
            refuse_absent_folder(agents, "--agents")
            if not (agents / PLANNER).is_file():
                raise UserError(
                    f"--agents {agents}: has no {PLANNER}; name CARLA's PythonAPI/carla"
                )


def read_benchmark_routes(file: Path) -> list[BenchmarkRoute]:
    """Return the routes of Bench2Drive's XML, in the order of the file.

    Raises:
        UserError: the file cannot be read, or a route has no scenario or fewer than two points.
    """
    root = read_xml(file)
    elements = root.find_children("route")
    if not elements:
        root.raise_error("has no <route>")
    return [parse_benchmark_route(element) for element in elements]


def parse_benchmark_route(element: XmlElement) -> BenchmarkRoute:
    """Return one route; an error names its line."""
    scenarios = [
        one for part in element.find_children("scenarios") for one in part.find_children("scenario")
    ]
    points = [
        one for part in element.find_children("waypoints") for one in part.find_children("position")
    ]
    if not scenarios or len(points) < 2:
        element.raise_error("has no scenario, or fewer than two positions")
    return BenchmarkRoute(
        route=element.read_text("id"),
        town=element.read_text("town"),
        scenario=scenarios[0].read_text("type"),
        places=tuple(
            (point.read_number("x"), point.read_number("y"), point.read_number("z"))
            for point in points
        ),
    )


def find_town_map(maps: Path, town: str) -> Path:
    """Return a town's OpenDRIVE in a folder of maps."""
    for place in MAP_PLACES:
        if (file := maps / place.format(town=town)).is_file():
            return file
    raise UserError(f"--maps {maps}: no {town}.xodr")


def compute_junction_shares(
    routes: Sequence[BenchmarkRoute], places: BenchmarkPlaces
) -> dict[str, float]:
    """Return the share of each route that is driven when its first junction is passed.

    CARLA's own planner lays the routes, in a process whose `agents` are CARLA's.

    Raises:
        UserError: a map is missing, or a route cannot be laid or has no junction.
    """
    maps = {town: str(find_town_map(places.maps, town)) for town in {one.town for one in routes}}
    # a town at a time: large maps take minutes
    asked = [
        {"route": one.route, "town": one.town, "map": maps[one.town], "places": one.places}
        for one in sorted(routes, key=lambda one: one.town)
    ]
    if not asked:
        return {}
    shares: dict[str, float] = {}
    command = [sys.executable, str(Path(junctions.__file__)), str(places.agents.absolute())]
    with (
        tempfile.TemporaryFile("w+") as complaints,
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            env=build_foreign_environment(),
            text=True,
        ) as child,
    ):
        assert child.stdin
        assert child.stdout
        # it reads everything before it answers, so that no pipe can be full at both ends
        with suppress(BrokenPipeError):
            child.stdin.write(json.dumps(asked))
            child.stdin.close()
        for line in track_items(child.stdout, "routes", total=len(asked)):
            answer = json.loads(line)
            shares[answer["route"]] = answer["share"]
        child.wait()
        complaints.seek(0)
        last = complaints.read().strip().splitlines()
    if len(shares) < len(asked):
        why = last[-1] if last else "it ended"
        raise UserError(f"--agents {places.agents}: the planner failed: {why}")
    return shares


def count_abilities(
    drives: Sequence[DrivenRoute],
    routes: Sequence[BenchmarkRoute],
    shares: Mapping[str, float],
) -> dict[str, tuple[int, int]]:
    """Return successes and drives by ability, all five, by the routes' own scenarios.

    Args:
        drives: of results; of several with one route the first counts.
        routes: of the benchmark. Routes without a drive count in no ability.
        shares: of routes, as `compute_junction_shares` returns them.
    """
    counts = dict.fromkeys((*ABILITIES, TRAFFIC_SIGNS), (0, 0))
    kinds = {**ABILITIES, TRAFFIC_SIGNS: KINDS}
    for route, drive in pair_routes(routes, drives):
        success = is_success(drive)
        for ability, scenarios in kinds.items():
            if route.scenario in scenarios:
                wins, asked = counts[ability]
                counts[ability] = wins + success, asked + 1
                if ability == TRAFFIC_SIGNS and not success:
                    passed = is_junction_passed(drive, shares[route.route])
                    counts[ability] = wins + passed, asked + 1
    return counts


def list_routes_to_lay(
    drives: Sequence[DrivenRoute], routes: Sequence[BenchmarkRoute]
) -> list[BenchmarkRoute]:
    """Return the routes of failed drives whose junction decides."""
    return [
        route
        for route, drive in pair_routes(routes, drives)
        if route.scenario in KINDS and not is_success(drive)
    ]


def pair_routes(
    routes: Sequence[BenchmarkRoute], drives: Sequence[DrivenRoute]
) -> Iterator[tuple[BenchmarkRoute, DrivenRoute]]:
    """Yield each route that was driven with its first drive."""
    first: dict[str, DrivenRoute] = {}
    for drive in drives:
        first.setdefault(drive.route, drive)
    for route in routes:
        if route.route in first:
            yield route, first[route.route]


def is_junction_passed(drive: DrivenRoute, share: float) -> bool:
    """Return whether a failed drive got past its junction, and obeyed signs and lights."""
    return drive.completion > share and not any(drive.infractions.get(kind) for kind in SPOILING)


def compute_mean_ability(counts: Mapping[str, tuple[int, int]]) -> float:
    """Return the mean of the abilities, 0 to 1; NaN where one has no drive."""
    if not all(asked for _, asked in counts.values()):
        return math.nan
    return sum(wins / asked for wins, asked in counts.values()) / len(counts)

"""Routes of a generator, one by one: the route of a number follows from the seed and that number.

A study about all routes that a generator makes needs them as independent samples. Each route has a
kind at random and a place of its own, whatever others were made. The strata and their shares are
counted on the first routes, before anything is driven. A pair takes the next route of its stratum;
routes beyond the first ones are made when no other is left, and are written into the campaign
folder before they are driven (decision 0140).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from harness.campaign.folder.assignments import (
    RouteAssignment,
    list_assigned_routes,
    read_assignment,
    write_assignments,
)
from harness.campaign.planning.plan import get_maps_folder
from harness.campaign.printing.terminal import print_campaign_line
from harness.common.errors import AttemptError, UserError
from harness.common.randomness import derive_seed, make_named_stream
from harness.world.hazards.spec import HazardSpec
from harness.world.maps import load_road_network
from harness.world.roads import RoadNetwork
from harness.world.routes.files import RouteSpec
from harness.world.routes.generate import generate_routes, open_placement_check
from harness.world.routes.placements import Check
from harness.world.routes.progress import RouteProgressBar
from harness.world.routes.resolve import resolve_route
from harness.world.simulators.carlite import CarliteSimulator
from studies.decide.declaration import GeneratedRoutes
from studies.decide.population import name_strata

if TYPE_CHECKING:
    from studies.decide.planning import DecidePlan

MOST_PASSED = 2000
"""Routes of other strata that are made, at most, until there is one of a stratum."""


def make_numbered_route(
    network: RoadNetwork,
    asked: GeneratedRoutes,
    kinds: Sequence[str],
    number: int,
    *,
    check: Check | None,
) -> tuple[RouteSpec, HazardSpec]:
    """Return a route and its hazard; equal seeds and numbers give equal ones.

    Args:
        network: the town's roads.
        asked: town and seed.
        kinds: of hazards; each is as likely as the others.
        number: of the route, which is its name.
        check: puts a hazard into a running world; None: the map alone decides.

    Raises:
        UserError: the town has no place for the kind.
    """
    random = make_named_stream(asked.seed, "decide", "kind", str(number))
    kind = kinds[int(random.integers(len(kinds)))]
    seed = derive_seed(asked.seed, "decide", "route", str(number))
    try:
        (route,), (hazard,) = generate_routes(
            network, asked.town, seed=seed, count=1, kinds=[kind], check=check
        )
    except UserError:
        raise UserError(f"routes.kinds: {asked.town} has no place for {kind}") from None
    return replace(route, id=str(number)), replace(hazard, route=str(number))


def make_first_routes(
    network: RoadNetwork, asked: GeneratedRoutes, kinds: Sequence[str], check: Check | None
) -> tuple[list[RouteSpec], list[HazardSpec]]:
    """Return the routes that strata and shares are counted on, and their hazards.

    Args:
        network: the town's roads.
        asked: town, seed and count.
        kinds: of hazards.
        check: as of `make_numbered_route`.
    """
    made = []
    with RouteProgressBar(asked.count) as note_made:
        for number in range(asked.count):
            made.append(make_numbered_route(network, asked, kinds, number, check=check))
            note_made(len(made))
    return [route for route, _ in made], [hazard for _, hazard in made]


@dataclass(slots=True, eq=False)
class RouteTurns:
    """Which route of each stratum is next: that with the lowest number that was not taken.

    Attributes:
        strata: names.
        find_stratum: gives the name of the stratum of the route of a number.
    """

    strata: Sequence[str]
    find_stratum: Callable[[int], str]
    _next: dict[int, int] = field(default_factory=dict)  # number to look at, by stratum

    def take_route(self, stratum: int) -> str:
        """Return the name of a stratum's next route, and count it as taken.

        Raises:
            UserError: the generator makes none.
        """
        first = self._next.get(stratum, 0)
        for number in range(first, first + MOST_PASSED):
            if self.find_stratum(number) == self.strata[stratum]:
                self._next[stratum] = number + 1
                return str(number)
        raise UserError(
            f"no route of the stratum {self.strata[stratum]} among {MOST_PASSED} of the generator"
        )


class FurtherRoutes:
    """Finds the strata of a generator's routes; makes and writes those that are not there.

    Args:
        plan: of the study.
        folder: of the campaign, with the routes that an earlier command made.
        get_check: starts what `make_numbered_route` checks a hazard with.
    """

    def __init__(
        self, plan: DecidePlan, folder: Path, get_check: Callable[[], Check | None]
    ) -> None:
        self._plan, self._folder, self._get_check = plan, folder, get_check
        self._known = dict(plan.stratified.by_number)
        self._written = set(list_assigned_routes(folder))

    def find_stratum(self, number: int) -> str:
        """Return the name of the stratum of the route of a number."""
        if number not in self._known:
            there = str(number) in self._written
            route = read_assignment(self._folder, str(number)) if there else self._make(number)
            maps = get_maps_folder(self._plan.campaign)
            (self._known[number],) = name_strata([route], self._plan.declaration.strata, maps)
            if not there and self._plan.campaign["progress"] in ("live", "plain"):
                print_campaign_line(f"{'made':14}route {number}: {self._known[number]}")
        return self._known[number]

    def _make(self, number: int) -> RouteAssignment:
        from studies.decide.planning import list_generated_kinds  # noqa: PLC0415 - imports this

        asked = self._plan.declaration.routes
        assert isinstance(asked, GeneratedRoutes)
        network = load_road_network(asked.town, get_maps_folder(self._plan.campaign))
        kinds = list_generated_kinds(self._plan.words)
        spec, hazard = make_numbered_route(network, asked, kinds, number, check=self._get_check())
        made = RouteAssignment(resolve_route(spec, network), (hazard,), spec.weather)
        # on the disk before a pair names it
        write_assignments(self._folder, [made])
        return made


def open_route_turns(
    plan: DecidePlan, folder: Path, get_check: Callable[[], Check | None]
) -> RouteTurns:
    """Return the turns of a study's routes, of which further ones are made in its folder."""
    return RouteTurns(plan.stratified.strata, FurtherRoutes(plan, folder, get_check).find_stratum)


def open_generator_check(stack: ExitStack, asked: GeneratedRoutes, maps: Path | None) -> Check:
    """Return a check in a simulator of carlite, which ends with the stack.

    Args:
        stack: closes it.
        asked: town and seed.
        maps: folder of OpenDRIVE files; None for shipped towns.
    """
    try:
        simulator = CarliteSimulator(None if maps is None else str(maps))
        server = stack.enter_context(simulator.lease_server(asked.town))
        return open_placement_check(
            stack, server.host, port=server.port, town=asked.town, seed=asked.seed
        )
    except AttemptError as problem:
        raise UserError(f"no simulator to make routes with: {problem}") from None


def make_recorded_turns(strata: Sequence[str], by_number: Mapping[int, str]) -> RouteTurns:
    """Return the turns of routes that are all there; nothing is made."""

    def find_stratum(number: int) -> str:
        if number not in by_number:
            raise UserError(f"route {number} is missing")
        return by_number[number]

    return RouteTurns(strata, find_stratum)

"""Makes routes with hazards on any map; equal seeds give equal routes.

Parameters are sampled from the ranges that the kinds of hazards declare. Every hazard is tried in a
running world. The world shows whether there is room, and the reveal time: how late an ego alone
could see the hazard. The routes of a kind are spread over strata of the reveal time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Protocol

import carla
import numpy as np

from harness.common.errors import AttemptError, UserError
from harness.common.randomness import derive_seed, make_named_stream
from harness.types.vocabulary import Route
from harness.world.attempt_context import AttemptContext
from harness.world.hazards.catalogue import SHIPPED_KINDS, build_hazard
from harness.world.hazards.encounter import Encounter
from harness.world.hazards.parameters import NumberParameter, Parameter
from harness.world.hazards.reports import EncounterReport
from harness.world.hazards.spec import HazardSpec
from harness.world.hazards.track import Track
from harness.world.roads import RoadNetwork
from harness.world.routes.aiming import choose_hazard_gap
from harness.world.routes.files import RouteSpec
from harness.world.routes.hazard_sites import HazardSite, iter_hazard_sites
from harness.world.routes.placements import Check, KeptPlacements, describe_placement_world
from harness.world.routes.progress import RouteProgressBar
from harness.world.routes.quotas import RevealQuota
from harness.world.routes.space import Space, build_declared_space, sample_parameters
from harness.world.routes.suitable import has_route_overlap, is_well_placed, is_worth_driving
from harness.world.session import open_session
from harness.world.simulators.carlite import CarliteSimulator

SHIPPED = (
    "occluded_pedestrian",
    "occluded_cyclist",
    "crossing_vehicle",
    "red_light_runner",
    "cut_in",
    "oncoming_turn",
)
"""Kinds that can hurt a careful ego: one that keeps its distance passes the others unharmed."""
POSSIBLE = tuple(name for name, kind in SHIPPED_KINDS.items() if issubclass(kind, Encounter))
"""Hazards that routes can be made for: a slippery road hides no actor."""
BEFORE, AFTER = (100.0, 150.0), (45.0, 100.0)
"""Metres of route before and after the meeting, sampled uniformly."""
TRIES = 6000
"""Sites tried for one hazard before the town counts as without a place for it."""
SAMPLES = 8
"""Parameters tried on one route, as long as it has room."""
SELDOM = 1
"""Placements tried at one place: there are other places."""
CLEAR = 12
"""Metres between a route's ends and the nearest junction."""
TICK = 0.05


class GenerationListener(Protocol):
    """What is called with the number of routes."""

    def __call__(self, made: int) -> None:
        """Take in the number of routes made so far."""


def generate_routes(
    network: RoadNetwork,
    town: str,
    *,
    seed: int,
    count: int,
    kinds: Sequence[str] = SHIPPED,
    space: Space | None = None,
    check: Check | None = None,
    watcher: GenerationListener = lambda made: None,
    fewer: bool = False,
) -> tuple[list[RouteSpec], list[HazardSpec]]:
    """Return routes and one hazard on each, kinds in turn, no two routes alike.

    The turns of a kind that has no place left go to the others. With `fewer`, those that have room
    are returned where not all have.
    Without a check, what the map alone allows is taken, whatever its reveal time.

    Args:
        network: the town's roads.
        town: its name.
        seed: of routes and hazards.
        count: how many routes.
        kinds: of hazards.
        space: parameters by kind; None: all that the kinds declare.
        check: puts a hazard into a running world; None: the map alone decides.
        watcher: is called with the number of routes so far.
        fewer: whether fewer routes are accepted.
    """
    refuse_unknown_kinds(kinds)
    # for every kind its parameters, its sites in random order, its share of the strata
    spaces = build_declared_space(kinds) if space is None else space
    sources = {
        kind: iter_hazard_sites(network, kind, make_named_stream(seed, town, "spots", kind))
        for kind in kinds
    }
    quotas = {
        kind: RevealQuota(
            spaces[kind].get("reveal"), sum(k == kind for k in islice(cycle(kinds), count))
        )
        for kind in kinds
    }
    random = make_named_stream(seed, town, "routes")
    routes: list[RouteSpec] = []
    hazards: list[HazardSpec] = []
    laid: list[Route] = []

    def place(kind: str) -> bool:
        for site in islice(sources[kind], TRIES):
            name = str(len(routes))
            around = make_site_route(network, town, name=name, site=site, random=random)
            if around is None or any(has_route_overlap(around.route, other) for other in laid):
                continue
            hazard = _find_fitting_hazard(
                network.map,
                around,
                kind=kind,
                space=spaces[kind],
                quota=quotas[kind],
                check=check,
                random=random,
            )
            if hazard is not None:
                routes.append(around.spec)
                hazards.append(hazard)
                laid.append(around.route)
                return True
        return False

    # kinds in turn, until there are enough or no place is left
    turns, left = cycle(kinds), set(kinds)
    while len(routes) < count:
        kind = next(turns)
        if kind in left and place(kind):
            watcher(len(routes))
            continue
        left.discard(kind)
        if not left and fewer and routes:
            break
        if not left:
            raise UserError(
                f"{town}: no room for {len(routes) + 1} routes with {', '.join(kinds)}: no place"
                " left for any of them; ask for fewer, or for what has room with --fewer, or try"
                " another seed"
            )
    return routes, hazards


def iter_shortages(
    hazards: Sequence[HazardSpec], kinds: Sequence[str], count: int
) -> Iterator[str]:
    """Yield a line for each kind with fewer hazards than turns."""
    turns = Counter(islice(cycle(kinds), count))
    made = Counter(hazard.kind for hazard in hazards)
    for kind, wanted in turns.items():
        if made[kind] < wanted:
            yield (
                f"{kind}: {made[kind]} instead of {wanted}, no place is left;"
                " other kinds took its turns"
            )


@dataclass(frozen=True, eq=False, kw_only=True)
class SiteRoute:
    """A route past a site."""

    spec: RouteSpec
    route: Route
    station: float  # m, of the site


def make_site_route(
    network: RoadNetwork, town: str, *, name: str, site: HazardSite, random: np.random.Generator
) -> SiteRoute | None:
    """Return a route past a site, if it is worth driving."""
    # a random way to the site and one from it
    back = _walk_randomly(site.first, random.uniform(*BEFORE), random, backwards=True)
    on = _walk_randomly(site.last, random.uniform(*AFTER), random, backwards=False)
    if back is None or on is None:
        return None
    line = [*back[::-1], site.first, site.last, *on]
    # the points that keep the way: its ends, the site, and one after each junction
    points = [line[0], *_iter_way_landmarks(line), line[-1]]
    places = [point.transform.location for point in points]
    try:
        route = network.find_route(name, town, places)
    except UserError:
        return None
    straight = len(back) + len(on) + site.length
    # the route that is laid must be that way, without lane changes
    if (
        route.lane_change.any()
        or abs(route.length - straight) > 12.0
        or not is_worth_driving(route)
    ):
        return None
    meeting = site.meeting.transform.location
    station = int(np.linalg.norm(route.xyz[:, :2] - (meeting.x, meeting.y), axis=1).argmin())
    keypoints = [(p.x, p.y, p.z, np.radians(w.transform.rotation.yaw))
                 for p, w in zip(places, points, strict=True)]  # fmt: skip
    spec = RouteSpec(
        id=name,
        town=town,
        keypoints=np.array(keypoints),
        weather=None,
        scenarios=(),
        file=Path("routes.xml"),
        line=0,
    )
    return SiteRoute(spec=spec, route=route, station=float(station))


def refuse_unknown_kinds(kinds: Sequence[str]) -> None:
    """Refuse kinds that no route can be made for."""
    if unknown := set(kinds) - set(POSSIBLE):
        names = ", ".join(sorted(unknown))
        raise UserError(f"unknown hazard {names}; valid hazards: {', '.join(POSSIBLE)}")


def open_placement_check(stack: ExitStack, host: str, *, port: int, town: str, seed: int) -> Check:
    """Return a check that puts every hazard into a running simulator and takes it out again."""
    session = stack.enter_context(open_session(host, port, town=town, tick_seconds=TICK, seed=seed))

    def stands(route: Route, spec: HazardSpec) -> EncounterReport | None:
        context = AttemptContext(
            client=session.client,
            world=session.world,
            map=session.map,
            traffic_manager=session.traffic_manager,
            route=route,
            seed=derive_seed(seed, route.name),
            tick_seconds=TICK,
        )
        hazard = build_hazard(spec)
        if isinstance(hazard, Encounter):
            hazard.tries = SELDOM
        try:
            return hazard.report_encounter() if hazard.place_in_world(context) else None
        finally:
            hazard.remove_from_world()
            session.world.tick()

    return stands


def generate_in_simulator(
    network: RoadNetwork,
    town: str,
    *,
    seed: int,
    count: int,
    kinds: Sequence[str],
    maps: Path | None,
    space: Space | None = None,
    address: tuple[str, int] | None = None,
    fewer: bool = False,
    kept: Path | None = None,
) -> tuple[list[RouteSpec], list[HazardSpec]]:
    """Return routes and hazards, each hazard tried in a running simulator.

    Args:
        network: the town's roads.
        town: its name.
        seed: of routes and hazards.
        count: how many routes.
        kinds: of hazards.
        maps: folder of OpenDRIVE files; None for shipped towns.
        space: parameters by kind; None: all that the kinds declare.
        address: host and port of the simulator; None: a new carlite.
        fewer: whether fewer routes are accepted.
        kept: file of placements that were tried before, which is resumed; None: nothing is kept.

    Raises:
        UserError: no room for so many routes, or the simulator fails.
    """
    try:
        with ExitStack() as stack:
            if address is None:
                named = None if maps is None else str(maps)
                server = stack.enter_context(CarliteSimulator(named).lease_server(town))
                address = server.host, server.port
            host, port = address
            check = open_placement_check(stack, host, port=port, town=town, seed=seed)
            if kept is not None:
                facts = describe_placement_world(network, town, seed)
                check = stack.enter_context(KeptPlacements(kept, facts, check))
            return generate_routes(
                network,
                town,
                seed=seed,
                count=count,
                kinds=kinds,
                space=space,
                check=check,
                watcher=stack.enter_context(RouteProgressBar(count)),
                fewer=fewer,
            )
    except AttemptError as problem:
        raise UserError(f"{problem}; mend that, or try another simulator") from None


def _find_fitting_hazard(
    carla_map: carla.Map,
    around: SiteRoute,
    *,
    kind: str,
    space: Mapping[str, Parameter],
    quota: RevealQuota,
    check: Check | None,
    random: np.random.Generator,
) -> HazardSpec | None:
    """Return a hazard for a route, its parameters sampled, or None if none of a few fits."""
    track = Track(carla_map, around.route)
    for _ in range(SAMPLES):
        hazard = HazardSpec(
            route=around.spec.id,
            kind=kind,
            station=around.station,
            parameters=sample_parameters(space, random),
        )
        # by the map first: the check in a running world is expensive
        if not is_well_placed(track, hazard):
            continue
        if check is None:
            return hazard
        gap = space.get("gap")
        if isinstance(gap, NumberParameter):
            placed = choose_hazard_gap(track, hazard, gap=gap, quota=quota, random=random)
            if placed is None:
                continue
            hazard = placed
        # then in the running world
        encounter = check(around.route, hazard)
        if quota.accept_encounter(encounter):
            return hazard
        if encounter is None:
            return None
    return None


def _walk_randomly(
    start: carla.Waypoint, distance: float, random: np.random.Generator, *, backwards: bool
) -> list[carla.Waypoint] | None:
    """Return a random way from or to a place, a metre apart, that ends well away from junctions."""
    walked: list[carla.Waypoint] = []
    here = start
    while len(walked) < distance or any(waypoint.is_junction for waypoint in walked[-CLEAR:]):
        choice = here.previous(1.0) if backwards else here.next(1.0)
        if not choice or len(walked) > distance + 60.0:
            return None
        here = choice[int(random.integers(len(choice)))]
        walked.append(here)
    return walked


def _iter_way_landmarks(line: list[carla.Waypoint]) -> Iterator[carla.Waypoint]:
    """Yield a place a little after each junction, so that the way is the only shortest one."""
    for at in range(6, len(line) - 6):
        if line[at - 5].is_junction and not any(
            waypoint.is_junction for waypoint in line[at - 4 : at + 1]
        ):
            yield line[at]

"""Makes routes with hazards on any map: same seed, same routes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import cycle, islice
from pathlib import Path
from typing import TypeAlias

import carla
import numpy as np

from harness.errors import AttemptError, UserError
from harness.options import Parser
from harness.randomness import derived_seed, stream
from harness.vocabulary import Route
from harness.world.attempt_context import AttemptContext
from harness.world.hazards.catalogue import SHIPPED_KINDS, build
from harness.world.hazards.encounter import Encounter
from harness.world.hazards.spec import HazardSpec
from harness.world.maps import network_of
from harness.world.roads import RoadNetwork
from harness.world.routes.files import RouteSpec, write_routes
from harness.world.routes.hazard_files import write_hazards
from harness.world.routes.hazard_sites import HazardSite, hazard_sites
from harness.world.routes.suitable import alike, suitable
from harness.world.session import open_session

SHIPPED = (
    "occluded_pedestrian",
    "occluded_cyclist",
    "crossing_vehicle",
    "red_light_runner",
    "hard_braking",
    "stopped_vehicle",
    "cut_in",
    "oncoming_turn",
)
POSSIBLE = tuple(name for name, kind in SHIPPED_KINDS.items() if issubclass(kind, Encounter))
"""Hazards that routes can be made for: a slippery road hides no actor."""
BEFORE, AFTER = (55.0, 150.0), (45.0, 150.0)
"""Metres of route before and after the meeting, sampled uniformly."""
TRIES = 1200
"""Sites tried for one hazard before the town counts as without a place for it."""
CLEAR = 12
"""Metres between a route's ends and the nearest junction."""
TICK = 0.05

Check: TypeAlias = Callable[[Route, HazardSpec], bool]


def generate(
    network: RoadNetwork,
    town: str,
    *,
    seed: int,
    count: int,
    kinds: Sequence[str] = SHIPPED,
    check: Check = lambda route, hazard: True,
) -> tuple[list[RouteSpec], list[HazardSpec]]:
    """Return routes and one hazard on each, kinds in turn, no two routes alike."""
    if unknown := set(kinds) - set(POSSIBLE):
        names = ", ".join(sorted(unknown))
        raise UserError(f"unknown hazard {names}; valid hazards: {', '.join(POSSIBLE)}")
    sources = {
        kind: hazard_sites(network, kind, stream(seed, town, "spots", kind)) for kind in kinds
    }
    random = stream(seed, town, "routes")
    routes: list[RouteSpec] = []
    hazards: list[HazardSpec] = []
    laid: list[Route] = []
    for number, kind in enumerate(islice(cycle(kinds), count)):
        for site in islice(sources[kind], TRIES):
            pair = _around(network, town, name=str(number), kind=kind, site=site, random=random)
            if pair is None or any(alike(pair[1], other) for other in laid):
                continue
            spec, route, hazard = pair
            if check(route, hazard):
                routes.append(spec)
                hazards.append(hazard)
                laid.append(route)
                break
        else:
            raise UserError(
                f"{town}: no room for {number + 1} routes with {', '.join(kinds)}: no place left"
                f" for {kind}; ask for fewer or try another seed"
            )
    return routes, hazards


def checked_on(stack: ExitStack, host: str, *, port: int, town: str, seed: int) -> Check:
    """Return a check that puts every hazard into a running simulator and takes it out again."""
    session = stack.enter_context(open_session(host, port, town=town, tick_seconds=TICK, seed=seed))

    def stands(route: Route, spec: HazardSpec) -> bool:
        context = AttemptContext(
            client=session.client,
            world=session.world,
            map=session.map,
            traffic_manager=session.traffic_manager,
            route=route,
            seed=derived_seed(seed, route.name),
            tick_seconds=TICK,
        )
        hazard = build(spec)
        try:
            return hazard.place(context)
        finally:
            hazard.end()
            session.world.tick()

    return stands


KINDS_HELP = f"hazards to place (default: {', '.join(SHIPPED)})"
PORT_HELP = "port of a simulator on which every hazard is tried (default: hazards are not tried)"


MAPS_HELP = "folder with OpenDRIVE files of further towns (default: none)"


def main(arguments: list[str]) -> int:
    """Write `routes.xml` and `hazards.json` into a folder."""
    parser = Parser(prog="crucible routes generate", description=__doc__)
    add = parser.add_argument
    add("--town", required=True, metavar="NAME", help="town to make routes in")
    add("--seed", type=int, default=0, metavar="N", help="seed of routes and hazards (default: 0)")
    add("--count", type=int, default=32, metavar="N", help="number of routes (default: 32)")
    add("--kinds", default=",".join(SHIPPED), metavar="KIND[,KIND ...]", help=KINDS_HELP)
    add("--maps", type=Path, metavar="DIR", help=MAPS_HELP)
    add("--host", default="127.0.0.1", help="host of that simulator (default: 127.0.0.1)")
    add("--port", type=int, metavar="PORT", help=PORT_HELP)
    add("--out", type=Path, required=True, metavar="DIR", help="folder for both files")
    options = parser.parse_args(arguments)
    if options.count < 1:
        raise UserError(f"--count {options.count}: ask for one route or more")
    network, kinds = network_of(options.town, options.maps), options.kinds.split(",")
    try:
        with ExitStack() as stack:
            check = {}
            if options.port is not None:
                town, seed = options.town, options.seed
                check["check"] = checked_on(
                    stack, options.host, port=options.port, town=town, seed=seed
                )
            routes, hazards = generate(
                network,
                options.town,
                seed=options.seed,
                count=options.count,
                kinds=kinds,
                **check,
            )
    except AttemptError as problem:
        raise UserError(f"{problem}; mend that, or leave --port out") from None
    write_routes(options.out / "routes.xml", routes)
    write_hazards(options.out / "hazards.json", hazards)
    print(f"{len(routes)} routes with {len(hazards)} hazards in {options.out}")
    return 0


def _around(
    network: RoadNetwork,
    town: str,
    *,
    name: str,
    kind: str,
    site: HazardSite,
    random: np.random.Generator,
) -> tuple[RouteSpec, Route, HazardSpec] | None:
    """Return a route past a spot, with the hazard there, if both are any good."""
    back = _walk(site.first, random.uniform(*BEFORE), random, backwards=True)
    on = _walk(site.last, random.uniform(*AFTER), random, backwards=False)
    if back is None or on is None:
        return None
    line = [*back[::-1], site.first, site.last, *on]
    points = [line[0], *_landmarks(line), line[-1]]
    places = [point.transform.location for point in points]
    try:
        route = network.route(name, town, places)
    except UserError:
        return None
    straight = len(back) + len(on) + site.length
    if route.lane_change.any() or abs(route.length - straight) > 12.0:
        return None
    meeting = site.meeting.transform.location
    station = int(np.linalg.norm(route.xyz[:, :2] - (meeting.x, meeting.y), axis=1).argmin())
    hazard = HazardSpec(route=name, kind=kind, station=float(station))
    if not suitable(network.map, route, hazard):
        return None
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
    return spec, route, hazard


def _walk(
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


def _landmarks(line: list[carla.Waypoint]) -> Iterator[carla.Waypoint]:
    """Yield a place a little after each junction, so that the way is the only shortest one."""
    for at in range(6, len(line) - 6):
        if line[at - 5].is_junction and not any(
            waypoint.is_junction for waypoint in line[at - 4 : at + 1]
        ):
            yield line[at]

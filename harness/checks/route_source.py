"""The check of a route source: routes, ways through the town, hazards; without a simulator."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cached_property

from harness.campaign.planning.limits import refuse_unnameable
from harness.common.findings import Finding, make_checks
from harness.records.arms import Arm
from harness.records.keys import AttemptKey
from harness.world.hazards.catalogue import KINDS, build_hazard
from harness.world.maps import load_road_network
from harness.world.routes.files import RouteSpec
from harness.world.routes.kinds import NOT_RUN
from harness.world.routes.resolve import resolve_route
from harness.world.routes.sources import RouteSource

SLOW = 30.0
"""Seconds from which a warning is due: each `crucible run` asks the source again."""
CHECKS = {
    "routes": "yields routes, each with an id of its own that can name a folder, in one town",
    "laid": "each route can be laid on the roads of its town",
    "hazards": "hazards are of known kinds, with valid parameters, on routes of the source",
    "deterministic": "a second instance yields the same routes and hazards",
    "files": "the files that it names are there",
    "time": "yields its routes in less than half a minute",
}


class RouteSourceExamination:
    """Puts one source of routes to all checks."""

    def __init__(self, make: Callable[[], RouteSource]) -> None:
        self._make, self._source = make, make()

    def list_findings(self) -> list[Finding]:
        """Make every check, in order."""
        checks = {
            "routes": self._check_names,
            "laid": self._check_roads,
            "hazards": self._check_hazards,
            "deterministic": self._check_determinism,
            "files": self._check_files,
            "time": self._check_time,
        }
        return make_checks(
            {name: (CHECKS[name], check) for name, check in checks.items()},
            needed=("routes", "laid"),
        )

    @cached_property
    def _routes(self) -> list[RouteSpec]:
        return list(self._source.routes())

    def _check_names(self) -> Iterator[Finding]:
        routes = self._routes
        if strange := [spec for spec in routes if not isinstance(spec, RouteSpec)]:
            yield Finding("routes", "failed", f"it yields {strange[0]!r}, which is no RouteSpec")
            return
        if not routes:
            yield Finding("routes", "failed", "it yields no route")
        twice = [name for name, count in Counter(spec.id for spec in routes).items() if count > 1]
        if twice:
            yield Finding("routes", "failed", f"several routes have the id {twice[0]}")
        if len(towns := sorted({spec.town for spec in routes})) > 1:
            why = f"routes in {', '.join(towns)}; a campaign has one town"
            yield Finding("routes", "failed", why)
        refuse_unnameable(AttemptKey(Arm.from_factors(), spec.id, 0) for spec in routes)

    def _check_roads(self) -> Iterator[Finding]:
        metres = [
            resolve_route(spec, load_road_network(spec.town, None)).length for spec in self._routes
        ]
        shown = f"{len(metres)} routes in {self._routes[0].town}, {sum(metres):.0f} m together"
        yield Finding("laid", "passed", shown)

    def _check_hazards(self) -> Iterator[Finding]:
        routes = {spec.id: spec for spec in self._routes}
        hazards = self._source.hazards(routes, KINDS, None)
        for hazard in hazards:
            if hazard.route not in routes:
                yield Finding("hazards", "failed", f"a hazard on unknown route {hazard.route}")
                return
            if not hazard.kind.startswith(NOT_RUN):
                build_hazard(hazard)
        yield Finding("hazards", "passed", f"{len(hazards)} on {len(routes)} routes")

    def _check_determinism(self) -> Iterator[Finding]:
        other = self._make()
        if serialize_source(self._source) != serialize_source(other):
            why = "a second instance yields other routes or hazards: sample from a fixed seed"
            yield Finding("deterministic", "failed", why)

    def _check_files(self) -> Iterator[Finding]:
        for name, file in self._source.files().items():
            if not file.exists():
                yield Finding("files", "failed", f"{name}: {file} does not exist")

    def _check_time(self) -> Iterator[Finding]:
        since = time.perf_counter()
        count = len(list(self._make().routes()))
        seconds = time.perf_counter() - since
        said = f"{seconds:.2f} s for {count} routes"
        yield Finding("time", "warning" if seconds > SLOW else "passed", said)


def serialize_source(source: RouteSource) -> tuple[list[tuple[str, str, bytes]], list[str]]:
    """Return routes and hazards in a form that compares by content."""
    routes = list(source.routes())
    hazards = source.hazards({spec.id: spec for spec in routes}, KINDS, None)
    ways = [(spec.id, spec.town, spec.keypoints.tobytes()) for spec in routes]
    return ways, list(map(repr, hazards))


def findings_of(make: Callable[[], RouteSource]) -> list[Finding]:
    """Return what the check of a route source finds."""
    return RouteSourceExamination(make).list_findings()

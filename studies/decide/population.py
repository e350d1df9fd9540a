"""The population that a study decides about: routes, in strata known before any is driven."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from analysis.statistics.allocation import PRIOR_SQUARE, estimate_mean_squares
from harness.campaign.folder.assignments import RouteAssignment
from harness.common.errors import UserError
from harness.types.vocabulary import Floats
from harness.world.hazards.track import Track
from harness.world.maps import load_road_network
from harness.world.routes.foreseen import estimate_reveal_time
from studies.decide.declaration import DeclaredStrata
from studies.decide.monitor import RoutePopulation

ALL_ROUTES = "all routes"
"""The stratum of a study that divides nothing."""
NO_HAZARD, UNKNOWN_REVEAL = "no hazard", "no reveal time"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class StratifiedRoutes:
    """Routes with the names of their strata.

    Attributes:
        routes: names, in the order of the campaign.
        strata: names, sorted.
        population: the same in numbers; of a generator: one place for each stratum.
        counts: routes of each stratum that shares were counted on.
        by_number: strata of the generator's routes that are made; empty where there is none.
    """

    routes: tuple[str, ...]
    strata: tuple[str, ...]
    population: RoutePopulation
    counts: tuple[int, ...]
    by_number: Mapping[int, str] = field(default_factory=dict)

    def list_strata(self) -> list[dict[str, str | float | int]]:
        """Return the strata as the record has them."""
        shares = self.population.shares.tolist()
        return [
            {"name": name, "routes": count, "share": share}
            for name, count, share in zip(self.strata, self.counts, shares, strict=True)
        ]


def name_strata(
    assignments: Sequence[RouteAssignment], declared: DeclaredStrata, maps: Path | None
) -> list[str]:
    """Return the name of each route's stratum, by the map and its hazards alone."""
    names = []
    for assignment in assignments:
        parts = []
        if "kind" in declared.by:
            kinds = sorted({spec.kind for spec in assignment.runnable})
            parts.append("+".join(kinds) or NO_HAZARD)
        if "reveal" in declared.by:
            parts.append(name_reveal_class(find_reveal(assignment, maps), declared.reveal_edges))
        names.append(", ".join(parts) or ALL_ROUTES)
    return names


def find_reveal(assignment: RouteAssignment, maps: Path | None) -> float | None:
    """Return the shortest reveal time of a route's hazards by the map, s; None for none."""
    track = Track(load_road_network(assignment.route.town, maps).map, assignment.route)
    times = [estimate_reveal_time(track, spec) for spec in assignment.runnable]
    return min((time for time in times if time is not None), default=None)


def name_reveal_class(reveal: float | None, edges: Sequence[float]) -> str:
    """Return the class that a reveal time lies in; its upper limit is not in it."""
    if reveal is None:
        return UNKNOWN_REVEAL
    at = int(np.digitize(reveal, edges))
    if at == 0:
        return f"under {edges[0]:g} s"
    return f"from {edges[-1]:g} s" if at == len(edges) else f"{edges[at - 1]:g} to {edges[at]:g} s"


def stratify_routes(
    routes: Sequence[str], names: Sequence[str], shares: Mapping[str, float] | None, place: str
) -> StratifiedRoutes:
    """Return the population; declared shares must be of the strata that there are.

    Args:
        routes: names.
        names: of their strata.
        shares: by name of the stratum; None: those of the routes.
        place: of the shares, for messages.
    """
    strata = sorted(set(names))
    if shares is not None and set(shares) != set(strata):
        odd = sorted(set(shares) ^ set(strata))[0]
        why = "has no route" if odd in shares else "has routes and no share"
        raise UserError(f"{place}: {odd} {why}; strata: {'; '.join(strata)}")
    declared = None if shares is None else np.array([shares[name] for name in strata])
    numbers = np.array([strata.index(name) for name in names], np.int64)
    expected = np.full(len(strata), PRIOR_SQUARE)
    return StratifiedRoutes(
        routes=tuple(routes),
        strata=tuple(strata),
        population=RoutePopulation(numbers, expected, declared),
        counts=tuple(np.bincount(numbers, minlength=len(strata)).tolist()),
    )


def stratify_generator(
    by_number: Mapping[int, str], count: int, shares: Mapping[str, float] | None, place: str
) -> StratifiedRoutes:
    """Return a generator's population: its strata are those of its first routes, as are shares.

    Args:
        by_number: strata of its routes.
        count: routes that shares are counted on.
        shares: by name of the stratum; None: counted.
        place: of the shares, for messages.
    """
    counted = stratify_routes(
        [str(number) for number in range(count)],
        [by_number[number] for number in range(count)],
        shares,
        place,
    )
    places = np.arange(len(counted.strata))
    population = RoutePopulation(places, counted.population.expected, counted.population.shares)
    return replace(counted, population=population, by_number=by_number)


def divide_by_ideal(
    stratified: StratifiedRoutes, failing: str, alone: Floats, together: Floats | None
) -> StratifiedRoutes:
    """Return the strata with the routes on which the ideal system alone fails as one more.

    What is expected of a stratum is how often the ideal systems alone and together differ
    (decision 0108).

    Args:
        stratified: routes by the map alone.
        failing: name of the further stratum.
        alone: (routes,) 1 where the ideal system alone has a violation.
        together: (routes,) the same with partners; None: nothing is expected of any stratum.
    """
    old = [stratified.strata[number] for number in stratified.population.strata]
    names = [failing if bad else name for bad, name in zip(alone > 0, old, strict=True)]
    made = stratify_routes(stratified.routes, names, None, "")
    if together is None:
        return made
    strata = made.population.strata
    counts = np.bincount(strata).astype(np.float64)
    squares = np.bincount(strata, (together - alone) ** 2).astype(np.float64)
    expected = estimate_mean_squares(counts, squares, prior=PRIOR_SQUARE)
    return replace(made, population=RoutePopulation(strata, expected))

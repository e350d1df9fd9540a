"""Whether a new town can be used: its map, and a place for every kind of hazard."""

from __future__ import annotations

from collections.abc import Iterator

from harness.authoring.checks import TownSubject, list_faults, load_subject, summarize_subject
from harness.authoring.seeded.checks import CHECKS
from harness.common.errors import UserError
from harness.world.roads import RoadNetwork
from harness.world.routes.generate import SHIPPED, generate_routes

SEED = 0
"""Of the routes that are tried; none of them is kept."""


def find_hazards_without_route(subject: TownSubject) -> Iterator[str]:
    """Yield the kinds of hazard for which the town has no route."""
    network = RoadNetwork(subject.map)
    for kind in SHIPPED:
        if not has_place(network, subject.town.name, kind):
            yield f"no place for {kind}"


def has_place(network: RoadNetwork, town: str, kind: str) -> bool:
    """Return whether a town has a route with a hazard of a kind."""
    try:
        generate_routes(network, town, seed=SEED, count=1, kinds=[kind])
    except UserError:
        return False
    return True


def examine_town(name: str, text: str) -> tuple[list[str], str]:
    """Return what is wrong with a town from a seed, and what it has."""
    try:
        subject = load_subject(name, text)
    except ValueError as problem:
        return [str(problem)], ""
    faults = list_faults(subject, CHECKS) or list(find_hazards_without_route(subject))
    return faults, summarize_subject(subject)

"""The fixed, paired list of attempts: all systems and conditions meet the same routes and seeds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.campaign.assignments import Assignment, assigned_routes, read_assignment
from harness.campaign.config import Settings, at_home, find_class, find_file
from harness.campaign.fitting import unfit
from harness.campaign.folder import read_header
from harness.campaign.summary import marks_of
from harness.errors import UserError
from harness.records.keys import AttemptKey
from harness.records.reading import Campaign
from harness.world.hazards.catalogue import KINDS
from harness.world.hazards.catalogue import build as build_hazard
from harness.world.hazards.spec import HazardSpec
from harness.world.routes.duplicates import duplicates
from harness.world.routes.files import RouteSpec, read_routes
from harness.world.routes.hazard_files import nested_hazards, read_hazards
from harness.world.routes.kinds import NOT_RUN
from harness.world.routes.laying import ways

SEEDS = 2**31
"""How many there are."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a campaign will do."""

    attempts: tuple[AttemptKey, ...]
    assignments: tuple[Assignment, ...]
    same_way: tuple[tuple[str, ...], ...] = ()  # groups of routes with one geometry
    left_out: tuple[str, ...] = ()  # those of such groups that are not driven
    spoilt: tuple[str, ...] = ()  # not driven either: not clean under the campaign that was named
    unfit: tuple[str, ...] = ()  # systems that cannot suffer a condition, and why
    at_a_time: int = 1  # attempts, one for each worker

    @property
    def town(self) -> str:
        """The one town all routes lie in."""
        return self.assignments[0].route.town

    @property
    def geometries(self) -> int:
        """How many ways through the town are driven."""
        driven = {each.route.name for each in self.assignments}
        return len(driven) - sum(len(driven & set(group)) - 1 for group in self.same_way)


def plan(settings: Settings) -> Plan:
    """Return the attempts in the order they are run: route by route, pairs together."""
    routes, spoilt = chosen_routes(settings)
    arms, unfitting = arms_of(settings)
    assignments = assigned(settings, routes)
    same_way = duplicates([each.route for each in assignments])
    repeats = settings["routes"]["repeats"]
    left_out = () if repeats else tuple(name for group in same_way for name in group[1:])
    assignments = tuple(each for each in assignments if each.route.name not in left_out)
    attempts = paired([each.route.name for each in assignments], seeds_of(settings), arms)
    if not attempts:
        raise UserError("configuration: nothing to run; choose a system, a route and a seed")
    refuse_unnameable(attempts)
    return Plan(
        attempts,
        assignments,
        tuple(tuple(group) for group in same_way),
        left_out,
        spoilt,
        unfitting,
        settings["executor"].get("workers", 1),
    )


def paired(
    routes: Iterable[str], seeds: Iterable[int], arms: Iterable[tuple[str, str]]
) -> tuple[AttemptKey, ...]:
    """Return every arm on every route with every seed."""
    routes, arms = list(routes), list(arms)
    return tuple(
        AttemptKey(system, condition, route, seed)
        for seed in seeds
        for route in routes
        for system, condition in arms
    )


def refuse_unnameable(keys: Iterable[AttemptKey]) -> None:
    """Refuse attempts whose systems, conditions or routes are too long for the name of a file."""
    for key in keys:
        key.path  # noqa: B018 - it says so


def arms_of(settings: Settings) -> tuple[list[tuple[str, str]], tuple[str, ...]]:
    """Return the systems, each with its conditions; and what does not go together."""
    arms = [
        (system, condition)
        for system in settings["system"]
        for condition in conditions_of(settings, system)
    ]
    reasons = unfit(settings, arms)
    told = tuple(f"{arm[0]} under {arm[1]}: {reason}" for arm, reason in reasons.items())
    return [arm for arm in arms if arm not in reasons], told


def seeds_of(settings: Settings) -> Sequence[int]:
    """Return the seeds; each must be a whole number of its own."""
    seeds = settings.get("seeds")
    if not isinstance(seeds, list) or not all(
        isinstance(seed, int) and not isinstance(seed, bool) and 0 <= seed < SEEDS for seed in seeds
    ):
        raise UserError(
            f"configuration: seeds is {seeds};"
            f" a list of whole numbers from 0 to {SEEDS - 1} is needed"
        )
    if len(set(seeds)) != len(seeds):
        raise UserError(f"configuration: seeds {seeds} name one twice")
    return seeds


def conditions_of(settings: Settings, system: str) -> list[str]:
    """Return the conditions of one system: all, or none for one that reads no messages."""
    place = f"system.{system}"
    named = settings["system"][system]
    if not isinstance(named, dict) or "_target_" not in named:
        raise UserError(f"configuration: {place} needs a _target_")
    reads_messages = getattr(find_class(named["_target_"], place), "reads_messages", None)
    if reads_messages is None:
        raise UserError(
            f"configuration: {place}: {named['_target_']} is not a system: it has no reads_messages"
        )
    return list(settings["interference"]) if reads_messages else ["none"]


def chosen_routes(settings: Settings) -> tuple[dict[str, RouteSpec], tuple[str, ...]]:
    """Return the routes to drive, by id, in the order of their file; and those left for spoilt."""
    wanted = settings["routes"]
    path = find_file(wanted["file"], "routes.file")
    routes = {spec.id: spec for spec in read_routes(path)}
    if wanted["only"] is not None:
        only = [str(each) for each in wanted["only"]]
        unknown = [each for each in only if each not in routes]
        if unknown:
            raise UserError(f"routes.only: {path} has no route {', '.join(unknown)}")
        routes = {each: routes[each] for each in only}
    spoilt: tuple[str, ...] = ()
    if wanted["clean_under"] is not None:
        folder = at_home(wanted["clean_under"], "routes.clean_under")
        clean = clean_routes(folder)
        spoilt = tuple(name for name in routes if name not in clean)
        routes = {name: spec for name, spec in routes.items() if name in clean}
        if not routes:
            raise UserError(f"routes.clean_under: no route was clean in {folder}")
        refuse_other_town(folder, {spec.town for spec in routes.values()})
    towns = {spec.town for spec in routes.values()}
    if len(towns) > 1:
        raise UserError(f"{path}: routes in {', '.join(sorted(towns))}; a campaign has one town")
    return routes, spoilt


def clean_routes(folder: Path) -> set[str]:
    """Return the routes that every attempt of a finished campaign drove without violation."""
    campaign = Campaign(folder)
    keys = list(campaign.attempts())
    if not keys:
        raise UserError(f"routes.clean_under: {folder} holds no finished attempt")
    systems = {key.system for key in keys}
    if len(systems) > 1:
        raise UserError(
            f"routes.clean_under: {folder} holds {', '.join(sorted(systems))};"
            " a campaign of one system with perfect perception is needed"
        )
    refuse_unfinished(folder, keys)
    spoilt = {key.route for key in keys if marks_of(campaign, key).violated}
    return {key.route for key in keys} - spoilt


def refuse_unfinished(folder: Path, keys: Sequence[AttemptKey]) -> None:
    """Refuse a campaign in which attempts lack a result: nobody knows whether they are clean."""
    settings = read_header(folder / "campaign.yaml")["settings"]
    arms = {(key.system, key.condition) for key in keys}
    planned = paired(assigned_routes(folder), seeds_of(settings), arms)
    if left := set(planned).difference(keys):
        raise UserError(
            f"routes.clean_under: {folder} is not finished: {len(left)} of {len(planned)} attempts"
            f" have no result, such as {min(left)}"
        )


def refuse_other_town(folder: Path, towns: set[str]) -> None:
    """Refuse a campaign in another town, whose routes only have the same names."""
    for name in assigned_routes(folder)[:1]:
        there = read_assignment(folder, name).route.town
        if there not in towns:
            raise UserError(
                f"routes.clean_under: {folder} was driven in {there}; these routes lie in"
                f" {', '.join(sorted(towns))}"
            )


def assigned(settings: Settings, routes: dict[str, RouteSpec]) -> tuple[Assignment, ...]:
    """Lay the routes on their town's roads, and the hazards on the routes."""
    folder = settings["simulator"].get("maps")
    maps = None if folder is None else at_home(folder, "simulator.maps")
    hazards: list[HazardSpec] = nested_hazards(kinds=tuple(KINDS), routes=routes, maps=maps)
    name = settings["routes"]["hazards"]
    if name is not None:
        path = find_file(name, "routes.hazards")
        hazards += read_hazards(path, kinds=tuple(KINDS), routes=routes, maps=maps)
    for each in hazards:
        if not each.kind.startswith(NOT_RUN):
            build_hazard(each)
    return tuple(
        Assignment(way, tuple(each for each in hazards if each.route == name), routes[name].weather)
        for name, way in ways(routes.values(), maps).items()
    )

"""The fixed, paired list of attempts: all arms meet the same routes and seeds."""

from __future__ import annotations

import os
import reprlib
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.campaign.folder.assignments import (
    RouteAssignment,
    list_assigned_routes,
    read_assignment,
)
from harness.campaign.folder.campaign_folder import load_campaign_header
from harness.campaign.folder.inputs import get_protocol_path
from harness.campaign.folder.summary import read_attempt_summary
from harness.campaign.planning.assigned_agents import refuse_absent_agents
from harness.campaign.planning.compatibility import (
    find_unfit_arms,
    is_without_messages,
    list_guests,
    list_system_notes,
)
from harness.campaign.planning.egos import refuse_unsent_intentions, refuse_with_several_egos
from harness.campaign.planning.limits import refuse_many, refuse_many_arms, refuse_unnameable
from harness.campaign.planning.link_sizes import list_link_notes
from harness.campaign.planning.meetings import refuse_windows_without_meeting
from harness.campaign.planning.scenes import refuse_unfit_scenes
from harness.campaign.planning.sizes import select_driven_conditions
from harness.campaign.planning.unlaid import keep_wholly_laid
from harness.campaign.settings.brakes import with_brakes
from harness.campaign.settings.compensations import find_uncompensated_arms, with_compensations
from harness.campaign.settings.computing import list_computing_notes, with_computing_times
from harness.campaign.settings.config import find_class
from harness.campaign.settings.cooperation import (
    describe_ground_truth,
    list_cooperations,
    refuse_uncommon_truth,
)
from harness.campaign.settings.declared import CampaignSettings
from harness.campaign.settings.defences import find_insecure_arms, with_attacks_and_defences
from harness.campaign.settings.drivers import find_arms_without_driver, with_drivers
from harness.campaign.settings.interventions import (
    find_arms_without_intervention,
    with_interventions,
)
from harness.campaign.settings.links import with_links
from harness.campaign.settings.message_formats import with_message_formats
from harness.campaign.settings.partner_systems import find_unlike_arms, with_partner_systems
from harness.campaign.settings.routes import build_route_source, convert_source_errors
from harness.common.errors import UserError
from harness.common.files import expand_home
from harness.common.protocols import refuse_unannounced
from harness.records.arms import NONE, Arm, format_arm_label, list_varying_factors
from harness.records.keys import MOST_SEEDS, AttemptKey
from harness.records.reading import CampaignRecords
from harness.types.agent_sensors import brings_sensors
from harness.types.vocabulary import Route
from harness.world.hazards.catalogue import KINDS, build_hazard
from harness.world.hazards.spec import HazardSpec
from harness.world.hazards.track import Track
from harness.world.maps import load_road_network
from harness.world.roads import RoadNetwork
from harness.world.routes.duplicates import find_duplicate_routes
from harness.world.routes.files import RouteSpec
from harness.world.routes.kinds import NOT_RUN
from harness.world.routes.resolve import load_route_network, resolve_mapped_route, resolve_route
from harness.world.routes.sources import RouteSource

SEEDS = 2**31
"""How many there are."""
FILES_OF_ROUTES = 2
"""Files of a source that has one file of routes: the other one has hazards."""
LOCAL = "harness.campaign.running.executors.local.LocalExecutor"
"""The executor whose workers share the cores of this machine."""
RAY = "harness.campaign.running.executors.ray.RayExecutor"
OPENING = {RAY: 15.0}
"""Seconds in which an executor starts, and its workers import the harness: two on two cores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignPlan:
    """What a campaign will do."""

    attempts: tuple[AttemptKey, ...]
    assignments: tuple[RouteAssignment, ...]
    same_way: tuple[tuple[str, ...], ...] = ()  # groups of routes with one geometry
    left_out: tuple[str, ...] = ()  # those of such groups that are not driven
    invalid: tuple[str, ...] = ()  # routes that cannot be read or laid, and why
    unplaceable: tuple[tuple[HazardSpec, str], ...] = ()  # no place by the map alone, and why
    spoilt: tuple[str, ...] = ()  # not driven either: not clean under the campaign that was named
    unfit: tuple[str, ...] = ()  # arms that cannot be driven, and why
    at_a_time: int = 1  # attempts, one for each worker
    cores: int | None = None  # of this machine, where the workers are on it
    opening: float = 0.0  # s that the executor takes before its first attempt begins
    truth: str = ""  # what counts as ground truth, where cooperations are compared
    size_zero: tuple[str, ...] = ()  # conditions that are driven as `none`
    same: tuple[tuple[str, ...], ...] = ()  # conditions of one delivery; the first is driven
    carried: tuple[str, ...] = ()  # what radios make of messages of usual sizes
    computing: tuple[str, ...] = ()  # device of computing times, and whether drives repeat
    origin: str = ""  # where routes and hazards come from, if that needs a line
    systems: tuple[str, ...] = ()  # what is said of systems
    guests: tuple[str, ...] = ()  # systems of users' own programs, whose time is not known

    @property
    def town(self) -> str:
        """The one town all routes lie in."""
        return self.assignments[0].route.town

    @property
    def geometries(self) -> int:
        """How many ways through the town are driven."""
        driven = {assignment.route.name for assignment in self.assignments}
        return len(driven) - sum(len(driven & set(group)) - 1 for group in self.same_way)


def plan_campaign(settings: CampaignSettings) -> CampaignPlan:
    """Return the attempts in the order they are run: route by route, pairs together."""
    # routes and conditions
    invalid: list[str] | None = [] if settings["routes"]["skip_invalid"] else None
    routes, spoilt = choose_routes(settings, invalid)
    refuse_unannounced({spec.town for spec in routes.values()}, get_protocol_path(settings))
    conditions = select_driven_conditions(settings)
    # arms, and the routes with their hazards
    arms, unfitting = build_arms(settings)
    assignments = assign_routes(settings, routes, invalid)
    # routes on the same way are no independent observations: only the first stays
    same_way = find_duplicate_routes([assignment.route for assignment in assignments])
    repeats = settings["routes"]["repeats"]
    left_out = () if repeats else tuple(name for group in same_way for name in group[1:])
    assignments = tuple(
        assignment for assignment in assignments if assignment.route.name not in left_out
    )
    # attempts
    attempts = pair_attempts(
        [assignment.route.name for assignment in assignments], check_seeds(settings), arms
    )
    # what is refused now would fail in every attempt
    driven = {key.arm for key in attempts}
    refuse_with_several_egos(settings, assignments, driven)
    refuse_unsent_intentions(settings, assignments, driven)
    refuse_absent_agents(settings, assignments, arms)
    refuse_windows_without_meeting(settings, assignments)
    refuse_unfit_scenes(
        settings, assignments, {arm.condition for arm in arms}, get_maps_folder(settings)
    )
    if not attempts:
        raise UserError("configuration: nothing to run; choose a system, a route and a seed")
    refuse_unnameable(attempts)
    return CampaignPlan(
        attempts=attempts,
        assignments=assignments,
        same_way=tuple(tuple(group) for group in same_way),
        left_out=left_out,
        invalid=tuple(invalid or ()),
        unplaceable=tuple(find_unplaced_hazards(settings, assignments)),
        spoilt=spoilt,
        unfit=unfitting,
        at_a_time=settings["executor"].get("workers", 1),
        cores=count_cores() if is_on_this_machine(settings["executor"]) else None,
        opening=OPENING.get(settings["executor"].get("_target_", ""), 0.0),
        truth=describe_ground_truth(settings) if len(settings["cooperation"]) > 1 else "",
        size_zero=conditions.size_zero,
        same=conditions.same,
        carried=list_link_notes(settings),
        computing=list_computing_notes(settings),
        origin=describe_route_origin(settings),
        systems=list_system_notes(settings),
        guests=list_guests(settings),
    )


def describe_route_origin(settings: CampaignSettings) -> str:
    """Return the line of the source of routes on where they come from."""
    source = build_route_source(settings["routes"])
    with convert_source_errors(source):
        return source.describe_origin()


def is_on_this_machine(executor: Mapping[str, Any]) -> bool:
    """Return whether an executor's workers share the cores of this machine: Ray's may, too."""
    target = executor.get("_target_")
    return target == LOCAL or (target == RAY and executor.get("address") is None)


def count_cores() -> int:
    """Return how many cores of this machine the process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def pair_attempts(
    routes: Iterable[str], seeds: Iterable[int], arms: Iterable[Arm]
) -> tuple[AttemptKey, ...]:
    """Return every arm on every route with every seed, unless they are too many."""
    routes, seeds, arms = list(routes), list(seeds), list(arms)
    refuse_many(routes=len(routes), seeds=len(seeds), arms=len(arms))
    return tuple(AttemptKey(arm, route, seed) for seed in seeds for route in routes for arm in arms)


def build_arms(settings: CampaignSettings) -> tuple[list[Arm], tuple[str, ...]]:
    """Return the arms, each system with its cooperations and conditions; and what does not fit."""
    cooperations = list_cooperations(settings)
    refuse_many_arms(settings, len(cooperations))
    arms = [
        Arm.from_factors(system=system, cooperation=cooperation, condition=condition)
        for system in settings["system"]
        for cooperation, condition in list_system_conditions(settings, system, cooperations)
    ]
    refuse_uncommon_truth(settings, arms)
    arms = with_partner_systems(settings, arms)
    arms = with_message_formats(settings, with_links(settings, arms))
    arms = with_compensations(settings, with_attacks_and_defences(settings, arms))
    arms = with_computing_times(settings, arms)
    arms = with_brakes(settings, arms)
    arms = with_interventions(settings, with_drivers(settings, arms))
    reasons = {
        **find_arms_without_intervention(settings, arms),
        **find_arms_without_driver(settings, arms),
        **find_unfit_arms(settings, arms),
        **find_insecure_arms(settings, arms),
        **find_uncompensated_arms(settings, arms),
        **find_unlike_arms(settings, arms),
    }
    factors = list_varying_factors(arms)
    described = tuple(
        f"{format_arm_label(arm, factors)}: {reason}" for arm, reason in reasons.items()
    )
    return [arm for arm in arms if arm not in reasons], described


def check_seeds(settings: CampaignSettings) -> Sequence[int]:
    """Return the seeds; each must be a whole number of its own."""
    seeds = settings.get("seeds")
    if not isinstance(seeds, list) or not all(
        isinstance(seed, int) and not isinstance(seed, bool) and 0 <= seed < SEEDS for seed in seeds
    ):
        raise UserError(
            f"configuration: seeds is {reprlib.repr(seeds)};"
            f" a list of whole numbers from 0 to {SEEDS - 1} is needed"
        )
    if len(set(seeds)) != len(seeds):
        raise UserError(f"configuration: seeds {reprlib.repr(seeds)} name one twice")
    if len(seeds) > MOST_SEEDS:
        raise UserError(
            f"configuration: {len(seeds):,} seeds; a campaign has {MOST_SEEDS:,} at most"
        )
    return seeds


def list_system_conditions(
    settings: CampaignSettings, system: str, cooperations: Sequence[str]
) -> list[tuple[str, str]]:
    """Return a system's cooperations and conditions: all.

    If it reads no messages: those that change the scene, sweeps or answers, without cooperation.
    """
    place = f"system.{system}"
    named = settings["system"][system]
    if not isinstance(named, dict) or "_target_" not in named:
        raise UserError(f"configuration: {place} needs a _target_")
    kind = find_class(named["_target_"], place)
    reads_messages = getattr(kind, "reads_messages", None)
    if reads_messages is None:
        raise UserError(
            f"configuration: {place}: {named['_target_']} is not a system: it has no reads_messages"
        )
    conditions = select_driven_conditions(settings).names
    if not reads_messages:
        brings = brings_sensors(kind)
        of_sweeps = [
            name
            for name in conditions
            if is_without_messages(settings, name, sensor_bearing=brings)
        ]
        return [(NONE, condition) for condition in dict.fromkeys((NONE, *of_sweeps))]
    return [(cooperation, condition) for cooperation in cooperations for condition in conditions]


def find_source_path(source: RouteSource) -> Path:
    """Return what a source of routes is named by: its file, or the folder of all its files."""
    files = [*source.files().values()]
    if len(files) > FILES_OF_ROUTES:
        return Path(os.path.commonpath(files))
    return files[0] if files else Path(type(source).__name__)


def choose_routes(
    settings: CampaignSettings, invalid: list[str] | None = None
) -> tuple[dict[str, RouteSpec], tuple[str, ...]]:
    """Return the routes to drive, by id, in the order of their file; and those left for spoilt."""
    wanted = settings["routes"]
    # all routes of the source
    source = build_route_source(wanted)
    path = find_source_path(source)
    with add_switch_hint(path.is_dir()), convert_source_errors(source):
        routes = {spec.id: spec for spec in source.routes(invalid)}
    # those that are named
    if wanted["only"] is not None:
        only = [str(route) for route in wanted["only"]]
        unknown = [route for route in only if route not in routes]
        if unknown:
            raise UserError(
                f"routes.only: {path} has no route {', '.join(unknown)}; its routes:"
                f" {', '.join(list(routes)[:12])}; routes.only=null drives all of them"
            )
        routes = {route: routes[route] for route in only}
    # those that were clean in another campaign
    spoilt: tuple[str, ...] = ()
    if wanted["clean_under"] is not None:
        folder = expand_home(wanted["clean_under"], "routes.clean_under")
        clean = read_clean_routes(folder)
        spoilt = tuple(name for name in routes if name not in clean)
        routes = {name: spec for name, spec in routes.items() if name in clean}
        if not routes:
            raise UserError(f"routes.clean_under: no route was clean in {folder}")
        refuse_other_town(folder, {spec.town for spec in routes.values()})
    # a simulator is started with one town
    towns = {spec.town for spec in routes.values()}
    if len(towns) > 1:
        raise UserError(f"{path}: routes in {', '.join(sorted(towns))}; a campaign has one town")
    return routes, spoilt


def read_clean_routes(folder: Path) -> set[str]:
    """Return the routes that every attempt of a finished campaign drove without violation."""
    campaign = CampaignRecords(folder)
    keys = list(campaign.find_attempts())
    if not keys:
        raise UserError(f"routes.clean_under: {folder} holds no finished attempt")
    systems = {key.arm.system for key in keys}
    if len(systems) > 1:
        raise UserError(
            f"routes.clean_under: {folder} holds {', '.join(sorted(systems))};"
            " a campaign of one system with perfect perception is needed"
        )
    refuse_unfinished(folder, keys)
    spoilt = {key.route for key in keys if read_attempt_summary(campaign, key).violated}
    return {key.route for key in keys} - spoilt


def refuse_unfinished(folder: Path, keys: Sequence[AttemptKey]) -> None:
    """Refuse a campaign in which attempts lack a result: they may not be clean."""
    settings = load_campaign_header(folder / "campaign.yaml")["settings"]
    arms = {key.arm for key in keys}
    planned = pair_attempts(list_assigned_routes(folder), check_seeds(settings), arms)
    if left := set(planned).difference(keys):
        raise UserError(
            f"routes.clean_under: {folder} is not finished: {len(left)} of {len(planned)} attempts"
            f" have no result, such as {min(left)}"
        )


def refuse_other_town(folder: Path, towns: set[str]) -> None:
    """Refuse a campaign in another town, whose routes only have the same names."""
    for name in list_assigned_routes(folder)[:1]:
        there = read_assignment(folder, name).route.town
        if there not in towns:
            raise UserError(
                f"routes.clean_under: {folder} was driven in {there}; these routes lie in"
                f" {', '.join(sorted(towns))}"
            )


@contextmanager
def add_switch_hint(several: bool = True) -> Iterator[None]:
    """Add to what is wrong with a route how the others can be driven without it."""
    try:
        yield
    except UserError as problem:
        hint = "; routes.skip_invalid=true leaves such routes out" if several else ""
        raise UserError(f"{problem}{hint}") from None


def resolve_valid_routes(
    routes: dict[str, RouteSpec], maps: Path | None, invalid: list[str] | None
) -> dict[str, Route]:
    """Lay the routes; with a list for them, those that cannot be laid are left out."""
    networks = {spec.town: load_route_network(spec, maps) for spec in routes.values()}
    tried = {name: try_resolve_route(spec, networks[spec.town]) for name, spec in routes.items()}
    problems = [route for route in tried.values() if isinstance(route, UserError)]
    with add_switch_hint(len(problems) < len(tried)):
        if problems and (invalid is None or len(problems) == len(tried)):
            raise problems[0]
    if invalid is not None:
        invalid += map(str, problems)
    return {name: route for name, route in tried.items() if isinstance(route, Route)}


def try_resolve_route(spec: RouteSpec, network: RoadNetwork) -> Route | UserError:
    """Return a route's way through its town, or what is wrong with it."""
    try:
        return resolve_route(spec, network)
    except UserError as problem:
        return problem


def get_maps_folder(settings: CampaignSettings) -> Path | None:
    """Return the folder of maps, if one is set."""
    folder = settings["simulator"].get("maps")
    return None if folder is None else expand_home(folder, "simulator.maps")


def find_unplaced_hazards(
    settings: CampaignSettings, assignments: Iterable[RouteAssignment]
) -> Iterator[tuple[HazardSpec, str]]:
    """Yield the hazards that have no place on their routes, as far as the map shows, and why.

    Args:
        settings: of the campaign.
        assignments: routes with their hazards.
    """
    maps = get_maps_folder(settings)
    for assignment in assignments:
        track = Track(load_road_network(assignment.route.town, maps).map, assignment.route)
        for spec in assignment.runnable:
            if why := build_hazard(spec).explain_impossible(track):
                yield spec, why


def assign_routes(
    settings: CampaignSettings, routes: dict[str, RouteSpec], invalid: list[str] | None = None
) -> tuple[RouteAssignment, ...]:
    """Lay the routes on their town's roads, and the hazards on the routes."""
    maps = get_maps_folder(settings)
    laid = resolve_valid_routes(routes, maps, invalid)
    source = build_route_source(settings["routes"])
    with convert_source_errors(source):
        if invalid is not None:
            laid = keep_wholly_laid(laid, routes, source=source, maps=maps, invalid=invalid)
        routes = {name: routes[name] for name in laid}
        hazards = source.hazards(routes, KINDS, maps)
        further = source.further_egos(routes)
    for hazard in hazards:
        if not hazard.kind.startswith(NOT_RUN):
            build_hazard(hazard)
    return tuple(
        RouteAssignment(
            way,
            tuple(hazard for hazard in hazards if hazard.route == name),
            routes[name].weather,
            tuple(resolve_mapped_route(spec, maps) for spec in further.get(name, ())),
        )
        for name, way in laid.items()
    )

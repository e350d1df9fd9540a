"""Sets an attempt up: the world, and all that acts in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import carla

from harness.campaign.attempt.actors import AttemptActors, DrivenEgo
from harness.campaign.attempt.air import show_air
from harness.campaign.attempt.ego_parts import EgoParts
from harness.campaign.attempt.exchange import introduce_egos
from harness.campaign.attempt.live import LiveView, NoView
from harness.campaign.attempt.senses import set_up_partners, set_up_perception
from harness.campaign.attempt.tasks import AttemptTask
from harness.campaign.folder.assignments import RouteAssignment
from harness.campaign.settings.conditions import build_condition_changes
from harness.campaign.settings.config import build_part
from harness.campaign.settings.declared import CampaignSettings
from harness.channel.naming import number_equal_names
from harness.common.randomness import derive_seed
from harness.evaluation.driving import DriveEvaluation
from harness.types.agent_sensors import FurtherEgo, brings_sensors
from harness.types.vocabulary import Route
from harness.world.attempt_context import AttemptContext
from harness.world.changes.applied import AppliedChanges
from harness.world.ego import EgoVehicle
from harness.world.hazards.catalogue import build_hazard
from harness.world.hazards.hazard import Hazard, convert_hazard_errors
from harness.world.hazards.spec import HazardSpec
from harness.world.lights import RouteLights, set_lights_green
from harness.world.session import open_session
from harness.world.stops import RouteStops
from harness.world.traffic import Traffic


def derive_attempt_seed(task: AttemptTask, route: Route) -> int:
    """Return the seed of an attempt, which does not depend on the arm."""
    return derive_seed(task.key.seed, route.town, task.key.route)


@contextmanager
def open_attempt_context(task: AttemptTask, route: Route, tick: float) -> Iterator[AttemptContext]:
    """Open the world of one try."""
    seed = derive_attempt_seed(task, route)
    with open_session(
        task.host, task.port, town=route.town, tick_seconds=tick, seed=seed
    ) as session:
        yield AttemptContext(
            client=session.client,
            world=session.world,
            map=session.map,
            traffic_manager=session.traffic_manager,
            route=route,
            seed=seed,
            tick_seconds=tick,
            server=(task.host, task.port),
            attempt=str(task.key.path),
        )


def set_up_changes(settings: CampaignSettings, condition: str) -> AppliedChanges:
    """Return the changes of the scene of a condition."""
    changes = build_condition_changes(settings, condition)
    number_equal_names(changes)
    return AppliedChanges(changes)


@contextmanager
def set_up_attempt(
    context: AttemptContext,
    assignment: RouteAssignment,
    *,
    settings: CampaignSettings,
    parts: Sequence[EgoParts],
    changes: AppliedChanges,
    view: LiveView,
) -> Iterator[AttemptActors]:
    """Spawn all actors of an attempt, and destroy them at the end.

    Args:
        context: of the attempt, with the route of the first ego.
        assignment: the routes of all egos, and what happens on them.
        settings: of the campaign.
        parts: of each ego, the first one first.
        changes: of the scene.
        view: shows the first ego.
    """
    # the world
    if assignment.weather is not None:
        context.world.set_weather(carla.WeatherParameters(**assignment.weather))
    if settings["lights"] == "green":
        set_lights_green(context.world)
    # an ego's context has its route
    contexts = [context, *(replace(context, route=route) for route in assignment.further)]
    # whatever is spawned is destroyed in the opposite order, after an error too
    with ExitStack() as stack:
        vehicles = []
        for number, (one, part) in enumerate(zip(contexts, parts, strict=True)):
            vehicle = EgoVehicle(one, number)
            stack.callback(vehicle.destroy_ego)
            if part.brakes is not None:
                part.brakes.fit_to_vehicle(vehicle.actor)
            vehicles.append(vehicle)
        # hazards before traffic, which leaves their places free
        specs = changes.change_hazards(assignment.runnable)
        every = [place_hazard(spec, context, stack) for spec in specs]
        hazards = [hazard for hazard in every if hazard.cause != "no_place"]
        taken = [actor for hazard in hazards for actor in hazard.actors]
        taken += [vehicle.actor for vehicle in vehicles[1:]]
        for part in parts:
            if part.intervening is not None:
                part.intervening.hazards = hazards
        # traffic
        density: Traffic = build_part(settings["traffic"], "traffic")
        traffic = density.spawn_population(context, taken)
        stack.callback(traffic.destroy_population)
        stack.callback(changes.destroy_added)
        # partners are vehicles of the traffic, so they come after it
        fleet = changes.after_traffic(context, density, traffic)
        egos = [
            set_up_ego(
                one,
                settings,
                number=number,
                parts=part,
                vehicle=vehicle,
                fleet=fleet,
                changes=changes,
                view=NoView() if number else view,
                stack=stack,
                further=[] if number else list_further_egos(contexts, vehicles),
            )
            for number, (one, part, vehicle) in enumerate(
                zip(contexts, parts, vehicles, strict=True)
            )
        ]
        introduce_egos([ego.perception.exchange for ego in egos])
        yield AttemptActors(
            egos=tuple(egos),
            hazards=hazards,
            unplaced=[hazard for hazard in every if hazard not in hazards],
            changes=changes,
            not_run=assignment.not_run,
        )


def set_up_ego(
    context: AttemptContext,
    settings: CampaignSettings,
    *,
    number: int,
    parts: EgoParts,
    vehicle: EgoVehicle,
    fleet: Sequence[carla.Actor | None],
    changes: AppliedChanges,
    view: LiveView,
    stack: ExitStack,
    further: Sequence[FurtherEgo] = (),
) -> DrivenEgo:
    """Return an ego with its partners and senses, ready to drive; the stack removes them.

    Args:
        context: with the ego's route.
        settings: of the campaign.
        number: of the ego, from 0.
        parts: made for it.
        vehicle: that it drives.
        fleet: background vehicles in their order; None for one that is not there.
        changes: of the scene.
        view: what shows it.
        stack: removes what is spawned.
        further: egos after the first; for the first ego only.
    """
    partners = set_up_partners(context, settings, parts=parts, vehicles=fleet, stack=stack)
    changes.after_partners(partners)
    # senses last: their carriers exist
    perception = set_up_perception(
        context,
        settings,
        number=number,
        parts=parts,
        vehicle=vehicle,
        partners=partners,
        view=view,
        stack=stack,
        further=further,
    )
    # parts with a state begin from their seeds; those of channels are equal, so that all egos
    # receive what is sent with one and the same error
    seed = derive_seed(context.seed, "system")
    if number:
        seed = derive_seed(context.seed, "system", str(number))
    parts.system.reset(seed, context.route)
    parts.sharing.reset_others(seed, context.route)
    parts.channel.reset(context.seed, context.route.name)
    if parts.defence is not None:
        parts.defence.reset(context.seed)
    if parts.compensation is not None:
        parts.compensation.reset()
    if parts.sharing.reads_images or brings_sensors(parts.system):
        stack.callback(context.world.set_weather, context.world.get_weather())
        show_air(context.world, parts.channel.describe_air())
    stops = RouteStops(context)
    return DrivenEgo(
        number=number,
        context=context,
        vehicle=vehicle,
        lights=RouteLights(context),
        stops=stops,
        heeded_stops=stops if settings["lights"] == "working" else None,
        perception=perception,
        drive=DriveEvaluation(
            rules=build_part(settings["driving"], "driving"), route_length=context.route.length
        ),
    )


def list_further_egos(
    contexts: Sequence[AttemptContext], vehicles: Sequence[EgoVehicle]
) -> list[FurtherEgo]:
    """Return all egos but the first, with their routes."""
    return [
        FurtherEgo(ego_id=vehicle.actor.id, route=context.route)
        for context, vehicle in zip(contexts[1:], vehicles[1:], strict=True)
    ]


def place_hazard(spec: HazardSpec, context: AttemptContext, stack: ExitStack) -> Hazard:
    """Return a placed hazard (or one without room); the stack removes it."""
    hazard = build_hazard(spec)
    stack.callback(hazard.remove_from_world)
    with convert_hazard_errors(hazard):
        hazard.place_in_world(context)
    return hazard

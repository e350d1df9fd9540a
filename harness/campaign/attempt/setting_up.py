"""Sets an attempt up: the system, the channel, the world, and all that acts in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

import carla

from harness.campaign.attempt.actors import AttemptActors
from harness.campaign.attempt.agent_sensing import AgentSensing
from harness.campaign.attempt.air import show_air
from harness.campaign.attempt.computing import AttemptComputing
from harness.campaign.attempt.fleet import AttemptFleet, set_up_named_system
from harness.campaign.attempt.intervening import InterveningSystem
from harness.campaign.attempt.live import LiveView
from harness.campaign.attempt.metrics import AttemptMetrics
from harness.campaign.attempt.perception import PerceptionLoop
from harness.campaign.attempt.tasks import AttemptTask
from harness.campaign.folder.assignments import RouteAssignment
from harness.campaign.folder.inputs import list_file_changes
from harness.campaign.settings.attacks import build_arm_attack
from harness.campaign.settings.brakes import build_arm_brakes
from harness.campaign.settings.conditions import (
    build_condition_changes,
    build_condition_disturbances,
)
from harness.campaign.settings.config import build_part
from harness.campaign.settings.cooperation import build_reference_placement
from harness.campaign.settings.declared import CampaignSettings
from harness.campaign.settings.drivers import NO_USE_DRIVER, build_arm_driver
from harness.campaign.settings.links import build_arm_link
from harness.campaign.settings.message_formats import build_arm_message_format
from harness.campaign.settings.metrics import build_metrics
from harness.campaign.settings.partner_systems import NamedSystem
from harness.channel.channel import Channel
from harness.channel.compensation.compensation import Compensation
from harness.channel.defences.defence import Defence
from harness.channel.effects import Window
from harness.channel.links.link import Link
from harness.channel.messages.message_format import MessageFormat
from harness.channel.naming import number_equal_names
from harness.common.errors import AttemptError, UserError
from harness.common.randomness import derive_seed
from harness.records.arms import DEFAULT_DRIVER, DRIVER, IDEAL_LINK, LINK, Arm
from harness.types.agent_sensors import WorldPlace, brings_sensors, has_boxes
from harness.types.drivers import is_drivable_system
from harness.types.systems import PrivilegedSystem, System, has_image_reader
from harness.types.vocabulary import Route
from harness.world.agent_sensors import AgentSensors
from harness.world.attempt_context import AttemptContext
from harness.world.brakes import TyreGrip
from harness.world.changes.applied import AppliedChanges
from harness.world.ego import EgoVehicle
from harness.world.hazards.catalogue import build_hazard
from harness.world.hazards.hazard import Hazard, convert_hazard_errors
from harness.world.hazards.spec import HazardSpec
from harness.world.lights import RouteLights, set_lights_green
from harness.world.partners import Cooperation, PartnerFleet, spawn_partners
from harness.world.rig import Rig
from harness.world.session import open_session
from harness.world.stops import RouteStops
from harness.world.traffic import Traffic


@contextmanager
def open_attempt_context(task: AttemptTask, route: Route, tick: float) -> Iterator[AttemptContext]:
    """Open the world of one try, with a seed that does not depend on the arm."""
    seed = derive_seed(task.key.seed, route.town, task.key.route)
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


def set_up_system(settings: CampaignSettings, name: str) -> System | PrivilegedSystem:
    """Return the system under test, if its files are those that the campaign began with."""
    named = NamedSystem(name=name, place=f"system.{name}", part=settings["system"][name])
    return set_up_named_system(settings, named, "system")


def set_up_driver(settings: CampaignSettings, arm: Arm, system: System | PrivilegedSystem) -> None:
    """Give the system the driver of its arm; `default` keeps the one it has.

    Raises:
        AttemptError: class `agent_setup`: the driver cannot be made, or its files have changed.
    """
    if arm[DRIVER] == DEFAULT_DRIVER:
        return
    try:
        if changes := list_file_changes(settings, [arm[DRIVER]], DRIVER):
            raise UserError(f"other files than the campaign began with: {'; '.join(changes)}")
        if not is_drivable_system(system):
            raise UserError(f"system.{arm.system} {NO_USE_DRIVER}")
        system.use_driver(build_arm_driver(settings, arm))
    except UserError as problem:
        raise AttemptError("agent_setup", str(problem)) from None


def set_up_link(settings: CampaignSettings, arm: Arm) -> Link | None:
    """Return the link of an arm; None for the ideal one.

    Raises:
        AttemptError: class `agent_setup`: the link cannot be made, or its files have changed.
    """
    if arm[LINK] == IDEAL_LINK:
        return None
    try:
        if changes := list_file_changes(settings, [arm[LINK]], LINK):
            raise UserError(f"other files than the campaign began with: {'; '.join(changes)}")
        return build_arm_link(settings, arm)
    except UserError as problem:
        raise AttemptError("agent_setup", str(problem)) from None


def set_up_message_format(settings: CampaignSettings, arm: Arm) -> MessageFormat | None:
    """Return the format of an arm's messages; None for the native one.

    Raises:
        AttemptError: class `agent_setup`: the format cannot be made.
    """
    try:
        return build_arm_message_format(settings, arm)
    except UserError as problem:
        raise AttemptError("agent_setup", str(problem)) from None


def set_up_brakes(settings: CampaignSettings, arm: Arm) -> TyreGrip | None:
    """Return the brakes of an arm; None for those of the simulator.

    Raises:
        AttemptError: class `agent_setup`: the brakes cannot be made.
    """
    try:
        return build_arm_brakes(settings, arm)
    except UserError as problem:
        raise AttemptError("agent_setup", str(problem)) from None


def get_message_window(system: System | PrivilegedSystem, settings: CampaignSettings) -> Window:
    """Return the range in which a system uses messages; by default the reach of the LiDARs."""
    window: Window | None = getattr(system, "window", None)
    if window is not None:
        return window
    rig: Rig = build_part(settings["rig"], "rig")
    reach = max(rig.ego.range, build_part(settings["patterns"], "patterns").reach)
    return reach, reach


def set_up_channel(settings: CampaignSettings, arm: Arm, window: Window) -> Channel:
    """Return the channel with the attack of an arm, and behind it the disturbances.

    Raises:
        AttemptError: class `agent_setup`: the attack cannot be made.
    """
    try:
        attack = build_arm_attack(settings, arm)
    except UserError as problem:
        raise AttemptError("agent_setup", str(problem)) from None
    # what a partner sends is a lie before anything happens to it
    lying = [] if attack is None else [attack]
    channel: Channel = build_part(
        settings["channel"],
        "channel",
        disturbances=[*lying, *build_condition_disturbances(settings, arm.condition)],
        tick_seconds=settings["tick"],
        window=window,
    )
    return channel


def set_up_changes(settings: CampaignSettings, condition: str) -> AppliedChanges:
    """Return the changes of the scene of a condition."""
    changes = build_condition_changes(settings, condition)
    number_equal_names(changes)
    return AppliedChanges(changes)


def get_planning_period(settings: CampaignSettings) -> float:
    """Return the seconds between two planning steps."""
    period: float = settings["tick"] * settings["perceive_every"]
    return period


def has_point_reader(settings: CampaignSettings, system: System | PrivilegedSystem) -> bool:
    """Return whether anything reads the points of a sweep."""
    return bool(system.reads_points or settings["record"]["points"])


@contextmanager
def set_up_attempt(
    context: AttemptContext,
    assignment: RouteAssignment,
    *,
    settings: CampaignSettings,
    system: System | PrivilegedSystem,
    sharing: AttemptFleet,
    channel: Channel,
    changes: AppliedChanges,
    cooperation: Cooperation,
    intervening: InterveningSystem | None,
    brakes: TyreGrip | None,
    defence: Defence | None,
    compensation: Compensation | None,
    computing: AttemptComputing | None,
    view: LiveView,
) -> Iterator[AttemptActors]:
    """Spawn all actors of an attempt, and destroy them at the end."""
    # the world
    if assignment.weather is not None:
        context.world.set_weather(carla.WeatherParameters(**assignment.weather))
    if settings["lights"] == "green":
        set_lights_green(context.world)
    # whatever is spawned is destroyed in the opposite order, after an error too
    with ExitStack() as stack:
        ego = EgoVehicle(context)
        stack.callback(ego.destroy_ego)
        if brakes is not None:
            brakes.fit_to_vehicle(ego.actor)
        # hazards before traffic, which leaves their places free
        specs = changes.change_hazards(assignment.runnable)
        every = [place_hazard(spec, context, stack) for spec in specs]
        hazards = [hazard for hazard in every if hazard.cause != "no_place"]
        taken = [actor for hazard in hazards for actor in hazard.actors]
        if intervening is not None:
            intervening.hazards = hazards
        # traffic
        density: Traffic = build_part(settings["traffic"], "traffic")
        traffic = density.spawn_population(context, taken)
        stack.callback(traffic.destroy_population)
        stack.callback(changes.destroy_added)
        # partners are vehicles of the traffic, so they come after it
        fleet = changes.after_traffic(context, density, traffic)
        partners = set_up_partners(
            context,
            settings,
            cooperation=cooperation,
            sharing=sharing,
            channel=channel,
            vehicles=fleet,
            stack=stack,
        )
        changes.after_partners(partners)
        # senses last: their carriers exist
        perception = set_up_perception(
            context,
            settings,
            system=system,
            sharing=sharing,
            channel=channel,
            ego=ego,
            partners=partners,
            intervening=intervening,
            defence=defence,
            compensation=compensation,
            computing=computing,
            view=view,
            stack=stack,
        )
        # parts with a state begin from their seeds
        system.reset(derive_seed(context.seed, "system"), context.route)
        sharing.reset_others(derive_seed(context.seed, "system"), context.route)
        channel.reset(context.seed, context.route.name)
        if defence is not None:
            defence.reset(context.seed)
        if compensation is not None:
            compensation.reset()
        if sharing.reads_images or brings_sensors(system):
            stack.callback(context.world.set_weather, context.world.get_weather())
            show_air(context.world, channel.describe_air())
        stops = RouteStops(context)
        yield AttemptActors(
            hazards=hazards,
            unplaced=[hazard for hazard in every if hazard not in hazards],
            lights=RouteLights(context),
            stops=stops,
            heeded_stops=stops if settings["lights"] == "working" else None,
            perception=perception,
            ego=ego,
            changes=changes,
            not_run=assignment.not_run,
        )


def place_hazard(spec: HazardSpec, context: AttemptContext, stack: ExitStack) -> Hazard:
    """Return a placed hazard (or one without room); the stack removes it."""
    hazard = build_hazard(spec)
    stack.callback(hazard.remove_from_world)
    with convert_hazard_errors(hazard):
        hazard.place_in_world(context)
    return hazard


def set_up_partners(
    context: AttemptContext,
    settings: CampaignSettings,
    *,
    cooperation: Cooperation,
    sharing: AttemptFleet,
    channel: Channel,
    vehicles: Sequence[carla.Actor | None],
    stack: ExitStack,
) -> PartnerFleet:
    """Return the ego's partners, and the reference rig if ground truth depends on it."""
    rig: Rig = build_part(settings["rig"], "rig")
    partners = spawn_partners(
        cooperation,
        context,
        rig=rig,
        period=get_planning_period(settings),
        senses=sharing.choose_senses,
        reads_surfaces=has_surface_reader(rig, channel),
        fleet=vehicles,
        reference=build_reference_placement(settings),
    )
    stack.callback(partners.destroy_posts)
    return partners


def set_up_perception(
    context: AttemptContext,
    settings: CampaignSettings,
    *,
    system: System | PrivilegedSystem,
    sharing: AttemptFleet,
    channel: Channel,
    ego: EgoVehicle,
    partners: PartnerFleet,
    intervening: InterveningSystem | None,
    defence: Defence | None,
    compensation: Compensation | None,
    computing: AttemptComputing | None,
    view: LiveView,
    stack: ExitStack,
) -> PerceptionLoop:
    """Return the senses of the ego and its partners; the stack removes them."""
    rig: Rig = build_part(settings["rig"], "rig")
    scans_points = has_point_reader(settings, system)
    agent_sensing = set_up_agent_sensing(context, system, channel=channel, ego=ego, stack=stack)
    perception = PerceptionLoop(
        context,
        system,
        sharing=sharing,
        channel=channel,
        partners=partners,
        ego=ego,
        mount=rig.ego,
        period=get_planning_period(settings),
        rules=build_part(settings["patterns"], "patterns"),
        reads_points=scans_points,
        reads_surfaces=has_surface_reader(rig, channel),
        counts_after_sensing=scans_points
        and has_surface_reader(rig, channel)
        and has_boxes(system),
        cameras=rig.place_cameras("ego") if has_image_reader(system) else (),
        metrics=AttemptMetrics(build_metrics(settings), context.route),
        view=view,
        intervening=intervening,
        defence=defence,
        compensation=compensation,
        computing=computing,
        agent_sensing=agent_sensing,
    )
    stack.callback(perception.close_lidar)
    return perception


def set_up_agent_sensing(
    context: AttemptContext,
    system: System | PrivilegedSystem,
    *,
    channel: Channel,
    ego: EgoVehicle,
    stack: ExitStack,
) -> AgentSensing | None:
    """Return the sensors that a system brings, on the ego; None if it brings none."""
    if not brings_sensors(system):
        return None
    host, port = context.server
    place = WorldPlace(
        host=host,
        port=port,
        ego_id=ego.actor.id,
        tick_seconds=context.tick_seconds,
        opendrive=context.map.to_opendrive(),
        attempt=context.attempt,
    )
    requests = system.open_attempt(
        place, seed=derive_seed(context.seed, "system"), route=context.route
    )
    stack.callback(system.close_attempt)
    sensors = AgentSensors(context, ego.actor, requests)
    stack.callback(sensors.destroy_sensors)
    return AgentSensing(system, sensors, channel)


def has_surface_reader(rig: Rig, channel: Channel) -> bool:
    """Return whether what points lie on is to be known: for what senses, and for hits after it."""
    sensitive = any(mount.sensitivity for mount in rig.mounts)
    known = all(mount.returns_all for mount in rig.mounts)
    return channel.needs_surfaces or ((channel.of_sweeps or sensitive) and known)

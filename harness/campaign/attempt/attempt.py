"""One attempt: a system drives a route, cooperates, is disturbed; everything is recorded."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count
from typing import Any

import carla

from harness.campaign.attempt.actors import AttemptActors
from harness.campaign.attempt.drive_monitor import DriveMonitor
from harness.campaign.attempt.hazard_reports import iter_hazard_reports
from harness.campaign.attempt.intervening import build_arm_intervention
from harness.campaign.attempt.live import LiveView, open_live_view
from harness.campaign.attempt.metrics import AttemptMetrics
from harness.campaign.attempt.perception import PerceptionLoop, has_surface_reader
from harness.campaign.attempt.recorder import AttemptRecorder
from harness.campaign.attempt.results import (
    build_crucible_record,
    build_driving_record,
    build_hazard_record,
    build_pattern_record,
    build_result_record,
    describe_channel,
    describe_drive,
    select_window_frames,
)
from harness.campaign.attempt.settling import settle_vehicles
from harness.campaign.attempt.signals import find_signals_ahead
from harness.campaign.attempt.surrogates import build_surrogate_record
from harness.campaign.attempt.surroundings import TrackRecorder, list_scenery_near_route
from harness.campaign.attempt.tasks import AttemptTask, DrivePosition, Report
from harness.campaign.attempt.town_map import list_map_lines
from harness.campaign.folder.assignments import RouteAssignment, read_assignment
from harness.campaign.folder.campaign_folder import load_campaign_header
from harness.campaign.folder.inputs import list_file_changes
from harness.campaign.settings.conditions import (
    build_condition_changes,
    build_condition_disturbances,
)
from harness.campaign.settings.config import build_part
from harness.campaign.settings.cooperation import build_arm_cooperation, build_reference_placement
from harness.campaign.settings.declared import CampaignSettings
from harness.campaign.settings.metrics import build_metrics
from harness.channel.channel import Channel, number_equal_names
from harness.channel.effects import Window
from harness.errors import AttemptError, UserError
from harness.evaluation.driving import DriveEvaluation
from harness.evaluation.windows import WindowRules
from harness.kernels import get_processor_name
from harness.randomness import derive_seed
from harness.records.message_usage import MessageUsage
from harness.records.writing import EpisodeWriter
from harness.vocabulary import Control, PrivilegedSystem, Route, System, get_fusion_stage
from harness.world.attempt_context import AttemptContext
from harness.world.changes.applied import AppliedChanges
from harness.world.ego import EgoVehicle
from harness.world.hazards.catalogue import build_hazard
from harness.world.hazards.hazard import Hazard, convert_hazard_errors
from harness.world.hazards.spec import HazardSpec
from harness.world.lights import RouteLights, set_lights_green
from harness.world.partners import Cooperation, PartnerFleet, spawn_partners
from harness.world.rig import Rig
from harness.world.scene import ActorRegistry
from harness.world.session import open_session
from harness.world.stops import RouteStops
from harness.world.traffic import Traffic

made_before: dict[str, System | PrivilegedSystem] = {}
"""Systems that were made before this process was forked, each fresh in every child."""


def run_attempt_task(task: AttemptTask, report: Report) -> str:
    """Run one try, shown in a viewer if the task names one; return a one-line description."""
    with open_live_view(task) as view:
        return drive_and_write(task, report, view)


def drive_and_write(task: AttemptTask, report: Report, view: LiveView) -> str:
    """Drive, write the records, and return a one-line description of the outcome."""
    began = time.monotonic()
    settings = load_campaign_header(task.folder / "campaign.yaml")["settings"]
    assignment = read_assignment(task.folder, task.key.route, task.key.arm.condition)
    system = set_up_system(settings, task.key.arm.system)
    channel = set_up_channel(settings, task.key.arm.condition, get_message_window(system, settings))
    changes = set_up_changes(settings, task.key.arm.condition)
    cooperation = build_arm_cooperation(settings, task.key.arm)
    drive = DriveEvaluation(
        rules=build_part(settings["driving"], "driving"), route_length=assignment.route.length
    )
    with open_attempt_context(task, assignment.route, settings["tick"]) as usual:
        context = changes.change_context(usual)
        lines = list_map_lines(context.map, context.route)
        view.begin(lines)
        with set_up_attempt(
            context,
            assignment,
            settings=settings,
            system=system,
            channel=channel,
            changes=changes,
            cooperation=cooperation,
            view=view,
        ) as actors:
            actors.perception.intervening = build_arm_intervention(
                settings, task.key.arm, context.seed
            )
            recorder = drive_until_over(
                context,
                actors,
                every=settings["perceive_every"],
                drive=drive,
                keeps_points=settings["record"]["points"],
                report=report,
            )
            seconds = {"set_up": actors.perception.started - began, **actors.perception.seconds}
        scenery = list_scenery_near_route(context.world, context.route)
    channel.audit.verify_deliveries()
    changes.verify_senders({sender for sender, _ in channel.audit.records})
    with EpisodeWriter(task.folder, task.key, task.number) as writer:
        perception = actors.perception
        recorder.write_tables(
            writer,
            channel.audit.close_audit(),
            lines=lines,
            scenery=scenery,
            metrics=perception.metrics,
        )
        messages = {
            "reads": system.reads_messages,
            "fusion": get_fusion_stage(system),
            **channel.audit.build_record(),
        }
        result = build_drive_result(
            task,
            settings,
            drive=drive,
            recorder=recorder,
            perception=perception,
            messages=messages,
            seed=context.seed,
        )
        writer.write_json("result", result)
        seconds["total"] = time.monotonic() - began
        writer.write_json(
            "timing", {"seconds": seconds, "ticks": drive.ticks, "processor": get_processor_name()}
        )
        writer.commit_records()
    view.end(drive, result["crucible"]["driving_score"], recorder.hazards)
    words = describe_drive(drive, result["crucible"]["driving_score"], recorder.hazards)
    return words + describe_channel(MessageUsage.from_result(result))


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
        )


def build_drive_result(
    task: AttemptTask,
    settings: CampaignSettings,
    *,
    drive: DriveEvaluation,
    recorder: AttemptRecorder,
    perception: PerceptionLoop,
    messages: dict[str, Any],
    seed: int,
) -> dict[str, Any]:
    """Return the whole result of a drive."""
    coefficients = build_part(settings["scoring"], "scoring")
    end = drive.violation.time if drive.violation else drive.last_time
    rules: WindowRules = build_part(settings["windows"], "windows")
    in_windows = select_window_frames(recorder.frames, drive, end - recorder.start, rules)
    result = build_result_record(task.key, drive, coefficients, recorder)
    driving = build_driving_record(drive, coefficients, recorder)
    metrics = perception.metrics.collect_attempt_values(
        recorder.frames, drive, driving["driving_score"]
    )
    result["crucible"] = build_crucible_record(
        **driving,
        patterns=build_pattern_record(recorder.frames, in_windows),
        average_precision=perception.precision.build_record(in_windows["end_10s"]),
        messages=messages,
        attempt={**task.key.to_record(), "episode_seed": seed, "simulator": task.simulator},
        hazards=build_hazard_record(recorder),
        surrogates=recorder.surrogates,
        **({"metrics": metrics} if metrics else {}),
        **perception.make_intervention_record(),
    )
    return result


def set_up_system(settings: CampaignSettings, name: str) -> System | PrivilegedSystem:
    """Return the system under test, if its files are those that the campaign began with."""
    try:
        if changes := list_file_changes(settings, [name]):
            raise UserError(f"other files than the campaign began with: {'; '.join(changes)}")
        if name in made_before:
            return made_before[name]
        system: System | PrivilegedSystem = build_part(settings["system"][name], f"system.{name}")
    except UserError as problem:
        raise AttemptError("agent_setup", str(problem)) from None
    return system


def get_message_window(system: System | PrivilegedSystem, settings: CampaignSettings) -> Window:
    """Return the range in which a system uses messages; by default the reach of the LiDARs."""
    window: Window | None = getattr(system, "window", None)
    if window is not None:
        return window
    rig: Rig = build_part(settings["rig"], "rig")
    reach = max(rig.ego.range, build_part(settings["patterns"], "patterns").reach)
    return reach, reach


def set_up_channel(settings: CampaignSettings, condition: str, window: Window) -> Channel:
    """Return the channel with the disturbances of a condition."""
    channel: Channel = build_part(
        settings["channel"],
        "channel",
        disturbances=build_condition_disturbances(settings, condition),
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
    channel: Channel,
    changes: AppliedChanges,
    cooperation: Cooperation,
    view: LiveView,
) -> Iterator[AttemptActors]:
    """Spawn all actors of an attempt, and destroy them at the end."""
    if assignment.weather is not None:
        context.world.set_weather(carla.WeatherParameters(**assignment.weather))
    if settings["lights"] == "green":
        set_lights_green(context.world)
    with ExitStack() as stack:
        ego = EgoVehicle(context)
        stack.callback(ego.destroy_ego)
        specs = changes.change_hazards(assignment.runnable)
        every = [place_hazard(spec, context, stack) for spec in specs]
        hazards = [hazard for hazard in every if hazard.cause != "no_place"]
        taken = [actor for hazard in hazards for actor in hazard.actors]
        density: Traffic = build_part(settings["traffic"], "traffic")
        traffic = density.spawn_population(context, taken)
        stack.callback(traffic.destroy_population)
        stack.callback(changes.destroy_added)
        fleet = changes.after_traffic(context, density, traffic)
        partners = set_up_partners(
            context,
            settings,
            cooperation=cooperation,
            system=system,
            channel=channel,
            vehicles=fleet,
            stack=stack,
        )
        changes.after_partners(partners)
        perception = set_up_perception(
            context,
            settings,
            system=system,
            channel=channel,
            ego=ego,
            partners=partners,
            view=view,
            stack=stack,
        )
        system.reset(derive_seed(context.seed, "system"), context.route)
        channel.reset(context.seed, context.route.name)
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
    system: System | PrivilegedSystem,
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
        reads_points=has_point_reader(settings, system),
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
    channel: Channel,
    ego: EgoVehicle,
    partners: PartnerFleet,
    view: LiveView,
    stack: ExitStack,
) -> PerceptionLoop:
    """Return the senses of the ego and its partners; the stack removes them."""
    rig: Rig = build_part(settings["rig"], "rig")
    scans_points = has_point_reader(settings, system)
    perception = PerceptionLoop(
        context,
        system,
        channel=channel,
        partners=partners,
        ego=ego,
        mount=rig.ego,
        period=get_planning_period(settings),
        rules=build_part(settings["patterns"], "patterns"),
        reads_points=scans_points,
        reads_surfaces=has_surface_reader(rig, channel),
        counts_after_sensing=scans_points and has_surface_reader(rig, channel),
        metrics=AttemptMetrics(build_metrics(settings), context.route),
        view=view,
    )
    stack.callback(perception.close_lidar)
    return perception


def drive_until_over(
    context: AttemptContext,
    actors: AttemptActors,
    *,
    every: int,
    drive: DriveEvaluation,
    keeps_points: bool,
    report: Report,
) -> AttemptRecorder:
    """Tick the world until the drive is over."""
    ego, perception = actors.ego, actors.perception
    ego.apply_driving_control(Control(brake=1.0))
    snapshot = settle_vehicles(context, actors, every)
    state = ego.read_state(snapshot)
    recorder = AttemptRecorder(
        state.time,
        state.frame,
        ego_id=ego.actor.id,
        tick_seconds=context.tick_seconds,
        keeps_points=keeps_points,
        after_sensing=perception.counts_after_sensing,
    )
    registry = ActorRegistry(context.world)
    tracks = TrackRecorder(ego.actor.id, state.frame, registry)
    monitor = DriveMonitor(context, ego, actors.lights, actors.stops)
    began = time.perf_counter()
    for tick in count():
        if tick:
            if tick % every == 0:
                perception.partners.choose_sharing_partners(state, snapshot)
            clock = time.perf_counter()
            context.world.tick()
            perception.seconds["simulator"] += time.perf_counter() - clock
            snapshot = context.world.get_snapshot()
            state = ego.read_state(snapshot)
        for hazard in actors.hazards:
            with convert_hazard_errors(hazard):
                hazard.step_hazard(state)
        scene = registry.read_scene(snapshot)
        tracks.add_tick(state.frame, scene)
        known = len(drive.infractions)
        drive.observe_tick(monitor.sample_tick(state, snapshot, scene))
        for infraction in drive.infractions[known:]:
            recorder.add_infraction(infraction)
            perception.view.infraction(infraction, recorder.start)
        if tick % every == 0:
            lights = find_signals_ahead(actors.lights, actors.heeded_stops, state.station)
            recorder.signals.add_signals(state.frame, lights)
            ego.apply_driving_control(perception.run_planning_step(state, scene, lights, recorder))
            for hazard in actors.hazards:
                hazard.record_lidar_returns(state, perception.returned)
            report(DrivePosition(drive.completion, state.time - recorder.start))
        if drive.ended:
            break
    recorder.tracks = tracks.build_tables()
    perception.seconds["drive"] = time.perf_counter() - began
    recorder.surrogates = build_surrogate_record(recorder, drive, context.route)
    perception.seconds["surrogates"] = time.perf_counter() - began - perception.seconds["drive"]
    for hazard_report in iter_hazard_reports([*actors.hazards, *actors.unplaced], actors.not_run):
        recorder.add_hazard(hazard_report, state.time)
    return recorder

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
from harness.campaign.attempt.hazard_reports import hazard_reports
from harness.campaign.attempt.intervening import intervening
from harness.campaign.attempt.live import LiveView, live_view
from harness.campaign.attempt.metrics import AttemptMetrics
from harness.campaign.attempt.perception import Perception, reads_surfaces
from harness.campaign.attempt.recorder import Recorder
from harness.campaign.attempt.results import (
    crucible_record,
    describe_channel,
    describe_drive,
    driving_record,
    hazard_record,
    pattern_record,
    result_record,
    windows_of,
)
from harness.campaign.attempt.settling import settle
from harness.campaign.attempt.signals import signals_ahead
from harness.campaign.attempt.surrogates import surrogate_record
from harness.campaign.attempt.surroundings import Tracks, scenery_near
from harness.campaign.attempt.tasks import Position, Report, Task
from harness.campaign.attempt.town_map import lines_around
from harness.campaign.folder.assignments import Assignment, read_assignment
from harness.campaign.folder.campaign_folder import read_header
from harness.campaign.folder.inputs import other_files
from harness.campaign.settings.conditions import changes_of, disturbances_of
from harness.campaign.settings.config import build
from harness.campaign.settings.cooperation import cooperation_of, reference_of
from harness.campaign.settings.declared import Settings
from harness.campaign.settings.metrics import metrics_in
from harness.channel.channel import Channel, number_equal_names
from harness.channel.effects import Window
from harness.errors import AttemptError, UserError
from harness.evaluation.driving import Drive
from harness.evaluation.windows import WindowRules
from harness.kernels import processor_name
from harness.randomness import derived_seed
from harness.records.message_usage import MessageUsage
from harness.records.writing import EpisodeWriter
from harness.vocabulary import Control, PrivilegedSystem, Route, System, fusion_stage_of
from harness.world.attempt_context import AttemptContext
from harness.world.changes.applied import AppliedChanges
from harness.world.ego import Ego
from harness.world.hazards.catalogue import build as build_hazard
from harness.world.hazards.hazard import Hazard, blaming
from harness.world.hazards.spec import HazardSpec
from harness.world.lights import RouteLights, force_green
from harness.world.partners import Cooperation, Partners, assemble
from harness.world.rig import Rig
from harness.world.scene import ActorRegistry
from harness.world.session import open_session
from harness.world.stops import RouteStops
from harness.world.traffic import Traffic

made_before: dict[str, System | PrivilegedSystem] = {}
"""Systems that were made before this process was forked, each fresh in every child."""


def run_attempt(task: Task, report: Report) -> str:
    """Run one try, shown in a viewer if the task names one; return a one-line description."""
    with live_view(task) as view:
        return drive_and_write(task, report, view)


def drive_and_write(task: Task, report: Report, view: LiveView) -> str:
    """Drive, write the records, and return a one-line description of the outcome."""
    began = time.monotonic()
    settings = read_header(task.folder / "campaign.yaml")["settings"]
    assignment = read_assignment(task.folder, task.key.route, task.key.arm.condition)
    system = set_up_system(settings, task.key.arm.system)
    channel = set_up_channel(settings, task.key.arm.condition, window_of(system, settings))
    changes = set_up_changes(settings, task.key.arm.condition)
    cooperation = cooperation_of(settings, task.key.arm)
    drive = Drive(rules=build(settings["driving"], "driving"), route_length=assignment.route.length)
    with attempt_context(task, assignment.route, settings["tick"]) as usual:
        context = changes.context(usual)
        lines = lines_around(context.map, context.route)
        view.begin(lines)
        with set_up(
            context,
            assignment,
            settings=settings,
            system=system,
            channel=channel,
            changes=changes,
            cooperation=cooperation,
            view=view,
        ) as actors:
            actors.perception.intervening = intervening(settings, task.key.arm, context.seed)
            recorder = play(
                context,
                actors,
                every=settings["perceive_every"],
                drive=drive,
                keeps_points=settings["record"]["points"],
                report=report,
            )
            seconds = {"set_up": actors.perception.started - began, **actors.perception.seconds}
        scenery = scenery_near(context.world, context.route)
    channel.audit.verify()
    changes.verify_senders({sender for sender, _ in channel.audit.records})
    with EpisodeWriter(task.folder, task.key, task.number) as writer:
        perception = actors.perception
        recorder.write(
            writer, channel.audit.close(), lines=lines, scenery=scenery, metrics=perception.metrics
        )
        messages = {
            "reads": system.reads_messages,
            "fusion": fusion_stage_of(system),
            **channel.audit.record(),
        }
        result = result_of(
            task,
            settings,
            drive=drive,
            recorder=recorder,
            perception=perception,
            messages=messages,
            seed=context.seed,
        )
        writer.json("result", result)
        seconds["total"] = time.monotonic() - began
        writer.json(
            "timing", {"seconds": seconds, "ticks": drive.ticks, "processor": processor_name()}
        )
        writer.commit()
    view.end(drive, result["crucible"]["driving_score"], recorder.hazards)
    words = describe_drive(drive, result["crucible"]["driving_score"], recorder.hazards)
    return words + describe_channel(MessageUsage.of(result))


@contextmanager
def attempt_context(task: Task, route: Route, tick: float) -> Iterator[AttemptContext]:
    """Open the world of one try, with a seed that does not depend on the arm."""
    seed = derived_seed(task.key.seed, route.town, task.key.route)
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


def result_of(
    task: Task,
    settings: Settings,
    *,
    drive: Drive,
    recorder: Recorder,
    perception: Perception,
    messages: dict[str, Any],
    seed: int,
) -> dict[str, Any]:
    """Return the whole result of a drive."""
    coefficients = build(settings["scoring"], "scoring")
    end = drive.violation.time if drive.violation else drive.last_time
    rules: WindowRules = build(settings["windows"], "windows")
    in_windows = windows_of(recorder.frames, drive, end - recorder.start, rules)
    result = result_record(task.key, drive, coefficients, recorder)
    driving = driving_record(drive, coefficients, recorder)
    metrics = perception.metrics.of_attempt(recorder.frames, drive, driving["driving_score"])
    result["crucible"] = crucible_record(
        **driving,
        patterns=pattern_record(recorder.frames, in_windows),
        average_precision=perception.precision.record(in_windows["end_10s"]),
        messages=messages,
        attempt={**task.key.record(), "episode_seed": seed, "simulator": task.simulator},
        hazards=hazard_record(recorder),
        surrogates=recorder.surrogates,
        **({"metrics": metrics} if metrics else {}),
        **perception.intervention_record(),
    )
    return result


def set_up_system(settings: Settings, name: str) -> System | PrivilegedSystem:
    """Return the system under test, if its files are those that the campaign began with."""
    try:
        if changes := other_files(settings, [name]):
            raise UserError(f"other files than the campaign began with: {'; '.join(changes)}")
        if name in made_before:
            return made_before[name]
        system: System | PrivilegedSystem = build(settings["system"][name], f"system.{name}")
    except UserError as problem:
        raise AttemptError("agent_setup", str(problem)) from None
    return system


def window_of(system: System | PrivilegedSystem, settings: Settings) -> Window:
    """Return the range in which a system uses messages; by default the reach of the LiDARs."""
    window: Window | None = getattr(system, "window", None)
    if window is not None:
        return window
    rig: Rig = build(settings["rig"], "rig")
    reach = max(rig.ego.range, build(settings["patterns"], "patterns").reach)
    return reach, reach


def set_up_channel(settings: Settings, condition: str, window: Window) -> Channel:
    """Return the channel with the disturbances of a condition."""
    channel: Channel = build(
        settings["channel"],
        "channel",
        disturbances=disturbances_of(settings, condition),
        tick_seconds=settings["tick"],
        window=window,
    )
    return channel


def set_up_changes(settings: Settings, condition: str) -> AppliedChanges:
    """Return the changes of the scene of a condition."""
    changes = changes_of(settings, condition)
    number_equal_names(changes)
    return AppliedChanges(changes)


def period_of(settings: Settings) -> float:
    """Return the seconds between two planning steps."""
    period: float = settings["tick"] * settings["perceive_every"]
    return period


def reads_points(settings: Settings, system: System | PrivilegedSystem) -> bool:
    """Return whether anything reads the points of a sweep."""
    return bool(system.reads_points or settings["record"]["points"])


@contextmanager
def set_up(
    context: AttemptContext,
    assignment: Assignment,
    *,
    settings: Settings,
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
        force_green(context.world)
    with ExitStack() as stack:
        ego = Ego(context)
        stack.callback(ego.end)
        specs = changes.hazards(assignment.runnable)
        every = [placed(spec, context, stack) for spec in specs]
        hazards = [hazard for hazard in every if hazard.cause != "no_place"]
        taken = [actor for hazard in hazards for actor in hazard.actors]
        density: Traffic = build(settings["traffic"], "traffic")
        traffic = density.populate(context, taken)
        stack.callback(traffic.end)
        stack.callback(changes.end)
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
        system.reset(derived_seed(context.seed, "system"), context.route)
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


def placed(spec: HazardSpec, context: AttemptContext, stack: ExitStack) -> Hazard:
    """Return a placed hazard (or one without room); the stack removes it."""
    hazard = build_hazard(spec)
    stack.callback(hazard.end)
    with blaming(hazard):
        hazard.place(context)
    return hazard


def set_up_partners(
    context: AttemptContext,
    settings: Settings,
    *,
    cooperation: Cooperation,
    system: System | PrivilegedSystem,
    channel: Channel,
    vehicles: Sequence[carla.Actor | None],
    stack: ExitStack,
) -> Partners:
    """Return the ego's partners, and the reference rig if ground truth depends on it."""
    rig: Rig = build(settings["rig"], "rig")
    partners = assemble(
        cooperation,
        context,
        rig=rig,
        period=period_of(settings),
        reads_points=reads_points(settings, system),
        reads_surfaces=reads_surfaces(rig, channel),
        fleet=vehicles,
        reference=reference_of(settings),
    )
    stack.callback(partners.end)
    return partners


def set_up_perception(
    context: AttemptContext,
    settings: Settings,
    *,
    system: System | PrivilegedSystem,
    channel: Channel,
    ego: Ego,
    partners: Partners,
    view: LiveView,
    stack: ExitStack,
) -> Perception:
    """Return the senses of the ego and its partners; the stack removes them."""
    rig: Rig = build(settings["rig"], "rig")
    scans_points = reads_points(settings, system)
    perception = Perception(
        context,
        system,
        channel=channel,
        partners=partners,
        ego=ego,
        mount=rig.ego,
        period=period_of(settings),
        rules=build(settings["patterns"], "patterns"),
        reads_points=scans_points,
        reads_surfaces=reads_surfaces(rig, channel),
        counts_after_sensing=scans_points and reads_surfaces(rig, channel),
        metrics=AttemptMetrics(metrics_in(settings), context.route),
        view=view,
    )
    stack.callback(perception.end)
    return perception


def play(
    context: AttemptContext,
    actors: AttemptActors,
    *,
    every: int,
    drive: Drive,
    keeps_points: bool,
    report: Report,
) -> Recorder:
    """Tick the world until the drive is over."""
    ego, perception = actors.ego, actors.perception
    ego.drive(Control(brake=1.0))
    snapshot = settle(context, actors, every)
    state = ego.state(snapshot)
    recorder = Recorder(
        state.time,
        state.frame,
        ego_id=ego.actor.id,
        tick_seconds=context.tick_seconds,
        keeps_points=keeps_points,
        after_sensing=perception.counts_after_sensing,
    )
    registry = ActorRegistry(context.world)
    tracks = Tracks(ego.actor.id, state.frame, registry)
    monitor = DriveMonitor(context, ego, actors.lights, actors.stops)
    began = time.perf_counter()
    for tick in count():
        if tick:
            if tick % every == 0:
                perception.partners.renew(state, snapshot)
            clock = time.perf_counter()
            context.world.tick()
            perception.seconds["simulator"] += time.perf_counter() - clock
            snapshot = context.world.get_snapshot()
            state = ego.state(snapshot)
        for hazard in actors.hazards:
            with blaming(hazard):
                hazard.step(state)
        scene = registry.scene(snapshot)
        tracks.add(state.frame, scene)
        known = len(drive.infractions)
        drive.observe(monitor.sample(state, snapshot, scene))
        for infraction in drive.infractions[known:]:
            recorder.infraction(infraction)
            perception.view.infraction(infraction, recorder.start)
        if tick % every == 0:
            lights = signals_ahead(actors.lights, actors.heeded_stops, state.station)
            recorder.signals.add(state.frame, lights)
            ego.drive(perception.step(state, scene, lights, recorder))
            for hazard in actors.hazards:
                hazard.note(state, perception.returned)
            report(Position(drive.completion, state.time - recorder.start))
        if drive.ended:
            break
    recorder.tracks = tracks.tables()
    perception.seconds["drive"] = time.perf_counter() - began
    recorder.surrogates = surrogate_record(recorder, drive, context.route)
    perception.seconds["surrogates"] = time.perf_counter() - began - perception.seconds["drive"]
    for hazard_report in hazard_reports([*actors.hazards, *actors.unplaced], actors.not_run):
        recorder.hazard(hazard_report, state.time)
    return recorder

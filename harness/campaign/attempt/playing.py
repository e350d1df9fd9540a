"""Plays an attempt: ticks the world until the drive is over."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import count

from harness.campaign.attempt.actors import AttemptActors
from harness.campaign.attempt.drive_monitor import DriveMonitor
from harness.campaign.attempt.hazard_reports import iter_hazard_reports
from harness.campaign.attempt.recorder import AttemptRecorder
from harness.campaign.attempt.settling import settle_vehicles
from harness.campaign.attempt.signals import find_signals_ahead
from harness.campaign.attempt.surrogates import build_surrogate_record
from harness.campaign.attempt.surroundings import TrackRecorder
from harness.campaign.attempt.tasks import DrivePosition, Report
from harness.evaluation.driving import DriveEvaluation
from harness.types.vocabulary import Control
from harness.world.attempt_context import AttemptContext, EgoState
from harness.world.hazards.hazard import convert_hazard_errors
from harness.world.scene import ActorRegistry


def drive_until_over(
    context: AttemptContext,
    actors: AttemptActors,
    *,
    every: int,
    drive: DriveEvaluation,
    keeps_points: bool,
    kept_cameras: Sequence[str],
    report: Report,
) -> AttemptRecorder:
    """Tick the world until the drive is over."""
    ego, perception = actors.ego, actors.perception
    # vehicles stand on their wheels before the first planning step
    ego.apply_driving_control(Control(brake=1.0))
    snapshot = settle_vehicles(context, actors, every)
    state = ego.read_state(snapshot)
    # what records, and what judges
    recorder = AttemptRecorder(
        state.time,
        state.frame,
        ego_id=ego.actor.id,
        tick_seconds=context.tick_seconds,
        keeps_points=keeps_points,
        kept_cameras=kept_cameras,
        after_sensing=perception.counts_after_sensing,
        box_changes=perception.box_changes,
        knows_boxes=perception.knows_boxes,
    )
    registry = ActorRegistry(context.world)
    tracks = TrackRecorder(ego.actor.id, state.frame, registry)
    monitor = DriveMonitor(context, ego, actors.lights, actors.stops)
    began = time.perf_counter()
    # the first round is the tick that settling ended with
    for tick in count():
        if tick:
            # partners are chosen before the tick whose sweep they share
            if tick % every == 0:
                perception.partners.choose_sharing_partners(state, snapshot)
            clock = time.perf_counter()
            context.world.tick()
            perception.seconds["simulator"] += time.perf_counter() - clock
            snapshot = context.world.get_snapshot()
            state = ego.read_state(snapshot)
        # hazards act, then the tick is recorded and judged
        for hazard in actors.hazards:
            with convert_hazard_errors(hazard):
                hazard.step_hazard(state)
        scene = registry.read_scene(snapshot)
        tracks.add_tick(state.frame, scene)
        # infractions of this tick
        known = len(drive.infractions)
        drive.observe_tick(monitor.sample_tick(state, snapshot, scene))
        for infraction in drive.infractions[known:]:
            recorder.add_infraction(infraction)
            perception.view.infraction(infraction, recorder.start)
        if tick % every == 0:
            # a planning step, every so many ticks
            lights = find_signals_ahead(actors.lights, actors.heeded_stops, state.station)
            recorder.signals.add_signals(state.frame, lights)
            control = perception.run_planning_step(
                state, scene, lights, recorder, snapshot=snapshot
            )
            drive_ego(actors, control, state)
            for hazard in actors.hazards:
                hazard.record_lidar_returns(state, perception.returned)
            report(DrivePosition(drive.completion, state.time - recorder.start))
        else:
            drive_ego(actors, perception.run_tick_between(state, snapshot), state)
        # a violation or the goal
        if drive.ended:
            break
    # measures over the whole drive
    recorder.tracks = tracks.build_tables()
    perception.seconds["drive"] = time.perf_counter() - began
    recorder.surrogates = build_surrogate_record(recorder, drive, context.route)
    perception.seconds["surrogates"] = time.perf_counter() - began - perception.seconds["drive"]
    # how every hazard ended, those without a place too
    for hazard_report in iter_hazard_reports([*actors.hazards, *actors.unplaced], actors.not_run):
        recorder.add_hazard(hazard_report, state.time)
    return recorder


def drive_ego(actors: AttemptActors, control: Control | None, state: EgoState) -> None:
    """Give the vehicle what reaches it in this tick, if anything new does.

    Args:
        actors: of the attempt.
        control: what the system made of this tick; None: it was not asked.
        state: of the ego in this tick.
    """
    computing = actors.perception.computing
    if computing is not None:
        control = computing.exchange_controls(control, state)
    if control is not None:
        actors.ego.apply_driving_control(control)

"""Plays an attempt: ticks the world until the drives of all egos are over."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import count

import carla

from harness.campaign.attempt.actors import AttemptActors
from harness.campaign.attempt.ego_drive import EgoDrive
from harness.campaign.attempt.hazard_reports import iter_hazard_reports
from harness.campaign.attempt.settling import settle_vehicles
from harness.campaign.attempt.tasks import DrivePosition, Report
from harness.types.vocabulary import Control
from harness.world.attempt_context import AttemptContext
from harness.world.hazards.hazard import convert_hazard_errors
from harness.world.scene import ActorRegistry, GroundTruthScene


def drive_until_over(
    context: AttemptContext,
    actors: AttemptActors,
    *,
    every: int,
    keeps_points: bool,
    kept_cameras: Sequence[str],
    report: Report,
) -> list[EgoDrive]:
    """Tick the world until all drives are over; return them, that of the first ego first."""
    # vehicles stand on their wheels before the first planning step
    for driven in actors.egos:
        driven.vehicle.apply_driving_control(Control(brake=1.0))
    snapshot = settle_vehicles(context, actors, every)
    registry = ActorRegistry(context.world)
    egos = [
        EgoDrive(driven, snapshot, registry, keeps_points=keeps_points, kept_cameras=kept_cameras)
        for driven in actors.egos
    ]
    # hazards act on the first ego
    first, seconds = egos[0], actors.egos[0].perception.seconds
    driving = egos
    began = time.perf_counter()
    # the first round is the tick that settling ended with
    for tick in count():
        if tick:
            # partners are chosen before the tick whose sweep they share
            if tick % every == 0:
                for ego in driving:
                    ego.choose_partners(snapshot)
            clock = time.perf_counter()
            context.world.tick()
            seconds["simulator"] += time.perf_counter() - clock
            snapshot = context.world.get_snapshot()
            for ego in egos:
                ego.read_state(snapshot)
        # hazards act, then the tick is recorded and judged
        for hazard in actors.hazards:
            with convert_hazard_errors(hazard):
                hazard.step_hazard(first.state)
        scene = registry.read_scene(snapshot)
        for ego in driving:
            ego.observe_tick(snapshot, scene)
        if len(egos) > 1:
            # one system may steer all egos: it reads all before it decides
            for ego in driving:
                ego.take_agent_tick(snapshot)
        if tick % every == 0:
            # a planning step, every so many ticks
            plan_together(driving, snapshot, scene)
            for hazard in actors.hazards:
                hazard.record_lidar_returns(first.state, first.driven.perception.returned)
            report(measure_position(egos))
        else:
            for ego in driving:
                ego.drive_between(snapshot)
        # a violation or the goal: of all egos
        if all(ego.ended for ego in egos):
            break
        driving = leave_ended(driving)
    # measures over the whole drive
    seconds["drive"] = time.perf_counter() - began
    for ego in egos:
        ego.close_records()
    seconds["surrogates"] = time.perf_counter() - began - seconds["drive"]
    # how every hazard ended, those without a place too
    for hazard_report in iter_hazard_reports([*actors.hazards, *actors.unplaced], actors.not_run):
        first.recorder.add_hazard(hazard_report, first.state.time)
    return egos


def plan_together(
    egos: Sequence[EgoDrive], snapshot: carla.WorldSnapshot, scene: GroundTruthScene
) -> None:
    """Let every ego sense, share and decide at one moment.

    All sweeps are read before any is shared: an ego hears what the others sense in this tick, and
    what they planned in the last step.
    """
    scans = {}
    for ego in egos:
        perception = ego.driven.perception
        scans[perception.post] = perception.collect_scan(snapshot.frame)
        perception.exchange.sharing.note_plan()
    for ego in egos:
        ego.plan_step(snapshot, scene, scans)


def leave_ended(driving: Sequence[EgoDrive]) -> list[EgoDrive]:
    """Return the egos whose drives go on; the others stop, and are heard no more."""
    left = [ego for ego in driving if not ego.ended]
    for ended in driving:
        if ended.ended:
            ended.driven.end_drive()
            for ego in left:
                ego.forget_ego(ended.driven)
    return left


def measure_position(egos: Sequence[EgoDrive]) -> DrivePosition:
    """Return how far the egos have driven: the mean of their completions."""
    first = egos[0]
    completion = sum(ego.driven.drive.completion for ego in egos) / len(egos)
    return DrivePosition(completion, first.state.time - first.recorder.start)

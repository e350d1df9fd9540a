"""One attempt: a system drives a route, cooperates, is disturbed; everything is recorded."""

from __future__ import annotations

import time
from typing import Any

from harness.campaign.attempt.compensating import (
    build_compensation_record,
    set_up_compensation,
)
from harness.campaign.attempt.computing import set_up_computing
from harness.campaign.attempt.fleet import set_up_fleet
from harness.campaign.attempt.intervening import build_arm_intervention
from harness.campaign.attempt.live import LiveView, open_live_view
from harness.campaign.attempt.perception import PerceptionLoop
from harness.campaign.attempt.playing import drive_until_over
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
from harness.campaign.attempt.security import set_up_defence
from harness.campaign.attempt.setting_up import (
    get_message_window,
    open_attempt_context,
    set_up_attempt,
    set_up_brakes,
    set_up_changes,
    set_up_channel,
    set_up_driver,
    set_up_link,
    set_up_message_format,
    set_up_system,
)
from harness.campaign.attempt.surroundings import list_scenery_near_route
from harness.campaign.attempt.tasks import AttemptTask, Report
from harness.campaign.attempt.town_map import list_map_lines
from harness.campaign.folder.assignments import read_assignment
from harness.campaign.folder.campaign_folder import load_campaign_header
from harness.campaign.settings.config import build_part
from harness.campaign.settings.cooperation import build_arm_cooperation
from harness.campaign.settings.declared import CampaignSettings
from harness.common.kernels import get_processor_name
from harness.evaluation.driving import DriveEvaluation
from harness.evaluation.windows import WindowRules
from harness.records.message_usage import MessageUsage
from harness.records.writing import EpisodeWriter
from harness.types.systems import get_fusion_stage


def run_attempt_task(task: AttemptTask, report: Report) -> str:
    """Run one try, shown in a viewer if the task names one; return a one-line description."""
    with open_live_view(task) as view:
        return drive_and_write(task, report, view)


def drive_and_write(task: AttemptTask, report: Report, view: LiveView) -> str:
    """Drive, write the records, and return a one-line description of the outcome."""
    began = time.monotonic()
    # settings of the campaign, and what this arm makes of them
    settings = load_campaign_header(task.folder / "campaign.yaml")["settings"]
    assignment = read_assignment(task.folder, task.key.route, task.key.arm.condition)
    system = set_up_system(settings, task.key.arm.system)
    set_up_driver(settings, task.key.arm, system)
    sharing = set_up_fleet(settings, task.key.arm, system, task.key.route)
    channel = set_up_channel(settings, task.key.arm, get_message_window(system, settings))
    channel.link = set_up_link(settings, task.key.arm)
    channel.message_format = set_up_message_format(settings, task.key.arm)
    changes = set_up_changes(settings, task.key.arm.condition)
    cooperation = build_arm_cooperation(settings, task.key.arm)
    # rules are applied to samples of ticks, whatever made them
    drive = DriveEvaluation(
        rules=build_part(settings["driving"], "driving"), route_length=assignment.route.length
    )
    # drive: all actors are gone from the world when the inner block ends
    with open_attempt_context(task, assignment.route, settings["tick"]) as usual:
        # scene changes may alter weather, map lines or noise before anything is spawned
        context = changes.change_context(usual)
        lines = list_map_lines(context.map, context.route)
        view.begin(lines)
        with set_up_attempt(
            context,
            assignment,
            settings=settings,
            system=system,
            sharing=sharing,
            channel=channel,
            changes=changes,
            cooperation=cooperation,
            intervening=build_arm_intervention(settings, task.key.arm, context.seed),
            brakes=set_up_brakes(settings, task.key.arm),
            defence=set_up_defence(settings, task.key.arm),
            compensation=set_up_compensation(settings, task.key.arm),
            computing=set_up_computing(settings, task.key.arm, sharing),
            view=view,
        ) as actors:
            recorder = drive_until_over(
                context,
                actors,
                every=settings["perceive_every"],
                drive=drive,
                keeps_points=settings["record"]["points"],
                kept_cameras=settings["record"].get("pictures") or [],
                report=report,
            )
            seconds = {"set_up": actors.perception.started - began, **actors.perception.seconds}
            # parts of `system`
            if actors.perception.security.attack is not None:
                seconds["attack"] = actors.perception.security.attack.lying_seconds
            if actors.perception.security.defence is not None:
                seconds["defence"] = actors.perception.security.seconds
        scenery = list_scenery_near_route(context.world, context.route)
    # a drive whose messages or scene were not as asked is no result
    channel.audit.verify_deliveries()
    if actors.perception.computing is not None:
        actors.perception.computing.verify_controls()
    changes.verify_senders({sender for sender, _ in channel.audit.records})
    # write: the folder appears under its name only when every file of it is there
    with EpisodeWriter(task.folder, task.key, task.number) as writer:
        perception = actors.perception
        recorder.write_tables(
            writer,
            channel.audit.close_audit(),
            lines=lines,
            scenery=scenery,
            metrics=perception.metrics,
            carriages=None if channel.link is None else channel.link.carriages,
            formatted=None if channel.message_format is None else channel.message_format.rows,
            segments=channel.segments,
            cams=None if channel.awareness is None else channel.awareness.rows,
            security=perception.security.tables,
            moved=None if (moving := perception.compensation) is None else moving.rows,
            computing=perception.computing,
            clocks=channel.of_clocks,
            systems=sharing.find_name if sharing.is_mixed else None,
        )
        messages = {
            "reads": system.reads_messages,
            "fusion": get_fusion_stage(system),
            **channel.audit.build_record(),
            **sharing.build_record(
                (record.sender, record.kind) for record in channel.audit.records.values()
            ),
            **perception.security.build_record(),
            **({} if moving is None else build_compensation_record(moving)),
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
        carried = perception.agent_sensing
        timing = {
            "seconds": seconds,
            "ticks": drive.ticks,
            "processor": get_processor_name(),
            **({} if carried is None else carried.make_timing_record()),
        }
        writer.write_json("timing", timing)
        writer.commit_records()
    # say how it ended
    view.end(drive, result["crucible"]["driving_score"], recorder.hazards)
    words = describe_drive(drive, result["crucible"]["driving_score"], recorder.hazards)
    return words + describe_channel(MessageUsage.from_result(result))


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
    # planning steps before the end of the drive, whose patterns are counted apart
    end = drive.violation.time if drive.violation else drive.last_time
    rules: WindowRules = build_part(settings["windows"], "windows")
    in_windows = select_window_frames(recorder.frames, drive, end - recorder.start, rules)
    # what the Leaderboard writes, and below its key `crucible` what it does not know
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
        **({"computing": perception.computing.build_record()} if perception.computing else {}),
        **(
            {"agent_sensors": carried.make_record()}
            if (carried := perception.agent_sensing)
            else {}
        ),
    )
    return result

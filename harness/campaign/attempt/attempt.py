"""One attempt: systems drive their routes, cooperate, are disturbed; everything is recorded."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from harness.campaign.attempt.ego_drive import EgoDrive
from harness.campaign.attempt.ego_parts import EgoParts, build_ego_parts
from harness.campaign.attempt.ego_records import build_ego_result, write_ego_tables
from harness.campaign.attempt.joint_record import build_joint_record, describe_joint_outcome
from harness.campaign.attempt.live import LiveView, open_live_view
from harness.campaign.attempt.playing import drive_until_over
from harness.campaign.attempt.recorder import MapLine
from harness.campaign.attempt.results import describe_channel, describe_drive
from harness.campaign.attempt.setting_up import (
    derive_attempt_seed,
    open_attempt_context,
    set_up_attempt,
    set_up_changes,
)
from harness.campaign.attempt.surroundings import list_scenery_near_route
from harness.campaign.attempt.tasks import AttemptTask, Report
from harness.campaign.attempt.town_map import list_map_lines
from harness.campaign.folder.assignments import read_assignment
from harness.campaign.folder.campaign_folder import load_campaign_header
from harness.campaign.settings.config import build_part
from harness.common.errors import AttemptError
from harness.common.kernels import get_processor_name
from harness.records.message_usage import MessageUsage
from harness.records.writing import EpisodeWriter
from harness.world.changes.applied import AppliedChanges


def run_attempt_task(task: AttemptTask, report: Report) -> str:
    """Run one try, shown in a viewer if the task names one; return a one-line description."""
    with open_live_view(task) as view:
        return drive_and_write(task, report, view)


def drive_and_write(task: AttemptTask, report: Report, view: LiveView) -> str:
    """Drive, write the records, and return a one-line description of the outcome."""
    began = time.monotonic()
    # settings of the campaign, and what this arm makes of them for each ego
    settings = load_campaign_header(task.folder / "campaign.yaml")["settings"]
    assignment = read_assignment(task.folder, task.key.route, task.key.arm.condition)
    routes = [assignment.route, *assignment.further]
    seed = derive_attempt_seed(task, assignment.route)
    parts: list[EgoParts] = []
    for number in range(len(routes)):
        parts.append(
            build_ego_parts(
                settings,
                task.key.arm,
                route=task.key.route,
                number=number,
                seed=seed,
                among_egos=len(routes) > 1,
                first=parts[0].system if parts else None,
            )
        )
    changes = set_up_changes(settings, task.key.arm.condition)
    # drive: all actors are gone from the world when the inner block ends
    with open_attempt_context(task, assignment.route, settings["tick"]) as usual:
        # scene changes may alter weather, map lines or noise before anything is spawned
        context = changes.change_context(usual)
        lines = list_map_lines(context.map, context.route)
        view.begin(lines)
        with set_up_attempt(
            context, assignment, settings=settings, parts=parts, changes=changes, view=view
        ) as actors:
            egos = drive_until_over(
                context,
                actors,
                every=settings["perceive_every"],
                keeps_points=settings["record"]["points"],
                kept_cameras=settings["record"].get("pictures") or [],
                report=report,
            )
            seconds = sum_seconds(egos, began)
        surroundings: list[tuple[Sequence[MapLine], Mapping[str, Sequence[Any]]]] = [
            (lines, list_scenery_near_route(context.world, context.route)),
            *(
                (list_map_lines(context.map, route), list_scenery_near_route(context.world, route))
                for route in assignment.further
            ),
        ]
    # a drive whose messages or scene were not as asked is no result
    verify_egos(egos, parts, changes)
    coefficients = build_part(settings["scoring"], "scoring")
    # write: the folder appears under its name only when every file of it is there
    with EpisodeWriter(task.folder, task.key, task.number) as writer:
        joint = build_joint_record(egos, coefficients, parts) if len(egos) > 1 else None
        results = []
        for ego, part, (near, scenery) in zip(egos, parts, surroundings, strict=True):
            folder = writer.open_ego(ego.driven.number) if ego.driven.number else writer
            write_ego_tables(folder, ego, part, lines=near, scenery=scenery)
            result = build_ego_result(task, settings, ego=ego, parts=part, seed=context.seed)
            if joint is not None:
                result["crucible"]["ego"] = ego.driven.number
                result["crucible"] |= {} if ego.driven.number else {"joint": joint}
            folder.write_json("result", result)
            results.append(result)
        seconds["total"] = time.monotonic() - began
        first, result = egos[0], results[0]
        carried = first.driven.perception.agent_sensing
        timing = {
            "seconds": seconds,
            "ticks": max(ego.driven.drive.ticks for ego in egos),
            "processor": get_processor_name(),
            **({} if carried is None else carried.make_timing_record()),
        }
        writer.write_json("timing", timing)
        writer.commit_records()
    # say how it ended
    drive, hazards = first.driven.drive, first.recorder.hazards
    view.end(drive, result["crucible"]["driving_score"], hazards)
    words = describe_drive(drive, result["crucible"]["driving_score"], hazards)
    words += "" if joint is None else describe_joint_outcome(joint)
    return words + describe_channel(MessageUsage.from_result(result))


def sum_seconds(egos: Sequence[EgoDrive], began: float) -> dict[str, float]:
    """Return the seconds by the clock that an attempt took, by part; of all egos together.

    Args:
        egos: the first one first.
        began: when the attempt began.
    """
    perceptions = [ego.driven.perception for ego in egos]
    seconds = {"set_up": perceptions[0].started - began, **perceptions[0].seconds}
    for perception in perceptions[1:]:
        for part, more in perception.seconds.items():
            seconds[part] += more
    # parts of `system`, of the first ego: as its tables of attacks and defences
    security = perceptions[0].security
    if security.attack is not None:
        seconds["attack"] = security.attack.lying_seconds
    if security.defence is not None:
        seconds["defence"] = security.seconds
    return seconds


def verify_egos(
    egos: Sequence[EgoDrive], parts: Sequence[EgoParts], changes: AppliedChanges
) -> None:
    """Fail the attempt if messages, controls or senders were not as asked.

    Args:
        egos: the first one first.
        parts: of each.
        changes: of the scene.

    Raises:
        AttemptError: of several egos, the message names the one.
    """
    for ego, part in zip(egos, parts, strict=True):
        with name_ego(ego.driven.number, len(egos)):
            part.channel.audit.verify_deliveries()
            if part.computing is not None:
                part.computing.verify_controls()
            changes.verify_senders({sender for sender, _ in part.channel.audit.records})


@contextmanager
def name_ego(number: int, egos: int) -> Iterator[None]:
    """Name the ego in what fails an attempt with several."""
    try:
        yield
    except AttemptError as problem:
        if egos == 1:
            raise
        raise AttemptError(problem.failure, f"ego {number}: {problem}") from problem

"""The records of one ego of an attempt: its tables and its result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.campaign.attempt.compensating import build_compensation_record, list_moved_boxes
from harness.campaign.attempt.ego_drive import EgoDrive
from harness.campaign.attempt.ego_parts import EgoParts
from harness.campaign.attempt.recorder import MapLine
from harness.campaign.attempt.results import (
    build_crucible_record,
    build_driving_record,
    build_hazard_record,
    build_pattern_record,
    build_result_record,
    select_window_frames,
)
from harness.campaign.attempt.tasks import AttemptTask
from harness.campaign.settings.config import build_part
from harness.campaign.settings.declared import CampaignSettings
from harness.channel.channel import Channel
from harness.channel.messages.notification import SentDenm
from harness.evaluation.windows import WindowRules
from harness.records.writing import RecordFolder
from harness.types.systems import get_fusion_stage


def write_ego_tables(
    folder: RecordFolder,
    ego: EgoDrive,
    parts: EgoParts,
    *,
    lines: Sequence[MapLine],
    scenery: Mapping[str, Sequence[Any]],
) -> None:
    """Write the tables of an ego.

    Args:
        folder: of the ego's records.
        ego: whose drive is over.
        parts: of the ego.
        lines: of the map near its route.
        scenery: near its route.
    """
    channel, perception = parts.channel, ego.driven.perception
    ego.recorder.write_tables(
        folder,
        channel.audit.close_audit(),
        lines=lines,
        scenery=scenery,
        metrics=perception.metrics,
        carriages=None if channel.link is None else channel.link.carriages,
        formatted=None if channel.message_format is None else channel.message_format.rows,
        segments=channel.segments,
        cams=None if channel.awareness is None else channel.awareness.rows,
        denms=list_denms(channel),
        security=perception.security.tables,
        moved=list_moved_boxes(perception.compensation),
        computing=perception.computing,
        clocks=channel.of_clocks,
        systems=parts.sharing.find_name if parts.sharing.is_mixed else None,
        precedences=perception.precedences if perception.exchange.driver else None,
    )


def list_denms(channel: Channel) -> list[SentDenm] | None:
    """Return the warnings of persons on the road; None where stations send none."""
    sent = None if channel.message_format is None else channel.message_format.notifications
    return None if sent is None else sent.rows


def build_message_record(ego: EgoDrive, parts: EgoParts) -> dict[str, Any]:
    """Return the part of `result.json` about the messages that reached an ego.

    Args:
        ego: whose drive is over.
        parts: of the ego.
    """
    perception = ego.driven.perception
    moving = perception.compensation
    return {
        "reads": parts.system.reads_messages,
        "fusion": get_fusion_stage(parts.system),
        **parts.channel.audit.build_record(),
        **parts.sharing.build_record(
            (record.sender, record.kind) for record in parts.channel.audit.records.values()
        ),
        **perception.security.build_record(),
        **({} if moving is None else build_compensation_record(moving)),
    }


def build_ego_result(
    task: AttemptTask,
    settings: CampaignSettings,
    *,
    ego: EgoDrive,
    parts: EgoParts,
    seed: int,
) -> dict[str, Any]:
    """Return the whole result of an ego's drive, after its tables were written.

    Args:
        task: that was run.
        settings: of the campaign.
        ego: whose drive is over.
        parts: of the ego.
        seed: of the attempt.
    """
    messages = build_message_record(ego, parts)
    drive, recorder, perception = ego.driven.drive, ego.recorder, ego.driven.perception
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

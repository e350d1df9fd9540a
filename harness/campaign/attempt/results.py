"""`result.json`: a record that Leaderboard tools read, and what we know beyond it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from harness.campaign.attempt.recorder import AttemptRecorder
from harness.evaluation.driving import DriveEvaluation, DriveInfraction
from harness.evaluation.frame_evaluation import EvaluatedFrame
from harness.evaluation.matching import MatchTable, match_frame
from harness.evaluation.scoring import Coefficients, has_collided, score
from harness.evaluation.windows import (
    FrameWindow,
    WindowRules,
    select_frames_in_windows,
    sum_window_counts,
)
from harness.records.keys import AttemptKey
from harness.records.message_usage import MessageUsage
from harness.records.schema import VERSION
from harness.types.precision import compute_average_precision, compute_mean_precision
from harness.types.record_names import BANDS, PATTERNS
from harness.types.vocabulary import CLASSES
from harness.world.hazards.reports import EncounterReport, HazardReport

LEADERBOARD_NAMES = {
    "collision_pedestrian": "collisions_pedestrian",
    "collision_vehicle": "collisions_vehicle",
    "collision_layout": "collisions_layout",
    "red_light": "red_light",
    "stop_sign": "stop_infraction",
    "off_road": "outside_route_lanes",
    "wrong_lane": "outside_route_lanes",
    "route_deviation": "route_dev",
    "timeout": "route_timeout",
    "blocked": "vehicle_blocked",
}
STATUS = {
    "route_deviation": "Failed - Agent deviated from the route",
    "blocked": "Failed - Agent got blocked",
    "timeout": "Failed - Agent timed out",
}


def build_result_record(
    key: AttemptKey,
    drive: DriveEvaluation,
    coefficients: Coefficients,
    recorder: AttemptRecorder,
) -> dict[str, Any]:
    """Return one record as the Leaderboard writes it."""
    marks = score(drive, coefficients)
    # the Leaderboard writes a list for every kind, empty ones too
    infractions: dict[str, list[str]] = {
        name: [] for name in dict.fromkeys(LEADERBOARD_NAMES.values())
    }
    for infraction in drive.infractions:
        infractions[LEADERBOARD_NAMES[infraction.kind]].append(
            describe_infraction(infraction, recorder)
        )
    violation = drive.violation
    return {
        "route_id": f"RouteScenario_{key.route}_rep{key.seed}",
        "index": 0,
        "status": format_leaderboard_status(drive, violation),
        "infractions": infractions,
        "scores": {
            "score_route": 100 * marks.completion,
            "score_penalty": marks.penalty,
            "score_composed": marks.driving_score,
        },
        "meta": {
            "route_length": drive.route_length,
            "duration_game": drive.last_time - recorder.start,
        },
    }


def format_leaderboard_status(drive: DriveEvaluation, violation: DriveInfraction | None) -> str:
    """Return how the Leaderboard would call this end."""
    if violation is None or drive.finished:
        return "Completed"
    return STATUS.get(violation.kind, "Failed - Ended at its first violation")


def describe_infraction(infraction: DriveInfraction, recorder: AttemptRecorder) -> str:
    """Return an infraction as a message."""
    place = f"at (x={infraction.x:.3f}, y={infraction.y:.3f})"
    number = recorder.get_actor_number(infraction.with_actor)
    partner = f" with {infraction.with_type} id={number}" if infraction.with_type else ""
    return f"{infraction.kind.replace('_', ' ')}{partner} {place}"


def build_violation_record(
    drive: DriveEvaluation, recorder: AttemptRecorder
) -> dict[str, Any] | None:
    """Return what the first violation was."""
    first = drive.violation
    if first is None:
        return None
    return {
        "kind": first.kind,
        "frame": first.frame - recorder.first_frame,
        "time": first.time - recorder.start,
        "x": first.x,
        "y": first.y,
        "ego_speed": first.ego_speed,
        "with_actor": recorder.get_actor_number(first.with_actor),
        "with_type": first.with_type,
        "relative_speed": first.relative_speed,
        "ego_stationary": first.ego_stationary,
    }


def build_driving_record(
    drive: DriveEvaluation, coefficients: Coefficients, recorder: AttemptRecorder
) -> dict[str, Any]:
    """Return how the drive went."""
    marks = score(drive, coefficients)
    return {
        "driving_score": marks.driving_score,
        "completion": marks.completion,
        "penalty": marks.penalty,
        "collided": has_collided(drive.infractions),
        "collided_with_road_user": has_collided(drive.infractions, road_users_only=True),
        "outside_share": drive.outside_share,
        "infractions": list(marks.counted),
        "violation": build_violation_record(drive, recorder),
    }


def select_window_frames(
    frames: Mapping[str, Sequence[Any]], drive: DriveEvaluation, end: float, rules: WindowRules
) -> dict[str, FrameWindow | None]:
    """Return the planning frames in each window before the end."""
    times = np.asarray(frames["time"], np.float64)
    speeds = np.asarray(frames["speed"], np.float64)
    return select_frames_in_windows(
        times, end, rules=rules, speeds=speeds, collided=has_collided(drive.infractions)
    )


def build_pattern_record(
    frames: Mapping[str, Sequence[Any]], in_windows: Mapping[str, FrameWindow | None]
) -> dict[str, Any]:
    """Return the six patterns in total and in the windows before the end."""
    # NaN at every step of a system that does not say what it detects: such sums are null
    counts = {name: np.asarray(frames[name], np.float64) for name in (*PATTERNS, "truth_all")}
    parts = {
        name: {column: _replace_not_finite(value) for column, value in sums.items()}
        for name, part in in_windows.items()
        for sums in [sum_window_counts(part, counts)]
    }
    totals = {name: _replace_not_finite(count.sum()) for name, count in counts.items()}
    whole = {name: None if total is None else int(total) for name, total in totals.items()}
    return {"total": whole, **parts}


def build_hazard_record(recorder: AttemptRecorder) -> list[dict[str, Any]]:
    """Return what became of every hazard; those that no hazard stands for are left to `events`."""
    start = recorder.start
    return [
        {
            "kind": report.kind,
            "source": report.source,
            "station": report.station,
            "status": report.status,
            "started_at": None if report.started_at is None else report.started_at - start,
            "cause": report.cause,
            "reason": report.reason,
            "encounter": build_encounter_record(report.encounter, recorder.first_frame),
        }
        for report in recorder.hazards
        if report.cause != "not_planned"
    ]


def build_encounter_record(
    report: EncounterReport | None, first_frame: int
) -> dict[str, Any] | None:
    """Return how a mover met the ego, its frame counted from the attempt's first."""
    if report is None or report.commit_frame is None:
        return None if report is None else asdict(report)
    return asdict(replace(report, commit_frame=report.commit_frame - first_frame))


class PrecisionAccumulator:
    """Correct and wrong detections of an attempt, frame by frame.

    Args:
        known: whether the system says what it detects; if not, every value is null.
    """

    def __init__(self, *, known: bool = True) -> None:
        self._known = known
        self._cooperative: list[MatchTable] = []
        self._ego_alone: list[MatchTable] = []

    def add_frame(self, evaluated: EvaluatedFrame) -> None:
        """Match one frame."""
        self._cooperative.append(match_frame(evaluated.truth, evaluated.cooperative))
        self._ego_alone.append(match_frame(evaluated.truth, evaluated.ego_alone))

    def build_record(self, last: FrameWindow | None = None) -> dict[str, Any]:
        """Return the average precision of both: of the drive, and of its last ten seconds."""
        if not self._known:
            nothing = replace_all_values(compute_drive_precision([], None))
            return {"cooperative": nothing, "ego_alone": nothing}
        return {
            "cooperative": compute_drive_precision(self._cooperative, last),
            "ego_alone": compute_drive_precision(self._ego_alone, last),
        }


def compute_drive_precision(
    frames: Sequence[MatchTable], last: FrameWindow | None
) -> dict[str, Any]:
    """Return the precision of all frames, of the last ten seconds, and by class and band."""
    # by class, and by distance band over all classes
    table = MatchTable.join_tables(frames)
    by_class = [table.select_matches(of_class=index) for index in range(len(CLASSES))]
    parts = dict(zip(CLASSES, by_class, strict=True)) | {
        band: table.select_matches(band=index) for index, band in enumerate(BANDS)
    }
    # the last ten seconds before the end, if the drive was that long
    ending = [] if last is None else [frames[index] for index in last.frames.tolist()]
    return {
        **summarize_precision(table),
        "end_10s": summarize_precision(MatchTable.join_tables(ending)),
        **{
            name: {
                "eleven_point": _replace_not_finite(
                    compute_average_precision(part, "eleven_point")
                ),
                "all_point": _replace_not_finite(compute_average_precision(part, "all_point")),
                "truths": part.truths,
            }
            for name, part in parts.items()
        },
    }


def summarize_precision(table: MatchTable) -> dict[str, float | None]:
    """Return the precision of a pool as a mean over classes, and with the classes pooled."""
    by_class = [table.select_matches(of_class=index) for index in range(len(CLASSES))]
    return {
        "eleven_point": _replace_not_finite(compute_mean_precision(by_class, "eleven_point")),
        "all_point": _replace_not_finite(compute_mean_precision(by_class, "all_point")),
        "pooled_all_point": _replace_not_finite(
            compute_average_precision(table.select_matches(), "all_point")
        ),
    }


def build_crucible_record(**parts: Any) -> dict[str, Any]:
    """Return our own part of the result."""
    return {"schema": VERSION, **parts}


def replace_all_values(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record with null in place of every value."""
    return {
        name: replace_all_values(value) if isinstance(value, Mapping) else None
        for name, value in record.items()
    }


def _replace_not_finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value


def describe_drive(
    drive: DriveEvaluation, driving_score: float, hazards: Sequence[HazardReport] = ()
) -> str:
    """Describe a drive in one line, including hazards without a place.

    Args:
        drive: after its last tick.
        driving_score: 0 to 100.
        hazards: how they ended.
    """
    violation = drive.violation
    what = "clean" if violation is None else violation.kind.replace("_", " ")
    absent = [hazard.kind for hazard in hazards if hazard.cause == "no_place"]
    without = f"; no place for {', '.join(absent)}" if absent else ""
    return f"DS {driving_score:.1f}, {100 * drive.completion:.0f} % of the route, {what}{without}"


def describe_channel(usage: MessageUsage) -> str:
    """Describe what the channel did not do."""
    if usage.without_messages:
        return ", without messages"
    return ", undisturbed" if usage.undisturbed else ""

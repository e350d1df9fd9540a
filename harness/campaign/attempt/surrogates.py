"""The surrogate safety measures of an attempt, from what is recorded of it and nothing else."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from harness.campaign.attempt.recorder import AttemptRecorder
from harness.evaluation.driving import COLLISIONS, DriveEvaluation
from harness.evaluation.surrogates.along import compute_measures_along
from harness.evaluation.surrogates.measures import (
    DriveEnding,
    compute_reached_times,
    compute_surrogates,
)
from harness.evaluation.surrogates.motion import build_motion
from harness.evaluation.surrogates.reasons import EgoWay
from harness.evaluation.surrogates.rules import RULES
from harness.records.schema import POSITION_UNIT, YAW_UNIT
from harness.types.record_names import SURROGATES
from harness.types.vocabulary import Route


def build_surrogate_record(
    recorder: AttemptRecorder, drive: DriveEvaluation, route: Route
) -> dict[str, Any]:
    """Return the measures with their units, the thresholds, and the signals that they need."""
    # rounded as in the tables, so that reading those gives the same values
    motion = build_motion(
        recorder.tracks["tracks"],
        recorder.tracks["actors"],
        tick_seconds=recorder.tick_seconds,
        units=(POSITION_UNIT, YAW_UNIT),
    )
    frames = recorder.frames
    # stations are known at planning steps: (planning steps,) becomes (ticks,)
    stations = np.interp(np.arange(len(motion)), frames["frame"], frames["station"])
    signals = recorder.signals.list_intervals(len(motion) - 1)
    way = EgoWay(xy=np.round(route.xyz[:, :2], 3), station=stations, signals=signals)
    ending = get_drive_ending(recorder, drive, len(motion) - 1)
    values = compute_surrogates(motion, way, ending)
    return {
        "measures": {
            name: {"value": values[name], "unit": unit} for name, unit in SURROGATES.items()
        },
        "reached": compute_reached_times(way, recorder.tick_seconds, ending.tick),
        "along": compute_measures_along(motion, way, ending),
        "rules": asdict(RULES),
        "signals": [asdict(signal) for signal in signals],
    }


def get_drive_ending(recorder: AttemptRecorder, drive: DriveEvaluation, last: int) -> DriveEnding:
    """Return how a drive ended."""
    violation = drive.violation
    if violation is None:
        return DriveEnding(tick=last, collided=False, finished=drive.finished)
    return DriveEnding(
        tick=violation.frame - recorder.first_frame,
        collided=violation.kind in COLLISIONS,
        struck=recorder.get_actor_number(violation.with_actor),
    )

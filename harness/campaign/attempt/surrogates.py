"""The surrogate safety measures of an attempt, from what is recorded of it and nothing else."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from harness.campaign.attempt.recorder import Recorder
from harness.evaluation.driving import COLLISIONS, Drive
from harness.evaluation.surrogates.measures import Ending, reached_at, surrogates_of
from harness.evaluation.surrogates.motion import motion_of
from harness.evaluation.surrogates.reasons import Way
from harness.evaluation.surrogates.rules import RULES
from harness.records.schema import MICRO, MILLI
from harness.vocabulary import SURROGATES, Route


def surrogate_record(recorder: Recorder, drive: Drive, route: Route) -> dict[str, Any]:
    """Return the measures with their units, the thresholds, and the signals that they need."""
    motion = motion_of(
        recorder.tracks["tracks"],
        recorder.tracks["actors"],
        tick_seconds=recorder.tick_seconds,
        units=(MILLI, MICRO),
    )
    frames = recorder.frames
    stations = np.interp(np.arange(len(motion)), frames["frame"], frames["station"])
    signals = recorder.signals.intervals(len(motion) - 1)
    way = Way(xy=np.round(route.xyz[:, :2], 3), station=stations, signals=signals)
    ending = ending_of(recorder, drive, len(motion) - 1)
    values = surrogates_of(motion, way, ending)
    return {
        "measures": {
            name: {"value": values[name], "unit": unit} for name, unit in SURROGATES.items()
        },
        "reached": reached_at(way, recorder.tick_seconds, ending.tick),
        "rules": asdict(RULES),
        "signals": [asdict(signal) for signal in signals],
    }


def ending_of(recorder: Recorder, drive: Drive, last: int) -> Ending:
    """Return how a drive ended."""
    violation = drive.violation
    if violation is None:
        return Ending(tick=last, collided=False, finished=drive.finished)
    return Ending(
        tick=violation.frame - recorder.first_frame,
        collided=violation.kind in COLLISIONS,
        struck=recorder.number_of(violation.with_actor),
    )

"""Six error patterns of every frame of recorded scenes, and average precision in OpenCOOD's way."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from agents.perception.systems import NetworkSystem
from agents.training.detection_metrics import LEAST_HITS
from agents.training.inference import make_ego_observation, make_partner_messages
from agents.training.operating import make_zero_thresholds
from agents.training.samples import EgoSample, RecordedSamples
from harness.common.files import write_whole
from harness.common.progress_bar import track_items
from harness.evaluation.frame_evaluation import EvaluationSettings, evaluate_frame
from harness.evaluation.opencood_precision import (
    OPENCOOD_OVERLAPS,
    Sorting,
    compute_opencood_precision,
    match_by_popping,
)
from harness.types.overlap import compute_class_overlaps
from harness.types.precision import ClassMatches
from harness.types.record_names import PATTERNS
from harness.types.vocabulary import VEHICLE, Boxes, Perceived

SORTINGS: dict[Sorting, str] = {
    "frame": "frame by frame",
    "global": "by score over all frames",
}
"""Ways to sort detections, and their words."""


def write_frame_patterns(
    system: NetworkSystem, samples: RecordedSamples, most: int, file: Path
) -> list[str]:
    """Write the patterns of frames spread evenly; return lines on precision in OpenCOOD's way.

    Args:
        system: with its messages undisturbed.
        samples: of recorded scenes.
        most: frames.
        file: JSON that is written.
    """
    rows: list[dict[str, Any]] = []
    matches: dict[float, list[ClassMatches]] = {overlap: [] for overlap in OPENCOOD_OVERLAPS}
    settings = make_grid_settings(system)
    point = system.operating_point
    every = math.ceil(len(samples) / most)
    for number in track_items(range(0, len(samples), every), "patterns"):
        sample, place = samples.read_sample(number), samples.places[number]
        answer = perceive_sample(system, sample)
        frame = evaluate_frame(
            sample.truth,
            sample.hits_anyone,
            ego_alone=answer.ego_alone,
            cooperative=answer.cooperative,
            settings=settings,
            parked=sample.parked,
        )
        counts = frame.count_patterns()
        moment = place.scenario.list_moments(place.ego)[place.moment]
        where = {"scenario": sample.scenario, "ego": place.ego, "moment": moment}
        rows.append({**where, **{name: int(counts[name]) for name in PATTERNS}})
        # precision needs the detections of every score
        system.operating_point = make_zero_thresholds(point.calibration)
        detected = perceive_sample(system, sample).cooperative
        system.operating_point = point
        for overlap, frames in matches.items():
            frames.append(match_vehicles(sample, detected, settings, overlap))
    precision = [
        {"sorting": sorting, "overlap": overlap, "vehicles": as_number(frames, sorting)}
        for sorting in SORTINGS
        for overlap, frames in matches.items()
    ]
    record = {"frames": rows, "average precision as in OpenCOOD": precision}
    write_whole(file, json.dumps(record, indent=1) + "\n")
    return [
        f"AP of vehicles as in OpenCOOD, sorted {words}, @{row['overlap']}: "
        + ("-" if row["vehicles"] is None else f"{row['vehicles']:.3f}")
        for sorting, words in SORTINGS.items()
        for row in precision
        if row["sorting"] == sorting
    ]


def perceive_sample(system: NetworkSystem, sample: EgoSample) -> Perceived:
    """Return what a system detects with its partners' messages."""
    return system.perceive(make_ego_observation(sample.ego), make_partner_messages(system, sample))


def make_grid_settings(system: NetworkSystem) -> EvaluationSettings:
    """Return how frames are evaluated: in the window of the network."""
    grid = system.detector.design.grid
    return EvaluationSettings(
        truth_filter="anyone",
        least_hits=LEAST_HITS,
        ahead=grid.high[0],
        behind=-grid.low[0],
        lateral=grid.high[1],
    )


def match_vehicles(
    sample: EgoSample, detected: Boxes, settings: EvaluationSettings, overlap: float
) -> ClassMatches:
    """Return the matches of one frame: vehicles that any agent hits, in the window."""
    boxes = sample.truth.boxes_in_lidar
    truth = boxes[
        (boxes.classes == VEHICLE) & (sample.hits_anyone > 0) & in_window(boxes, settings)
    ]
    vehicles = detected[(detected.classes == VEHICLE) & in_window(detected, settings)]
    return match_by_popping(compute_class_overlaps(vehicles, truth), vehicles.scores, overlap)


def in_window(boxes: Boxes, settings: EvaluationSettings) -> Any:
    """Return (N,) which centres lie in the window."""
    x, y = boxes.geometry[:, 0], boxes.geometry[:, 1]
    return (x >= -settings.behind) & (x <= settings.ahead) & (abs(y) <= settings.lateral)


def as_number(frames: list[ClassMatches], sorting: Sorting) -> float | None:
    """Return a precision for a file."""
    precision = compute_opencood_precision(frames, sorting)
    return None if math.isnan(precision) else round(precision, 4)

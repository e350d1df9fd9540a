"""A model of a system's errors from the records of its drives: shares, persistence, sizes, places.

Only drives without an intervention are measured. Persistence is the share of errors that are there
at the next planning step too, of those whose next step is known: drives end, and actors leave the
window, at any moment of an error. CADE is measured on the false detections of the ego alone that
count: additional boxes themselves, of which cooperation repeats some.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from harness.common.errors import UserError
from harness.evaluation.frame_evaluation import EvaluationSettings, compute_distance_bands
from harness.evaluation.interventions.error_model import (
    COPIES,
    GHOSTS,
    IN_BANDS,
    MOST_KEPT,
    OF_BOXES,
    ErrorModel,
    match_additional_boxes,
)
from harness.evaluation.patterns import compute_highest_overlap
from harness.types.geometry import transform_boxes
from harness.types.overlap import compute_class_overlaps
from harness.types.record_names import BANDS, PATTERNS
from harness.types.vocabulary import CLASSES, Boxes, Floats, Integers, Mask, Pose

LEAST_FOLLOWED = 10
"""Errors of a band with a next step, below which their persistence is that of all bands."""
AXES = ["x", "y", "z", "length", "width", "height", "yaw"]
WORLD = Pose(0.0, 0.0)
POSE = ("x", "y", "z", "yaw", "pitch", "roll")


@dataclass(slots=True, eq=False, kw_only=True)
class ErrorTally:
    """What was counted so far; arrays are by distance band."""

    boxes: dict[str, Floats] = field(default_factory=lambda: make_band_counts("L", "C", COPIES))
    errors: dict[str, Floats] = field(default_factory=lambda: make_band_counts(*IN_BANDS))
    followed: dict[str, Floats] = field(default_factory=lambda: make_band_counts(*IN_BANDS))
    lasting: dict[str, Floats] = field(default_factory=lambda: make_band_counts(*IN_BANDS))
    offsets: dict[tuple[int, int], list[Floats]] = field(default_factory=dict)
    ghosts: dict[int, list[Floats]] = field(default_factory=dict)
    ghost_count: int = 0
    ghosts_followed: int = 0
    ghosts_lasting: int = 0
    steps: int = 0
    attempts: int = 0
    intervals: list[float] = field(default_factory=list)


def make_band_counts(*names: str) -> dict[str, Floats]:
    """Return nothing counted, by name."""
    return {name: np.zeros(len(BANDS)) for name in names}


@dataclass(frozen=True, slots=True, eq=False)
class StepFalseDetections:
    """Those of the ego alone at a step, in the world."""

    boxes: Boxes
    bands: Integers
    copied: Mask  # among the cooperative boxes


@dataclass(frozen=True, slots=True, eq=False)
class PreviousErrors:
    """The errors of the step before; boxes stand in the world."""

    actors: Mapping[int, tuple[str, int]]  # pattern and band of those that count
    ghosts: Boxes
    false: StepFalseDetections


NO_FALSE = StepFalseDetections(Boxes.none(), np.zeros(0, np.int64), np.zeros(0, np.bool_))
NOTHING = PreviousErrors({}, Boxes.none(), NO_FALSE)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class StepBoxes:
    """The boxes of one planning step, by source."""

    true_boxes: Boxes
    counted: Mask  # of the true boxes
    actors: Integers
    true_pattern: Sequence[str]
    ego_alone: Boxes
    alone_counted: Mask
    cooperative: Boxes
    coop_pattern: Sequence[str]
    lidar_in_world: Pose


def measure_errors(
    drives: Iterable[tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]],
    settings: EvaluationSettings,
    source: Mapping[str, Any],
) -> ErrorModel:
    """Return the errors of drives, each with its frames, boxes and poses."""
    # count over all drives
    tally = ErrorTally()
    for frames, boxes, poses in drives:
        count_drive_errors(tally, frames, boxes, poses, settings=settings)
    if not tally.intervals:
        raise UserError(f"{source['arm']}: no attempt has two planning steps: nothing to measure")
    # shares: errors by boxes that could have them
    counted = {**source, "attempts": tally.attempts, "steps": tally.steps}
    counted["boxes"] = int(sum(tally.boxes[group].sum() for group in "LC"))
    counted["false_detections"] = int(tally.boxes[COPIES].sum())
    return ErrorModel(
        source=counted,
        period=round(float(np.median(tally.intervals)), 6),
        share={
            name: divide_counts(errors, tally.boxes[COPIES if name == COPIES else name[0]])
            for name, errors in tally.errors.items()
        },
        stay={
            name: estimate_persistence(tally.lasting[name], tally.followed[name])
            for name in IN_BANDS
        },
        offsets={of: thin_rows(rows, 0) for of, rows in sorted(tally.offsets.items())},
        ghosts_a_step=tally.ghost_count / tally.steps,
        ghosts_stay=tally.ghosts_lasting / max(tally.ghosts_followed, 1),
        ghosts={number: thin_rows(rows, 0) for number, rows in sorted(tally.ghosts.items())},
    )


def divide_counts(counts: Floats, of: Floats) -> Floats:
    """Return counts as shares of others; 0 where there are none."""
    return np.divide(counts, of, out=np.zeros(len(BANDS)), where=of > 0)


def estimate_persistence(lasting: Floats, followed: Floats) -> Floats:
    """Return by band how likely errors last; as in all bands where a band has few."""
    in_all = lasting.sum() / max(followed.sum(), 1.0)
    return np.where(followed >= LEAST_FOLLOWED, divide_counts(lasting, followed), in_all)


def thin_rows(rows: Sequence[Floats], column: int) -> Floats:
    """Return rows in the order of a column, as many as a file holds, evenly chosen."""
    table = np.array(rows)
    table = table[np.argsort(table[:, column], kind="stable")]
    chosen = np.linspace(0, len(table) - 1, min(len(table), MOST_KEPT)).round().astype(int)
    return np.asarray(table[chosen])


def count_drive_errors(
    tally: ErrorTally,
    frames: pd.DataFrame,
    boxes: pd.DataFrame,
    poses: pd.DataFrame,
    *,
    settings: EvaluationSettings,
) -> None:
    """Count one drive."""
    tally.attempts += 1
    tally.intervals += np.diff(frames["time"]).tolist()
    of_ego = poses[poses["sender"].astype(str) == "ego"]
    places = {row["frame"]: get_lidar_pose(row) for row in of_ego.to_dict("records")}
    before = NOTHING
    for step in iterate_step_boxes(boxes, frames["frame"].tolist(), places):
        before = count_step_errors(tally, step, before, settings)


def get_lidar_pose(row: Mapping[Any, Any]) -> Pose:
    """Return where the ego's LiDAR was."""
    return Pose(**{name: row[f"true_{name}"] for name in POSE})


def iterate_step_boxes(
    boxes: pd.DataFrame, frames: Sequence[int], places: Mapping[int, Pose]
) -> Iterator[StepBoxes]:
    """Yield the boxes of each planning step."""
    # the table as arrays: (rows, 7) boxes, and a name, pattern and actor of each row
    boxes = boxes.sort_values("frame", kind="stable")
    frame = boxes["frame"].to_numpy()
    classes = boxes["class"].astype(str).map({name: n for n, name in enumerate(CLASSES)})
    every = Boxes(
        boxes[AXES].to_numpy(np.float64),
        classes.to_numpy().astype(np.int64),
        boxes["score"].to_numpy(np.float64),
    )
    source = boxes["source"].astype(str).to_numpy(str)
    pattern = boxes["pattern"].astype(str).to_numpy(str)
    counted, actors = boxes["counted"].to_numpy(np.bool_), boxes["actor_id"].to_numpy(np.int64)
    # rows of a step lie together
    for number in frames:
        first, last = np.searchsorted(frame, [number, number + 1])
        true, alone, both = (
            first + np.flatnonzero(source[first:last] == name)
            for name in ("truth", "ego_alone", "cooperative")
        )
        yield StepBoxes(
            true_boxes=every[true],
            counted=counted[true],
            actors=actors[true],
            true_pattern=pattern[true].tolist(),
            ego_alone=every[alone],
            alone_counted=counted[alone],
            cooperative=every[both],
            coop_pattern=pattern[both].tolist(),
            lidar_in_world=places.get(number, WORLD),
        )


def count_step_errors(
    tally: ErrorTally, step: StepBoxes, before: PreviousErrors, settings: EvaluationSettings
) -> PreviousErrors:
    """Count one planning step; return its errors."""
    tally.steps += 1
    actors = count_true_box_errors(tally, step, before.actors, settings)
    # ghosts: how many, what they are like, and how many last
    shown = np.array([name == GHOSTS for name in step.coop_pattern], np.bool_)
    ghosts = step.cooperative[shown]
    tally.ghost_count += len(ghosts)
    for row in range(len(ghosts)):
        kept = np.append(ghosts.geometry[row], ghosts.scores[row])
        tally.ghosts.setdefault(int(ghosts.classes[row]), []).append(kept)
    in_world = transform_boxes(ghosts, step.lidar_in_world, WORLD)
    tally.ghosts_followed += len(before.ghosts)
    tally.ghosts_lasting += len(match_additional_boxes(before.ghosts, in_world))
    return PreviousErrors(actors, in_world, count_false_detections(tally, step, before.false))


def count_false_detections(
    tally: ErrorTally, step: StepBoxes, before: StepFalseDetections
) -> StepFalseDetections:
    """Count the false detections of the ego alone; return them."""
    # (detections,) false ones of the ego alone, and their bands
    free = compute_highest_overlap(compute_class_overlaps(step.ego_alone, step.true_boxes)) == 0
    boxes = step.ego_alone[free & step.alone_counted]
    bands = compute_distance_bands(boxes.geometry)
    # which of them are in the cooperative answer, too
    shown = np.array([name == COPIES for name in step.coop_pattern], np.bool_)
    copied: Mask = (
        compute_highest_overlap(compute_class_overlaps(boxes, step.cooperative[shown])) > 0
    )
    inside = bands < len(BANDS)
    np.add.at(tally.boxes[COPIES], bands[inside], 1)
    np.add.at(tally.errors[COPIES], bands[inside & copied], 1)
    # followed from step to step in the world
    in_world = transform_boxes(boxes, step.lidar_in_world, WORLD)
    for last, now in match_additional_boxes(before.boxes, in_world):
        band = before.bands[last]
        if before.copied[last] and band < len(BANDS):
            tally.followed[COPIES][band] += 1
            tally.lasting[COPIES][band] += copied[now]
    return StepFalseDetections(in_world, bands, copied)


def count_true_box_errors(
    tally: ErrorTally,
    step: StepBoxes,
    before: Mapping[int, tuple[str, int]],
    settings: EvaluationSettings,
) -> dict[int, tuple[str, int]]:
    """Count the true boxes of a step; return the error and band of each actor that counts."""
    # (true boxes,) overlaps that count as detected, by class
    taus = np.array(settings.taus)[step.true_boxes.classes]
    # (true boxes,) whether the ego alone detects each
    alone: Mask = (
        compute_highest_overlap(compute_class_overlaps(step.true_boxes, step.ego_alone)) > taus
    )
    # (true boxes, cooperative boxes)
    overlaps = compute_class_overlaps(step.true_boxes, step.cooperative)
    bands = compute_distance_bands(step.true_boxes.geometry)
    states: dict[int, tuple[str, int]] = {}
    rows = zip(step.counted, step.actors.tolist(), step.true_pattern, strict=True)
    for row, (counts, actor, pattern) in enumerate(rows):
        # boxes that do not count, or are farther than the last band
        if not counts or bands[row] >= len(BANDS):
            continue
        tally.boxes["L" if alone[row] else "C"][bands[row]] += 1
        states[int(actor)] = pattern, int(bands[row])
        if pattern in OF_BOXES:
            tally.errors[pattern][bands[row]] += 1
        # a mislocalised box: how far off its estimate is
        if pattern.endswith("LE") and pattern in PATTERNS and overlaps.shape[1]:
            box = int(overlaps[row].argmax())
            add_box_offset(tally, step, row, box, band=int(bands[row]))
        # whether the error of the step before lasts; it counts in the band of that step
        last, band = before.get(int(actor), ("", 0))
        if last in OF_BOXES:
            tally.followed[last][band] += 1
            tally.lasting[last][band] += last[2:] == pattern[2:]
    return states


def add_box_offset(tally: ErrorTally, step: StepBoxes, row: int, box: int, *, band: int) -> None:
    """Add how a mislocalised box differs from its true box, in the true box's frame."""
    true, detected = step.true_boxes.geometry[row], step.cooperative.geometry[box]
    cos, sin = np.cos(true[6]), np.sin(true[6])
    # in the frame of the true box, as shares of its size
    x, y = detected[:2] - true[:2]
    if min(true[3], true[4], detected[3], detected[4]) <= 0:
        return
    turn = (detected[6] - true[6] + np.pi) % (2 * np.pi) - np.pi
    offset = [
        (cos * x + sin * y) / true[3],
        (cos * y - sin * x) / true[4],
        turn,
        detected[3] / true[3],
        detected[4] / true[4],
        step.cooperative.scores[box],
    ]
    of = int(step.true_boxes.classes[row]), band
    tally.offsets.setdefault(of, []).append(np.array(offset))

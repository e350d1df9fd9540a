"""A model of a system's errors from the records of its drives: shares, persistence, sizes, places.

Only drives without an intervention are measured. Persistence is the share of errors that are there
at the next planning step too, of those whose next step is known: drives end, and actors leave the
window, at any moment of an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from harness.errors import UserError
from harness.evaluation.frame_evaluation import EvaluationSettings, bands_of
from harness.evaluation.interventions.error_model import (
    GHOSTS,
    MOST_KEPT,
    OF_BOXES,
    ErrorModel,
)
from harness.evaluation.patterns import highest
from harness.geometry import boxes_between
from harness.overlap import overlaps_of_a_class
from harness.vocabulary import BANDS, CLASSES, PATTERNS, Boxes, Floats, Integers, Mask, Pose

AXES = ["x", "y", "z", "length", "width", "height", "yaw"]
SAME_GHOST = 2.5
"""Metres in the world between additional boxes of two successive steps that are one."""
WORLD = Pose(0.0, 0.0)
POSE = ("x", "y", "z", "yaw", "pitch", "roll")


@dataclass(slots=True, eq=False, kw_only=True)
class Tally:
    """What was counted so far."""

    boxes: dict[str, Floats] = field(
        default_factory=lambda: {group: np.zeros(len(BANDS)) for group in "LC"}
    )
    errors: dict[str, Floats] = field(
        default_factory=lambda: {name: np.zeros(len(BANDS)) for name in OF_BOXES}
    )
    followed: dict[str, int] = field(default_factory=lambda: dict.fromkeys((*OF_BOXES, GHOSTS), 0))
    lasting: dict[str, int] = field(default_factory=lambda: dict.fromkeys((*OF_BOXES, GHOSTS), 0))
    offsets: dict[int, list[Floats]] = field(default_factory=dict)
    ghosts: dict[int, list[Floats]] = field(default_factory=dict)
    ghost_count: int = 0
    steps: int = 0
    attempts: int = 0
    intervals: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class StepBoxes:
    """The boxes of one planning step, by source."""

    true_boxes: Boxes
    counted: Mask  # of the true boxes
    actors: Integers
    true_pattern: Sequence[str]
    ego_alone: Boxes
    cooperative: Boxes
    coop_pattern: Sequence[str]
    lidar_in_world: Pose


def measured(
    drives: Iterable[tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]],
    settings: EvaluationSettings,
    source: Mapping[str, Any],
) -> ErrorModel:
    """Return the errors of drives, each with its frames, boxes and poses."""
    tally = Tally()
    for frames, boxes, poses in drives:
        add_drive(tally, frames, boxes, poses, settings=settings)
    if not tally.intervals:
        raise UserError(f"{source['arm']}: no attempt has two planning steps: nothing to measure")
    shares = {
        name: np.divide(
            errors,
            tally.boxes[name[0]],
            out=np.zeros(len(BANDS)),
            where=tally.boxes[name[0]] > 0,
        )
        for name, errors in tally.errors.items()
    }
    stay = {
        name: tally.lasting[name] / tally.followed[name] if tally.followed[name] else 0.0
        for name in tally.followed
    }
    counted = {**source, "attempts": tally.attempts, "steps": tally.steps}
    counted["boxes"] = int(sum(boxes.sum() for boxes in tally.boxes.values()))
    return ErrorModel(
        source=counted,
        period=round(float(np.median(tally.intervals)), 6),
        share=shares,
        stay=stay,
        offsets={number: thinned(rows, 0) for number, rows in sorted(tally.offsets.items())},
        ghosts_a_step=tally.ghost_count / tally.steps,
        ghosts={number: thinned(rows, 0) for number, rows in sorted(tally.ghosts.items())},
    )


def thinned(rows: Sequence[Floats], column: int) -> Floats:
    """Return rows in the order of a column, as many as a file holds, evenly chosen."""
    table = np.array(rows)
    table = table[np.argsort(table[:, column], kind="stable")]
    chosen = np.linspace(0, len(table) - 1, min(len(table), MOST_KEPT)).round().astype(int)
    return np.asarray(table[chosen])


def add_drive(
    tally: Tally,
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
    places = {row["frame"]: pose_of(row) for row in of_ego.to_dict("records")}
    before: tuple[dict[int, str], Boxes] = ({}, Boxes.none())
    for step in steps_of(boxes, frames["frame"].tolist(), places):
        before = add_step(tally, step, before, settings)


def pose_of(row: Mapping[Any, Any]) -> Pose:
    """Return where the ego's LiDAR was."""
    return Pose(**{name: row[f"true_{name}"] for name in POSE})


def steps_of(
    boxes: pd.DataFrame, frames: Sequence[int], places: Mapping[int, Pose]
) -> Iterator[StepBoxes]:
    """Yield the boxes of each planning step."""
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
            cooperative=every[both],
            coop_pattern=pattern[both].tolist(),
            lidar_in_world=places.get(number, WORLD),
        )


def add_step(
    tally: Tally,
    step: StepBoxes,
    before: tuple[dict[int, str], Boxes],
    settings: EvaluationSettings,
) -> tuple[dict[int, str], Boxes]:
    """Count one planning step; return the states of its actors, and its ghosts in the world."""
    tally.steps += 1
    states = add_truth(tally, step, before[0], settings)
    shown = np.array([name == GHOSTS for name in step.coop_pattern], np.bool_)
    ghosts = step.cooperative[shown]
    tally.ghost_count += len(ghosts)
    for row in range(len(ghosts)):
        kept = np.append(ghosts.geometry[row], ghosts.scores[row])
        tally.ghosts.setdefault(int(ghosts.classes[row]), []).append(kept)
    in_world = boxes_between(ghosts, step.lidar_in_world, WORLD)
    if tally.steps > 1:
        tally.followed[GHOSTS] += len(before[1])
        tally.lasting[GHOSTS] += same_ghosts(before[1], in_world)
    return states, in_world


def same_ghosts(before: Boxes, now: Boxes) -> int:
    """Return how many additional boxes are there again: one to one, the nearest first."""
    away = np.linalg.norm(before.geometry[:, None, :2] - now.geometry[None, :, :2], axis=2)
    away[before.classes[:, None] != now.classes[None, :]] = np.inf
    count = 0
    while away.size and away.min() <= SAME_GHOST:
        row, column = np.unravel_index(int(away.argmin()), away.shape)
        away[row, :] = away[:, column] = np.inf
        count += 1
    return count


def add_truth(
    tally: Tally, step: StepBoxes, before: Mapping[int, str], settings: EvaluationSettings
) -> dict[int, str]:
    """Count the true boxes of a step; return the error of each actor that counts, if any."""
    taus = np.array(settings.taus)[step.true_boxes.classes]
    alone: Mask = highest(overlaps_of_a_class(step.true_boxes, step.ego_alone)) > taus
    overlaps = overlaps_of_a_class(step.true_boxes, step.cooperative)
    bands = bands_of(step.true_boxes.geometry)
    states: dict[int, str] = {}
    rows = zip(step.counted, step.actors.tolist(), step.true_pattern, strict=True)
    for row, (counts, actor, pattern) in enumerate(rows):
        if not counts or bands[row] >= len(BANDS):
            continue
        tally.boxes["L" if alone[row] else "C"][bands[row]] += 1
        states[int(actor)] = pattern
        if pattern in OF_BOXES:
            tally.errors[pattern][bands[row]] += 1
        if pattern.endswith("LE") and pattern in PATTERNS and overlaps.shape[1]:
            box = int(overlaps[row].argmax())
            add_offset(tally, step, row, box)
        last = before.get(int(actor), "")
        if last in OF_BOXES:
            tally.followed[last] += 1
            tally.lasting[last] += last[2:] == pattern[2:]
    return states


def add_offset(tally: Tally, step: StepBoxes, row: int, box: int) -> None:
    """Add how a mislocalised box differs from its true box, in the true box's frame."""
    true, detected = step.true_boxes.geometry[row], step.cooperative.geometry[box]
    cos, sin = np.cos(true[6]), np.sin(true[6])
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
    tally.offsets.setdefault(int(step.true_boxes.classes[row]), []).append(np.array(offset))

"""Repair to on time: only what messages on time would have changed is given back to the driver.

The perception runs twice at a step: on the messages that have arrived, and on those that an
undisturbed channel would give at this moment (every partner in range, captured now, with true
poses). Boxes that are equal in both answers stay. Every other box has one label:

| box                                                | label                                       |
| overlaps a true box, most of all true boxes        | of this true box, see `label_true_boxes`    |
| overlaps none, and is additional                   | LADE or CADE                                |
| the same, and overlaps an additional box of the    | rest                                        |
| same pattern in the other answer                   |                                             |
| neither                                            | rest                                        |

A repair takes the boxes of the chosen labels from the answer on time. With all seven labels the
driver gets the boxes on time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.evaluation.interventions.intervention import (
    NO_ACTOR,
    NO_BOX,
    BoxChange,
    ChangeKind,
    Intervened,
    Scene,
)
from harness.types.overlap import compute_class_overlaps
from harness.types.record_names import DIFFERENCES, REST
from harness.types.vocabulary import Boxes, Floats, Integers, Mask

EQUAL = -1
"""Label of a box that both answers have."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class AnswerDifferences:
    """How two answers of one step differ: a label for each box, an index into DIFFERENCES.

    Attributes:
        late: (M,) of the boxes from messages as they arrived; EQUAL for those in both.
        on_time: (K,) of the boxes from messages on time.
        late_actors: (M,) index of the true box, NO_ACTOR without one.
        on_time_actors: (K,)
    """

    late: Integers
    on_time: Integers
    late_actors: Integers
    on_time_actors: Integers


def repair_boxes_to_on_time(scene: Scene, labels: Sequence[str]) -> Intervened:
    """Return the boxes of a step with the chosen differences as they are on time.

    Args:
        scene: the planning step, with the answer on time.
        labels: of `DIFFERENCES`.
    """
    if scene.on_time is None:
        raise ValueError("a repair to on time needs the boxes on time")
    late, on_time = scene.perceived.cooperative, scene.on_time
    differences = label_differences(scene, on_time)
    # (M,) boxes that leave, and (K,) boxes that come
    numbers = [DIFFERENCES.index(name) for name in labels]
    leave = np.isin(differences.late, numbers)
    come = np.isin(differences.on_time, numbers)
    if not (leave.any() or come.any()):
        return Intervened(late, ())
    changes = [
        *list_changes(
            "removed",
            late,
            labels=differences.late,
            actors=differences.late_actors,
            chosen=leave,
        ),
        *list_changes(
            "added",
            on_time,
            labels=differences.on_time,
            actors=differences.on_time_actors,
            chosen=come,
        ),
    ]
    # nothing is left of the delay: the answer on time, in its order
    whole = (leave | (differences.late == EQUAL)).all()
    whole &= (come | (differences.on_time == EQUAL)).all()
    result = on_time if whole else Boxes.join([late[~leave], on_time[come]])
    return Intervened(result, tuple(changes))


def label_differences(scene: Scene, on_time: Boxes) -> AnswerDifferences:
    """Return by which pattern each box of either answer differs from the other answer.

    Args:
        scene: the planning step with M cooperative boxes.
        on_time: K boxes from messages on time.
    """
    late = scene.perceived.cooperative
    late_equal, on_time_equal = match_equal_boxes(late, on_time)
    evaluated_late, evaluated_on_time = scene.evaluated(), scene.evaluated(on_time)
    # (N,) labels of true boxes, and for each box the true box that it overlaps most
    of_truth = label_true_boxes(
        evaluated_late.truth.pattern[: len(scene.truth)],
        evaluated_on_time.truth.pattern[: len(scene.truth)],
    )
    late_actors, on_time_actors = (choose_true_boxes(scene, boxes) for boxes in (late, on_time))
    late_labels = label_boxes(
        of_truth, late_actors, evaluated_late.cooperative.pattern[: len(late)]
    )
    on_time_labels = label_boxes(
        of_truth, on_time_actors, evaluated_on_time.cooperative.pattern[: len(on_time)]
    )
    late_labels[late_equal], on_time_labels[on_time_equal] = EQUAL, EQUAL
    # an additional box that only moved shows the same pattern in both answers
    free_late = (late_actors == NO_ACTOR) & (late_labels != EQUAL)
    free_on_time = (on_time_actors == NO_ACTOR) & (on_time_labels != EQUAL)
    rest = DIFFERENCES.index(REST)
    moved = pair_moved_additions(
        late,
        on_time,
        np.where(free_late, late_labels, rest),
        np.where(free_on_time, on_time_labels, rest),
    )
    for one, other in moved:
        late_labels[one], on_time_labels[other] = rest, rest
    return AnswerDifferences(
        late=late_labels,
        on_time=on_time_labels,
        late_actors=late_actors,
        on_time_actors=on_time_actors,
    )


def match_equal_boxes(one: Boxes, other: Boxes) -> tuple[Mask, Mask]:
    """Return which boxes of two answers are equal in pose, size, class and score, one to one."""
    places: dict[bytes, list[int]] = {}
    for place, row in enumerate(join_columns(other)):
        places.setdefault(row.tobytes(), []).append(place)
    in_one, in_other = np.zeros(len(one), np.bool_), np.zeros(len(other), np.bool_)
    for place, row in enumerate(join_columns(one)):
        if same := places.get(row.tobytes()):
            in_one[place] = in_other[same.pop(0)] = True
    return in_one, in_other


def join_columns(boxes: Boxes) -> Floats:
    """Return all that boxes have, a row for each: (N, 9)."""
    columns = (boxes.geometry, boxes.classes[:, None], boxes.scores[:, None])
    return np.concatenate(columns, axis=1).astype(np.float64) + 0.0  # no negative zero


def label_true_boxes(late: Integers, on_time: Integers) -> Integers:
    """Return the pattern by which two answers differ on each true box.

    Args:
        late: (N,) index of the pattern of the answer to messages as they arrived; -1 for none.
        on_time: (N,) of the answer to messages on time.

    Returns:
        (N,) REST where both show the same, or none; else the pattern of the late answer, or if it
        shows none, that of the answer on time.
    """
    pattern = np.where(late >= 0, late, on_time)
    return np.asarray(np.where(late == on_time, DIFFERENCES.index(REST), pattern))


def choose_true_boxes(scene: Scene, boxes: Boxes) -> Integers:
    """Return the true box that each box overlaps most, NO_ACTOR without one: (N,)."""
    if not len(scene.truth) or not len(boxes):
        return np.full(len(boxes), NO_ACTOR)
    overlaps = scene.overlaps(boxes)
    return np.where(overlaps.max(axis=0) > 0, overlaps.argmax(axis=0), NO_ACTOR)


def label_boxes(of_truth: Integers, actors: Integers, patterns: Integers) -> Integers:
    """Return the label of each box: of its true box, else its pattern, else REST.

    Args:
        of_truth: (N,) labels of true boxes.
        actors: (M,) the true box of each box.
        patterns: (M,) the pattern of each box: LADE, CADE, or -1.
    """
    labels = np.where(patterns >= 0, patterns, DIFFERENCES.index(REST))
    known = actors != NO_ACTOR
    labels[known] = of_truth[actors[known]]
    return labels


def pair_moved_additions(
    late: Boxes, on_time: Boxes, late_labels: Integers, on_time_labels: Integers
) -> list[tuple[int, int]]:
    """Return pairs of additional boxes of one pattern that overlap, the largest overlap first."""
    overlaps = compute_class_overlaps(late, on_time)
    same = late_labels[:, None] == on_time_labels[None, :]
    overlaps = np.where(same & (late_labels != DIFFERENCES.index(REST))[:, None], overlaps, 0.0)
    pairs = np.argwhere(overlaps > 0)
    order = np.argsort(-overlaps[pairs[:, 0], pairs[:, 1]], kind="stable")
    chosen: list[tuple[int, int]] = []
    ones: set[int] = set()
    others: set[int] = set()
    for one, other in pairs[order].tolist():
        if one not in ones and other not in others:
            chosen.append((one, other))
            ones.add(one)
            others.add(other)
    return chosen


def list_changes(
    kind: ChangeKind, boxes: Boxes, *, labels: Integers, actors: Integers, chosen: Mask
) -> list[BoxChange]:
    """Return the changes of boxes that leave or come."""
    return [
        BoxChange(
            kind=kind,
            pattern=DIFFERENCES[labels[place]],
            of_class=int(boxes.classes[place]),
            before=boxes.geometry[place].copy() if kind == "removed" else NO_BOX,
            after=NO_BOX if kind == "removed" else boxes.geometry[place].copy(),
            score=float(boxes.scores[place]),
            actor=int(actors[place]),
        )
        for place in np.flatnonzero(chosen).tolist()
    ]

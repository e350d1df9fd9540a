"""Repairs: cooperative errors of chosen patterns are taken back before the system drives.

| pattern     | repair                                                                      |
| LADE / CADE | the box is removed                                                          |
| LCME / CCME | a box is added where the true box is                                        |
| LCLE / CCLE | the box that overlaps it is moved to the true box, or one is added there    |

With `repair_to: on_time` only what messages on time would have changed is taken back: `on_time`.

All repairs of a step are one assignment. Mislocalised detections first: a box is at fault if it
overlaps a true box to be repaired and may be taken from where it stands. Under the rule `max` it
may if it overlaps no other true box; the others stay, since a better box next to them settles the
count. Under `exists` and `pairs` every poorly overlapping box counts, so that all of them go, and
each true box that they overlapped keeps or gets a good one. Boxes at fault are then assigned to
true boxes one to one, the largest overlap first; true boxes that are left get a new box.

A box that is placed has the true box's pose and size, and the score of the box that was moved; a
new one that of the detection which overlaps the true box most (cooperative, else of the ego alone),
or 1. True boxes of one class that overlap each other are not parted: there nothing is promised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias, get_args

import numpy as np

from harness.evaluation.frame_evaluation import EvaluatedBoxes
from harness.evaluation.interventions.intervention import (
    NO_ACTOR,
    NO_BOX,
    BoxChange,
    Intervened,
    Intervention,
    Scene,
    check_patterns,
)
from harness.evaluation.interventions.meeting_window import build_meeting_window
from harness.evaluation.interventions.on_time import repair_boxes_to_on_time
from harness.evaluation.patterns import compute_highest_overlap
from harness.types.overlap import compute_class_overlaps
from harness.types.record_names import DIFFERENCES, PATTERNS
from harness.types.vocabulary import Boxes, Floats, Integers, Mask

RepairTo: TypeAlias = Literal["truth", "on_time"]
REPAIRS_TO: tuple[RepairTo, ...] = get_args(RepairTo)
MISSED, MISLOCALISED, ADDITIONAL = ("LCME", "CCME"), ("LCLE", "CCLE"), ("LADE", "CADE")


class Repair(Intervention):
    """Takes back the errors of some of the six patterns."""

    safe_from_file = True
    kind: ClassVar[str] = "repair"

    def __init__(
        self,
        patterns: Sequence[str],  # of LCME, LCLE, LADE, CCME, CCLE, CADE, and rest on time
        repair_to: RepairTo = "truth",  # truth: no error; on_time: as messages on time have it
        window: Sequence[str] | None = None,  # of early, late, after; null: the whole drive
        last: float | None = None,  # s before the meeting with the hazard that are late
    ) -> None:
        if repair_to not in REPAIRS_TO:
            raise ValueError(f"repair_to = {repair_to!r}: unknown; valid: {', '.join(REPAIRS_TO)}")
        self.repair_to = repair_to
        self.patterns = check_patterns(patterns, DIFFERENCES if self.needs_on_time else PATTERNS)
        self.window = build_meeting_window(window, last)

    @property
    def needs_on_time(self) -> bool:
        """Whether errors are taken back to what messages on time would show."""
        return self.repair_to == "on_time"

    def apply(self, scene: Scene) -> Intervened:
        """Return the boxes without the errors of these patterns."""
        if self.needs_on_time:
            return repair_boxes_to_on_time(scene, self.patterns)
        return repair_boxes(scene, self.patterns)

    def record(self) -> dict[str, Any]:
        """Return the patterns, and further settings where they are not the defaults."""
        repair_to = {"repair_to": self.repair_to} if self.needs_on_time else {}
        window = {} if self.window is None else {"window": self.window.make_record()}
        return {"kind": self.kind, "patterns": list(self.patterns), **repair_to, **window}


@dataclass(slots=True, eq=False)
class RepairAssignment:
    """Which boxes go, which are moved to which true boxes, and which true boxes get a new one."""

    removed: dict[int, tuple[str, int]] = field(default_factory=dict)  # box: pattern, true box
    moved: dict[int, tuple[str, int]] = field(default_factory=dict)
    added: dict[int, str] = field(default_factory=dict)  # true box: pattern


def repair_boxes(scene: Scene, patterns: Sequence[str]) -> Intervened:
    """Return the boxes of a step without the errors of some patterns."""
    boxes = scene.perceived.cooperative
    assignment = assign_repairs(scene, patterns)
    if not (assignment.removed or assignment.moved or assignment.added):
        return Intervened(boxes, ())
    return apply_assignment(scene, assignment)


def assign_repairs(scene: Scene, patterns: Sequence[str]) -> RepairAssignment:
    """Return the one assignment that all repairs of a step are.

    Args:
        scene: the planning step.
        patterns: those that are repaired.
    """
    evaluated = scene.evaluated()
    boxes, truths = scene.perceived.cooperative, len(scene.truth)
    made = RepairAssignment()
    # LADE and CADE: the box goes
    additional = find_pattern_boxes(evaluated.cooperative, patterns, ADDITIONAL)[: len(boxes)]
    names = evaluated.cooperative.pattern
    made.removed |= {int(n): (PATTERNS[names[n]], NO_ACTOR) for n in np.flatnonzero(additional)}
    names = evaluated.truth.pattern
    # LCME and CCME: a box is added
    missed = find_pattern_boxes(evaluated.truth, patterns, MISSED)[:truths]
    made.added |= {int(n): PATTERNS[names[n]] for n in np.flatnonzero(missed)}
    # LCLE and CCLE: boxes are moved
    wrong = find_pattern_boxes(evaluated.truth, patterns, MISLOCALISED)[:truths]
    if wrong.any():
        assign_moves(scene, wrong, names, made)
    return made


def find_pattern_boxes(part: EvaluatedBoxes, patterns: Sequence[str], kinds: Sequence[str]) -> Mask:
    """Return which boxes show one of the chosen patterns that are of these kinds."""
    numbers = [PATTERNS.index(name) for name in patterns if name in kinds]
    return np.isin(part.pattern, numbers)


def assign_moves(scene: Scene, wrong: Mask, names: Integers, made: RepairAssignment) -> None:
    """Assign the boxes that mislocalise true boxes to be repaired (`wrong`).

    Args:
        scene: the planning step.
        wrong: (N,) true boxes to be repaired.
        names: (N,) index of the pattern of each true box.
        made: the assignment, which is added to.
    """
    overlaps, taus = scene.overlaps(scene.perceived.cooperative), scene.taus
    # (M,) boxes that may be taken away, and (N, M) the overlaps that are left without them
    fault = find_faulty_boxes(overlaps, taus, wrong, scene.settings.rule)
    kept = np.where(fault[None, :], 0.0, overlaps)
    # (N,) true boxes that lose a box by this, and those of them that need another one
    touched = wrong | (overlaps[:, fault] > 0).any(axis=1)
    in_need = touched & (compute_highest_overlap(kept) <= taus)
    left = {int(n) for n in np.flatnonzero(in_need)}
    pattern_of = {
        int(n): PATTERNS[names[n]]
        if wrong[n]
        else choose_repaired_pattern(overlaps, wrong, names, int(n))
        for n in left
    }
    # one to one, the largest overlap first
    free = {int(n) for n in np.flatnonzero(fault)}
    for true, box in sort_pairs_by_overlap(overlaps, in_need, fault):
        if true in left and box in free:
            made.moved[box] = pattern_of[true], true
            left.discard(true)
            free.discard(box)
    made.added |= {true: pattern_of[true] for true in sorted(left)}
    # boxes at fault without a true box are removed, each for the one it overlaps most
    if scene.settings.rule != "max":
        blamed = np.where(wrong[:, None], overlaps, 0.0)
        for box in sorted(free):
            true = int(blamed[:, box].argmax())
            made.removed[box] = PATTERNS[names[true]], true


def choose_repaired_pattern(overlaps: Floats, wrong: Mask, names: Integers, true: int) -> str:
    """Return the repaired pattern for whose sake a box was taken from a true box without one."""
    shared = (overlaps[wrong][:, overlaps[true] > 0] > 0).any(axis=1)
    return PATTERNS[names[np.flatnonzero(wrong)[shared.argmax()]]]


def find_faulty_boxes(overlaps: Floats, taus: Floats, wrong: Mask, rule: str) -> Mask:
    """Return which boxes make true boxes count as mislocalised, and may be taken away.

    Args:
        overlaps: (N, M) of true and cooperative boxes.
        taus: (N,) the overlap that counts as detected.
        wrong: (N,) mislocalised true boxes.
        rule: the counting rule of the settings.

    Returns:
        (M,)
    """
    of_wrong = overlaps[wrong]
    if rule == "max":
        others = (overlaps[~wrong] > 0).any(axis=0)
        return np.asarray((of_wrong > 0).any(axis=0) & ~others)
    return np.asarray(((of_wrong > 0) & (of_wrong <= taus[wrong][:, None])).any(axis=0))


def sort_pairs_by_overlap(overlaps: Floats, rows: Mask, columns: Mask) -> list[tuple[int, int]]:
    """Return the pairs that overlap, the largest first; equal ones in the order of boxes."""
    chosen = np.where(rows[:, None] & columns[None, :], overlaps, 0.0)
    pairs = np.argwhere(chosen > 0)
    order = np.argsort(-chosen[pairs[:, 0], pairs[:, 1]], kind="stable")
    return [(int(true), int(box)) for true, box in pairs[order]]


def apply_assignment(scene: Scene, assignment: RepairAssignment) -> Intervened:
    """Return the boxes after an assignment: in their order, new ones last.

    Args:
        scene: the planning step with M cooperative boxes.
        assignment: rows of boxes and true boxes.

    Returns:
        The boxes that stay, then the new ones; and the changes.
    """
    # geometry: (N, 7)
    boxes, true_boxes = scene.perceived.cooperative, scene.truth.boxes_in_lidar
    geometry = boxes.geometry.copy()
    changes = []
    for box, (pattern, true) in sorted(assignment.removed.items()):
        changes.append(make_box_change("removed", pattern, boxes[box : box + 1], actor=true))
    for box, (pattern, true) in sorted(assignment.moved.items()):
        geometry[box] = true_boxes.geometry[true]
        changes.append(
            make_box_change(
                "moved", pattern, boxes[box : box + 1], after=geometry[box].copy(), actor=true
            )
        )
    # removed boxes leave; (N,)
    stay = np.ones(len(boxes), np.bool_)
    stay[list(assignment.removed)] = False
    # missed road users are added, each with the score of the nearest detection
    added = np.array(sorted(assignment.added), np.int64)
    scores = get_nearest_scores(scene, added)
    new = Boxes(true_boxes.geometry[added].copy(), true_boxes.classes[added].copy(), scores)
    for place, true in enumerate(added.tolist()):
        changes.append(
            BoxChange(
                kind="added",
                pattern=assignment.added[true],
                of_class=int(new.classes[place]),
                before=NO_BOX,
                after=new.geometry[place],
                score=float(new.scores[place]),
                actor=true,
            )
        )
    result = Boxes.join([Boxes(geometry, boxes.classes, boxes.scores)[stay], new])
    return Intervened(result, tuple(changes))


def make_box_change(
    kind: Any, pattern: str, box: Boxes, *, after: Floats = NO_BOX, actor: int = NO_ACTOR
) -> BoxChange:
    """Return a change of one box that there was."""
    return BoxChange(
        kind=kind,
        pattern=pattern,
        of_class=int(box.classes[0]),
        before=box.geometry[0].copy(),
        after=after,
        score=float(box.scores[0]),
        actor=actor,
    )


def get_nearest_scores(scene: Scene, trues: Integers) -> Floats:
    """Return the score of the detection that overlaps each true box most; 1 without one.

    Args:
        scene: the planning step.
        trues: (K,) rows of true boxes.

    Returns:
        (K,) 0 to 1.
    """
    scores = np.ones(len(trues))
    chosen = scene.truth.boxes_in_lidar[trues]
    # cooperative boxes come last: their scores win
    for boxes in (scene.perceived.ego_alone, scene.perceived.cooperative):
        overlaps = compute_class_overlaps(chosen, boxes)
        some = compute_highest_overlap(overlaps) > 0
        if some.any():
            scores[some] = boxes.scores[overlaps[some].argmax(axis=1)]
    return scores

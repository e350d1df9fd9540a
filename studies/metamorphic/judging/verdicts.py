"""What ground truth says of a relation's breaches: a product of its own, which decides no relation.

A relation can be broken although the answer is right there (a wrong detection went away), and hold
although both answers are wrong.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.types.vocabulary import Boxes
from studies.metamorphic.judging.checks import JudgedObjects
from studies.metamorphic.relations.matching import (
    OVERLAP,
    compute_best_overlap,
    is_on_places,
    is_whole_in_window,
)
from studies.metamorphic.relations.relation import RelationBreach, RelationMeasure
from studies.metamorphic.scenes.answers import SystemAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class BreachVerdict:
    """Breaches by what ground truth says of the follow-up's answer, and objects lost to both."""

    wrong: int  # an object that the follow-up does not find, or a detection of nothing
    right: int  # the follow-up is right there
    unjudged: int  # nothing is known there
    both_wrong: int  # objects that neither answer finds, each where it is on its side
    judged: int  # objects that are judged on both sides


@dataclass(frozen=True, slots=True, eq=False)
class CheckedAnswer:
    """An answer, and the objects that it is held against."""

    answer: SystemAnswer
    objects: JudgedObjects

    @property
    def detected(self) -> dict[int, bool]:
        """Return by actor whether it is detected: by an overlap of more than 0.5."""
        best = compute_best_overlap(self.objects.judged, self.answer.cooperative)
        return dict(zip(self.objects.actor_ids.tolist(), (best > OVERLAP).tolist(), strict=True))


def judge_breaches(
    measure: RelationMeasure, source: CheckedAnswer, follow: CheckedAnswer
) -> BreachVerdict:
    """Return what ground truth says of a relation's breaches, and of what neither answer finds."""
    before, after = source.detected, follow.detected
    both = before.keys() & after.keys()
    says = [judge_breach(breach, follow.answer, follow.objects) for breach in measure.breaches]
    return BreachVerdict(
        wrong=says.count("wrong"),
        right=says.count("right"),
        unjudged=says.count("unjudged"),
        both_wrong=sum(not before[actor] and not after[actor] for actor in both),
        judged=len(both),
    )


def judge_breach(breach: RelationBreach, follow: SystemAnswer, objects: JudgedObjects) -> str:
    """Return whether the follow-up's answer is right at a breach."""
    # (objects, 1) overlaps of what is known to be there with the place of the breach
    box = Boxes(np.array([breach.geometry]), np.array([breach.of_class]), np.ones(1))
    overlaps = compute_best_overlap(objects.judged, box)
    # something is there: it should be detected
    if (overlaps > OVERLAP).any():
        if breach.why == "additional":
            return "right"
        there = objects.judged[np.asarray(overlaps > OVERLAP)]
        return (
            "right"
            if (compute_best_overlap(there, follow.cooperative) > OVERLAP).all()
            else "wrong"
        )
    # nothing is there, if that is known
    if not is_judged_there(box, objects):
        return "unjudged"
    return "wrong" if breach.why == "additional" else "right"


def is_judged_there(box: Boxes, objects: JudgedObjects) -> bool:
    """Return whether a detection at a place is right or wrong: of nothing unjudged, inside."""
    by = objects.judged_by
    places = Boxes.join([objects.others, objects.parked, objects.places])
    return bool(
        is_whole_in_window(box, by.window, by.margin)[0] and not is_on_places(box, places)[0]
    )

"""Relations on scenes whose road users were changed: R8 (insert, delete, move) and R10 (mirror)."""

from __future__ import annotations

from dataclasses import dataclass

from harness.types.vocabulary import Boxes
from studies.metamorphic.operators.symmetries import mirror_boxes
from studies.metamorphic.relations.equal import measure_disagreement
from studies.metamorphic.relations.matching import OVERLAP, is_on_places, pair_overlapping_boxes
from studies.metamorphic.relations.relation import Direction, ExpectedBoxes, RelationMeasure
from studies.metamorphic.scenes.answers import SystemAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedChanges:
    """R8: the source's detections stay, but for those of changed objects, and new ones are there.

    V2XGen 3.4, MR1 and MR2: zeta{CP[s] with GT_ins, CP[sigma(s)]} and zeta{CP[s] without GT_del,
    CP[tau(s)]}; MultiTest, equation 5. The papers derive zeta from average precision over a set of
    scenes; here it is 1 - F1 of one scene.
    """

    name: str = "R8_changes"
    exact: bool = False
    statistic: str = "1 - F1 of the follow-up's detections, the expected ones being the reference"
    direction: Direction = "equal"
    overlap: float = OVERLAP

    def measure(
        self, source: SystemAnswer, follow: SystemAnswer, expected: ExpectedBoxes
    ) -> RelationMeasure:
        """Compare the expected boxes with the follow-up's cooperative ones."""
        changed = Boxes.join([expected.left, expected.arrived])
        stay = source.cooperative[~is_on_places(source.cooperative, changed)]
        before = Boxes.join([select_judged_boxes(stay, expected), expected.arrived])
        after = select_judged_boxes(follow.cooperative, expected)
        return measure_disagreement(
            before, after, pair_overlapping_boxes(before, after, self.overlap)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MirroredAnswer:
    """R10: the answer to the mirrored scene is the mirrored answer."""

    name: str = "R10_mirrored"
    exact: bool = False
    statistic: str = "1 - F1 of the follow-up's detections, the mirrored ones being the reference"
    direction: Direction = "equal"
    overlap: float = OVERLAP

    def measure(
        self, source: SystemAnswer, follow: SystemAnswer, expected: ExpectedBoxes
    ) -> RelationMeasure:
        """Compare the source's cooperative boxes, mirrored, with the follow-up's."""
        before = select_judged_boxes(mirror_boxes(source.cooperative), expected)
        after = select_judged_boxes(follow.cooperative, expected)
        return measure_disagreement(
            before, after, pair_overlapping_boxes(before, after, self.overlap)
        )


def select_judged_boxes(boxes: Boxes, expected: ExpectedBoxes) -> Boxes:
    """Return the boxes that do not lie on places of which nothing is asked."""
    return boxes[~is_on_places(boxes, expected.unjudged)]

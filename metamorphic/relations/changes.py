"""Relations on scenes whose road users were changed: R8 (insert, delete, move) and R10 (mirror)."""

from __future__ import annotations

from dataclasses import dataclass

from harness.vocabulary import Boxes
from metamorphic.answers import Answer
from metamorphic.matching import OVERLAP, lie_on, paired
from metamorphic.operators.symmetries import mirrored_boxes
from metamorphic.relations.equal import disagreement
from metamorphic.relations.relation import Direction, Expected, Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
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

    def measure(self, source: Answer, follow: Answer, expected: Expected) -> Measure:
        """Compare the expected boxes with the follow-up's cooperative ones."""
        changed = Boxes.join([expected.left, expected.arrived])
        stay = source.cooperative[~lie_on(source.cooperative, changed)]
        before = Boxes.join([judged(stay, expected), expected.arrived])
        after = judged(follow.cooperative, expected)
        return disagreement(before, after, paired(before, after, self.overlap))


@dataclass(frozen=True, slots=True, kw_only=True)
class MirroredAnswer:
    """R10: the answer to the mirrored scene is the mirrored answer."""

    name: str = "R10_mirrored"
    exact: bool = False
    statistic: str = "1 - F1 of the follow-up's detections, the mirrored ones being the reference"
    direction: Direction = "equal"
    overlap: float = OVERLAP

    def measure(self, source: Answer, follow: Answer, expected: Expected) -> Measure:
        """Compare the source's cooperative boxes, mirrored, with the follow-up's."""
        before = judged(mirrored_boxes(source.cooperative), expected)
        after = judged(follow.cooperative, expected)
        return disagreement(before, after, paired(before, after, self.overlap))


def judged(boxes: Boxes, expected: Expected) -> Boxes:
    """Return the boxes that do not lie on places of which nothing is asked."""
    return boxes[~lie_on(boxes, expected.unjudged)]

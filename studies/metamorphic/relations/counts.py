"""MR1 by count, as Zhou and Sun checked it: a violation is |O| > |O'|."""

from __future__ import annotations

from dataclasses import dataclass

from harness.types.vocabulary import CLASSES, Boxes
from studies.metamorphic.relations.relation import Direction, ExpectedBoxes, RelationMeasure
from studies.metamorphic.scenes.answers import SystemAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class NoFewer:
    """MR1 (Zhou and Sun): with stray points outside, no fewer obstacles are detected.

    Of one class (their figure 3) or of all. Weaker than R1: an obstacle that is lost and another
    that appears leave the count as it was, so no single box is at fault and none is reported.
    """

    name: str = "MR1_count"
    of_class: int | None = None
    exact: bool = True
    statistic: str = "detections of the source less those of the follow-up"
    direction: Direction = "no_fewer"

    def measure(
        self, source: SystemAnswer, follow: SystemAnswer, expected: ExpectedBoxes
    ) -> RelationMeasure:
        """Compare the numbers of cooperative boxes."""
        before = count_class_boxes(source.cooperative, self.of_class)
        return RelationMeasure(
            value=float(before - count_class_boxes(follow.cooperative, self.of_class)),
            exposed=before,
        )


def make_count_relations() -> tuple[NoFewer, ...]:
    """Return the relation on all classes together, and on each."""
    classes = (
        NoFewer(name=f"MR1_count_{kind}", of_class=place) for place, kind in enumerate(CLASSES)
    )
    return NoFewer(), *classes


def count_class_boxes(boxes: Boxes, of_class: int | None) -> int:
    """Return how many boxes of a class there are, or of all."""
    return len(boxes) if of_class is None else int((boxes.classes == of_class).sum())

"""MR1 by count, as Zhou and Sun checked it: a violation is |O| > |O'|."""

from __future__ import annotations

from dataclasses import dataclass

from harness.types.vocabulary import CLASSES, Boxes
from studies.metamorphic.relations.relation import Direction, ExpectedBoxes, RelationMeasure
from studies.metamorphic.scenes.answers import SystemAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class NoFewer:
    """MR1 (Zhou and Sun): with stray points outside, no fewer obstacles are detected.

    Of one class (their figure 3) or of all. Weaker than O ⊆ O': an obstacle that is lost and
    another that appears leave the count as it was, so no single box is at fault and none is
    reported. On the road, as published, or in the whole window.
    """

    name: str = "MR1_count"
    of_class: int | None = None
    on_road: bool = False
    exact: bool = True
    statistic: str = "detections of the source less those of the follow-up"
    direction: Direction = "no_fewer"

    def measure(
        self, source: SystemAnswer, follow: SystemAnswer, expected: ExpectedBoxes
    ) -> RelationMeasure:
        """Compare the numbers of cooperative boxes; where no road is known, none is exposed."""
        before, after = source.cooperative, follow.cooperative
        if self.on_road:
            if expected.road is None:
                return RelationMeasure(value=0.0, exposed=0)
            before, after = (expected.road.select_boxes(boxes) for boxes in (before, after))
        exposed = count_class_boxes(before, self.of_class)
        return RelationMeasure(
            value=float(exposed - count_class_boxes(after, self.of_class)), exposed=exposed
        )


def make_count_relations(on_road: bool = False) -> tuple[NoFewer, ...]:
    """Return the relation on all classes together, and on each that networks have.

    Args:
        on_road: of boxes on the drivable area only.
    """
    name = "MR1_road_count" if on_road else "MR1_count"
    classes = (
        NoFewer(name=f"{name}_{kind}", of_class=place, on_road=on_road)
        for place, kind in enumerate(CLASSES)
    )
    return NoFewer(name=name, on_road=on_road), *classes


def count_class_boxes(boxes: Boxes, of_class: int | None) -> int:
    """Return how many boxes of a class there are, or of all."""
    return len(boxes) if of_class is None else int((boxes.classes == of_class).sum())

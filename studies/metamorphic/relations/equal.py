"""Relations that ask for an equal answer: R1 to R5.

| relation | operator | compared with |
|---|---|---|
| R1 | stray points outside the window (Zhou and Sun, MR1, as a set) | the source |
| R2 | another order of points or partners | the source |
| R3 | rigid motion of all poses | the source, to 1e-3 |
| R4 | all partners silent or absent | the source's answer of the ego alone |
| R4 | one partner silent | the answer without this partner: take that as source |
| R5 | a message twice | the source |
"""

from __future__ import annotations

from dataclasses import dataclass

from harness.types.vocabulary import Boxes
from studies.metamorphic.relations.matching import BoxPairing, is_on_places, pair_equal_boxes
from studies.metamorphic.relations.relation import (
    Direction,
    ExpectedBoxes,
    RelationMeasure,
    make_breaches,
)
from studies.metamorphic.scenes.answers import SystemAnswer

ROUNDING = 1e-5
"""m, rad and score: single precision at 50 m is 4e-6. The shipped networks differ by up to 3e-6."""
STATISTIC = "share of boxes, of both answers, without an equal box in the other answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class EqualAnswer:
    """The detections with messages are equal, box by box, whatever their order."""

    name: str
    tolerance: float = 0.0  # m, rad and score; 0: all bits
    exact: bool = True
    statistic: str = STATISTIC
    direction: Direction = "equal"

    def measure(
        self, source: SystemAnswer, follow: SystemAnswer, expected: ExpectedBoxes
    ) -> RelationMeasure:
        """Compare the cooperative boxes."""
        return measure_unequal_boxes(
            source.cooperative, follow.cooperative, expected, self.tolerance
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AsAlone:
    """R4: with nothing received, the detections are those of the ego alone."""

    name: str = "R4_alone"
    tolerance: float = 0.0  # m, rad and score; 0: all bits
    exact: bool = True
    statistic: str = STATISTIC
    direction: Direction = "equal"

    def measure(
        self, source: SystemAnswer, follow: SystemAnswer, expected: ExpectedBoxes
    ) -> RelationMeasure:
        """Compare the source's answer of the ego alone with the follow-up's cooperative one."""
        return measure_unequal_boxes(source.ego_alone, follow.cooperative, expected, self.tolerance)


def make_equal_relations() -> tuple[EqualAnswer | AsAlone, ...]:
    """Return R1 to R5.

    Systems that add up points or partners (early fusion, attention) round in their order: for them,
    the order of partners is judged as the order of points is, up to ROUNDING.
    """
    return (
        EqualAnswer(name="R1_stray_points"),
        EqualAnswer(name="R2_partners"),
        EqualAnswer(name="R2_points", tolerance=ROUNDING),
        EqualAnswer(name="R3_moved_world", tolerance=1e-3),
        AsAlone(),
        EqualAnswer(name="R4_silent"),
        make_duplicate_relation(exact=True),
    )


def make_duplicate_relation(exact: bool) -> EqualAnswer:
    """Return R5: exact where detections are merged (late fusion); elsewhere it is measured."""
    return EqualAnswer(name="R5_duplicate", exact=exact)


def measure_unequal_boxes(
    one: Boxes, other: Boxes, expected: ExpectedBoxes, tolerance: float
) -> RelationMeasure:
    """Return which boxes of two answers have no equal one, outside places that are not judged."""
    before, after = (
        one[~is_on_places(one, expected.unjudged)],
        other[~is_on_places(other, expected.unjudged)],
    )
    return measure_disagreement(before, after, pair_equal_boxes(before, after, tolerance))


def measure_disagreement(before: Boxes, after: Boxes, pairs: BoxPairing) -> RelationMeasure:
    """Return the share of boxes without a pair: 1 - F1 of `after` with `before` as reference."""
    missing = make_breaches("missing", before[pairs.other < 0])
    additional = make_breaches("additional", after[pairs.of_other < 0])
    return RelationMeasure.from_breaches(len(before) + len(after), missing + additional)

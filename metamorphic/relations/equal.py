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

from harness.vocabulary import Boxes
from metamorphic.answers import Answer
from metamorphic.matching import Pairing, equal_boxes, lie_on
from metamorphic.relations.relation import Direction, Expected, Measure, breaches

ROUNDING = 1e-5
"""m, rad and score: single precision at 50 m is 4e-6. The shipped networks differ by up to 3e-6."""
STATISTIC = "share of boxes, of both answers, without an equal box in the other answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Equal:
    """The detections with messages are equal, box by box, whatever their order."""

    name: str
    tolerance: float = 0.0  # m, rad and score; 0: all bits
    exact: bool = True
    statistic: str = STATISTIC
    direction: Direction = "equal"

    def measure(self, source: Answer, follow: Answer, expected: Expected) -> Measure:
        """Compare the cooperative boxes."""
        return unequal(source.cooperative, follow.cooperative, expected, self.tolerance)


@dataclass(frozen=True, slots=True, kw_only=True)
class AsAlone:
    """R4: with nothing received, the detections are those of the ego alone."""

    name: str = "R4_alone"
    tolerance: float = 0.0  # m, rad and score; 0: all bits
    exact: bool = True
    statistic: str = STATISTIC
    direction: Direction = "equal"

    def measure(self, source: Answer, follow: Answer, expected: Expected) -> Measure:
        """Compare the source's answer of the ego alone with the follow-up's cooperative one."""
        return unequal(source.ego_alone, follow.cooperative, expected, self.tolerance)


def equal_relations() -> tuple[Equal | AsAlone, ...]:
    """Return R1 to R5.

    Systems that add up points or partners (early fusion, attention) round in their order: for them,
    the order of partners is judged as the order of points is, up to ROUNDING.
    """
    return (
        Equal(name="R1_stray_points"),
        Equal(name="R2_partners"),
        Equal(name="R2_points", tolerance=ROUNDING),
        Equal(name="R3_moved_world", tolerance=1e-3),
        AsAlone(),
        Equal(name="R4_silent"),
        duplicate(exact=True),
    )


def duplicate(exact: bool) -> Equal:
    """Return R5: exact where detections are merged (late fusion); elsewhere it is measured."""
    return Equal(name="R5_duplicate", exact=exact)


def unequal(one: Boxes, other: Boxes, expected: Expected, tolerance: float) -> Measure:
    """Return which boxes of two answers have no equal one, outside places that are not judged."""
    before, after = one[~lie_on(one, expected.unjudged)], other[~lie_on(other, expected.unjudged)]
    return disagreement(before, after, equal_boxes(before, after, tolerance))


def disagreement(before: Boxes, after: Boxes, pairs: Pairing) -> Measure:
    """Return the share of boxes without a pair: 1 - F1 of `after` with `before` as reference."""
    missing = breaches("missing", before[pairs.other < 0])
    additional = breaches("additional", after[pairs.of_other < 0])
    return Measure.rate(len(before) + len(after), missing + additional)

"""Relations that ask that detections stay: MR1, R6 (weather), R7 (channel), R9 (more help)."""

from __future__ import annotations

from dataclasses import dataclass

from harness.types.vocabulary import Boxes
from studies.metamorphic.relations.matching import OVERLAP, is_on_places, pair_overlapping_boxes
from studies.metamorphic.relations.relation import (
    Direction,
    ExpectedBoxes,
    RelationMeasure,
    make_breaches,
)
from studies.metamorphic.scenes.answers import SystemAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptDetections:
    """R6: what was detected is still detected.

    The source must be the same sensor model at rate 0. Objects that hardly any beam reaches in the
    weather are the operator's `unjudged`.
    """

    name: str = "R6_weather"
    exact: bool = False
    statistic: str = "share of the source's detections that the follow-up does not have"
    direction: Direction = "no_fewer"
    overlap: float = OVERLAP

    def measure(
        self, source: SystemAnswer, follow: SystemAnswer, expected: ExpectedBoxes
    ) -> RelationMeasure:
        """Compare the cooperative boxes."""
        return measure_lost_boxes(source.cooperative, follow.cooperative, expected, self.overlap)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptOfEgo:
    """R7: what the ego detects alone is still detected with disturbed messages.

    As CooTest's MCE (3.1.2), with the ego's own detections where MCE has ground truth.
    """

    name: str = "R7_misled"
    exact: bool = False
    statistic: str = "share of the source's ego-alone detections that the follow-up does not have"
    direction: Direction = "no_fewer"
    overlap: float = OVERLAP

    def measure(
        self, source: SystemAnswer, follow: SystemAnswer, expected: ExpectedBoxes
    ) -> RelationMeasure:
        """Compare the source's boxes of the ego alone with the follow-up's cooperative boxes."""
        return measure_lost_boxes(source.ego_alone, follow.cooperative, expected, self.overlap)


@dataclass(frozen=True, slots=True, kw_only=True)
class MoreHelp:
    """R9: with a partner more, no more of the ego's own detections are lost than before.

    The source is the scene with fewer partners. Expected in distribution only.
    """

    name: str = "R9_more_help"
    exact: bool = False
    statistic: str = "rise of the share of the ego's own detections that cooperation loses"
    direction: Direction = "no_fewer"
    overlap: float = OVERLAP

    def measure(
        self, source: SystemAnswer, follow: SystemAnswer, expected: ExpectedBoxes
    ) -> RelationMeasure:
        """Compare what is lost of the source's boxes of the ego alone, before and after."""
        before = measure_lost_boxes(source.ego_alone, source.cooperative, expected, self.overlap)
        after = measure_lost_boxes(source.ego_alone, follow.cooperative, expected, self.overlap)
        newly = tuple(breach for breach in after.breaches if breach not in before.breaches)
        return RelationMeasure(
            value=after.value - before.value, exposed=after.exposed, breaches=newly
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptOnRoad:
    """MR1 (Zhou and Sun): O ⊆ O', what was detected on the road is still detected.

    On the road are boxes whose middle lies on the drivable area. The paper has no tolerance, and
    checked counts only; placebos show how often a box is lost without a stray point.
    """

    name: str = "MR1_road_kept"
    exact: bool = False
    statistic: str = "share of the source's detections on the road that the follow-up does not have"
    direction: Direction = "no_fewer"
    overlap: float = OVERLAP

    def measure(
        self, source: SystemAnswer, follow: SystemAnswer, expected: ExpectedBoxes
    ) -> RelationMeasure:
        """Compare the cooperative boxes; where no road is known, none is exposed."""
        if expected.road is None:
            return RelationMeasure(value=0.0, exposed=0)
        on_road = expected.road.select_boxes(source.cooperative)
        return measure_lost_boxes(on_road, follow.cooperative, expected, self.overlap)


def measure_lost_boxes(
    reference: Boxes, answer: Boxes, expected: ExpectedBoxes, overlap: float
) -> RelationMeasure:
    """Return which boxes of a reference an answer does not have, where that is to be judged."""
    changed = Boxes.join([expected.unjudged, expected.left])
    judged = reference[~is_on_places(reference, changed)]
    missing = judged[pair_overlapping_boxes(judged, answer, overlap).other < 0]
    return RelationMeasure.from_breaches(len(judged), make_breaches("missing", missing))

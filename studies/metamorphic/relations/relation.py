"""A relation compares a system's answers to two scenes; it never sees the ground truth.

It measures and does not judge: how large a measure is too large is a matter of bands
(`studies.metamorphic.judging.bands`). Of the scenes' boxes it is given those alone that an
operator changed on purpose, as the papers' relations are: CP[s] with the inserted, without the
deleted (V2XGen 3.4). The road is the map's, no ground truth: it is MR1's region of interest.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np

from harness.types.vocabulary import Boxes, GroundTruth, Mask
from studies.metamorphic.scenes.answers import SystemAnswer
from studies.metamorphic.scenes.operator import TruthExpectation
from studies.metamorphic.scenes.road import RoadRegion, get_road_region
from studies.metamorphic.scenes.scene import CooperativeScene

Direction = Literal["equal", "no_fewer"]
"""What is asked of the follow-up: the same detections, or no fewer."""
Why = Literal["missing", "additional", "mislocalised"]
LEAST_HITS = 5
"""Returns of one LiDAR from which on an object can be expected to be detected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationBreach:
    """One box that is not as expected, in the ego's LiDAR frame."""

    why: Why
    of_class: int
    geometry: tuple[float, ...]  # x y z length width height yaw


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationMeasure:
    """A number that is larger the worse, among how many boxes, and those that are not right.

    Where no box was exposed, value 0 means nothing: such measures must be left out.
    """

    value: float
    exposed: int
    breaches: tuple[RelationBreach, ...] = ()

    @staticmethod
    def from_breaches(exposed: int, breaches: tuple[RelationBreach, ...]) -> RelationMeasure:
        """Return the share of the exposed boxes that are not right."""
        value = len(breaches) / exposed if exposed else 0.0
        return RelationMeasure(value=value, exposed=exposed, breaches=breaches)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ExpectedBoxes:
    """Boxes that an operator changed, in the ego's LiDAR frame; all others are as before."""

    left: Boxes = field(default_factory=Boxes.none)  # where the gone and the moved were
    arrived: Boxes = field(default_factory=Boxes.none)  # where the new and the moved are
    unjudged: Boxes = field(default_factory=Boxes.none)  # places of which nothing is asked
    road: RoadRegion | None = None  # region of interest of MR1; None: not known


class MetamorphicRelation(Protocol):
    """One relation between the answers to a source scene and to the scene that follows from it."""

    @property
    def name(self) -> str:
        """Return its name in records."""

    @property
    def statistic(self) -> str:
        """Return what the value is."""

    @property
    def exact(self) -> bool:
        """Return whether any value above 0 breaks it."""

    @property
    def direction(self) -> Direction:
        """Return what is asked of the follow-up."""

    def measure(
        self, source: SystemAnswer, follow: SystemAnswer, expected: ExpectedBoxes
    ) -> RelationMeasure:
        """Compare two answers."""


def compute_expected_boxes(
    source: CooperativeScene,
    follow: CooperativeScene,
    expectation: TruthExpectation,
    least_hits: int = LEAST_HITS,
) -> ExpectedBoxes:
    """Return the changed actors' boxes; new ones with too few returns are not judged."""
    seen = follow.hits_anyone >= least_hits
    arrived = match_actors(follow.ego.truth, expectation.new | expectation.moved)
    unjudged = match_actors(follow.ego.truth, expectation.unjudged) | (arrived & ~seen)
    before = match_actors(source.ego.truth, expectation.unjudged)
    left = match_actors(source.ego.truth, expectation.gone | expectation.moved)
    return ExpectedBoxes(
        left=source.ego.truth.boxes_in_lidar[left],
        arrived=follow.ego.truth.boxes_in_lidar[arrived & ~unjudged],
        unjudged=Boxes.join(
            [
                follow.ego.truth.boxes_in_lidar[unjudged],
                source.ego.truth.boxes_in_lidar[before],
                expectation.unjudged_in_ego,
            ]
        ),
        road=get_road_region(follow, follow.ego.lidar_in_world),
    )


def match_actors(truth: GroundTruth, actors: Collection[int]) -> Mask:
    """Return which boxes are of these actors."""
    return np.isin(truth.actor_ids, sorted(actors))


def make_breaches(why: Why, boxes: Boxes) -> tuple[RelationBreach, ...]:
    """Return one breach for each box.

    Args:
        why: missed, mislocalised, additional or the like.
        boxes: in the ego's LiDAR frame.
    """
    rows = zip(boxes.classes.tolist(), boxes.geometry.tolist(), strict=True)
    return tuple(RelationBreach(why=why, of_class=kind, geometry=tuple(box)) for kind, box in rows)
